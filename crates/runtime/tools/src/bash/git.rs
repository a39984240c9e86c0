//! Whether the repository that git would find is trusted and plain: it lies in the workspace, or the workspace lies in it
//! and both belong to the same user; and its configuration names no program that the overrides leave in place.
//!
//! When in doubt it is not. Git asks the same questions in the same order; where it would look further up because a
//! repository is broken, this stops and says no.

use ostler_core::permission::Workspace;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Configurations are a few hundred bytes; a larger one is not read.
const MAX_CONFIG: u64 = 256 << 10;

/// Why a git that only reads is not harmless here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The repository is neither inside the workspace nor one of the same user's around it.
    Outside,
    /// A submodule, a bare repository, a link, borrowed objects, or something broken.
    NotPlain,
    /// Its configuration runs or includes something, or cannot be read with certainty.
    Config,
}

/// The top directory of the repository; none if git will find none from this directory.
pub fn repository(from: &Path, workspace: &Workspace) -> Result<Option<PathBuf>, Doubt> {
    // Git goes by the real path.
    let cwd = from.canonicalize().map_err(|_| Doubt::NotPlain)?;
    let owner = owner_of_root(&cwd, workspace);
    for folder in cwd.ancestors() {
        let git = folder.join(".git");
        match fs::symlink_metadata(&git) {
            Ok(_) if !workspace.contains(folder) && !is_owned(folder, owner) => {
                return Err(Doubt::Outside);
            }
            Ok(found) if found.is_file() => {
                worktree(&git, owner)?;
                return Ok(Some(folder.to_path_buf()));
            }
            Ok(found) if !found.is_dir() => return Err(Doubt::NotPlain),
            Ok(_) if !workspace.contains(folder) && !is_owned(&git, owner) => {
                return Err(Doubt::Outside);
            }
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

/// Who owns the root that the directory lies in. None: it lies in none, and nothing around it is trusted.
fn owner_of_root(folder: &Path, workspace: &Workspace) -> Option<u32> {
    let within = |root: &&PathBuf| root.parent().is_some() && folder.starts_with(root);
    let root = workspace.roots.iter().filter(within).max_by_key(|root| root.as_os_str().len())?;
    fs::symlink_metadata(root).ok().map(|found| found.uid())
}

/// It belongs to this user, and nobody else can put files there. No link.
fn is_owned(path: &Path, owner: Option<u32>) -> bool {
    const BY_ANYBODY: u32 = 0o002;
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    !found.is_symlink() && Some(found.uid()) == owner && found.mode() & BY_ANYBODY == 0
}

/// A linked worktree: the repository it belongs to must know it, so that a file that somebody made does not lead into
/// another repository of the user's.
fn worktree(link: &Path, owner: Option<u32>) -> Result<(), Doubt> {
    let line = |path: &Path| {
        let text = String::from_utf8(read(path)?).map_err(|_| Doubt::NotPlain)?;
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        let odd = text.is_empty() || text.contains(|c: char| c.is_control());
        if odd { Err(Doubt::NotPlain) } else { Ok(text) }
    };
    let real = |path: PathBuf| path.canonicalize().map_err(|_| Doubt::NotPlain);
    let text = line(link)?;
    let target = text.strip_prefix("gitdir: ").ok_or(Doubt::NotPlain)?;
    let folder = link.parent().ok_or(Doubt::NotPlain)?;
    let own = real(folder.join(target))?;
    let names = own.parent().filter(|names| names.ends_with("worktrees"));
    let common = names.and_then(Path::parent).ok_or(Doubt::NotPlain)?;
    let knows = |path: PathBuf| real(path).is_ok_and(|path| path == *link);
    let mutual = real(own.join(line(&own.join("commondir"))?))? == common
        && knows(own.join(line(&own.join("gitdir"))?));
    let trusted = [&own, common].iter().all(|path| is_owned(path, owner));
    if !mutual || !trusted || !is_head(&read(&own.join("HEAD"))?) {
        return Err(Doubt::NotPlain);
    }
    settings(&own)?;
    plain(common)
}

fn plain(git: &Path) -> Result<(), Doubt> {
    let is_folder =
        |name: &str| fs::symlink_metadata(git.join(name)).is_ok_and(|found| found.is_dir());
    // Whoever lacks one of these is no repository, and git would continue to the directory above.
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
    settings(git)
}

fn settings(git: &Path) -> Result<(), Doubt> {
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
        // A line that continues in the next one is not taken apart.
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
