//! What Landlock rules were made from. While all of it is unchanged, making the rules again would
//! give the same rules, so the old ones can be used.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{MemfdFlags, fstat, memfd_create};

/// A directory that changed this shortly before it was listed may change again without a new time
/// stamp, because file systems count time in steps.
const RACY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct RuleInputs {
    /// When it began, by the clock that files are stamped with.
    started: Option<Duration>,
    seen: Vec<SeenPath>,
    /// Names that were missing, by the directory that would change if one of them came to be.
    missing: BTreeMap<PathBuf, MissingNames>,
    racy: bool,
}

#[derive(Debug)]
struct MissingNames {
    stamp: InputStamp,
    names: Vec<PathBuf>,
}

#[derive(Debug)]
struct SeenPath {
    path: PathBuf,
    /// Its entries count, not only which file it is.
    entries: bool,
    stamp: Option<InputStamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InputStamp {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds; zero where only the identity counts.
    changed: (i64, i64),
}

impl RuleInputs {
    /// Call it before anything is looked at.
    pub(crate) fn start() -> Self {
        Self { started: file_clock(), seen: Vec::new(), missing: BTreeMap::new(), racy: false }
    }

    /// The rules depend on which file this name stands for, or on there being none.
    pub(crate) fn identity(&mut self, path: &Path) {
        let stamp = stamp(path, false);
        if stamp.is_some() || !self.is_missing_in_a_directory(path) {
            self.seen.push(SeenPath { path: path.to_path_buf(), entries: false, stamp });
        }
    }

    /// Most of the names that rules depend on do not exist, and most of those would be in the same directory: one look at
    /// that is enough, as long as it has not changed. False where its stamp could not tell.
    fn is_missing_in_a_directory(&mut self, path: &Path) -> bool {
        let Some(above) = directory_above(path) else { return false };
        let Some(stamp) = directory_stamp(above) else { return false };
        // Only now, so that the name was missing after the stamp was read.
        let is_missing =
            path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if !is_missing || stamp.is_recent(self.started) {
            return false;
        }
        let names = || MissingNames { stamp, names: Vec::new() };
        let known = self.missing.entry(above.to_path_buf()).or_insert_with(names);
        let is_same = known.stamp == stamp;
        if is_same {
            known.names.push(path.to_path_buf());
        }
        is_same
    }

    /// The rules depend on the names in this directory. Call it before listing them.
    pub(crate) fn entries(&mut self, path: &Path) {
        let stamp = stamp(path, true);
        self.racy |= stamp.is_none_or(|stamp| stamp.is_recent(self.started));
        self.seen.push(SeenPath { path: path.to_path_buf(), entries: true, stamp });
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        !self.racy
            && self.seen.iter().all(|seen| stamp(&seen.path, seen.entries) == seen.stamp)
            && self.missing.iter().all(|(above, missing)| missing.are_still_missing(above))
    }
}

impl MissingNames {
    fn are_still_missing(&self, above: &Path) -> bool {
        directory_stamp(above) == Some(self.stamp)
            || self.names.iter().all(|name| stamp(name, false).is_none())
    }
}

/// The directory that a missing name would have to appear in, or one of its parents. None if a link on the way leads
/// nowhere: then the name can come to be by a change elsewhere.
fn directory_above(path: &Path) -> Option<&Path> {
    for above in path.ancestors().skip(1) {
        match above.symlink_metadata() {
            Ok(_) => return Some(above),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    None
}

/// Of the directory itself, also where a link leads to it.
fn directory_stamp(path: &Path) -> Option<InputStamp> {
    let data = path.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    let changed = (data.ctime(), data.ctime_nsec());
    Some(InputStamp { device: data.dev(), inode: data.ino(), changed })
}

impl InputStamp {
    /// One from the future, or of which nothing can be said, is not old either.
    fn is_recent(self, now: Option<Duration>) -> bool {
        let (Ok(seconds), Ok(nanos)) = (self.changed.0.try_into(), self.changed.1.try_into())
        else {
            return true;
        };
        let age = now.and_then(|now| now.checked_sub(Duration::new(seconds, nanos)));
        age.is_none_or(|age| age < RACY)
    }
}

/// The stamp that a file gets which is made now.
fn file_clock() -> Option<Duration> {
    let data = fstat(memfd_create(c"clock", MemfdFlags::CLOEXEC).ok()?).ok()?;
    let (seconds, nanos) =
        (u64::try_from(data.st_ctime).ok()?, u32::try_from(data.st_ctime_nsec).ok()?);
    Some(Duration::new(seconds, nanos))
}

fn stamp(path: &Path, entries: bool) -> Option<InputStamp> {
    let data = path.symlink_metadata().ok()?;
    let changed = if entries { (data.ctime(), data.ctime_nsec()) } else { (0, 0) };
    Some(InputStamp { device: data.dev(), inode: data.ino(), changed })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if the directory had been listed long after its last change.
    fn settled(mut watch: RuleInputs) -> RuleInputs {
        watch.racy = false;
        watch
    }

    #[test]
    fn a_changed_directory_a_replaced_file_and_a_new_one_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["listed", "named", "other"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let watch = || {
            let mut watch = RuleInputs::start();
            watch.entries(&at("listed"));
            watch.identity(&at("named"));
            watch.identity(&at("missing"));
            settled(watch)
        };
        assert!(watch().is_unchanged());
        let before = watch();
        std::fs::write(at("named").join("new"), "").unwrap();
        assert!(before.is_unchanged(), "what is granted as a whole may change inside");
        std::fs::rename(at("named"), at("old")).unwrap();
        std::fs::rename(at("other"), at("named")).unwrap();
        assert!(!before.is_unchanged());
        let before = watch();
        std::fs::write(at("missing"), "").unwrap();
        assert!(!before.is_unchanged());
    }

    /// As if the directories had last changed long before they were looked at.
    fn aged() -> RuleInputs {
        let started = file_clock().map(|now| now + RACY + RACY);
        RuleInputs { started, ..RuleInputs::start() }
    }

    #[test]
    fn missing_names_are_looked_for_again_when_their_directory_changes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let watch = || {
            let mut watch = aged();
            ["one", "two", "not/yet/there"].iter().for_each(|name| watch.identity(&at(name)));
            watch
        };
        let before = watch();
        assert_eq!((before.seen.len(), before.missing.len()), (0, 1), "one look for all of them");
        assert!(before.is_unchanged());
        std::fs::write(at("other"), "").unwrap();
        assert!(before.is_unchanged(), "the directory has changed, but none of the names");
        std::fs::create_dir(at("not")).unwrap();
        assert!(before.is_unchanged());
        let between = watch();
        assert_eq!(between.missing.len(), 2);
        std::fs::create_dir_all(at("not/yet/there")).unwrap();
        assert!(!before.is_unchanged() && !between.is_unchanged());
        let before = watch();
        std::fs::write(at("two"), "").unwrap();
        assert!(!before.is_unchanged());
    }

    /// The directory that holds the link does not change when what it leads to comes to be.
    #[test]
    fn a_name_behind_a_link_that_leads_nowhere_is_looked_for_every_time() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = elsewhere.path().join("target");
        std::os::unix::fs::symlink(&target, dir.path().join("link")).unwrap();
        let mut watch = aged();
        watch.identity(&dir.path().join("link/name"));
        assert!(watch.is_unchanged());
        std::fs::create_dir(&target).unwrap();
        assert!(watch.is_unchanged(), "the name is still missing");
        std::fs::write(target.join("name"), "").unwrap();
        assert!(!watch.is_unchanged());
    }

    /// Another directory in its place may have the name.
    #[test]
    fn a_link_that_is_turned_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("old")).unwrap();
        std::fs::create_dir(at("new")).unwrap();
        std::fs::write(at("new/name"), "").unwrap();
        std::os::unix::fs::symlink("old", at("link")).unwrap();
        let mut watch = aged();
        watch.identity(&at("link/name"));
        assert!(watch.is_unchanged());
        std::fs::remove_file(at("link")).unwrap();
        std::os::unix::fs::symlink("new", at("link")).unwrap();
        assert!(!watch.is_unchanged());
    }

    #[test]
    fn a_directory_that_changed_just_now_is_listed_again() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("new"), "").unwrap();
        let mut watch = RuleInputs::start();
        watch.entries(dir.path());
        assert!(!watch.is_unchanged());
        let old = InputStamp { device: 1, inode: 1, changed: (1_000_000, 5) };
        let now = file_clock();
        assert!(now.is_some() && !old.is_recent(now) && old.is_recent(None));
        assert!(InputStamp { changed: (i64::MAX, 0), ..old }.is_recent(now));
        assert!(InputStamp { changed: (-1, 0), ..old }.is_recent(now));
    }
}
