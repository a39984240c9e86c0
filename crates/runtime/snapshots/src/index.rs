//! The last known state: for each directory its entries, sorted by name. Kept in memory, written in one piece.

use crate::codec::{ByteReader, put_bytes};
use crate::item::{OWNER_LOOKS, SnapshotItem, Stamp, What, Why, put_stamp, stamp};
use crate::record::RecordedChange;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"ostidx01";

pub(crate) type EntryName = Box<[u8]>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dir {
    pub stamp: Stamp,
    /// Its names must be listed again, whatever the stamp says.
    pub racy: bool,
    pub entries: Vec<(EntryName, SnapshotItem)>,
}

impl Dir {
    pub(crate) fn names(&self) -> Vec<EntryName> {
        self.entries.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&SnapshotItem> {
        let at = self.entries.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        self.entries.get(at).map(|(_, item)| item)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FileIndex {
    /// The number of the last record this state includes.
    pub seq: u64,
    pub roots: Vec<(PathBuf, SnapshotItem)>,
    pub dirs: HashMap<PathBuf, Dir>,
    pub files: u64,
}

impl FileIndex {
    pub(crate) fn get(&self, path: &Path) -> Option<&SnapshotItem> {
        if let Some((_, item)) = self.roots.iter().find(|(root, _)| root == path) {
            return Some(item);
        }
        self.dirs.get(path.parent()?)?.get(path.file_name()?.as_bytes())
    }

    /// Everything below a directory is gone; what it was is added to `gone` if wanted.
    pub(crate) fn remove_tree(&mut self, path: &Path, gone: &mut Vec<RecordedChange>) {
        let Some(dir) = self.dirs.remove(path) else { return };
        for (name, mut item) in dir.entries {
            let path = path.join(OsStr::from_bytes(&name));
            if item.what == What::Folder {
                if self.is_unseen(&path) {
                    item.what = What::LeftOut(Why::Unreadable);
                }
                self.remove_tree(&path, gone);
            }
            gone.push(RecordedChange { path, before: Some(item), after: None });
        }
    }

    /// A known directory that nobody could ever look into.
    pub(crate) fn is_unseen(&self, folder: &Path) -> bool {
        self.dirs.get(folder).is_none_or(|dir| dir.stamp.ino == 0)
    }

    /// Takes over what a record says. Directories are listed again, since the record does not know their stamps.
    pub(crate) fn apply(&mut self, change: &RecordedChange) {
        if let Some(root) = self.roots.iter_mut().find(|(root, _)| *root == change.path) {
            if let Some(item) = &change.after {
                root.1 = item.clone();
            }
            return;
        }
        let (Some(parent), Some(name)) = (change.path.parent(), change.path.file_name()) else {
            return;
        };
        match &change.after {
            Some(item) if item.what == What::Folder => {
                let dir = self.dirs.entry(change.path.clone()).or_default();
                dir.racy = true;
                if item.mode & OWNER_LOOKS == OWNER_LOOKS {
                    dir.stamp.ino = item.stamp.ino;
                }
            }
            _ => self.remove_tree(&change.path, &mut Vec::new()),
        }
        let dir = self.dirs.entry(parent.to_path_buf()).or_default();
        dir.racy = true;
        let at = dir.entries.binary_search_by(|(other, _)| (**other).cmp(name.as_bytes()));
        match (at, &change.after) {
            (Ok(at), Some(item)) => {
                if let Some(entry) = dir.entries.get_mut(at) {
                    entry.1 = item.clone();
                }
            }
            (Ok(at), None) => drop(dir.entries.remove(at)),
            (Err(at), Some(item)) => dir.entries.insert(at, (name.as_bytes().into(), item.clone())),
            (Err(_), None) => {}
        }
    }

    pub(crate) fn left_out(&self) -> Vec<(PathBuf, Why)> {
        let mut found = Vec::new();
        for (path, dir) in &self.dirs {
            for (name, item) in &dir.entries {
                if let What::LeftOut(why) = item.what {
                    found.push((path.join(OsStr::from_bytes(name)), why));
                }
            }
        }
        found.sort();
        found
    }

    pub(crate) fn below(&self, folder: &Path) -> Vec<PathBuf> {
        let dirs = self.dirs.iter().filter(|(path, _)| path.starts_with(folder));
        let paths = dirs.flat_map(|(path, dir)| {
            dir.entries.iter().map(|(name, _)| path.join(OsStr::from_bytes(name)))
        });
        paths.collect()
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &SnapshotItem> {
        self.dirs.values().flat_map(|dir| dir.entries.iter().map(|(_, item)| item))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128 * (self.files as usize + 16));
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.seq.to_le_bytes());
        out.extend_from_slice(&self.files.to_le_bytes());
        out.extend_from_slice(&(self.roots.len() as u32).to_le_bytes());
        for (path, item) in &self.roots {
            put_bytes(&mut out, path.as_os_str().as_bytes());
            item.encode(&mut out);
        }
        for (path, dir) in &self.dirs {
            put_bytes(&mut out, path.as_os_str().as_bytes());
            put_stamp(&mut out, &dir.stamp);
            out.push(u8::from(dir.racy));
            out.extend_from_slice(&(dir.entries.len() as u32).to_le_bytes());
            for (name, item) in &dir.entries {
                put_bytes(&mut out, name);
                item.encode(&mut out);
            }
        }
        let sum: [u8; 32] = Sha256::digest(&out).into();
        out.extend_from_slice(&sum);
        out
    }

    /// None if it is not whole.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        let expected: [u8; 32] = Sha256::digest(body).into();
        if sum != expected {
            return None;
        }
        let mut from = ByteReader::new(body);
        if from.take(8)? != MAGIC {
            return None;
        }
        let mut index = FileIndex { seq: from.u64()?, files: from.u64()?, ..FileIndex::default() };
        for _ in 0..from.u32()? {
            let path = PathBuf::from(OsStr::from_bytes(from.bytes()?));
            index.roots.push((path, SnapshotItem::decode(&mut from)?));
        }
        while !from.is_empty() {
            let path = PathBuf::from(OsStr::from_bytes(from.bytes()?));
            let mut dir =
                Dir { stamp: stamp(&mut from)?, racy: from.u8()? != 0, entries: Vec::new() };
            for _ in 0..from.u32()? {
                let name = from.bytes()?.into();
                dir.entries.push((name, SnapshotItem::decode(&mut from)?));
            }
            index.dirs.insert(path, dir);
        }
        Some(index)
    }
}
