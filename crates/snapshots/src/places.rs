//! What is special about some names: folders that builds make, and the inside of git's.

use crate::door::FOLDER;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, openat, statat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A build folder is left out above either of these.
pub const BUILD_BYTES: u64 = 32 << 20;
pub const BUILD_FILES: u64 = 2_000;
/// Folders are not looked into deeper than this.
const DEEPEST: usize = 64;

/// Folders whose content is made again by a build or an installation.
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

/// How much a folder holds, counted only until it is too much.
#[derive(Default)]
struct Count {
    files: u64,
    bytes: u64,
}

impl Count {
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
    let mut count = Count::default();
    count.add(folder, OsStr::from_bytes(name), 0);
    count.is_over()
}

/// Where a folder stands as far as git is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    Plain,
    /// Inside a `.git` folder.
    Git,
    /// Its `objects`.
    Objects,
    /// A folder of `objects` that holds only files that never change.
    Fixed,
}

impl Area {
    pub(crate) fn of(path: &Path) -> Area {
        path.iter().fold(Area::Plain, |area, name| area.below(name.as_bytes()))
    }

    /// The area of a folder of this name in a folder of this area.
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
        let ours = name.starts_with(b".ostler-") && name.ends_with(b".tmp");
        let git = self != Area::Plain && name.ends_with(b".lock");
        let object = self == Area::Fixed && name.starts_with(b"tmp_");
        ours || git || object
    }
}
