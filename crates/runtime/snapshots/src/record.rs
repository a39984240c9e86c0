//! The journal: one record a snapshot, holding only what differs from the one before, with both sides of it.
//!
//! So two snapshots are compared by the records between them alone, and the oldest can be dropped without touching
//! the others.

use crate::codec::{Reader, put_bytes};
use crate::item::Item;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One path that differs between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub before: Option<Item>,
    pub after: Option<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing is known of what was before.
    Base {
        files: u64,
    },
    Delta(Vec<Change>),
    /// An undo, in the words of whoever did it.
    Note(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub reason: String,
    pub body: Body,
}

/// Longer than any record that is written.
const LONGEST: usize = 1 << 30;

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.seq.to_le_bytes());
        body.extend_from_slice(&self.at.to_le_bytes());
        put_bytes(&mut body, self.reason.as_bytes());
        match &self.body {
            Body::Base { files } => {
                body.push(0);
                body.extend_from_slice(&files.to_le_bytes());
            }
            Body::Delta(changes) => {
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
            Body::Note(text) => {
                body.push(2);
                put_bytes(&mut body, text.as_bytes());
            }
        }
        let mut out = Vec::with_capacity(body.len() + 12);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&sum(&body));
        out.extend_from_slice(&body);
        out
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let mut from = Reader::new(body);
        let (seq, at) = (from.u64()?, from.u64()?);
        let reason = String::from_utf8_lossy(from.bytes()?).into_owned();
        let body = match from.u8()? {
            0 => Body::Base { files: from.u64()? },
            1 => {
                let mut changes = Vec::new();
                for _ in 0..from.u32()? {
                    let path = PathBuf::from(OsStr::from_bytes(from.bytes()?));
                    let mut side = || match from.u8()? {
                        0 => Some(None),
                        _ => Some(Some(Item::decode(&mut from)?)),
                    };
                    changes.push(Change { path, before: side()?, after: side()? });
                }
                Body::Delta(changes)
            }
            2 => Body::Note(String::from_utf8_lossy(from.bytes()?).into_owned()),
            _ => return None,
        };
        Some(Record { seq, at, reason, body })
    }
}

fn sum(body: &[u8]) -> [u8; 8] {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// The whole records at the front, and how many bytes they take.
pub(crate) fn scan(bytes: &[u8]) -> (Vec<Record>, usize) {
    let (mut records, mut good) = (Vec::new(), 0);
    while let Some((record, length)) = bytes.get(good..).and_then(first) {
        records.push(record);
        good += length;
    }
    (records, good)
}

fn first(bytes: &[u8]) -> Option<(Record, usize)> {
    let mut from = Reader::new(bytes);
    let length = from.u32()? as usize;
    let expected = from.take(8)?;
    if length > LONGEST {
        return None;
    }
    let body = from.take(length)?;
    (sum(body) == expected).then(|| Record::decode(body))?.map(|record| (record, length + 12))
}
