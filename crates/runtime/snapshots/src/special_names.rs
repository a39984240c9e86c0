//! What is special about some names: directories that builds make, and the inside of git's.

use crate::door::FOLDER;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, openat, statat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A build directory is left out above either of these.
pub const BUILD_BYTES: u64 = 32 << 20;
pub const BUILD_FILES: u64 = 2_000;
/// Directories are not looked into deeper than this.
const DEEPEST: usize = 64;

/// Directories whose content is made again by a build or an installation.
const BUILD: &[&str] = &[
    "target",
    "node_modules",
    "bower_components",
    ".venv",
    "venv",
    "__pycache__",
    "site-packages",
    "dist",
    "build",
    "out",
    "_build",
    ".next",
    ".nuxt",
    ".gradle",
    ".terraform",
    "Pods",
    "DerivedData",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".cache",
    ".parcel-cache",
    ".turbo",
    "elm-stuff",
    "zig-cache",
    ".zig-cache",
    "dist-newstyle",
    ".stack-work",
];

pub(crate) fn is_build(folder: &Path, name: &[u8]) -> bool {
    let named = BUILD.iter().any(|known| known.as_bytes() == name);
    named || (name == b"bundle" && folder.file_name() == Some(OsStr::new("vendor")))
}

/// How much a directory holds, counted only until it is too much.
#[derive(Default)]
struct RepetitionCount {
    files: u64,
    bytes: u64,
}

impl RepetitionCount {
    fn is_over(&self) -> bool {
        self.files > BUILD_FILES || self.bytes > BUILD_BYTES
    }

    fn add(&mut self, folder: impl AsFd, name: &OsStr, depth: usize) {
        let Ok(fd) = openat(folder.as_fd(), name, FOLDER, Mode::empty()) else { return };
        let Ok(dir) = Dir::read_from(&fd) else { return };
        for entry in dir.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Ok(stat) = statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            self.files += 1;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth >= DEEPEST => self.files = u64::MAX / 2,
                FileType::Directory => self.add(&fd, name, depth + 1),
                _ => self.bytes += u64::try_from(stat.st_size).unwrap_or(0),
            }
            if self.is_over() {
                return;
            }
        }
    }
}

pub(crate) fn is_over(folder: impl AsFd, name: &[u8]) -> bool {
    let mut count = RepetitionCount::default();
    count.add(folder, OsStr::from_bytes(name), 0);
    count.is_over()
}

/// Where a directory stands as far as git is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    Plain,
    /// Inside a `.git` directory.
    Git,
    /// Its `objects`.
    Objects,
    /// A directory of `objects` that holds only files that never change.
    Fixed,
}

impl Area {
    pub(crate) fn of(path: &Path) -> Area {
        path.iter().fold(Area::Plain, |area, name| area.below(name.as_bytes()))
    }

    /// The area of a directory of this name in a directory of this area.
    pub(crate) fn below(self, name: &[u8]) -> Area {
        let is_hex = name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
        match self {
            Area::Plain if name == b".git" => Area::Git,
            Area::Git if name == b"objects" => Area::Objects,
            Area::Objects if is_hex || name == b"pack" => Area::Fixed,
            Area::Objects | Area::Fixed => Area::Git,
            other => other,
        }
    }

    /// A file that is never written again once it is there.
    pub(crate) fn is_fixed(self, name: &[u8]) -> bool {
        let loose = name.len() >= 38 && name.iter().all(u8::is_ascii_hexdigit);
        let ends = |end: &[u8]| name.ends_with(end);
        let pack = name.starts_with(b"pack-") && (ends(b".pack") || ends(b".idx") || ends(b".rev"));
        self == Area::Fixed && (loose || pack)
    }

    /// Files of a moment: locks, and what is being written.
    pub(crate) fn is_passing(self, name: &[u8]) -> bool {
        let ours = name.strip_prefix(b".ostler-").and_then(|name| name.strip_suffix(b".tmp"));
        let ours = ours.is_some_and(|n| n.len() == 16 && n.iter().all(u8::is_ascii_hexdigit));
        let git = self != Area::Plain && name.ends_with(b".lock");
        let object = self == Area::Fixed && name.starts_with(b"tmp_");
        ours || git || object
    }
}

/// Something in a directory of git's objects, or such a directory; where git's directory has another name, by the look
/// of it. Objects harm nobody, and what was made since may need them.
pub(crate) fn is_object(path: &Path) -> bool {
    let mut area = Area::Plain;
    for name in path.iter() {
        area = area.below(name.as_bytes());
        if area == Area::Objects {
            return true;
        }
    }
    let above = |n: usize| path.ancestors().nth(n).and_then(Path::file_name).map(OsStr::as_bytes);
    let is_hex = |name: &[u8]| name.iter().all(u8::is_ascii_hexdigit);
    let (Some(name), Some(folder), Some(b"objects")) = (above(0), above(1), above(2)) else {
        return false;
    };
    let loose = folder.len() == 2 && is_hex(folder) && name.len() >= 38 && is_hex(name);
    loose || (folder == b"pack" && (name.starts_with(b"pack-") || name == b"multi-pack-index"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_known_wherever_they_are() {
        const NAME: &str = "0123456789abcdef0123456789abcdef012345";
        for (path, object) in [
            (format!("/w/.git/objects/ab/{NAME}"), true),
            ("/w/.git/objects/ab".into(), true),
            ("/w/.git/objects/info/commit-graph".into(), true),
            ("/w/.git/objects/pack/pack-1.pack".into(), true),
            (format!("/w/.git/modules/a/b/objects/ab/{NAME}"), true),
            (format!("/w/bare.git/objects/ab/{NAME}"), true),
            ("/w/bare/objects/pack/pack-1.idx".into(), true),
            ("/w/.git/refs/heads/main".into(), false),
            ("/w/.git/index".into(), false),
            ("/w/objects/ab/cd".into(), false),
            ("/w/objects/pack/readme".into(), false),
            ("/w/src/objects".into(), false),
        ] {
            assert_eq!(is_object(Path::new(&path)), object, "{path}");
        }
    }

    #[test]
    fn the_inside_of_git_is_known() {
        let table = [
            ("/w/src", Area::Plain, "lib.rs", false),
            ("/w/.git", Area::Git, "index", false),
            ("/w/.git/refs/heads", Area::Git, "main", false),
            ("/w/.git/objects", Area::Objects, "x", false),
            ("/w/.git/objects/ab", Area::Fixed, "0123456789abcdef0123456789abcdef012345", true),
            ("/w/.git/objects/ab", Area::Fixed, "tmp_obj_x", false),
            ("/w/.git/objects/pack", Area::Fixed, "pack-12.pack", true),
            ("/w/.git/objects/pack", Area::Fixed, "multi-pack-index", false),
            ("/w/.git/objects/info", Area::Git, "packs", false),
            ("/w/.git/modules/m/objects/00", Area::Fixed, "pack-12.keep", false),
            ("/w/objects/ab", Area::Plain, "0123456789abcdef0123456789abcdef012345", false),
        ];
        for (path, area, name, fixed) in table {
            let found = Area::of(Path::new(path));
            assert_eq!((found, found.is_fixed(name.as_bytes())), (area, fixed), "{path} {name}");
        }
    }

    #[test]
    fn what_passes_is_not_kept() {
        for (area, name, passing) in [
            (Area::Git, "index.lock", true),
            (Area::Git, "index", false),
            (Area::Plain, "Cargo.lock", false),
            (Area::Plain, ".ostler-0123456789abcdef.tmp", true),
            (Area::Plain, ".ostler-notes.tmp", false),
            (Area::Fixed, "tmp_obj_x", true),
        ] {
            assert_eq!(area.is_passing(name.as_bytes()), passing, "{name}");
        }
    }

    #[test]
    fn build_folders_go_by_their_names() {
        let is = |path: &str| {
            let path = Path::new(path);
            is_build(path.parent().unwrap(), path.file_name().unwrap().as_bytes())
        };
        assert!(is("/w/target") && is("/w/a/node_modules") && is("/w/vendor/bundle"));
        assert!(!is("/w/src") && !is("/w/bundle") && !is("/w/vendor"));
    }
}
