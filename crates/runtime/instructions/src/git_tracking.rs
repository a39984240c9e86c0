//! Whether a file came with the project: what git tracks, others wrote.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of an index that is looked through.
const MOST: u64 = 64 << 20;

/// Also where it cannot be told: without a repository, or in an index of a form that shortens names.
pub(crate) fn may_be_tracked(path: &Path) -> bool {
    let folder = path.ancestors().skip(1).find(|folder| folder.join(".git").exists());
    let Some((folder, name)) = folder.zip(path.file_name()) else { return true };
    let Some(git) = git_folder(folder) else { return true };
    let (mut index, mut head) = (Vec::new(), [0; 8]);
    let Ok(mut file) = std::fs::File::open(git.join("index")) else {
        // Nothing was ever added.
        return !git.join("HEAD").exists();
    };
    let read = file.read_exact(&mut head).and_then(|()| file.take(MOST).read_to_end(&mut index));
    let plain = matches!(head, [b'D', b'I', b'R', b'C', 0, 0, 0, 2 | 3]);
    // A split index names only a part.
    let split = has(&index, b"link") && names_shared(&git);
    if read.is_err() || !plain || split || index.len() as u64 >= MOST {
        return true;
    }
    let mut entry = name.as_encoded_bytes().to_vec();
    entry.push(0);
    has(&index, &entry)
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    let Some((first, rest)) = part.split_first() else { return true };
    let mut at = bytes;
    while let Some(found) = at.iter().position(|byte| byte == first) {
        at = at.get(found + 1..).unwrap_or_default();
        if at.starts_with(rest) {
            return true;
        }
    }
    false
}

fn names_shared(git: &Path) -> bool {
    let entries = std::fs::read_dir(git).into_iter().flatten().flatten();
    entries
        .take(1000)
        .any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex."))
}

/// A worktree and a submodule have a file that says where it is.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = std::fs::read_to_string(dot_git).ok()?;
    Some(folder.join(text.trim().strip_prefix("gitdir:")?.trim()))
}
