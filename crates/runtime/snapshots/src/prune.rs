//! Old snapshots go by a stated rule; what a kept one needs stays.

use crate::error::Error;
use crate::item::Hash;
use crate::record::{RecordBody, SnapshotRecord};
use crate::signs_of_life::PREFIX;
use crate::store::Snapshots;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// How much is kept: the newest, none older, and no more bytes than that beyond what the directories hold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneRule {
    pub newest: usize,
    pub days: u64,
    pub bytes: u64,
}

impl Default for PruneRule {
    fn default() -> Self {
        PruneRule { newest: 200, days: 14, bytes: 2 << 30 }
    }
}

/// Of snapshots that are gone; older ones are forgotten.
const MOST_NOTES: usize = 1_000;
/// In milliseconds.
const DAY: u64 = 86_400_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub snapshots: usize,
    pub objects: usize,
    pub bytes: u64,
    pub kept: usize,
}

impl Snapshots {
    /// Drops what the rule does not keep; with `dry` only says what would go.
    pub fn prune(&self, rule: PruneRule, dry: bool) -> Result<Pruned, Error> {
        let (mut state, _lock) = self.enter()?;
        let records = self.read_journal()?.records;
        let now = (self.config.now)() / 1_000_000;
        let oldest = now.saturating_sub(rule.days.saturating_mul(DAY));
        let newest = records.iter().filter(|record| is_snapshot(record)).count();
        let mut skipped = newest.saturating_sub(rule.newest.max(1));
        let mut first = 0;
        for (at, record) in records.iter().enumerate() {
            let old = record.at < oldest;
            if is_snapshot(record) && skipped == 0 && !old {
                break;
            }
            skipped = skipped.saturating_sub(usize::from(is_snapshot(record)));
            first = at + 1;
        }
        let current: HashSet<Hash> =
            state.index.iter().flat_map(|index| index.items()).filter_map(|i| i.hash()).collect();
        // From the newest backwards as many as the bytes allow.
        let (mut needed, mut bytes, mut fits) = (current.clone(), 0u64, records.len());
        for (at, record) in records.iter().enumerate().skip(first).rev() {
            for hash in hashes(record).filter(|hash| !current.contains(hash)) {
                if needed.insert(hash) {
                    bytes += self.size_of(&hash);
                }
            }
            if bytes > rule.bytes {
                break;
            }
            fits = at;
        }
        let (dropped, kept) = records.split_at(fits.max(first).min(records.len()));
        let mut needed = current;
        needed.extend(kept.iter().flat_map(hashes));
        let count = |records: &[SnapshotRecord]| records.iter().filter(|r| is_snapshot(r)).count();
        let mut pruned =
            Pruned { snapshots: count(dropped), kept: count(kept), ..Pruned::default() };
        if !dry && !dropped.is_empty() {
            self.rewrite(&mut state, &[&notes(dropped), kept].concat())?;
        }
        if !dry {
            self.forget_the_dead(oldest);
            self.age_edits();
        }
        for path in self.all_objects() {
            if name(&path).is_some_and(|hash| needed.contains(&hash)) {
                continue;
            }
            pruned.objects += 1;
            pruned.bytes += std::fs::metadata(&path).map_or(0, |meta| meta.len());
            if !dry {
                self.disk.remove(&path).map_err(|error| Error::io("remove", &path, error))?;
            }
        }
        Ok(pruned)
    }

    /// Prunes if that was not done for a day.
    pub fn prune_if_due(&self, rule: PruneRule) -> Result<Option<Pruned>, Error> {
        let now = (self.config.now)() / 1_000_000;
        let last = std::fs::read_to_string(self.disk.path("pruned")).ok();
        let last = last.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        if now.saturating_sub(last) < DAY && last <= now {
            return Ok(None);
        }
        let pruned = self.prune(rule, false)?;
        self.disk.replace("pruned", now.to_string().as_bytes())?;
        Ok(Some(pruned))
    }

    /// Signs of life of commands whose snapshots are gone.
    fn forget_the_dead(&self, oldest: u64) {
        let is_old = |entry: &std::fs::DirEntry| {
            let seconds = entry.metadata().map_or(i64::MAX, |meta| meta.mtime());
            u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000) < oldest
        };
        for entry in std::fs::read_dir(&self.disk.dir).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) && is_old(&entry) {
                let _ = self.disk.remove(&entry.path());
            }
        }
    }

    fn size_of(&self, hash: &Hash) -> u64 {
        std::fs::metadata(self.objects().place(hash)).map_or(0, |meta| meta.len())
    }

    fn all_objects(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(self.disk.path("objects")).into_iter().flatten().flatten();
        let files = folders
            .flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.map(|file| file.path()).collect()
    }
}

/// What was undone stays known: otherwise it would be undone once more.
fn notes(dropped: &[SnapshotRecord]) -> Vec<SnapshotRecord> {
    let notes = dropped.iter().filter(|record| !is_snapshot(record));
    let mut notes: Vec<SnapshotRecord> = notes.cloned().collect();
    notes.drain(..notes.len().saturating_sub(MOST_NOTES));
    notes
}

fn is_snapshot(record: &SnapshotRecord) -> bool {
    !matches!(record.body, RecordBody::Note(_))
}

fn hashes(record: &SnapshotRecord) -> impl Iterator<Item = Hash> {
    let changes = match &record.body {
        RecordBody::Delta(changes) => changes.as_slice(),
        RecordBody::Base { .. } | RecordBody::Note(_) => &[],
    };
    changes.iter().flat_map(|change| {
        [&change.before, &change.after].into_iter().flatten().filter_map(|item| item.hash())
    })
}

fn name(object: &std::path::Path) -> Option<Hash> {
    let folder = object.parent()?.file_name()?.to_str()?;
    Hash::from_hex(&format!("{folder}{}", object.file_name()?.to_str()?))
}
