//! Signs of life of a running command, for the case that nobody sees it end: what was changed between the first and the
//! last of them is its work, anything else a person's.
//!
//! They are the times of a file in the store, by the clock that stamps the files of the folders, too.

use crate::error::Error;
use crate::item::{Hash, Item, What, Why};
use crate::label::Label;
use crate::places::is_object;
use crate::record::Change;
use crate::store::Snapshots;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(crate) const PREFIX: &str = "alive-";

/// A command that runs.
#[derive(Debug)]
pub struct Alive {
    path: PathBuf,
    file: File,
}

/// From the first sign to the last, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lived {
    from: i64,
    to: i64,
}

impl Lived {
    fn has(&self, at: i64) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

impl Alive {
    /// It still runs.
    pub fn beat(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        // Without it less counts as the command's work.
        let _ = futimens(&self.file, &Timestamps { last_access: now, last_modification: now });
    }

    /// Its end was seen and written down.
    pub fn ended(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Snapshots {
    /// A command begins; whoever wants to undo meanwhile is told its name.
    pub fn alive(&self, call: &str, before: u64, command: &str) -> Result<Alive, Error> {
        let path = self.sign(call, before);
        let mut new = OpenOptions::new();
        let open = new.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let begun = open.and_then(|mut file| {
            // Also when the file was there before.
            file.write_all(b" ")?;
            let from = changed(&file.metadata()?);
            let name = Label::new("", self.session.as_deref(), Some(command));
            let (session, command) = (name.session, name.command.unwrap_or_default());
            let name = session.map(|session| format!("\n{session} {command}"));
            file.write_all(format!("{from}{}", name.unwrap_or_default()).as_bytes())?;
            Ok(file)
        });
        let file = begun.map_err(|error| Error::io("write", &path, error))?;
        Ok(Alive { path, file })
    }

    /// When a command lived whose end nobody saw.
    pub fn lived(&self, call: &str, before: u64) -> Option<Lived> {
        let path = self.sign(call, before);
        let to = changed(&std::fs::metadata(&path).ok()?);
        let text = std::fs::read_to_string(&path).ok()?;
        let from = text.lines().next()?.trim().parse().ok()?;
        Some(Lived { from, to })
    }

    fn sign(&self, call: &str, before: u64) -> PathBuf {
        let name = Hash::of(format!("{before} {call}").as_bytes()).hex();
        self.disk.path(&format!("{PREFIX}{}", name.get(..32).unwrap_or_default()))
    }

    /// Parts changes into the work of a command and what is not proved to be. What is gone counts as its work: to bring
    /// it back costs nobody anything.
    pub fn part_by_life(
        &self,
        changes: Vec<Change>,
        lived: Option<Lived>,
    ) -> (Vec<Change>, Vec<Change>) {
        let in_life = |at: i64| lived.is_some_and(|lived| lived.has(at));
        let is_early = |at: i64| lived.is_some_and(|lived| at < lived.from);
        // What is moved along with a folder keeps its own times.
        let moved: HashSet<PathBuf> = changes
            .iter()
            .filter(|change| {
                change.before.is_none() && change.after.as_ref().is_some_and(is_folder)
            })
            .filter(|change| folder_changed(&change.path).is_some_and(in_life))
            .map(|change| change.path.clone())
            .collect();
        let is_own = |change: &Change| match &change.after {
            None => true,
            Some(item) if is_folder(item) => {
                let made = change.before.is_none().then(|| folder_made(&change.path)).flatten();
                made.is_some_and(in_life) || folder_changed(&change.path).is_some_and(in_life)
            }
            Some(item) => {
                let at = item.changed_at();
                let along = || change.path.ancestors().skip(1).any(|path| moved.contains(path));
                in_life(at) || (is_early(at) && along())
            }
        };
        let harmless = |change: &Change| change.before.is_none() && is_object(&change.path);
        changes.into_iter().filter(|change| !harmless(change)).partition(is_own)
    }
}

fn is_folder(item: &Item) -> bool {
    matches!(item.what, What::Folder | What::LeftOut(Why::Build))
}

fn changed(meta: &std::fs::Metadata) -> i64 {
    meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec())
}

fn folder_changed(path: &Path) -> Option<i64> {
    std::fs::symlink_metadata(path).ok().map(|meta| changed(&meta))
}

/// Not every file system knows.
fn folder_made(path: &Path) -> Option<i64> {
    let made = std::fs::symlink_metadata(path).ok()?.created().ok()?;
    i64::try_from(made.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}
