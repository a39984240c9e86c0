//! What stands at a path: its kind, its content by hash, its mode, and the stamp by which a change is noticed.

use crate::codec::{ByteReader, put_bytes};
use rustix::fs::{FileType, Stat};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// What a directory's owner needs to look into it.
pub(crate) const OWNER_LOOKS: u32 = 0o500;

/// Of the content; for objects of git, which never change, of their name and size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    pub fn of(bytes: &[u8]) -> Self {
        Hash(Sha256::digest(bytes).into())
    }

    pub fn hex(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
        }
        Some(Hash(bytes))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex().get(..12).unwrap_or_default())
    }
}

/// Why something is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// A directory that a build makes again, above the size that is kept.
    Build,
    /// A file above the size that is kept where the file system cannot share its blocks.
    Large,
    /// It may not be read.
    Unreadable,
    /// A pipe, a socket, a device.
    Special,
    /// A deny rule covers it: neither its content nor a hash of it is kept.
    Denied,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Folder,
    File(Hash),
    /// An object of git, kept by a further name of the same file.
    Pinned(Hash),
    Link(Vec<u8>),
    LeftOut(Why),
}

/// Changes whenever the file does, except within the grain of the file system's clock: see [`SnapshotItem::racy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub size: u64,
    pub mtime: i64,
    pub ctime: i64,
    pub ino: u64,
}

impl Stamp {
    /// A further name of a file changes its stamp, too, and its content is the same.
    pub(crate) fn is_same_content(&self, other: &Stamp) -> bool {
        (self.ino, self.size, self.mtime) == (other.ino, other.size, other.mtime)
    }

    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = |s: i64, n: u64| s.saturating_mul(1_000_000_000).saturating_add(n as i64);
        Stamp {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: nanos(stat.st_mtime, stat.st_mtime_nsec),
            ctime: nanos(stat.st_ctime, stat.st_ctime_nsec),
            ino: stat.st_ino,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotItem {
    pub what: What,
    /// Permission bits; those of links mean nothing.
    pub mode: u32,
    pub(crate) stamp: Stamp,
    /// Was changed so shortly before it was read that its stamp proves nothing: it is read again.
    pub(crate) racy: bool,
}

impl SnapshotItem {
    /// The same state, whatever the stamps say; where no content is kept, they are all there is.
    pub fn is_same(&self, other: &SnapshotItem) -> bool {
        let looks_same = match &self.what {
            What::LeftOut(Why::Large | Why::Unreadable) => self.stamp.is_same_content(&other.stamp),
            What::LeftOut(Why::Special) => self.stamp.ino == other.stamp.ino,
            _ => true,
        };
        let same_mode = self.mode == other.mode || matches!(self.what, What::Link(_));
        self.what == other.what && looks_same && same_mode
    }

    /// Nanoseconds of the last change of the file or its names.
    pub(crate) fn changed_at(&self) -> i64 {
        self.stamp.ctime
    }

    pub(crate) fn hash(&self) -> Option<Hash> {
        match self.what {
            What::File(hash) | What::Pinned(hash) => Some(hash),
            _ => None,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, why) = match &self.what {
            What::Folder => (0, 0),
            What::File(_) => (1, 0),
            What::Pinned(_) => (2, 0),
            What::Link(_) => (3, 0),
            What::LeftOut(why) => (4, *why as u8),
        };
        out.extend_from_slice(&[kind, why, u8::from(self.racy)]);
        out.extend_from_slice(&self.mode.to_le_bytes());
        put_stamp(out, &self.stamp);
        match &self.what {
            What::File(hash) | What::Pinned(hash) => out.extend_from_slice(&hash.0),
            What::Link(target) => put_bytes(out, target),
            What::Folder | What::LeftOut(_) => {}
        }
    }

    pub(crate) fn decode(from: &mut ByteReader<'_>) -> Option<Self> {
        let (kind, why, racy) = (from.u8()?, from.u8()?, from.u8()? != 0);
        let mode = from.u32()?;
        let stamp = stamp(from)?;
        let mut hash = || Some(Hash(from.take(32)?.try_into().ok()?));
        let what = match kind {
            0 => What::Folder,
            1 => What::File(hash()?),
            2 => What::Pinned(hash()?),
            3 => What::Link(from.bytes()?.to_vec()),
            4 => What::LeftOut(match why {
                0 => Why::Build,
                1 => Why::Large,
                2 => Why::Unreadable,
                4 => Why::Denied,
                _ => Why::Special,
            }),
            _ => return None,
        };
        Some(SnapshotItem { what, mode, stamp, racy })
    }
}

pub(crate) fn put_stamp(out: &mut Vec<u8>, stamp: &Stamp) {
    out.extend_from_slice(&stamp.size.to_le_bytes());
    out.extend_from_slice(&stamp.mtime.to_le_bytes());
    out.extend_from_slice(&stamp.ctime.to_le_bytes());
    out.extend_from_slice(&stamp.ino.to_le_bytes());
}

pub(crate) fn stamp(from: &mut ByteReader<'_>) -> Option<Stamp> {
    Some(Stamp { size: from.u64()?, mtime: from.i64()?, ctime: from.i64()?, ino: from.u64()? })
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(crate) fn mode(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}
