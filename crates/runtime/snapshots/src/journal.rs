//! The file of records: read whole, written at its end, repaired by whoever holds the store's lock.

use crate::error::Error;
use crate::label::Label;
use crate::record::{RecordBody, SHORTEST, SnapshotRecord, is_torn, scan};
use crate::store::Snapshots;

pub(crate) const JOURNAL: &str = "journal";

/// What the file holds.
pub(crate) struct RecordFile {
    pub records: Vec<SnapshotRecord>,
    /// How many bytes at the front they take; the rest is damaged.
    good: usize,
    bytes: Vec<u8>,
}

impl RecordFile {
    /// The records that are lost had numbers, at most so many.
    fn lost_numbers(&self) -> u64 {
        let rest = self.bytes.get(self.good..).unwrap_or_default();
        if is_torn(rest) { 0 } else { (rest.len() / SHORTEST + 1) as u64 }
    }
}

impl Snapshots {
    pub(crate) fn read_journal(&self) -> Result<RecordFile, Error> {
        let path = self.disk.path(JOURNAL);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        let (records, good) = scan(&bytes);
        Ok(RecordFile { records, good, bytes })
    }

    pub(crate) fn append(&self, seq: u64, label: &Label, body: RecordBody) -> Result<(), Error> {
        self.disk.append(JOURNAL, &self.record(seq, label, body).encode())
    }

    fn record(&self, seq: u64, label: &Label, body: RecordBody) -> SnapshotRecord {
        let at = (self.config.now)() / 1_000_000;
        SnapshotRecord { seq, at, reason: label.encode(), body }
    }

    /// Cuts off what is damaged. A record that was being written when its process died was given to nobody. Where more
    /// is lost, its numbers are skipped: the logs of sessions name snapshots by them. Only while the lock is held.
    pub(crate) fn repair(&self, journal: &mut RecordFile) -> Result<(), Error> {
        if journal.good == journal.bytes.len() {
            return Ok(());
        }
        let lost = journal.lost_numbers();
        let mut bytes = journal.bytes.get(..journal.good).unwrap_or_default().to_vec();
        if lost > 0 {
            let last = journal.records.iter().map(|record| record.seq).max().unwrap_or(0);
            let label = Label::new("records were damaged", None, None);
            let gap = self.record(last + lost, &label, RecordBody::Delta(Vec::new()));
            bytes.extend(gap.encode());
            journal.records.push(gap);
        }
        self.disk.replace(JOURNAL, &bytes)
    }
}
