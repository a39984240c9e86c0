//! Path text → the object it means: absolute, free of links as far as it exists.
//!
//! The kernel's own rules: links are followed from left to right, `..` leaves the directory a link led to, and `..`
//! behind a name that does not exist is an error rather than folded away. No `~`, no variables. A path that begins with
//! a root means the directory that was the root at the start, whatever stands under its name now.

use super::door::{self, Door, PathSight};
use super::error::FileError;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

const MAX_PATH: usize = 4095;
const MAX_NAME: usize = 255;
/// As the kernel has it.
const MAX_LINKS: usize = 40;

enum PathPart {
    Root,
    Up,
    Name(OsString),
}

pub fn resolve(door: &Door, cwd: &Path, text: &str) -> Result<PathBuf, FileError> {
    check(text)?;
    let mut walk = LinkWalk {
        door,
        out: PathBuf::from("/"),
        folder: None,
        todo: VecDeque::new(),
        links: 0,
        missing: false,
    };
    walk.prepend(&cwd.join(text));
    while let Some(part) = walk.todo.pop_front() {
        walk.step(part)?;
    }
    let says_folder = text.ends_with('/') || text.ends_with("/.");
    if says_folder && walk.missing {
        return Err(FileError::Missing {
            path: walk.out,
            hint: ", and the path ends with a slash, so it can only be a directory.".into(),
        });
    }
    if says_folder && !door.look(&walk.out).is_ok_and(|sight| sight.is_folder()) {
        return Err(FileError::NotAFolder(walk.out));
    }
    match walk.out.as_os_str().len() {
        length if length > MAX_PATH => Err(FileError::TooLong(length)),
        _ => Ok(walk.out),
    }
}

fn check(text: &str) -> Result<(), FileError> {
    if text.is_empty() {
        return Err(FileError::Empty);
    }
    if text.contains('\0') {
        return Err(FileError::Nul);
    }
    if text.len() > MAX_PATH {
        return Err(FileError::TooLong(text.len()));
    }
    match text.split('/').map(str::len).max() {
        Some(longest) if longest > MAX_NAME => Err(FileError::NameTooLong(longest)),
        _ => Ok(()),
    }
}

struct LinkWalk<'a> {
    door: &'a Door,
    /// Existing and free of links, until something is missing.
    out: PathBuf,
    /// The directory at `out`, where the walk has just entered it: a path of n names takes n steps, not n walks from
    /// the top.
    folder: Option<OwnedFd>,
    todo: VecDeque<PathPart>,
    links: usize,
    missing: bool,
}

impl LinkWalk<'_> {
    fn prepend(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                Component::RootDir => self.todo.push_front(PathPart::Root),
                Component::ParentDir => self.todo.push_front(PathPart::Up),
                Component::Normal(name) => self.todo.push_front(PathPart::Name(name.to_owned())),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    fn step(&mut self, part: PathPart) -> Result<(), FileError> {
        match part {
            PathPart::Root => self.start(),
            PathPart::Up if self.missing => {
                return Err(FileError::Missing {
                    path: self.out.clone(),
                    hint: ", so `..` leads nowhere.".into(),
                });
            }
            PathPart::Up => {
                self.folder = None;
                self.out.pop();
            }
            PathPart::Name(name) if self.missing => self.out.push(name),
            PathPart::Name(name) => self.enter(name)?,
        }
        Ok(())
    }

    /// From the top, or from the root that the path names.
    fn start(&mut self) {
        self.folder = None;
        let names = |path: &Path| path.iter().skip(1).map(OsString::from).collect::<Vec<_>>();
        let begins = |root: &[OsString]| {
            root.len() <= self.todo.len()
                && root
                    .iter()
                    .zip(&self.todo)
                    .all(|(a, b)| matches!(b, PathPart::Name(b) if a == b))
        };
        let roots = self.door.roots();
        let roots = roots.iter().map(|root| (root, names(root)));
        let longest = roots.filter(|(_, names)| begins(names)).max_by_key(|(_, names)| names.len());
        match longest {
            Some((root, names)) => {
                self.out.clone_from(root);
                self.todo.drain(..names.len());
            }
            None => self.out = PathBuf::from("/"),
        }
    }

    fn enter(&mut self, name: OsString) -> Result<(), FileError> {
        let next = self.out.join(&name);
        let (object, sight) = match self.look(&next, &name) {
            Ok(found) => found,
            Err(Errno::NOENT) => {
                self.missing = true;
                self.out = next;
                return Ok(());
            }
            Err(Errno::NOTDIR) => {
                return Err(FileError::NotAFolder(std::mem::take(&mut self.out)));
            }
            Err(errno) => return Err(FileError::raced("look at", &next, errno)),
        };
        if let Some(target) = &sight.target {
            self.links += 1;
            if self.links > MAX_LINKS {
                return Err(FileError::Links(next));
            }
            self.prepend(target);
            return Ok(());
        }
        let goes_on = self.todo.iter().any(|part| !matches!(part, PathPart::Root));
        if goes_on && !sight.is_folder() {
            return Err(FileError::NotAFolder(next));
        }
        self.folder = sight.is_folder().then_some(object);
        self.out = next;
        Ok(())
    }

    /// What stands at `next`, which is this name in the directory at `out`.
    fn look(&mut self, next: &Path, name: &OsStr) -> Result<(OwnedFd, PathSight), Errno> {
        if self.door.is_root(next) {
            return Ok((self.door.folder(next)?, self.door.look(next)?));
        }
        if self.folder.is_none() {
            self.folder = Some(self.door.folder(&self.out)?);
        }
        match &self.folder {
            Some(folder) => door::look_in(folder, name),
            None => Err(Errno::NOENT),
        }
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
