//! Deny rules on files, enforced by the sandbox: whether it can, and what it then hides and write-protects.

use super::denied_files::{DeniedPaths, DenyRules};
use super::{Confinement, Terms};
use ostler_core::permission::{Access, Commands, Denials, PathScope, Policy};
use ostler_exec::Sandbox;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Confinement {
    /// Commands are kept from the files that these deny rules cover.
    #[must_use]
    pub fn denying(self, policy: &Policy) -> Self {
        self.deny(policy);
        self
    }

    /// The same for commands that start from now on.
    pub fn deny(&self, policy: &Policy) {
        self.denied.set(DenyRules::new(policy));
    }

    /// Who enforces deny rules on files for these commands, as the disk is now.
    pub fn denials(&self, commands: &Commands, lifted: bool) -> Denials {
        let denied = self.denied.now();
        if denied.is_empty() || !self.options.enabled || lifted {
            return Denials::Decision;
        }
        let found = denied.look(self.reach().areas(&self.options));
        match self.unenforced(&found, commands.only_reads()) {
            Some(why) => Denials::Unenforced(why),
            None => Denials::Kernel { tracked: found.tracked },
        }
    }

    /// What a command must be kept from.
    ///
    /// # Errors
    /// In words, if that is not possible and nobody was asked about it.
    pub(super) fn denied_for(&self, terms: Terms<'_>) -> Result<Arc<DeniedPaths>, String> {
        let found = self.denied.now().look(self.reach().areas(&self.options));
        match self.unenforced(&found, terms.only_reads) {
            None => Ok(found),
            Some(why) if !terms.accepts_gaps => Err(why),
            Some(_) if self.layers().bubblewrap || found.fits_landlock() => Ok(found),
            Some(_) => Ok(Arc::default()),
        }
    }

    fn unenforced(&self, found: &DeniedPaths, only_reads: bool) -> Option<String> {
        if found.gap.is_some() {
            return found.gap.clone();
        }
        let layers = self.layers();
        let reach = self.reach();
        let writable = &reach.areas(&self.options).writable;
        let is_part = |path: &PathBuf| !writable.iter().any(|root| root.starts_with(path));
        match () {
            () if found.is_empty() => None,
            () if reach.is_whole_disk() => Some(
                "the workspace is the whole disk, so deny rules on files cannot be enforced".into(),
            ),
            () if layers.bubblewrap => None,
            () if !layers.landlock || !layers.seccomp => Some(
                "this system has no sandbox that could enforce deny rules on files (`ostler doctor` shows what is \
                 missing)"
                    .into(),
            ),
            () if !found.fits_landlock() => Some(format!(
                "{}, and the directories around denied files are too large for Landlock alone",
                self.bubblewrap_fault()
            )),
            () if !only_reads && found.frozen.iter().any(is_part) => Some(format!(
                "{}, so deny rules on editing files cannot be enforced",
                self.bubblewrap_fault()
            )),
            () => None,
        }
    }

    /// A file is also judged by the name that a deny rule covers, if it is another name (hard link) of it.
    pub(crate) fn with_first_names(&self, access: Access) -> Access {
        let denied = self.denied.now();
        if denied.is_empty() {
            return access;
        }
        let is_tree = |scope: &PathScope| matches!(scope, PathScope::Tree(_));
        // A search leaves out what it must not show, by what is known from here on.
        let is_shared = |scope: &PathScope| {
            is_tree(scope) || super::denied_files::has_other_names(scope.path())
        };
        if !access.reads.iter().chain(&access.writes).any(is_shared) {
            return access;
        }
        let found = denied.look(self.reach().areas(&self.options));
        let first = |scope: &PathScope| denied.first_name(scope.path()).map(PathScope::File);
        let more = |scopes: &[PathScope]| scopes.iter().filter_map(first).collect::<Vec<_>>();
        let (reads, writes) = (more(&access.reads), more(&access.writes));
        let is_search = access.reads.iter().any(is_tree);
        let denials = match &found.gap {
            Some(why) if found.incomplete && !is_search => Denials::Unenforced(why.clone()),
            _ => access.denials.clone(),
        };
        Access {
            reads: [access.reads.clone(), reads].concat(),
            writes: [access.writes.clone(), writes].concat(),
            denials,
            ..access
        }
    }

    /// Commands must not read it, by any of its names, as of the last look at the disk.
    pub fn is_hidden(&self, path: &Path) -> bool {
        let denied = self.denied.now();
        !denied.is_empty() && denied.hides(path)
    }

    /// A search must leave the file out: it may be another name of one that must not be read.
    pub(crate) fn may_be_unreadable(&self, path: &Path) -> bool {
        let denied = self.denied.now();
        !denied.is_empty() && denied.may_be_unreadable(path)
    }
}

impl DeniedPaths {
    /// A root that must not be changed at all can still be read.
    pub(super) fn keep_from(&self, sandbox: &mut Sandbox) {
        sandbox.hidden.extend(self.hidden.iter().cloned());
        sandbox.frozen.extend(self.frozen.iter().cloned());
        let is_frozen = |root: &PathBuf| self.frozen.iter().any(|path| root.starts_with(path));
        let frozen = sandbox.writable.extract_if(.., |root| is_frozen(root));
        sandbox.readable.extend(frozen);
    }
}
