//! Signs of life of a running command, for the case that nobody sees it end: what was changed between the first and the
//! last of them is its work, anything else a person's.
//!
//! They are the times of a file in the store. Where the directories are on a file system with another clock, that clock
//! at the beginning is written into it.

use crate::clock::Moment;
use crate::codec::{ByteReader, put_bytes};
use crate::error::Error;
use crate::item::{Hash, SnapshotItem, What, Why};
use crate::label::Label;
use crate::record::RecordedChange;
use crate::special_names::is_object;
use crate::store::Snapshots;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, futimens, statat};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(crate) const PREFIX: &str = "alive-";
/// Written first, so that the file has a time of its own.
const MARK: &[u8] = b" ";

/// A command that runs.
#[derive(Debug)]
pub struct Alive {
    path: PathBuf,
    file: File,
}

/// From the first sign to the last, in nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lived {
    from: i64,
    to: i64,
    /// Other clocks: where their file systems begin, innermost first, the time of the beginning, and how fine it is.
    others: Vec<(PathBuf, i64, i64)>,
}

impl Lived {
    /// By the clock of a path. One that is not so fine, or not on this machine, leaves open when exactly it ended.
    fn at(&self, path: &Path) -> RangeInclusive<i64> {
        match self.others.iter().find(|(mount, ..)| path.starts_with(mount)) {
            Some((_, from, grain)) => {
                *from..=from.saturating_add(self.to - self.from).saturating_add(*grain)
            }
            None => self.from..=self.to,
        }
    }

    fn has(&self, path: &Path, at: i64) -> bool {
        self.at(path).contains(&at)
    }
}

/// What the file of a command says.
pub(crate) struct Sign {
    from: i64,
    /// Whose command it is.
    pub label: Label,
    others: Vec<(PathBuf, i64, i64)>,
}

impl Sign {
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MARK)?;
        // The first release wrote the beginning as a text, and nothing else.
        let first = std::str::from_utf8(rest).ok().and_then(|text| text.trim().parse().ok());
        if let Some(from) = first {
            return Some(Sign { from, label: Label::default(), others: Vec::new() });
        }
        let mut rest = ByteReader::new(rest);
        let from = rest.i64()?;
        let label = Label::decode(std::str::from_utf8(rest.bytes()?).ok()?);
        let mut sign = Sign { from, label, others: Vec::new() };
        while !rest.is_empty() {
            let mount = PathBuf::from(OsStr::from_bytes(rest.bytes()?));
            sign.others.push((mount, rest.i64()?, rest.i64()?));
        }
        Some(sign)
    }

    fn lived(self, to: i64) -> Lived {
        Lived { from: self.from, to, others: self.others }
    }
}

/// What [`Sign::decode`] reads, after the mark.
fn encode(from: i64, label: &Label, began: &Moment) -> Vec<u8> {
    let age = began.age();
    let mut out = from.to_le_bytes().to_vec();
    put_bytes(&mut out, label.encode().as_bytes());
    for (mount, clock) in began.clocks() {
        // Between the two looks at the clocks other work may have taken its time.
        let apart = from.saturating_sub(clock.now);
        let is_ours = clock.is_fine() && (-clock.grain..clock.grain + age).contains(&apart);
        let (time, grain) = if is_ours { (from, 0) } else { (clock.now, clock.grain) };
        put_bytes(&mut out, mount.as_os_str().as_bytes());
        out.extend_from_slice(&time.to_le_bytes());
        out.extend_from_slice(&grain.to_le_bytes());
    }
    out
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
    pub fn alive(
        &self,
        call: &str,
        before: u64,
        command: &str,
        began: &Moment,
    ) -> Result<Alive, Error> {
        let path = self.sign(call, before);
        let mut new = OpenOptions::new();
        let open = new.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let begun = open.and_then(|mut file| {
            // Also when the file was there before.
            file.write_all(MARK)?;
            let from = changed(&file.metadata()?);
            let label = Label::new("", self.session.as_deref(), Some(command));
            file.write_all(&encode(from, &label, began))?;
            Ok(file)
        });
        let file = begun.map_err(|error| Error::io("write", &path, error))?;
        Ok(Alive { path, file })
    }

    /// When a command lived whose end nobody saw.
    pub fn lived(&self, call: &str, before: u64) -> Option<Lived> {
        let path = self.sign(call, before);
        let to = changed(&std::fs::metadata(&path).ok()?);
        Some(Sign::decode(&std::fs::read(&path).ok()?)?.lived(to))
    }

    fn sign(&self, call: &str, before: u64) -> PathBuf {
        let name = Hash::of(format!("{before} {call}").as_bytes()).hex();
        self.disk.path(&format!("{PREFIX}{}", name.get(..32).unwrap_or_default()))
    }

    /// Parts changes into the work of a command and what is not proved to be. What is gone counts as its work: to bring
    /// it back costs nobody anything.
    pub fn part_by_life(
        &self,
        changes: Vec<RecordedChange>,
        lived: Option<Lived>,
    ) -> (Vec<RecordedChange>, Vec<RecordedChange>) {
        let lived = lived.as_ref();
        let in_life = |path: &Path, at: i64| lived.is_some_and(|lived| lived.has(path, at));
        let is_early =
            |path: &Path, at: i64| lived.is_some_and(|lived| at < *lived.at(path).start());
        let changed_in_life =
            |path: &Path| self.folder_changed(path).is_some_and(|at| in_life(path, at));
        // What is moved along with a directory keeps its own times.
        let moved: HashSet<PathBuf> = changes
            .iter()
            .filter(|change| {
                change.before.is_none() && change.after.as_ref().is_some_and(is_folder)
            })
            .filter(|change| changed_in_life(&change.path))
            .map(|change| change.path.clone())
            .collect();
        let is_own = |change: &RecordedChange| match &change.after {
            None => true,
            Some(item) if is_folder(item) => {
                let made = change.before.is_none().then(|| folder_made(&change.path)).flatten();
                made.is_some_and(|at| in_life(&change.path, at)) || changed_in_life(&change.path)
            }
            Some(item) => {
                let at = item.changed_at();
                let along = || change.path.ancestors().skip(1).any(|path| moved.contains(path));
                in_life(&change.path, at) || (is_early(&change.path, at) && along())
            }
        };
        let harmless = |change: &RecordedChange| change.before.is_none() && is_object(&change.path);
        changes.into_iter().filter(|change| !harmless(change)).partition(is_own)
    }

    fn folder_changed(&self, path: &Path) -> Option<i64> {
        let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(self.disk.stamp(&stat).ctime)
    }
}

fn is_folder(item: &SnapshotItem) -> bool {
    matches!(item.what, What::Folder | What::LeftOut(Why::Build))
}

fn changed(meta: &std::fs::Metadata) -> i64 {
    meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec())
}

/// Not every file system knows.
fn folder_made(path: &Path) -> Option<i64> {
    let made = std::fs::symlink_metadata(path).ok()?.created().ok()?;
    i64::try_from(made.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}
