//! Temporary files that a killed process left beside the files it was writing.
//!
//! Who writes one holds a lock on it, which the kernel drops with the process. A file whose lock is free belongs to
//! nobody, also where process numbers mean nothing (containers).

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Directory entries looked at. Files near the top are found first.
const MOST_ENTRIES: usize = 50_000;
/// Directories that no file tool writes to by itself, and that would use up the entries.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

pub(super) fn name(random: u64) -> String {
    format!(".ostler-{random:016x}.tmp")
}

/// False: somebody took it for a leftover in the same moment; another name is needed. Where locks do not work it stays
/// unlocked, and is never removed as a leftover either.
pub(super) fn claim(file: &File) -> bool {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        Ok(()) | Err(TryLockError::Error(_)) => {
            file.metadata().map_or(true, |metadata| metadata.nlink() > 0)
        }
    }
}

/// Removes what dead processes left below these directories. Returns how many files that were.
pub fn remove_leftovers(roots: &[PathBuf]) -> usize {
    let mut waiting: VecDeque<PathBuf> = roots.iter().cloned().collect();
    let (mut seen, mut removed) = (0, 0);
    while let Some(folder) = waiting.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return removed;
            }
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                waiting.push_back(entry.path());
            } else if kind.is_file() && is_ours(&name) {
                removed += usize::from(remove(&entry.path()));
            }
        }
    }
    removed
}

fn is_ours(name: &OsStr) -> bool {
    let middle = name
        .to_str()
        .and_then(|name| name.strip_prefix(".ostler-"))
        .and_then(|rest| rest.strip_suffix(".tmp"));
    middle.is_some_and(|middle| {
        middle.len() == 16 && middle.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn remove(path: &Path) -> bool {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else {
        return false;
    };
    let mine = file.metadata().is_ok_and(|metadata| {
        metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw()
    });
    mine && file.try_lock().is_ok() && fs::remove_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join(".git")).unwrap();
        let put = |path: &str| {
            fs::write(top.join(path), "half").unwrap();
            top.join(path)
        };
        let (dead, deep) = (put(&name(1)), put(&format!("a/b/{}", name(2))));
        let held = put(&name(3));
        let holder = File::open(&held).unwrap();
        assert!(claim(&holder));
        let others = [
            put(".ostler-notes.tmp"),
            put(".ostler-123.tmp"),
            put("x.tmp"),
            put(&format!(".git/{}", name(4))),
        ];
        std::os::unix::fs::symlink(&others[2], top.join(name(5))).unwrap();
        assert_eq!(remove_leftovers(&[top.to_owned()]), 2);
        assert!(!dead.exists() && !deep.exists() && held.exists());
        assert!(others.iter().all(|path| path.exists()) && top.join(name(5)).is_symlink());
        drop(holder);
        assert_eq!(remove_leftovers(&[top.to_owned()]), 1);
    }

    /// Whoever removes it in the moment between making and locking it costs nothing but another name.
    #[test]
    fn a_file_that_was_removed_meanwhile_is_not_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name(1));
        let file = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!claim(&file));
        let file = File::create(&path).unwrap();
        let taker = File::open(&path).unwrap();
        taker.try_lock().unwrap();
        assert!(!claim(&file));
    }
}
