//! What sessions leave for whoever undoes later: from which directory they worked in which roots, which files they were
//! kept from, and which sessions of other projects were resumed here. Also if they never took a snapshot.

use crate::codec::{ByteReader, put_bytes};
use crate::error::Error;
use crate::store::Snapshots;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const ROOTS: &str = "roots";
const DENIED: &str = "denied";
const VISITORS: &str = "visitors";
/// Older ones are forgotten.
const MOST_ROOTS: usize = 1_000;
const MOST_VISITORS: usize = 100;

impl Snapshots {
    /// A session that works in `cwd` changes files in the roots.
    pub fn remember_roots(&self, cwd: &Path) -> Result<(), Error> {
        let pair = |root: &PathBuf| (cwd.to_path_buf(), root.clone());
        let new = |known: &[(PathBuf, PathBuf)]| -> Vec<_> {
            self.roots().iter().map(pair).filter(|new| !known.contains(new)).collect()
        };
        if new(&self.known_roots()).is_empty() {
            return Ok(());
        }
        // Whoever holds the lock may remove half-written files of others.
        let _lock = self.disk.lock()?;
        let mut known = self.known_roots();
        known.extend(new(&known));
        known.drain(..known.len().saturating_sub(MOST_ROOTS));
        let mut bytes = Vec::new();
        for path in known.iter().flat_map(|(cwd, root)| [cwd, root]) {
            put_bytes(&mut bytes, path.as_os_str().as_bytes());
        }
        self.disk.replace(ROOTS, &bytes)
    }

    /// A session of another project was resumed here.
    pub fn remember_visitor(&self, session: &str) -> Result<(), Error> {
        let _lock = self.disk.lock()?;
        let mut known = self.visitors();
        if known.iter().any(|visitor| visitor == session) {
            return Ok(());
        }
        known.push(session.to_owned());
        known.drain(..known.len().saturating_sub(MOST_VISITORS));
        self.write_texts(VISITORS, &known)
    }

    pub fn visitors(&self) -> Vec<String> {
        self.texts(VISITORS)
    }

    /// Working directories, each with one of the roots that were worked in from there.
    pub fn known_roots(&self) -> Vec<(PathBuf, PathBuf)> {
        let bytes = std::fs::read(self.disk.path(ROOTS)).unwrap_or_default();
        let mut from = ByteReader::new(&bytes);
        let mut path = || Some(PathBuf::from(OsStr::from_bytes(from.bytes()?)));
        std::iter::from_fn(|| Some((path()?, path()?))).collect()
    }

    /// The files that the last session was kept from, in words of the caller's.
    pub fn remember_denied(&self, rules: &[String]) -> Result<(), Error> {
        if self.denied_rules() == rules {
            return Ok(());
        }
        let _lock = self.disk.lock()?;
        self.write_texts(DENIED, rules)
    }

    pub fn denied_rules(&self) -> Vec<String> {
        self.texts(DENIED)
    }

    fn write_texts(&self, name: &str, texts: &[String]) -> Result<(), Error> {
        let mut bytes = Vec::new();
        texts.iter().for_each(|text| put_bytes(&mut bytes, text.as_bytes()));
        self.disk.replace(name, &bytes)
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let bytes = std::fs::read(self.disk.path(name)).unwrap_or_default();
        let mut from = ByteReader::new(&bytes);
        std::iter::from_fn(|| from.bytes().map(|text| String::from_utf8_lossy(text).into_owned()))
            .collect()
    }
}
