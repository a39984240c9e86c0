//! What lies below a directory, for commands that are given every name in it.

use crate::workspace::Files;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names looked at. In a larger directory it cannot be told.
const MAX_LOOKS: usize = 100_000;
/// Links whose targets are looked up.
const MAX_LINKS: usize = 500;

/// Where the links below the directory lead, as far as that is outside of it. None: it cannot be told, or, with
/// `words`, a name is not one plain word to `xargs`.
pub(super) fn links(files: &Files, top: &Path, words: bool) -> Option<Vec<PathBuf>> {
    let (mut found, mut looks) = (Vec::new(), 0);
    let mut open = vec![top.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // A file, or nothing at all.
            Err(_) if folder == top && !folder.is_dir() => return Some(found),
            Err(_) => return None,
        };
        for entry in entries {
            let entry = entry.ok()?;
            looks += 1;
            if looks > MAX_LOOKS || words && !is_word(entry.file_name().as_bytes()) {
                return None;
            }
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_symlink() {
                let name = entry.file_name();
                let target = files.resolve_from(&folder, name.to_str()?).ok()?;
                if !target.starts_with(top) && !found.contains(&target) {
                    found.push(target);
                }
                if found.len() > MAX_LINKS {
                    return None;
                }
            }
        }
    }
    Some(found)
}

/// Neither blanks nor quotes, and no option.
fn is_word(name: &[u8]) -> bool {
    let odd = |byte: &u8| *byte <= b' ' || *byte == 0x7f || b"'\"\\".contains(byte);
    !name.starts_with(b"-") && !name.iter().any(odd) && std::str::from_utf8(name).is_ok()
}
