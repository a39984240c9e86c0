//! Whether a text that a project brings along may be sent to the model without anybody having asked to read it.
//!
//! Instruction files, what they import and skills are judged like a call of Read. Nobody can be asked at that moment,
//! so a call that would ask is denied.

use ostler_core::permission::{
    Access, By, Live, Matcher, Mode, PathScope, Policy, READING, Verdict, Workspace, decide,
};
use ostler_instructions::InstructionRequest;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Entries that are looked at to find the other names of a file.
const ENTRIES: usize = 20_000;
/// Files whose other names are remembered.
const REMEMBERED: usize = 200;

pub(crate) struct ReadJudge {
    policy: Policy,
    /// Without rules about Read as a whole: they speak of the tool, not of a file.
    on_files: Policy,
    workspace: Live<Workspace>,
    project: PathBuf,
    other_names: Mutex<HashMap<Inode, Result<Vec<PathBuf>, String>>>,
}

/// A file as it was when its names were looked for; a new or renamed link changes the time.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Inode {
    place: (u64, u64),
    links: u64,
    changed: (i64, i64),
}

impl ReadJudge {
    pub(crate) fn new(
        policy: &Policy,
        workspace: impl Into<Live<Workspace>>,
        project: &Path,
    ) -> Self {
        let mut on_files = policy.clone();
        for rules in [&mut on_files.deny, &mut on_files.ask] {
            rules.retain(|rule| !matches!(rule.matcher, Matcher::Whole));
        }
        ReadJudge {
            policy: policy.clone(),
            on_files,
            workspace: workspace.into(),
            project: project.canonicalize().unwrap_or_else(|_| project.to_owned()),
            other_names: Mutex::default(),
        }
    }

    /// # Errors
    /// With the reason if the file must not be read.
    pub(crate) fn instructions(&self, request: &InstructionRequest<'_>) -> Result<(), String> {
        let policy = if request.imported { &self.policy } else { &self.on_files };
        self.judge(policy, (request.path, request.real), request.own)
    }

    /// # Errors
    /// With the reason if the file must not be read.
    pub(crate) fn skill(&self, file: &Path, real: &Path) -> Result<(), String> {
        let of_project = real.starts_with(&self.project);
        if of_project && !real.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
            return Err(format!("it leads to {}, which is not a .md file", real.display()));
        }
        self.judge(&self.on_files, (file, real), !of_project)
    }

    /// `own`: the file is the person's, so our directories are no secret and its other names are of no concern.
    fn judge(
        &self,
        policy: &Policy,
        (path, real): (&Path, &Path),
        own: bool,
    ) -> Result<(), String> {
        self.by_name(policy, real, own)?;
        if let Some(named) = in_real_folder(path).filter(|named| named != real) {
            self.by_name(policy, &named, own)?;
        }
        if own {
            return Ok(());
        }
        for other in self.other_names(real)? {
            self.by_name(policy, &other, own)
                .map_err(|why| format!("it is another name of {} and {why}", other.display()))?;
        }
        Ok(())
    }

    fn by_name(&self, policy: &Policy, path: &Path, own: bool) -> Result<(), String> {
        let access = Access { reads: vec![PathScope::File(path.to_owned())], ..Access::nothing() };
        let decision = decide(READING, &access, policy, Mode::Default, &self.workspace.now());
        let counts = |by: By| by == By::Rule || (by == By::BuiltIn && !own);
        let decisive = decision.reasons.iter().any(|reason| counts(reason.by));
        match decision.verdict {
            Verdict::Allow => Ok(()),
            _ if !decisive => Ok(()),
            _ => Err(decision.why()),
        }
    }

    /// All names of a file that has several. A name that cannot be found may be one that a rule is about.
    fn other_names(&self, real: &Path) -> Result<Vec<PathBuf>, String> {
        let data = real.metadata().map_err(|error| format!("it cannot be read: {error}"))?;
        if data.nlink() <= 1 {
            return Ok(Vec::new());
        }
        let inode = Inode {
            place: (data.dev(), data.ino()),
            links: data.nlink(),
            changed: (data.ctime(), data.ctime_nsec()),
        };
        let mut known = self.other_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.get(&inode) {
            return names.clone();
        }
        let mut roots = vec![self.project.clone()];
        roots.extend(self.workspace.now().roots.iter().cloned());
        let names = names_of(inode, &roots);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(inode, names.clone());
        names
    }
}

/// The path as it was named, in a directory that is free of links.
fn in_real_folder(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?.canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

/// Every name of the file below the roots.
fn names_of(file: Inode, roots: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let (mut names, mut todo, mut looked_at) = (Vec::new(), Vec::new(), 0);
    for root in roots {
        if !roots.iter().any(|other| root != other && root.starts_with(other))
            && !todo.contains(root)
        {
            todo.push(root.clone());
        }
    }
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > ENTRIES {
                return Err(unfound(file));
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                todo.push(entry.path());
            } else if kind.is_file()
                && entry.metadata().is_ok_and(|data| (data.dev(), data.ino()) == file.place)
            {
                names.push(entry.path());
            }
        }
        if names.len() as u64 >= file.links {
            return Ok(names);
        }
    }
    Err(unfound(file))
}

fn unfound(file: Inode) -> String {
    let links = file.links;
    format!("it has {links} names (hard links), and not all of them were found in the project")
}
