//! How commands are held: what each may reach, what is said where a layer is missing, and what is put back.

mod bounds;
mod confined_command;
mod denials;
mod denied_files;
mod exact_writes;
mod folders;
mod frozen_files;
mod git_parts;
mod git_settings;
mod guard;
mod inspection;
mod kept_confinement;
mod limits;
mod missing_layers;
mod programs;
mod reach;
mod rebase;
mod repository;
mod server_program;
mod temp_directory;
mod traces;
mod unfinished_inspections;
mod walk_memory;

use crate::bash::CommandVariables;
pub use confined_command::ConfinedCommand;
use denied_files::{DeniedPaths, DenyRules};
pub use exact_writes::ExactWrites;
use guard::Guard;
pub use inspection::{Inspected, Inspection, SeenTraces};
pub use kept_confinement::{KeptConfinement, KeptTemp};
pub use limits::LimitOptions;
pub(crate) use limits::{limit_behind, stopped_by_limit};
pub use missing_layers::Missing;
use ostler_core::permission::{
    Access, Commands, Denials, Derived, Hold, Live, PathScope, Workspace,
};
use ostler_exec::{AvailableLayers, Command, Executor, Layers, ProcessLimits, Sandbox};
pub use programs::helpers;
use reach::Reach;
use rebase::Rebases;
pub use server_program::ServerAccess;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use temp_directory::OwnedTemp;
use tempfile::TempDir;
use unfinished_inspections::UnfinishedInspections;
use walk_memory::WalkMemory;

/// What a person has decided about the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfineOptions {
    pub enabled: bool,
    /// For every command; without it, for those that were judged by the hosts they name.
    pub network: bool,
    pub accept_missing: bool,
    /// A call may ask to run outside.
    pub may_lift: bool,
    pub allow_write: Vec<PathBuf>,
    pub allow_read: Vec<PathBuf>,
    pub deny_read: Vec<PathBuf>,
    pub limits: LimitOptions,
    /// What limits are lowered to, defaults included.
    pub limits_at_most: LimitOptions,
}

impl Default for ConfineOptions {
    fn default() -> Self {
        ConfineOptions {
            enabled: true,
            network: false,
            accept_missing: false,
            may_lift: true,
            allow_write: Vec::new(),
            allow_read: Vec::new(),
            deny_read: Vec::new(),
            limits: LimitOptions::default(),
            limits_at_most: LimitOptions::default(),
        }
    }
}

/// Takes away from a sandbox.
pub type Narrowing = dyn Fn(&mut Sandbox) + Send + Sync;

pub struct Confinement {
    executor: Executor,
    options: ConfineOptions,
    workspace: Live<Workspace>,
    environment: Live<CommandVariables>,
    reach: Derived<Workspace, Derived<CommandVariables, Reach>>,
    found: OnceLock<AvailableLayers>,
    temp: OnceLock<Result<OwnedTemp, String>>,
    limits: OnceLock<ProcessLimits>,
    /// What a sandbox is narrowed to besides, such as a worktree.
    narrowing: Option<Arc<Narrowing>>,
    /// The files that deny rules cover.
    denied: Live<DenyRules>,
    /// What was changed in the workspace and could not be looked at.
    unfinished: Arc<UnfinishedInspections>,
    memory: Arc<WalkMemory>,
}

/// What a call is run with.
#[derive(Clone, Copy, Default)]
pub struct Terms<'a> {
    /// It was allowed to run outside.
    pub lifted: bool,
    pub network: bool,
    /// What was judged that it writes: not frozen.
    pub writes: &'a [PathScope],
    /// It may change settings of git that make nothing run.
    pub git: bool,
    /// It is proved to change nothing.
    pub only_reads: bool,
    /// What it runs, with paths looked up, and the search path for its programs. The kernel holds the command to it.
    pub proof: Option<&'a Commands>,
    pub path: &'a OsStr,
    /// Nobody looks afterwards at what it changed.
    pub unguarded: bool,
    /// Somebody was asked about deny rules that cannot be enforced, and said yes.
    pub accepts_gaps: bool,
}

impl<'a> Terms<'a> {
    pub fn of(commands: &'a Commands, judged: &'a Access, path: &'a OsStr, lifted: bool) -> Self {
        Terms {
            lifted,
            network: !judged.hosts.is_empty(),
            writes: &judged.writes,
            git: commands.changes_by_git() || (commands.runs_git() && !commands.git_only_reads()),
            only_reads: commands.only_reads(),
            proof: Some(judged.runs.as_deref().unwrap_or(commands)),
            path,
            unguarded: false,
            accepts_gaps: matches!(judged.denials, Denials::Unenforced(_)),
        }
    }
}

impl Confinement {
    pub fn new(
        executor: Executor,
        options: ConfineOptions,
        workspace: impl Into<Live<Workspace>>,
        environment: impl Into<Live<CommandVariables>>,
    ) -> Self {
        let workspace = workspace.into();
        Confinement {
            executor,
            options,
            reach: Derived::new(workspace.clone()),
            workspace,
            environment: environment.into(),
            found: OnceLock::new(),
            temp: OnceLock::new(),
            limits: OnceLock::new(),
            narrowing: None,
            denied: Live::default(),
            unfinished: Arc::default(),
            memory: Arc::default(),
        }
    }

    /// No command reaches more than this leaves.
    pub fn narrowed(self, narrowing: Arc<Narrowing>) -> Self {
        Confinement { narrowing: Some(narrowing), ..self }
    }

    /// As on a machine that has these layers, without a look at this one.
    pub fn on_machine(self, found: AvailableLayers) -> Self {
        Confinement { found: OnceLock::from(found), ..self }
    }

    pub fn options(&self) -> &ConfineOptions {
        &self.options
    }

    /// The layers of this machine. Takes some milliseconds the first time, and blocks until it is known.
    pub fn found(&self) -> &AvailableLayers {
        self.found.get_or_init(|| {
            if let Some(found) = self.executor.probed_layers() {
                return found;
            }
            let executor = self.executor.clone();
            // A thread and a runtime of its own: the caller may be the only thread of another one.
            let probe = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map(|runtime| runtime.block_on(executor.probe()))
            };
            let unknown = |why: String| AvailableLayers {
                landlock: Err(why.clone()),
                seccomp: Err(why.clone()),
                bubblewrap: Err(why),
            };
            match std::thread::spawn(probe).join() {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => unknown(error.to_string()),
                Err(_) => unknown("the check failed with an internal error".into()),
            }
        })
    }

    /// The layers are known without a look.
    pub fn is_probed(&self) -> bool {
        self.found.get().is_some() || self.executor.probed_layers().is_some()
    }

    /// Which layers a command gets.
    pub fn layers(&self) -> Layers {
        if self.options.enabled { self.found().layers() } else { Layers::default() }
    }

    /// In one line, for people.
    pub fn summary(&self) -> String {
        if !self.options.enabled {
            return "off (settings)".into();
        }
        let layers = self.layers();
        let names = [
            (layers.landlock, "Landlock"),
            (layers.seccomp, "seccomp"),
            (layers.bubblewrap, "bubblewrap"),
        ];
        let of = |there: bool| {
            let named = names.iter().filter(|(found, _)| *found == there).map(|(_, name)| *name);
            named.collect::<Vec<_>>().join(", ")
        };
        match (of(true), of(false)) {
            (there, missing) if missing.is_empty() => there,
            (there, missing) if there.is_empty() => format!("none ({missing} missing)"),
            (there, missing) => format!("{there} ({missing} missing)"),
        }
    }

    /// What is not held on this machine; none if everything is.
    pub fn missing(&self) -> Option<Missing> {
        let Layers { landlock, seccomp, bubblewrap } = self.layers();
        match () {
            () if self.reach().is_whole_disk() => Some(Missing::Whole),
            () if bubblewrap && seccomp => None,
            () if landlock && seccomp => Some(Missing::Bubblewrap(self.bubblewrap_fault())),
            () => Some(Missing::Floor),
        }
    }

    /// What is wrong with bubblewrap here, as a clause that names it.
    fn bubblewrap_fault(&self) -> String {
        self.found().bubblewrap.as_ref().err().cloned().unwrap_or_default()
    }

    /// How well what these commands do is held.
    pub fn hold(&self, commands: &Commands, lifted: bool) -> Hold {
        if !self.options.enabled {
            return Hold::Whole;
        }
        if lifted {
            return Hold::Lifted;
        }
        match self.not_enforced(commands.only_reads()) {
            Some(missing) if !self.options.accept_missing => Hold::Weak(missing.why()),
            _ => Hold::Whole,
        }
    }

    /// Why a command would not run with every layer of the sandbox around it, accepted or not.
    pub fn not_whole(&self, lifted: bool) -> Option<Cow<'static, str>> {
        match () {
            () if !self.options.enabled => Some("the sandbox is off".into()),
            () if lifted => Some("it would run outside the sandbox".into()),
            () => self.missing().map(|missing| missing.plainly().into()),
        }
    }

    /// What is missing for a command that runs in the sandbox. What is proved to be read-only changes no hook and no
    /// setting, so it does not need bubblewrap.
    pub fn not_enforced(&self, only_reads: bool) -> Option<Missing> {
        let missing = self.options.enabled.then(|| self.missing()).flatten();
        missing.filter(|missing| !(only_reads && matches!(missing, Missing::Bubblewrap(_))))
    }

    /// # Errors
    /// In words, when the command cannot be held as it was judged: it must not run.
    pub fn held(&self, terms: Terms<'_>) -> Result<ConfinedCommand, String> {
        let nothing = ConfinedCommand::default();
        if !self.options.enabled || terms.lifted {
            return Ok(nothing);
        }
        let layers = self.layers();
        let denied = self.denied_for(terms)?;
        let reach = self.reach();
        if reach.is_whole_disk() {
            return Ok(nothing);
        }
        let only_reads = terms.only_reads && !terms.network && layers.landlock && layers.seccomp;
        let is_listable = denied.suits_landlock() && !reach.hides_in_a_root(&self.options);
        if only_reads && (is_listable || !layers.bubblewrap) {
            return self.reading(terms, &denied);
        }
        let written =
            |part: &&PathBuf| terms.writes.iter().any(|scope| part.starts_with(scope.path()));
        let is_setting = |part: &&PathBuf| part.file_name().is_some_and(|name| name == "config");
        let all = reach.parts();
        let rebases = Rebases::of(&all.repositories, terms.git);
        let fixed = all.fixed.iter().chain(&rebases.fixed);
        let parts: Vec<PathBuf> = fixed.filter(|part| !written(part)).cloned().collect();
        let (mut open, frozen): (Vec<PathBuf>, Vec<PathBuf>) = match layers.bubblewrap {
            true => parts.into_iter().partition(|part| terms.git && is_setting(&part)),
            false => (parts, Vec::new()),
        };
        open.extend(all.absent.iter().cloned());
        let guard =
            (!terms.only_reads && !terms.unguarded && !open.is_empty()).then(|| Guard::take(&open));
        let rebases = (!terms.only_reads && !terms.unguarded).then_some(rebases);
        if guard.as_ref().is_some_and(|guard| guard.incomplete) {
            return Err(
                "hooks and settings of git in the workspace are too large or cannot be read, so they cannot be protected".into()
            );
        }
        if terms.git {
            // It may make a repository or a worktree.
            self.forget_repositories();
        }
        if layers == Layers::default() {
            let (sandbox, new_files, _temp) = (None, None, None);
            return Ok(ConfinedCommand { sandbox, guard, rebases, new_files, _temp });
        }
        let only_reads = terms.only_reads && !terms.network;
        let network = terms.network || self.options.network && !only_reads;
        let mut sandbox = self.sandbox(frozen, network, layers)?;
        denied.keep_from(&mut sandbox);
        sandbox.bounds = self.bounds(&Terms { only_reads, ..terms });
        let mut own = None;
        if only_reads {
            // Where Landlock is missing or cannot hide what is denied, read-only mounts enforce it.
            sandbox.readable.append(&mut sandbox.writable);
            own = own_temp(&mut sandbox)?;
        }
        let sandbox = Some(Arc::new(sandbox));
        Ok(ConfinedCommand { sandbox, guard, rebases, new_files: None, _temp: own })
    }

    /// What is proved to be read-only needs no mounts: nothing is writable for it, which Landlock and seccomp enforce by
    /// themselves and at a tenth of the cost. If it needs temporary files, it gets a directory of its own for them.
    fn reading(&self, terms: Terms<'_>, denied: &DeniedPaths) -> Result<ConfinedCommand, String> {
        let layers = Layers { bubblewrap: false, ..self.layers() };
        let mut sandbox = self.sandbox(Vec::new(), false, layers)?;
        denied.keep_from(&mut sandbox);
        sandbox.readable.append(&mut sandbox.writable);
        sandbox.bounds = self.bounds(&terms);
        let own = own_temp(&mut sandbox)?;
        let sandbox = Some(Arc::new(sandbox));
        Ok(ConfinedCommand { sandbox, guard: None, rebases: None, new_files: None, _temp: own })
    }

    /// Nothing of the workspace's repositories may be written that makes git run programs.
    pub fn sandbox(
        &self,
        frozen: Vec<PathBuf>,
        network: bool,
        layers: Layers,
    ) -> Result<Sandbox, String> {
        let reach = self.reach();
        let Workspace { roots, ours, readable, .. } = &reach.workspace;
        let (options, home) = (&self.options, reach.home());
        let mut homes: Vec<PathBuf> = ["/home", "/root"].map(PathBuf::from).to_vec();
        if home.parent().is_some() {
            homes.push(home.clone());
        }
        homes.dedup();
        let mut hidden = folders::hidden(&home, ours);
        hidden.extend(options.deny_read.iter().cloned());
        let around = reach.around();
        let git = around.iter().map(|around| around.git.clone()).collect();
        let mut sandbox = Sandbox {
            writable: [roots.clone(), git, reach.real(&options.allow_write)].concat(),
            readable: [reach.readable(), &reach.real(&options.allow_read)].concat(),
            homes,
            hidden,
            frozen,
            temp: self.temp()?.to_owned(),
            network,
            layers,
            bounds: None,
        };
        sandbox.readable.extend(readable.iter().cloned());
        // Without the rest of its files git would take them for removed.
        sandbox.readable.extend(around.iter().filter_map(|around| around.top.clone()));
        if let Some(narrow) = &self.narrowing {
            narrow(&mut sandbox);
        }
        Ok(sandbox)
    }

    /// Puts a command into the sandbox, with its temporary files and caches in the private directory.
    pub fn confine(&self, command: &mut Command, held: &ConfinedCommand) {
        command.limits = self.limits();
        if let Some(sandbox) = &held.sandbox {
            folders::with_temp(&mut command.env, sandbox.temp_inside(), &sandbox.writable);
            command.sandbox = Some(Arc::clone(sandbox));
        }
    }

    fn temp(&self) -> Result<&Path, String> {
        match self.temp.get_or_init(temp_directory::create) {
            Ok(folder) => Ok(folder.path()),
            Err(why) => Err(format!("cannot create a private temporary directory in {why}")),
        }
    }
}

/// A temporary directory for this command alone, if its bounds let it use one.
fn own_temp(sandbox: &mut Sandbox) -> Result<Option<TempDir>, String> {
    if !sandbox.bounds.as_ref().is_some_and(|bounds| bounds.temp) {
        return Ok(None);
    }
    let made = tempfile::Builder::new().prefix("reading-").tempdir_in(&sandbox.temp);
    let made = made.map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    sandbox.temp = made.path().to_path_buf();
    Ok(Some(made))
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
