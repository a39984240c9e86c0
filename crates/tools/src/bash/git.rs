//! Whether the repository that git would find is contained and plain: nothing outside the workspace is shown, and
//! its configuration names no program that the overrides leave in place.
//!
//! When in doubt it is not. Git asks the same questions in the same order; where it would look further up because a
//! repository is broken, this stops and says no.

use ostler_core::permission::Workspace;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Configurations are a few hundred bytes; a larger one is not read.
const MAX_CONFIG: u64 = 256 << 10;

/// Why a git that only reads is not harmless here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The repository is not inside the workspace.
    Outside,
    /// A worktree, a submodule, a bare repository, a link, borrowed objects, or something broken.
    NotPlain,
    /// Its configuration runs or includes something, or cannot be read with certainty.
    Config,
}

/// The folder of the repository; none if git will find none from this folder.
pub fn repository(from: &Path, workspace: &Workspace) -> Result<Option<PathBuf>, Doubt> {
    // Git goes by the real path.
    let cwd = from.canonicalize().map_err(|_| Doubt::NotPlain)?;
    for folder in cwd.ancestors() {
        let git = folder.join(".git");
        match fs::symlink_metadata(&git) {
            Ok(_) if !workspace.contains(folder) => return Err(Doubt::Outside),
            Ok(found) if !found.is_dir() => return Err(Doubt::NotPlain),
            Ok(_) => {
                plain(&git)?;
                return Ok(Some(folder.to_path_buf()));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return Err(Doubt::NotPlain),
        }
        if ["HEAD", "objects", "refs"].iter().all(|name| exists(&folder.join(name))) {
            return Err(Doubt::NotPlain);
        }
    }
    Ok(None)
}

fn plain(git: &Path) -> Result<(), Doubt> {
    let is_folder =
        |name: &str| fs::symlink_metadata(git.join(name)).is_ok_and(|found| found.is_dir());
    // Whoever lacks one of these is no repository, and git would go on to the folder above.
    if !["objects", "refs"].into_iter().all(is_folder) || !is_head(&read(&git.join("HEAD"))?) {
        return Err(Doubt::NotPlain);
    }
    // Both lead to another repository: its configuration and its objects.
    if ["commondir", "objects/info/alternates"].iter().any(|name| exists(&git.join(name))) {
        return Err(Doubt::NotPlain);
    }
    if is_link(&git.join("objects/pack")) || is_link(&git.join("objects/info")) {
        return Err(Doubt::NotPlain);
    }
    for name in ["config", "config.worktree"] {
        let path = git.join(name);
        if exists(&path) && !config_is_plain(&read(&path)?) {
            return Err(Doubt::Config);
        }
    }
    Ok(())
}

/// Also if it cannot be told.
fn exists(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn is_link(path: &Path) -> bool {
    exists(path) && !fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink())
}

fn read(path: &Path) -> Result<Vec<u8>, Doubt> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return Err(Doubt::NotPlain);
    }
    crate::read_small(path, MAX_CONFIG).ok_or(Doubt::Config)
}

fn is_head(head: &[u8]) -> bool {
    let text = head.trim_ascii_end();
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit),
    }
}

/// Every section and key of it is read, as git does: several headers may stand on one line, a key behind them.
fn config_is_plain(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut section = String::new();
    text.split('\n').all(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // A line that goes on in the next one is not taken apart.
        let odd = line.ends_with('\\') || line.contains(|c: char| c.is_control() && c != '\t');
        !odd && line_is_plain(line, &mut section)
    })
}

fn line_is_plain(line: &str, section: &mut String) -> bool {
    let mut rest = line.trim_matches([' ', '\t']);
    while let Some(header) = rest.strip_prefix('[') {
        let Some((name, after)) = split_header(header) else { return false };
        if !section_is_plain(&name) {
            return false;
        }
        *section = name;
        rest = after.trim_start_matches([' ', '\t']);
    }
    if rest.is_empty() || rest.starts_with(['#', ';']) {
        return true;
    }
    let end = rest.find([' ', '\t', '=']).unwrap_or(rest.len());
    let key = rest.get(..end).unwrap_or_default().to_ascii_lowercase();
    let is_key = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_key && !key.is_empty() && key_is_plain(section, &key)
}

/// What stands between the brackets, in small letters with one dot between its parts, and what follows them.
fn split_header(header: &str) -> Option<(String, &str)> {
    let end = header.find([']', '"'])?;
    let (name, rest) = header.split_at_checked(end)?;
    let name = name.trim_matches([' ', '\t']).to_ascii_lowercase();
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if name.is_empty() || !name.chars().all(legal) {
        return None;
    }
    let Some(quoted) = rest.strip_prefix('"') else {
        return Some((name, rest.strip_prefix(']')?));
    };
    let (sub, after) = quoted.split_once('"')?;
    let after = after.trim_start_matches([' ', '\t']).strip_prefix(']')?;
    // An escaped quote would end it elsewhere.
    (!sub.contains('\\')).then(|| (format!("{name}.{}", sub.to_ascii_lowercase()), after))
}

fn section_is_plain(section: &str) -> bool {
    // Extensions of large file storage are programs that the user's own filter would start.
    !["filter", "include", "lfs.extension"].iter().any(|start| section.starts_with(start))
}

fn key_is_plain(section: &str, key: &str) -> bool {
    match section.split('.').next().unwrap_or_default() {
        "core" => {
            !["attributesfile", "fsmonitor", "sshcommand", "gitproxy", "worktree"].contains(&key)
        }
        // `config.worktree` is read in any case. What is not known may change how everything else is read.
        "extensions" => [
            "worktreeconfig",
            "objectformat",
            "refstorage",
            "partialclone",
            "preciousobjects",
            "noop",
        ]
        .contains(&key),
        _ => true,
    }
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
