//! What Landlock rules were made from. While all of it is unchanged, making the rules again would
//! give the same rules, so the old ones can be used.

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
    racy: bool,
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
        Self { started: file_clock(), seen: Vec::new(), racy: false }
    }

    /// The rules depend on which file this name stands for, or on there being none.
    pub(crate) fn identity(&mut self, path: &Path) {
        let seen = SeenPath { path: path.to_path_buf(), entries: false, stamp: stamp(path, false) };
        self.seen.push(seen);
    }

    /// The rules depend on the names in this directory. Call it before listing them.
    pub(crate) fn entries(&mut self, path: &Path) {
        let stamp = stamp(path, true);
        self.racy |= stamp.is_none_or(|stamp| stamp.is_recent(self.started));
        self.seen.push(SeenPath { path: path.to_path_buf(), entries: true, stamp });
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        !self.racy && self.seen.iter().all(|seen| stamp(&seen.path, seen.entries) == seen.stamp)
    }
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
