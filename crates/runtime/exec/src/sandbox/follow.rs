//! Links are followed only where a command cannot have put them.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;

/// Where an absolute path leads, without links. None if it leads nowhere, or if a link on the way is
/// in a place that is not trusted: a command that may write there could turn it to anywhere. The
/// place is asked for by a path without other links.
pub fn follow(path: &Path, is_trusted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    resolve(path, is_trusted).ok()
}

/// Why a path leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FollowStop {
    Missing,
    /// At a link that is not trusted.
    Link,
}

pub(crate) fn resolve(
    path: &Path,
    is_trusted: impl Fn(&Path) -> bool,
) -> Result<PathBuf, FollowStop> {
    let mut left: Vec<OsString> = parts(path);
    let mut here = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&part);
        if !next.symlink_metadata().map_err(|_| FollowStop::Missing)?.is_symlink() {
            here = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS || !is_trusted(&next) {
            return Err(FollowStop::Link);
        }
        let target = std::fs::read_link(&next).map_err(|_| FollowStop::Missing)?;
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        left.extend(parts(&target));
    }
    Ok(here)
}

/// The last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let named =
        path.components().filter(|part| !matches!(part, Component::CurDir | Component::RootDir));
    named.map(|part| part.as_os_str().to_owned()).rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_but_not_those_that_a_command_may_have_made() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        std::fs::create_dir_all(at("home/private/bin")).unwrap();
        std::fs::create_dir_all(at("home/ws/real")).unwrap();
        symlink("../private", at("home/ws/env")).unwrap();
        symlink(at("home/ws/env"), at("home/chain")).unwrap();
        symlink("private/../private", at("home/mine")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let is_trusted = |link: &Path| !link.starts_with(at("home/ws"));
        for (name, expected) in [
            ("home/mine/bin", Some("home/private/bin")),
            ("home/ws/real", Some("home/ws/real")),
            ("home/./ws/../mine", Some("home/private")),
            ("home/ws/env", None),
            ("home/ws/env/bin", None),
            ("home/chain", None),
            ("home/missing", None),
            ("loop", None),
        ] {
            assert_eq!(follow(&at(name), is_trusted), expected.map(at), "{name}");
            let free = follow(&at(name), |_| true);
            assert_eq!(free, at(name).canonicalize().ok(), "{name}");
        }
    }
}
