//! A bounded walk that reads a directory again only if it has changed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names that are looked at in one search for denied files.
const MOST_NAMES: usize = 300_000;
const LONGEST: Duration = Duration::from_secs(10);
/// A directory that has just changed may change again without getting another time. After this long it cannot.
const SETTLED: Duration = Duration::from_millis(50);

/// What one search may cost.
pub(super) struct WalkBudget {
    names: usize,
    until: Instant,
}

impl Default for WalkBudget {
    fn default() -> Self {
        WalkBudget { names: MOST_NAMES, until: Instant::now() + LONGEST }
    }
}

impl WalkBudget {
    #[cfg(test)]
    pub(super) fn of_names(names: usize) -> Self {
        WalkBudget { names, ..WalkBudget::default() }
    }

    pub(super) fn spend(&mut self, names: usize, at: &Path) -> Result<(), String> {
        let shown = at.display();
        match self.names.checked_sub(names) {
            None => Err(format!(
                "the search for files that deny rules cover stopped at {shown}, after {MOST_NAMES} names"
            )),
            Some(_) if Instant::now() > self.until => Err(format!(
                "the search for files that deny rules cover took too long and stopped at {shown}"
            )),
            Some(left) => {
                self.names = left;
                Ok(())
            }
        }
    }
}

/// A name in a directory. A link is neither followed nor taken for a directory.
pub(super) struct TreeEntry {
    pub name: OsString,
    pub ino: u64,
    pub is_dir: bool,
    pub is_link: bool,
}

/// What a walk has found, directory by directory.
pub(super) struct Tree<T> {
    known: HashMap<PathBuf, TreeNode<T>>,
    round: u64,
    /// Directories that were read, for tests.
    pub(super) reads: usize,
}

struct TreeNode<T> {
    stamp: FolderStamp,
    /// When it was first seen with this stamp.
    seen: Instant,
    /// It was read so long after that that a later change gets another stamp.
    settled: bool,
    round: u64,
    names: usize,
    /// It cannot be searched now.
    closed: bool,
    below: Vec<OsString>,
    found: T,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct FolderStamp {
    place: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FolderStamp {
    fn of(meta: &Metadata) -> Self {
        FolderStamp {
            place: (meta.dev(), meta.ino()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            // A command can set the other time back, but not this one.
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree { known: HashMap::new(), round: 0, reads: 0 }
    }
}

impl<T: Default> Tree<T> {
    /// Goes through these directories. `note` is told each name of a directory that is new or has changed, keeps what
    /// counts of it, and says whether to go below; `each` is then shown what was kept of every directory.
    ///
    /// Returns the directories that could not be searched although they are the user's own: a command could give itself
    /// the permission to enter them.
    pub(super) fn walk(
        &mut self,
        starts: &[PathBuf],
        budget: &mut WalkBudget,
        mut note: impl FnMut(&Path, &TreeEntry, &mut T) -> bool,
        mut each: impl FnMut(&Path, &T),
    ) -> Result<Vec<PathBuf>, String> {
        self.round += 1;
        let mut closed = Vec::new();
        let mut waiting: Vec<PathBuf> = starts.to_vec();
        while let Some(path) = waiting.pop() {
            let Ok(meta) = path.symlink_metadata() else { continue };
            if !meta.is_dir() {
                continue;
            }
            let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
            let stamp = FolderStamp::of(&meta);
            let known = self.known.get(&path).filter(|node| node.stamp == stamp);
            if !known.is_some_and(|node| node.settled) {
                let seen = known.map(|node| node.seen);
                let node = self.read((&path, is_ours), stamp, seen, budget, &mut note)?;
                self.known.insert(path.clone(), node);
            }
            let Some(node) = self.known.get_mut(&path) else { continue };
            node.round = self.round;
            budget.spend(node.names + 1, &path)?;
            if node.closed {
                closed.push(path);
                continue;
            }
            each(&path, &node.found);
            waiting.extend(node.below.iter().map(|name| path.join(name)));
        }
        let round = self.round;
        self.known.retain(|_, node| node.round == round);
        Ok(closed)
    }

    fn read(
        &mut self,
        (path, is_ours): (&Path, bool),
        stamp: FolderStamp,
        seen: Option<Instant>,
        budget: &WalkBudget,
        note: &mut impl FnMut(&Path, &TreeEntry, &mut T) -> bool,
    ) -> Result<TreeNode<T>, String> {
        self.reads += 1;
        // Taken before the names are read: what changes meanwhile gets another stamp.
        let now = Instant::now();
        let settled = seen.is_some_and(|seen| now.duration_since(seen) > SETTLED);
        let seen = seen.unwrap_or(now);
        let (below, found) = (Vec::new(), T::default());
        let mut node =
            TreeNode { stamp, seen, settled, round: 0, names: 0, closed: false, below, found };
        let enters = may_enter(path);
        let list = match path.read_dir() {
            Ok(list) if enters => list,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(node),
            _ if is_ours && (!enters || !may_list(path)) => {
                node.closed = true;
                return Ok(node);
            }
            Ok(list) => list,
            // What is not ours and cannot be entered by us cannot be entered by a command either.
            Err(_) if !enters => return Ok(node),
            Err(error) => return Err(format!("cannot list {}: {error}", path.display())),
        };
        for entry in list {
            let unlisted = |error| format!("cannot list {}: {error}", path.display());
            let entry = entry.map_err(unlisted)?;
            node.names += 1;
            if node.names > budget.names {
                let mut spent = WalkBudget { names: 0, ..*budget };
                spent.spend(1, path)?;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let (is_dir, is_link) = (kind.is_dir(), kind.is_symlink());
            let entry = TreeEntry { name: entry.file_name(), ino: entry.ino(), is_dir, is_link };
            if note(path, &entry, &mut node.found) && is_dir {
                node.below.push(entry.name);
            }
        }
        Ok(node)
    }
}

fn may_enter(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn may_list(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(
        tree: &mut Tree<Vec<OsString>>,
        start: &Path,
        budget: usize,
    ) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        tree.walk(
            &[start.to_path_buf()],
            &mut WalkBudget::of_names(budget),
            |_, entry, kept| {
                kept.push(entry.name.clone());
                true
            },
            |_, kept| found.extend(kept.iter().map(|name| name.to_string_lossy().into_owned())),
        )?;
        found.sort();
        Ok(found)
    }

    /// Long enough ago that an unchanged time means an unchanged directory.
    fn settle(tree: &mut Tree<Vec<OsString>>) {
        tree.known.values_mut().for_each(|node| node.settled = true);
    }

    #[test]
    fn only_what_has_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/x"), "").unwrap();
        let mut tree = Tree::default();
        assert_eq!(names(&mut tree, dir.path(), 100).unwrap(), ["a", "b", "x"]);
        assert_eq!(tree.reads, 3);
        settle(&mut tree);
        assert_eq!(names(&mut tree, dir.path(), 100).unwrap(), ["a", "b", "x"]);
        assert_eq!(tree.reads, 3, "nothing has changed");
        fs::write(dir.path().join("a/b/new"), "").unwrap();
        assert_eq!(names(&mut tree, dir.path(), 100).unwrap(), ["a", "b", "new", "x"]);
        assert_eq!(tree.reads, 4, "one directory has changed");
        fs::remove_dir_all(dir.path().join("a/b")).unwrap();
        assert_eq!(names(&mut tree, dir.path(), 100).unwrap(), ["a", "x"]);
        assert_eq!(tree.known.len(), 2, "what is gone is forgotten");
    }

    #[test]
    fn a_directory_that_has_just_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut tree = Tree::default();
        names(&mut tree, dir.path(), 100).unwrap();
        names(&mut tree, dir.path(), 100).unwrap();
        assert_eq!(tree.reads, 2, "its time says nothing yet");
    }

    #[test]
    fn a_search_without_end_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            fs::create_dir(dir.path().join(n.to_string())).unwrap();
        }
        let mut tree = Tree::default();
        assert!(names(&mut tree, dir.path(), 10).unwrap_err().contains("stopped at"));
        assert!(names(&mut tree, dir.path(), 30).is_err(), "directories count, too");
        assert_eq!(names(&mut tree, dir.path(), 100).unwrap().len(), 20);
    }

    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/loop")).unwrap();
        assert_eq!(names(&mut Tree::default(), dir.path(), 100).unwrap(), ["a", "loop"]);
    }
}
