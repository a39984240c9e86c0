//! Other names of denied files: hard links, found by the number of the file.

use super::tree::{Tree, WalkBudget};
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file system and a number in it.
pub(super) type LinkPlace = (u64, u64);

/// A denied file that has several names.
#[derive(Clone, Debug)]
pub(super) struct SharedInodes {
    pub path: PathBuf,
    pub names: u64,
    pub reading: bool,
    pub writing: bool,
}

pub(super) type SharedFiles = HashMap<LinkPlace, SharedInodes>;

/// Remembers the numbers of all files it has walked past.
#[derive(Default)]
pub(super) struct Links {
    files: Tree<Vec<(u64, OsString)>>,
    inner: Tree<Vec<(LinkPlace, OsString, u64)>>,
}

/// A name of a denied file.
pub(super) struct OtherName {
    pub path: PathBuf,
    pub of: LinkPlace,
}

impl Links {
    /// Adds a denied file, or every file in a denied directory, that has more names than one.
    pub(super) fn add(
        &mut self,
        path: &Path,
        writing: bool,
        shared: &mut SharedFiles,
        budget: &mut WalkBudget,
    ) -> Result<(), String> {
        let Ok(meta) = path.symlink_metadata() else { return Ok(()) };
        let mut put = |place: LinkPlace, path: PathBuf, names: u64| {
            let fresh = || SharedInodes { path, names, reading: false, writing: false };
            let known = shared.entry(place).or_insert_with(fresh);
            known.names = names;
            known.writing |= writing;
            known.reading |= !writing;
        };
        if !meta.is_dir() {
            if meta.is_file() && meta.nlink() > 1 {
                put((meta.dev(), meta.ino()), path.to_path_buf(), meta.nlink());
            }
            return Ok(());
        }
        // A new name elsewhere does not change the directory. What must not be read is looked at each time.
        let mut fresh = Tree::default();
        let tree = if writing { &mut self.inner } else { &mut fresh };
        let note = |folder: &Path, entry: &super::tree::TreeEntry, kept: &mut Vec<_>| {
            if !entry.is_dir
                && !entry.is_link
                && let Ok(meta) = folder.join(&entry.name).symlink_metadata()
                && meta.is_file()
                && meta.nlink() > 1
            {
                kept.push(((meta.dev(), meta.ino()), entry.name.clone(), meta.nlink()));
            }
            true
        };
        tree.walk(&[path.to_path_buf()], budget, note, |folder, kept| {
            kept.iter().for_each(|(place, name, names)| put(*place, folder.join(name), *names));
        })?;
        Ok(())
    }

    /// Every name of these files below the directories.
    pub(super) fn find(
        &mut self,
        shared: &SharedFiles,
        starts: &[PathBuf],
        budget: &mut WalkBudget,
    ) -> Result<Vec<OtherName>, String> {
        let numbers: std::collections::HashSet<u64> = shared.keys().map(|place| place.1).collect();
        let note = |_: &Path, entry: &super::tree::TreeEntry, kept: &mut Vec<(u64, OsString)>| {
            if !entry.is_dir && !entry.is_link {
                kept.push((entry.ino, entry.name.clone()));
            }
            true
        };
        let mut found = Vec::new();
        // A name in a directory that cannot be entered is missing from the count, which the caller notices.
        self.files.walk(starts, budget, note, |folder, kept| {
            for (_, name) in kept.iter().filter(|(number, _)| numbers.contains(number)) {
                let path = folder.join(name);
                let place = path.symlink_metadata().map(|meta| (meta.dev(), meta.ino()));
                if let Some(of) = place.ok().filter(|place| shared.contains_key(place)) {
                    found.push(OtherName { path, of });
                }
            }
        })?;
        Ok(found)
    }
}
