//! Commands that run beside others: each may write the files that its text was proved to write, and no others. All else
//! of the workspace is read-only for it, so that nothing that happens to another call's files can be its doing.
//!
//! Single files can be granted only if they are written in place: a file that is renamed, removed or replaced needs the
//! right to change its directory, and with it every other name there. A file that does not exist yet is created before
//! the command starts, and removed after it unless the command has opened it for writing.

use super::{ConfinedCommand, Confinement, Terms};
use ostler_core::permission::script::Word;
use ostler_core::permission::{Access, Act, Commands, Effect, PathScope, Step, TouchKind};
use ostler_exec::Layers;
use rustix::fd::OwnedFd;
use rustix::fs::{
    self, AtFlags, CWD, Mode, OFlags, ResolveFlags, inotify,
    inotify::{CreateFlags, ReadFlags, WatchFlags},
};
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Programs that open the files they name and never replace or rename them, with the options that leave it so.
const IN_PLACE: [(&str, &[&str]); 2] = [("touch", &[]), ("tee", &["-a", "--append"])];
/// They change how the shell creates files from then on.
const SETS_CREATION: [&str; 3] = ["set", "shopt", "umask"];

/// The files that one command may write while others run.
pub struct ExactWrites {
    files: Vec<WrittenFile>,
    /// Tells which of the new files were opened for writing.
    watch: OwnedFd,
}

struct WrittenFile {
    path: PathBuf,
    /// Device and inode. None: it does not exist yet.
    identity: Option<(u64, u64)>,
}

impl ExactWrites {
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Those that exist, so that one file under two names is noticed.
    pub fn identities(&self) -> impl Iterator<Item = (u64, u64)> {
        self.files.iter().filter_map(|file| file.identity)
    }
}

impl Confinement {
    /// None: the kernel cannot hold the command to exactly what it was proved to write, so it runs alone.
    pub fn exact_writes(
        &self,
        commands: &Commands,
        judged: &Access,
        lifted: bool,
    ) -> Option<ExactWrites> {
        let can_hold = self.not_whole(lifted).is_none();
        let is_proved = judged.known && judged.hosts.is_empty() && judged.inward.is_none();
        if !can_hold || !is_proved {
            return None;
        }
        let proof = judged.runs.as_deref().unwrap_or(commands);
        let paths = written_in_place(proof)?;
        let files = paths.into_iter().map(|path| self.written_file(path, judged));
        let files = files.collect::<Option<Vec<_>>>().filter(|files| !files.is_empty())?;
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(ExactWrites { files, watch })
    }

    fn written_file(&self, path: PathBuf, judged: &Access) -> Option<WrittenFile> {
        let in_git = path.components().any(|part| part.as_os_str() == ".git");
        if in_git || !self.workspace.now().contains(&path) {
            return None;
        }
        match std::fs::symlink_metadata(&path) {
            // Another name of the same file may be another call's.
            Ok(meta) if meta.is_file() && meta.nlink() == 1 => {
                Some(WrittenFile { path, identity: Some((meta.dev(), meta.ino())) })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let parent = path.parent()?;
                let may_create = fs::Access::WRITE_OK | fs::Access::EXEC_OK;
                let is_creatable = std::fs::symlink_metadata(parent).ok()?.is_dir()
                    && fs::access(parent, may_create).is_ok();
                // The command must not find out that the file is there before it has created it.
                let written = Access::writing(PathScope::File(path.clone()));
                let is_read = judged
                    .reads
                    .iter()
                    .any(|read| Access::reading(read.clone()).conflicts(&written));
                (is_creatable && !is_read).then_some(WrittenFile { path, identity: None })
            }
            _ => None,
        }
    }

    /// # Errors
    /// In words, when the command cannot be held as it was judged: it must not run.
    pub fn held_exactly(
        &self,
        terms: Terms<'_>,
        writes: ExactWrites,
    ) -> Result<ConfinedCommand, String> {
        let layers = self.layers();
        if layers != (Layers { landlock: true, seccomp: true, bubblewrap: true }) {
            return Err("a layer of the sandbox is gone".into());
        }
        let denied = self.denied_for(terms)?;
        let mut sandbox = self.sandbox(Vec::new(), false, layers)?;
        denied.keep_from(&mut sandbox);
        sandbox.bounds = self.bounds(&terms);
        let made = tempfile::Builder::new().prefix("beside-").tempdir_in(&sandbox.temp);
        let temp = made.map_err(|error| format!("cannot create a temporary directory: {error}"))?;
        sandbox.temp = temp.path().to_path_buf();
        sandbox.readable.append(&mut sandbox.writable);
        sandbox.writable = writes.paths().map(Path::to_path_buf).collect();
        let new_files = NewFiles::create(writes)?;
        Ok(ConfinedCommand {
            sandbox: Some(Arc::new(sandbox)),
            guard: None,
            rebases: None,
            new_files: Some(new_files),
            _temp: Some(temp),
        })
    }
}

/// The files it writes, if it writes all of them in place.
fn written_in_place(commands: &Commands) -> Option<Vec<PathBuf>> {
    commands.programs()?;
    if commands.runs_git() {
        return None;
    }
    let mut paths = Vec::new();
    for step in &commands.steps {
        let name = step.words.first().and_then(Word::literal).unwrap_or_default();
        if SETS_CREATION.contains(&name) {
            return None;
        }
        for touch in &step.touches {
            match touch.act {
                Act::Read | Act::Run => continue,
                Act::Write if !is_in_place(step, name) => return None,
                Act::Write | Act::Redirect => {}
            }
            if touch.kind != TouchKind::File {
                return None;
            }
            for scope in touch.scopes.as_deref()? {
                match scope {
                    PathScope::File(path) if !paths.contains(path) => paths.push(path.clone()),
                    PathScope::File(_) => {}
                    PathScope::Tree(_) => return None,
                }
            }
        }
    }
    Some(paths)
}

fn is_in_place(step: &Step, name: &str) -> bool {
    let Some((_, options)) = IN_PLACE.iter().find(|(program, _)| *program == name) else {
        return false;
    };
    let is_known = |word: &Word| {
        word.literal().is_some_and(|word| !word.starts_with('-') || options.contains(&word))
    };
    step.effect == Effect::Writes && step.words.iter().skip(1).all(is_known)
}

/// Files that were created for a command, because only what exists can be granted.
pub(super) struct NewFiles {
    files: Vec<NewFile>,
    watch: OwnedFd,
}

struct NewFile {
    /// ConfinedCommand, so that no link can lead us elsewhere.
    parent: OwnedFd,
    name: OsString,
    inode: u64,
    watched_as: i32,
}

impl NewFiles {
    fn create(writes: ExactWrites) -> Result<Self, String> {
        let mut new = NewFiles { files: Vec::new(), watch: writes.watch };
        for file in writes.files.iter().filter(|file| file.identity.is_none()) {
            let created = create(&file.path, &new.watch);
            let words = |error| format!("{} cannot be created: {error}", file.path.display());
            match created {
                Ok(file) => new.files.push(file),
                Err(error) => {
                    new.remove_unused();
                    return Err(words(error));
                }
            }
        }
        Ok(new)
    }

    /// Removes what nobody has opened for writing since: the command did not create it.
    pub(super) fn remove_unused(&mut self) {
        // Rather one file too many than one less than the command has made.
        let Some(used) = used(&self.watch) else { return };
        for file in self.files.drain(..).filter(|file| !used.contains(&file.watched_as)) {
            let is_ours = fs::statat(&file.parent, &file.name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| stat.st_ino == file.inode && stat.st_size == 0);
            if is_ours {
                let _ = fs::unlinkat(&file.parent, &file.name, AtFlags::empty());
            }
        }
    }
}

fn create(path: &Path, watch: &OwnedFd) -> rustix::io::Result<NewFile> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(rustix::io::Errno::INVAL);
    };
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = fs::openat2(CWD, parent, directory, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    // Opened for reading, so that closing it does not look like the command's work. The mode is the one that the
    // command's own programs would ask for.
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(&parent, name, new, Mode::from_raw_mode(0o666))?;
    let inode = fs::fstat(&file)?.st_ino;
    let written = WatchFlags::CLOSE_WRITE | WatchFlags::MODIFY | WatchFlags::ATTRIB;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let watched = inotify::add_watch(watch, link.as_str(), written);
    let watched_as = watched.inspect_err(|_| {
        let _ = fs::unlinkat(&parent, name, AtFlags::empty());
    })?;
    Ok(NewFile { parent, name: name.to_owned(), inode, watched_as })
}

/// None: it cannot be told.
fn used(watch: &OwnedFd) -> Option<Vec<i32>> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(watch, &mut buffer);
    let mut used = Vec::new();
    while let Ok(event) = reader.next() {
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            return None;
        }
        used.push(event.wd());
    }
    Some(used)
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
