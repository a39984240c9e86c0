//! Where the paths of a command lead on this disk, as they would if it ran now.

use super::{git, judge, subtree};
use crate::workspace::Files;
use ostler_core::permission::{PathScope, Places, TouchKind};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Larger files are not compared: an approval to run one applies to once.
const MAX_RUN: u64 = 4 << 20;

/// The disk's answer. Nothing is remembered: each question looks again.
pub struct DiskPlaces<'a> {
    files: &'a Files,
    /// Directories in which programs are looked for, in order.
    programs: Vec<PathBuf>,
}

impl<'a> DiskPlaces<'a> {
    /// The path is that of the commands.
    pub fn new(files: &'a Files, path: &OsStr) -> Self {
        let folders = path.as_bytes().split(|byte| *byte == b':');
        let programs = folders.map(|folder| PathBuf::from(OsStr::from_bytes(folder))).collect();
        DiskPlaces { files, programs }
    }

    /// The directory after these changes. None where the shell, which goes by names, and the kernel would not agree, or
    /// where a change would fail.
    fn folder(&self, changes: &[String]) -> Option<PathBuf> {
        let mut at = self.files.resolve(".").ok()?;
        let mut named = self.files.cwd().to_path_buf();
        for change in changes {
            let change = self.with_home(change)?;
            at = self.files.resolve_from(&at, change.to_str()?).ok()?;
            if !self.files.is_folder(&at) {
                return None;
            }
            named = by_name(&named, &change);
            if self.files.resolve(named.to_str()?).ok()? != at {
                return None;
            }
        }
        Some(at)
    }

    fn with_home(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let workspace = self.files.workspace();
                let home = &workspace.home;
                home.is_absolute().then(|| home.join(rest.trim_start_matches('/')))
            }
            Some(_) => None,
            None => Some(PathBuf::from(path)),
        }
    }

    /// What the path leads to; and the link itself, if it ends in one: some programs follow it, some replace it.
    fn both(&self, at: &Path, path: &Path) -> Option<Vec<PathBuf>> {
        let target = self.files.resolve_from(at, path.to_str()?).ok()?;
        let mut found = vec![target];
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            let own = self.files.resolve_from(at, parent.to_str()?).ok()?.join(name);
            if !found.contains(&own) {
                found.push(own);
            }
        }
        Some(found)
    }

    fn matched(&self, at: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
        // A program would take such a name for an option.
        let bare = pattern.starts_with(['*', '?']);
        let pattern = self.with_home(pattern)?;
        let names = judge::expand(at, pattern.to_str()?)?;
        let is_option = |name: &PathBuf| {
            let first = name.strip_prefix(at).ok().and_then(|below| below.iter().next());
            first.is_some_and(|first| first.as_bytes().starts_with(b"-"))
        };
        if bare && names.iter().any(is_option) {
            return None;
        }
        let names = names.iter().filter(|name| !is_below_a_file(name));
        let each: Option<Vec<_>> = names.map(|name| self.both(at, name)).collect();
        Some(each?.concat())
    }

    /// The outer none: it is not a plain one. The inner: there is none, and git will say so.
    fn repository(&self, at: &Path) -> Option<Option<PathBuf>> {
        git::repository(at, &self.files.workspace()).ok()
    }
}

impl Places for DiskPlaces<'_> {
    fn look_up(&self, folder: &[String], path: &str, kind: TouchKind) -> Option<Vec<PathScope>> {
        let at = self.folder(folder)?;
        let found = match kind {
            TouchKind::File | TouchKind::Tree | TouchKind::Names => {
                self.both(&at, &self.with_home(path)?)?
            }
            TouchKind::Followed | TouchKind::Listed => {
                let mut found = self.both(&at, &self.with_home(path)?)?;
                let top = found.first()?.clone();
                found.extend(subtree::links(self.files, &top, kind == TouchKind::Listed)?);
                found
            }
            TouchKind::Glob => self.matched(&at, path)?,
            TouchKind::Repository => self.repository(&at)?.into_iter().collect(),
            TouchKind::InRepository => match self.repository(&at)? {
                // Never taken for an absolute path, nor for one in the home directory, nor out of the repository.
                Some(top) => {
                    let found = self.both(&top, Path::new(&format!("./{path}")))?;
                    if !found.iter().all(|path| path.starts_with(&top)) {
                        return None;
                    }
                    found
                }
                None => Vec::new(),
            },
        };
        let scope = match kind {
            TouchKind::File | TouchKind::InRepository => PathScope::File,
            TouchKind::Tree
            | TouchKind::Followed
            | TouchKind::Listed
            | TouchKind::Names
            | TouchKind::Glob
            | TouchKind::Repository => PathScope::Tree,
        };
        Some(found.into_iter().map(scope).collect())
    }

    fn is_system_program(&self, name: &str) -> bool {
        if name.is_empty() || name.contains('/') {
            return false;
        }
        for folder in &self.programs {
            // Relative ones are wherever the command happens to be.
            if !folder.is_absolute() {
                return false;
            }
            let program = folder.join(name);
            match program.metadata() {
                Ok(meta) if meta.is_file() && meta.mode() & 0o111 != 0 => {
                    return is_systems(&program, &meta, self.files);
                }
                // Not a program: the search continues, as the shell's does.
                _ => {}
            }
        }
        false
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.may_exist(path)
    }

    fn content(&self, path: &Path) -> Option<String> {
        self.files.load(path, MAX_RUN).ok().flatten().map(|content| content.hash)
    }
}

/// Below what is no directory there is nothing.
fn is_below_a_file(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotADirectory)
}

/// It is the system's or the user's own, not the project's or one that anybody could have put there.
fn is_systems(program: &Path, meta: &std::fs::Metadata, files: &Files) -> bool {
    const BY_OTHERS: u32 = 0o022;
    const BY_ANYBODY: u32 = 0o002;
    let workspace = files.workspace();
    let Some(folder) = program.parent() else { return false };
    let (Ok(real), Ok(folder), Ok(of_folder)) =
        (program.canonicalize(), folder.canonicalize(), folder.metadata())
    else {
        return false;
    };
    let is_inside = |path: &Path| workspace.contains(path) || path.starts_with(&workspace.cwd);
    let places = [real.as_path(), folder.as_path(), program];
    !places.iter().any(|path| is_inside(path))
        && meta.mode() & BY_OTHERS == 0
        && of_folder.mode() & BY_ANYBODY == 0
}

/// As the shell's `cd` does: `..` takes the name before it away, link or not.
fn by_name(at: &Path, change: &Path) -> PathBuf {
    let mut made = at.to_path_buf();
    for part in change.components() {
        match part {
            Component::RootDir => made = PathBuf::from("/"),
            Component::ParentDir => drop(made.pop()),
            Component::Normal(name) => made.push(name),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    made
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
