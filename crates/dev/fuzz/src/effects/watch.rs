//! Which files were opened: programs that were started, and files that were read.
//!
//! The directories of programs are private copies, so whatever opens a program there is the line that runs.

use super::sandbox::PROGRAMS;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories with more programs; `/bin` holds the shell that runs the lines.
const SHELLS: &str = "/bin";

pub struct AccessWatch {
    descriptor: OwnedFd,
    directories: HashMap<i32, PathBuf>,
    buffer: Vec<MaybeUninit<u8>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct SeenAccess {
    /// Programs by name.
    pub programs: Vec<String>,
    /// Files below the watched trees.
    pub files: Vec<PathBuf>,
    /// Changes to directories of programs.
    pub changes: Vec<String>,
}

impl AccessWatch {
    pub fn new(trees: &[&str]) -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let buffer = vec![MaybeUninit::uninit(); 64 << 10];
        let mut watch = AccessWatch { descriptor, directories: HashMap::new(), buffer };
        let changes = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE;
        for directory in PROGRAMS.iter().chain([&SHELLS]).map(Path::new) {
            if directory.is_dir() {
                watch.add(directory, WatchFlags::OPEN | changes)?;
            }
        }
        for tree in trees {
            watch.add_tree(Path::new(tree))?;
        }
        Ok(watch)
    }

    fn add(&mut self, directory: &Path, flags: WatchFlags) -> io::Result<()> {
        let number = inotify::add_watch(&self.descriptor, directory, flags)?;
        self.directories.insert(number, directory.to_path_buf());
        Ok(())
    }

    fn add_tree(&mut self, tree: &Path) -> io::Result<()> {
        self.add(tree, WatchFlags::OPEN)?;
        for entry in fs::read_dir(tree)? {
            let entry = entry?;
            // What git reads of its own repository is not told apart.
            if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
                self.add_tree(&entry.path())?;
            }
        }
        Ok(())
    }

    /// What happened since the last time.
    pub fn take(&mut self) -> SeenAccess {
        let mut seen = SeenAccess::default();
        let mut reader = inotify::Reader::new(&self.descriptor, &mut self.buffer);
        while let Ok(event) = reader.next() {
            let (Some(directory), Some(name)) =
                (self.directories.get(&event.wd()), event.file_name())
            else {
                continue;
            };
            let name = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
            let is_program = directory == Path::new(SHELLS)
                || PROGRAMS.iter().any(|place| directory == Path::new(place));
            match (is_program, event.events()) {
                (_, flags) if flags.contains(ReadFlags::ISDIR) => {}
                (true, flags) if flags.contains(ReadFlags::OPEN) => {
                    let own = directory == Path::new(SHELLS) && name == Path::new("bash");
                    if !own {
                        push(&mut seen.programs, name.display().to_string());
                    }
                }
                (true, _) => {
                    push(&mut seen.changes, format!("changed {}", directory.join(name).display()))
                }
                (false, _) => push(&mut seen.files, directory.join(name)),
            }
        }
        seen
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
