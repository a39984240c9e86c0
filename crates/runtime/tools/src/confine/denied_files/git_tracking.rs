//! Whether git tracks a file: then its content is in the repository, too, where the sandbox does not hide it.

use crate::{read_small, read_small_text};
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A larger index is not read.
const MOST_BYTES: u64 = 64 << 20;
const MOST_LINK: u64 = 4 << 10;
/// Bytes of the name of an object: SHA-1 and SHA-256.
const OBJECT_NAMES: [usize; 2] = [20, 32];

type IndexStamp = (u64, u64, i64, i64, u64);

/// What indexes said, as long as they do not change.
#[derive(Default)]
pub(super) struct Tracked {
    known: HashMap<PathBuf, (IndexStamp, Vec<PathBuf>, bool)>,
}

impl Tracked {
    /// One of the paths is tracked, or it cannot be told.
    pub(super) fn any(&mut self, paths: &[PathBuf]) -> bool {
        let mut tops: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
        for path in paths {
            if let Some(top) = path.ancestors().skip(1).find(|above| above.join(".git").exists()) {
                tops.entry(top.to_path_buf()).or_default().push(path.clone());
            }
        }
        tops.into_iter().any(|(top, paths)| self.in_repository(&top, paths))
    }

    fn in_repository(&mut self, top: &Path, paths: Vec<PathBuf>) -> bool {
        let Some(index) = index_of(top) else { return true };
        let stamp = match index.metadata() {
            Ok(meta) => (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.len()),
            // Nothing was ever added.
            Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
        };
        if let Some((known, of, answer)) = self.known.get(&index)
            && *known == stamp
            && *of == paths
        {
            return *answer;
        }
        let answer = holds(&index, top, &paths).unwrap_or(true);
        self.known.insert(index, (stamp, paths, answer));
        answer
    }
}

fn index_of(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git.join("index"));
    }
    let text = read_small_text(&git, MOST_LINK)?;
    let folder = text.strip_prefix("gitdir:")?.trim();
    Some(top.join(folder).join("index"))
}

/// None: the index is not understood.
fn holds(index: &Path, top: &Path, paths: &[PathBuf]) -> Option<bool> {
    let bytes = read_small(index, MOST_BYTES)?;
    let below = paths.iter().filter_map(|path| path.strip_prefix(top).ok());
    let wanted: Vec<&[u8]> = below.map(|path| path.as_os_str().as_bytes()).collect();
    let covers = |name: &[u8]| {
        let is = |path: &&[u8]| {
            name.strip_prefix(*path).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        wanted.iter().any(is)
    };
    // The file does not say how long the names of objects are; only one length leads to its end.
    let read = |length: usize| {
        let mut found = false;
        names(&bytes, length, |name| found |= covers(name)).map(|()| found)
    };
    let read: Vec<bool> = OBJECT_NAMES.into_iter().filter_map(read).collect();
    (!read.is_empty()).then(|| read.contains(&true))
}

/// Every path in an index, in its versions 2 to 4, where the name of an object is this long. None: something else was found.
fn names(bytes: &[u8], object: usize, mut each: impl FnMut(&[u8])) -> Option<()> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = at;
        // Times, place, mode, owner, size and the object come before the flags.
        let flags = bytes.get(at + 40 + object..)?;
        at += 40 + object + if flags.first()? & 0x40 != 0 { 4 } else { 2 };
        if version == 4 {
            let (strip, used) = varint(bytes.get(at..)?)?;
            at += used;
            name.truncate(name.len().checked_sub(strip)?);
        } else {
            name.clear();
        }
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(bytes.get(at..at + length)?);
        at += length + 1;
        if version != 4 {
            // Entries are filled up to a multiple of eight.
            at += (8 - (at - start) % 8) % 8;
        }
        each(&name);
    }
    // Then come extensions, each with its length, and a checksum.
    while at + object < bytes.len() {
        // A split index does not name the files of its other part, a sparse one those of its directories.
        if [b"link", b"sdir"].iter().any(|name| bytes.get(at..at + 4) == Some(*name)) {
            return None;
        }
        at += 8 + usize::try_from(number(at + 4)?).ok()?;
    }
    (at + object == bytes.len()).then_some(())
}

fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(8) {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value = value.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(at: &Path, words: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(at).args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn every_version_of_the_index_is_read() {
        for (version, format) in ["2", "3", "4"].iter().flat_map(|v| [(v, "sha1"), (v, "sha256")]) {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            git(&top, &["init", "-q", &format!("--object-format={format}")]);
            let mut tracked = Tracked::default();
            assert!(!tracked.any(&[top.join(".env")]), "there is no index");
            for name in ["a", "sub/.env", "sub/.envx", "vault/key"] {
                std::fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
                std::fs::write(top.join(name), "x").unwrap();
            }
            std::fs::write(top.join(".env"), "secret").unwrap();
            git(&top, &["add", "a", "sub", "vault"]);
            git(&top, &["update-index", "--index-version", version]);
            let mut is = |name: &str| tracked.any(&[top.join(name)]);
            assert!(!is(".env"), "{version}");
            assert!(is("sub/.env") && is("vault") && is("a"), "{version}");
            assert!(!is("sub/.en") && !is("vaul"), "{version}: only whole names count");
            git(&top, &["add", ".env"]);
            assert!(is(".env"), "{version}: the index has changed");
        }
    }

    #[test]
    fn a_sparse_index_does_not_name_everything() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        git(&top, &["init", "-q"]);
        for name in ["a/x", "b/.env"] {
            std::fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
            std::fs::write(top.join(name), "x").unwrap();
        }
        git(&top, &["add", "."]);
        git(&top, &["commit", "-qm", "x"]);
        git(&top, &["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
        assert!(Tracked::default().any(&[top.join("b/.env")]));
    }

    #[test]
    fn what_is_not_understood_counts_as_tracked() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        assert!(!Tracked::default().any(&[top.join(".env")]), "there is no repository");
        std::fs::create_dir(top.join(".git")).unwrap();
        std::fs::write(top.join(".git/index"), "DIRC nonsense").unwrap();
        assert!(Tracked::default().any(&[top.join(".env")]));
    }
}
