//! The journal: one record a snapshot, holding only what differs from the one before, with both sides of it.
//!
//! So two snapshots are compared by the records between them alone, and the oldest can be dropped without touching
//! the others.

use crate::codec::{ByteReader, put_bytes};
use crate::item::SnapshotItem;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One path that differs between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedChange {
    pub path: PathBuf,
    pub before: Option<SnapshotItem>,
    pub after: Option<SnapshotItem>,
}

impl RecordedChange {
    /// It lies in git's own directory.
    pub(crate) fn is_of_git(&self) -> bool {
        self.path.components().any(|part| part.as_os_str() == ".git")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordBody {
    /// Nothing is known of what was before.
    Base {
        files: u64,
    },
    Delta(Vec<RecordedChange>),
    /// An undo, in the words of whoever did it.
    Note(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotRecord {
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub reason: String,
    pub body: RecordBody,
}

/// Longer than any record that is written.
const LONGEST: usize = 1 << 30;
/// Length and sum, before the body.
const HEAD: usize = 12;
/// No record takes fewer bytes: the head, number, time, an empty reason, and the kind of its body.
pub(crate) const SHORTEST: usize = HEAD + 8 + 8 + 4 + 1;

impl SnapshotRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.seq.to_le_bytes());
        body.extend_from_slice(&self.at.to_le_bytes());
        put_bytes(&mut body, self.reason.as_bytes());
        match &self.body {
            RecordBody::Base { files } => {
                body.push(0);
                body.extend_from_slice(&files.to_le_bytes());
            }
            RecordBody::Delta(changes) => {
                body.push(1);
                body.extend_from_slice(&(changes.len() as u32).to_le_bytes());
                for change in changes {
                    put_bytes(&mut body, change.path.as_os_str().as_bytes());
                    for side in [&change.before, &change.after] {
                        body.push(u8::from(side.is_some()));
                        if let Some(item) = side {
                            item.encode(&mut body);
                        }
                    }
                }
            }
            RecordBody::Note(text) => {
                body.push(2);
                put_bytes(&mut body, text.as_bytes());
            }
        }
        let mut out = Vec::with_capacity(body.len() + HEAD);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&sum(&body));
        out.extend_from_slice(&body);
        out
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let mut from = ByteReader::new(body);
        let (seq, at) = (from.u64()?, from.u64()?);
        let reason = String::from_utf8_lossy(from.bytes()?).into_owned();
        let body = match from.u8()? {
            0 => RecordBody::Base { files: from.u64()? },
            1 => {
                let mut changes = Vec::new();
                for _ in 0..from.u32()? {
                    let path = PathBuf::from(OsStr::from_bytes(from.bytes()?));
                    let mut side = || match from.u8()? {
                        0 => Some(None),
                        _ => Some(Some(SnapshotItem::decode(&mut from)?)),
                    };
                    changes.push(RecordedChange { path, before: side()?, after: side()? });
                }
                RecordBody::Delta(changes)
            }
            2 => RecordBody::Note(String::from_utf8_lossy(from.bytes()?).into_owned()),
            _ => return None,
        };
        Some(SnapshotRecord { seq, at, reason, body })
    }
}

fn sum(body: &[u8]) -> [u8; 8] {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// The whole records at the front, and how many bytes they take.
pub(crate) fn scan(bytes: &[u8]) -> (Vec<SnapshotRecord>, usize) {
    let (mut records, mut good) = (Vec::new(), 0);
    while let Some((record, length)) = bytes.get(good..).and_then(first) {
        records.push(record);
        good += length;
    }
    (records, good)
}

/// What stands after the whole records is the beginning of one, and nothing else.
pub(crate) fn is_torn(rest: &[u8]) -> bool {
    let length = ByteReader::new(rest).u32().map(|length| length as usize);
    rest.len() < HEAD
        || length.is_some_and(|length| length <= LONGEST && rest.len() < HEAD + length)
}

fn first(bytes: &[u8]) -> Option<(SnapshotRecord, usize)> {
    let mut from = ByteReader::new(bytes);
    let length = from.u32()? as usize;
    let expected = from.take(8)?;
    if length > LONGEST {
        return None;
    }
    let body = from.take(length)?;
    (sum(body) == expected)
        .then(|| SnapshotRecord::decode(body))?
        .map(|record| (record, length + HEAD))
}
