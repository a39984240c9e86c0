//! Path text → the object it means: absolute, free of links as far as it exists.
//!
//! The kernel's own rules: links are followed from left to right, `..` leaves the folder a link led to, and `..`
//! behind a name that does not exist is an error rather than folded away. No `~`, no variables.

use super::error::FileError;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

const MAX_PATH: usize = 4095;
const MAX_NAME: usize = 255;
/// As the kernel has it.
const MAX_LINKS: usize = 40;

enum Part {
    Root,
    Up,
    Name(OsString),
}

pub fn resolve(cwd: &Path, text: &str) -> Result<PathBuf, FileError> {
    check(text)?;
    let mut walk =
        Walk { out: PathBuf::from("/"), todo: VecDeque::new(), links: 0, missing: false };
    walk.prepend(&cwd.join(text));
    while let Some(part) = walk.todo.pop_front() {
        walk.step(part)?;
    }
    let says_folder = text.ends_with('/') || text.ends_with("/.");
    if says_folder && walk.missing {
        return Err(FileError::Missing {
            path: walk.out,
            hint: ", and its name ends like a folder's.".into(),
        });
    }
    if says_folder && !walk.out.is_dir() {
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

struct Walk {
    /// Existing and free of links, until something is missing.
    out: PathBuf,
    todo: VecDeque<Part>,
    links: usize,
    missing: bool,
}

impl Walk {
    fn prepend(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                Component::RootDir => self.todo.push_front(Part::Root),
                Component::ParentDir => self.todo.push_front(Part::Up),
                Component::Normal(name) => self.todo.push_front(Part::Name(name.to_owned())),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    fn step(&mut self, part: Part) -> Result<(), FileError> {
        match part {
            Part::Root => self.out = PathBuf::from("/"),
            Part::Up if self.missing => {
                return Err(FileError::Missing {
                    path: self.out.clone(),
                    hint: ", so `..` leads nowhere.".into(),
                });
            }
            Part::Up => drop(self.out.pop()),
            Part::Name(name) if self.missing => self.out.push(name),
            Part::Name(name) => self.enter(name)?,
        }
        Ok(())
    }

    fn enter(&mut self, name: OsString) -> Result<(), FileError> {
        let next = self.out.join(name);
        let meta = match next.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.missing = true;
                self.out = next;
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(FileError::NotAFolder(std::mem::take(&mut self.out)));
            }
            Err(error) => return Err(FileError::io("look at", &next, error)),
        };
        if meta.is_symlink() {
            self.links += 1;
            if self.links > MAX_LINKS {
                return Err(FileError::Links(next));
            }
            let target = next.read_link().map_err(|error| FileError::io("follow", &next, error))?;
            self.prepend(&target);
            return Ok(());
        }
        let goes_on = self.todo.iter().any(|part| !matches!(part, Part::Root));
        if goes_on && !meta.is_dir() {
            return Err(FileError::NotAFolder(next));
        }
        self.out = next;
        Ok(())
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
