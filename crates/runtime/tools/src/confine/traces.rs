//! A bounded walk that looks for repositories and for files that others run, and by what a change of them is noticed.

use super::repository::{can_be_shared, is_repository};
use super::walk_memory::{FolderNames, FolderTime, WalkMemory};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Names that a walk looks at. It takes seconds at worst, and tens of megabytes.
pub(super) const MOST_NAMES: usize = 1_000_000;
/// Levels of directories; each is a call of a function.
pub(super) const MOST_LEVELS: usize = 256;
const MOST_HOOKS: usize = 200;
/// The clock of files may be behind ours by this much, in nanoseconds.
const CLOCK: i64 = 20_000_000;

/// Of a repository: the parts that decide what git runs.
const PARTS: [&str; 4] = ["config", "config.worktree", "commondir", "hooks"];
/// The parts that make it one. Where nobody looked before the command, a new one counts as a change.
const VITAL: [&str; 3] = ["HEAD", "objects", "refs"];

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Traces {
    /// Repositories, and `.git` that is a file or a link.
    pub(super) repositories: BTreeMap<PathBuf, TraceStamp>,
    pub(super) links: BTreeMap<PathBuf, TraceStamp>,
    /// Files that were asked for.
    pub(super) files: BTreeMap<PathBuf, TraceStamp>,
    /// Where the walk ended before it had seen everything.
    pub(super) unfinished: Option<UnfinishedWalk>,
    names: usize,
    most_names: usize,
}

/// A walk that reached a limit: nothing is known of what it did not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnfinishedWalk {
    pub(super) root: PathBuf,
    pub(super) at: PathBuf,
}

/// Differs when something was changed. No program can set the times that it is made of.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct TraceStamp {
    all: u64,
    newest: i64,
}

impl TraceStamp {
    fn of(paths: impl Iterator<Item = PathBuf>) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut newest = i64::MIN;
        for path in paths {
            let Ok(meta) = path.symlink_metadata() else { continue };
            let time = meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec());
            (path, meta.ino(), meta.len(), meta.mode(), time).hash(&mut hasher);
            newest = newest.max(time);
        }
        TraceStamp { all: hasher.finish(), newest }
    }

    pub(super) fn is_same(&self, other: &TraceStamp) -> bool {
        self.all == other.all
    }

    /// `since` is in nanoseconds since 1970.
    pub(super) fn is_since(&self, since: i64) -> bool {
        self.newest >= since.saturating_sub(CLOCK)
    }
}

pub(super) fn look(roots: &[PathBuf], most_names: usize, wanted: &dyn Fn(&Path) -> bool) -> Traces {
    walk(roots, most_names, wanted, None)
}

/// The same, where no files are wanted. Directories that have not changed since earlier walks are not read.
pub(super) fn look_again(roots: &[PathBuf], most_names: usize, memory: &WalkMemory) -> Traces {
    walk(roots, most_names, &|_| false, Some(memory))
}

fn walk(
    roots: &[PathBuf],
    most_names: usize,
    wanted: &dyn Fn(&Path) -> bool,
    memory: Option<&WalkMemory>,
) -> Traces {
    let mut found = Traces { most_names, ..Traces::default() };
    for root in roots {
        found.folder(root, 0, (wanted, memory));
        if let Some(unfinished) = &mut found.unfinished {
            root.clone_into(&mut unfinished.root);
            break;
        }
    }
    found
}

/// Which files are wanted, and what earlier walks saw.
type Look<'a> = (&'a dyn Fn(&Path) -> bool, Option<&'a WalkMemory>);

impl Traces {
    /// False: a limit is reached, and nothing more is looked at.
    fn may_look(&mut self, folder: &Path, level: usize) -> bool {
        if self.unfinished.is_none() && (self.names > self.most_names || level > MOST_LEVELS) {
            let at = folder.to_owned();
            self.unfinished = Some(UnfinishedWalk { root: at.clone(), at });
        }
        self.unfinished.is_none()
    }

    fn folder(&mut self, folder: &Path, level: usize, (wanted, memory): Look<'_>) {
        if !self.may_look(folder, level) {
            return;
        }
        let stamp = memory.and_then(|_| FolderTime::of(folder));
        let known = memory.zip(stamp).and_then(|(memory, stamp)| memory.names(folder, stamp));
        let below = match known {
            Some(FolderNames { count, below }) => {
                self.names += count;
                below
            }
            None => match self.read(folder, level, (wanted, memory), stamp) {
                Some(below) => below,
                None => return,
            },
        };
        for name in below {
            self.folder(&folder.join(name), level + 1, (wanted, memory));
        }
    }

    /// The directories below it; none if nothing there is looked at.
    fn read(
        &mut self,
        folder: &Path,
        level: usize,
        (wanted, memory): Look<'_>,
        stamp: Option<FolderTime>,
    ) -> Option<Vec<OsString>> {
        let began = Instant::now();
        let (mut below, mut count) = (Vec::new(), 0);
        // Both kinds of repositories have one of these.
        let (mut may_be_repository, mut has_link) = (false, false);
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            (self.names, count) = (self.names + 1, count + 1);
            if !self.may_look(folder, level) {
                return None;
            }
            let name = entry.file_name();
            may_be_repository |= name == "HEAD" || name == "objects";
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                below.push(name);
                continue;
            }
            let path = entry.path();
            if name == ".git" {
                has_link = true;
                self.links.insert(path.clone(), TraceStamp::of([path].into_iter()));
            } else if wanted(&path) {
                self.files.insert(path.clone(), TraceStamp::of([path].into_iter()));
            }
        }
        below.sort();
        match (memory, stamp) {
            (Some(memory), Some(stamp)) if !may_be_repository && !has_link => {
                memory.keep(folder, stamp, began, || FolderNames { count, below: below.clone() });
            }
            (Some(memory), _) => memory.forget(folder),
            (None, _) => {}
        }
        if may_be_repository && (is_repository(folder) || can_be_shared(folder)) {
            self.repository(folder);
            // A bare one may hold ordinary files as well.
            if folder.file_name().is_some_and(|name| name == ".git") {
                return None;
            }
        }
        Some(below)
    }

    /// With those of its submodules.
    fn repository(&mut self, folder: &Path) {
        let hooks = folder.join("hooks").read_dir().into_iter().flatten().flatten();
        let mut hooks: Vec<PathBuf> = hooks.take(MOST_HOOKS).map(|entry| entry.path()).collect();
        hooks.sort();
        let is_full = hooks.len() == MOST_HOOKS;
        let parts = PARTS.map(|name| folder.join(name)).into_iter().chain(hooks);
        let mut stamp = TraceStamp::of(parts);
        let vital = VITAL.map(|name| folder.join(name)).into_iter().chain([folder.to_owned()]);
        stamp.newest = stamp.newest.max(TraceStamp::of(vital).newest);
        if is_full {
            stamp.newest = i64::MAX;
        }
        self.repositories.insert(folder.to_owned(), stamp);
        self.modules(&folder.join("modules"), 0);
    }

    fn modules(&mut self, folder: &Path, level: usize) {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        for entry in entries {
            self.names += 1;
            if !self.may_look(folder, level) {
                return;
            }
            let path = entry.path();
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true if is_repository(&path) => self.repository(&path),
                // A submodule's name may have slashes.
                true => self.modules(&path, level + 1),
                false => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_makes_a_folder_a_repository_counts_where_nobody_looked_before() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join("x/.git");
        for name in ["objects", "refs"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        fs::write(git.join("config"), "").unwrap();
        let time = |name: &str| {
            let meta = git.join(name).symlink_metadata().unwrap();
            meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
        };
        let settings = time("config");
        // The clock of files goes in steps.
        while fs::write(git.join("HEAD"), "x").is_err() || time("HEAD") == settings {}
        let found = look(&[dir.path().to_owned()], MOST_NAMES, &|_| false);
        assert!(found.repositories[&git].newest >= time("HEAD"));
    }

    #[test]
    fn what_has_not_changed_is_not_read_again_and_what_has_changed_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        let memory = WalkMemory::default();
        let again = || look_again(std::slice::from_ref(&root), MOST_NAMES, &memory);
        again();
        assert_eq!(memory.trusted(), 0, "their times say nothing yet");
        memory.age();
        again();
        assert_eq!(memory.trusted(), 4);
        assert_eq!(again().names, 4, "what was not read counts all the same");
        let git = root.join("a/b/c/.git");
        fs::create_dir_all(git.join("refs")).unwrap();
        assert!(again().repositories.is_empty());
        fs::create_dir(git.join("objects")).unwrap();
        fs::write(git.join("HEAD"), "x").unwrap();
        assert_eq!(again().repositories.into_keys().collect::<Vec<_>>(), [git]);
        fs::write(root.join("a/.git"), "gitdir: x").unwrap();
        assert_eq!(again().links.into_keys().collect::<Vec<_>>(), [root.join("a/.git")]);
        memory.age();
        assert_eq!(again().links.len() + again().repositories.len(), 2, "found every time");
        fs::remove_dir_all(root.join("a/b")).unwrap();
        assert!(again().repositories.is_empty());
        fs::rename(root.join("a"), root.join("d")).unwrap();
        assert_eq!(again().links.into_keys().collect::<Vec<_>>(), [root.join("d/.git")]);
        let most = |names| look_again(std::slice::from_ref(&root), names, &memory);
        assert!(most(1).unfinished.is_some() && most(5).unfinished.is_none());
    }

    #[test]
    fn a_walk_that_reaches_a_limit_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        for name in ["a/one", "a/two", "b/three"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let ended = |most| look(std::slice::from_ref(&root), most, &|_| false).unfinished;
        assert_eq!(ended(5), None);
        let at = root.join("b");
        assert_eq!(ended(4), Some(UnfinishedWalk { root: root.clone(), at }));
        // Too deep for the walk, and a path that is not too long for the system.
        let deep = "x/".repeat(MOST_LEVELS + 1);
        fs::create_dir_all(root.join(&deep)).unwrap();
        let found = ended(MOST_NAMES).unwrap();
        assert_eq!((found.root, found.at), (root.clone(), root.join(deep.trim_end_matches('/'))));
    }
}
