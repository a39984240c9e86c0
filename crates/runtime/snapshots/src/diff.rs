//! What differs between two snapshots: told by the records between them.

use crate::error::Error;
use crate::item::SnapshotItem;
use crate::label::Label;
use crate::record::{RecordBody, RecordedChange, SnapshotRecord};
use crate::store::Snapshots;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Snapshots {
    /// What differs between two snapshots, by path.
    pub fn diff(&self, a: u64, b: u64) -> Result<Vec<RecordedChange>, Error> {
        let mut all = self.diffs(&[(a, b)])?;
        all.pop().unwrap_or(Err(Error::Unknown(a)))
    }

    /// The same for several pairs, read once.
    pub fn diffs(
        &self,
        pairs: &[(u64, u64)],
    ) -> Result<Vec<Result<Vec<RecordedChange>, Error>>, Error> {
        let mut records = self.read_journal()?.records;
        records.retain(|record| !matches!(record.body, RecordBody::Note(_)));
        Ok(pairs.iter().map(|(a, b)| between(&records, *a, *b)).collect())
    }
}

/// What one snapshot found to be different from the one before.
#[derive(Clone, Debug)]
pub struct DiffPart {
    pub label: Label,
    /// When the snapshot before was taken, and this one: milliseconds since 1970.
    pub since: u64,
    pub at: u64,
    pub changes: Vec<RecordedChange>,
}

impl Snapshots {
    /// What differs between two snapshots, by the snapshots in between, oldest first.
    pub fn parts(&self, a: u64, b: u64) -> Result<Vec<DiffPart>, Error> {
        let mut records = self.read_journal()?.records;
        records.retain(|record| !matches!(record.body, RecordBody::Note(_)));
        between(&records, a, b)?;
        let before = records.iter().rfind(|record| record.seq <= a);
        let mut since = before.map_or(0, |record| record.at);
        let mut parts = Vec::new();
        for record in records.into_iter().filter(|record| record.seq > a && record.seq <= b) {
            let RecordBody::Delta(changes) = record.body else { return Err(Error::Broken(a, b)) };
            let label = Label::decode(&record.reason);
            parts.push(DiffPart { label, since, at: record.at, changes });
            since = record.at;
        }
        Ok(parts)
    }
}

fn between(records: &[SnapshotRecord], a: u64, b: u64) -> Result<Vec<RecordedChange>, Error> {
    if a > b {
        let turned = |change: RecordedChange| RecordedChange {
            path: change.path,
            before: change.after,
            after: change.before,
        };
        return Ok(between(records, b, a)?.into_iter().map(turned).collect());
    }
    let oldest = records.iter().map(|record| record.seq).min().unwrap_or(0);
    let newest = records.iter().map(|record| record.seq).max().unwrap_or(0);
    for id in [a, b] {
        // The state before the oldest record is known, too, by what that record says was before.
        if id > newest || id + 1 < oldest || id == 0 {
            return Err(Error::Unknown(id));
        }
    }
    let inside = || records.iter().filter(|record| record.seq > a && record.seq <= b);
    // Numbers are given one by one: where some are missing, records were damaged.
    if inside().count() as u64 != b - a {
        return Err(Error::Broken(a, b));
    }
    let mut all: BTreeMap<PathBuf, (Option<SnapshotItem>, Option<SnapshotItem>)> = BTreeMap::new();
    for record in inside() {
        let RecordBody::Delta(changes) = &record.body else { return Err(Error::Broken(a, b)) };
        for change in changes {
            let entry =
                all.entry(change.path.clone()).or_insert_with(|| (change.before.clone(), None));
            entry.1.clone_from(&change.after);
        }
    }
    let same =
        |(before, after): &(Option<SnapshotItem>, Option<SnapshotItem>)| match (before, after) {
            (Some(before), Some(after)) => before.is_same(after),
            (None, None) => true,
            _ => false,
        };
    all.retain(|_, sides| !same(sides));
    let change = |(path, (before, after))| RecordedChange { path, before, after };
    Ok(all.into_iter().map(change).collect())
}
