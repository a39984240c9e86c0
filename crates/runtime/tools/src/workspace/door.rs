//! Opens what a path names, from descriptors held since the session got its directories. The path is free of links; if one stands on it all
//! the same, somebody put it there after the path was judged, and nothing is opened.

use super::error::FileError;
use ostler_core::permission::Live;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The file system of `/proc`, whose links lead where no path does.
const PROC: u64 = 0x9fa0;

pub struct Door {
    roots: Live<Vec<WorkspaceRoot>>,
    slash: Option<Arc<OwnedFd>>,
    /// The kernel has no `openat2`, or a filter refuses it: each name is opened by itself, with the same meaning.
    by_hand: AtomicBool,
}

#[derive(Clone)]
struct WorkspaceRoot {
    path: PathBuf,
    folder: Arc<OwnedFd>,
}

impl WorkspaceRoot {
    fn open(path: &Path) -> Option<Self> {
        path.parent()?;
        Some(WorkspaceRoot { folder: open_folder(path)?, path: path.to_path_buf() })
    }
}

fn open_folder(path: &Path) -> Option<Arc<OwnedFd>> {
    fs::open(path, FOLDER, Mode::empty()).ok().map(Arc::new)
}

/// A directory that is held, and a name in it.
pub struct OpenPlace<'a> {
    pub folder: OwnedFd,
    pub name: &'a OsStr,
}

/// What stands at a path; for a link, where it points.
pub struct PathSight {
    pub stat: Stat,
    pub target: Option<PathBuf>,
}

impl PathSight {
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
    }
}

impl Door {
    /// A root that is not there, or is `/` itself, has no descriptor: what is below it is reached like anything else.
    pub fn new(roots: &[PathBuf]) -> Self {
        let roots: Vec<_> = roots.iter().filter_map(|root| WorkspaceRoot::open(root)).collect();
        Door {
            roots: roots.into(),
            slash: open_folder(Path::new("/")),
            by_hand: AtomicBool::new(false),
        }
    }

    /// One more root. Those that are held stay as they are.
    pub fn add_root(&self, path: &Path) {
        let Some(root) = WorkspaceRoot::open(path) else { return };
        self.roots.update(|roots| match roots.iter().any(|other| other.path == root.path) {
            true => roots.clone(),
            false => [roots.as_slice(), &[root]].concat(),
        });
    }

    #[cfg(test)]
    pub fn by_hand(self) -> Self {
        self.by_hand.store(true, Ordering::Relaxed);
        self
    }

    /// The roots that are held.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.roots.now().iter().map(|root| root.path.clone()).collect()
    }

    pub fn is_root(&self, path: &Path) -> bool {
        self.roots.now().iter().any(|root| root.path == path)
    }

    /// Opens the object at the path. A link at its end is an error, too, unless only the link itself is wanted.
    pub fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        match self.open_as_told(path, flags) {
            // Not a directory, but a link to one: say so.
            Err(Errno::NOTDIR)
                if flags.contains(OFlags::DIRECTORY)
                    && self.look(path).is_ok_and(|sight| sight.target.is_some()) =>
            {
                Err(Errno::LOOP)
            }
            other => other,
        }
    }

    fn open_as_told(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let (base, below) = self.base(path)?;
        #[cfg(test)]
        count(below.iter().count());
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !self.by_hand.load(Ordering::Relaxed) {
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
            match fs::openat2(&base, below, flags, Mode::empty(), resolve) {
                Err(Errno::NOSYS) => self.by_hand.store(true, Ordering::Relaxed),
                // A filter's refusal looks like the file's own; and a race is not worth an error.
                Err(Errno::PERM | Errno::AGAIN) => {}
                other => return other,
            }
        }
        open_by_hand(base.as_fd(), below, flags)
    }

    /// What stands at the path. A link is not followed.
    pub fn look(&self, path: &Path) -> Result<PathSight, Errno> {
        let (base, below) = self.base(path)?;
        if below.as_os_str().is_empty() {
            return Ok(PathSight { stat: fs::fstat(&base)?, target: None });
        }
        seen(&self.open_as_told(path, OFlags::PATH)?)
    }

    /// A directory, to look for names in it.
    pub fn folder(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.open(path, FOLDER)
    }

    /// The directory that holds the path's last name.
    pub fn place<'a>(&self, path: &'a Path) -> Result<OpenPlace<'a>, Errno> {
        let (parent, name) = self.split(path)?;
        Ok(OpenPlace { folder: self.open(parent, FOLDER)?, name })
    }

    /// The same; directories that are missing are made, one after the other.
    pub fn make_place<'a>(&self, path: &'a Path) -> Result<(OpenPlace<'a>, Parents), FileError> {
        let at = path.parent().unwrap_or(path);
        let fail = |doing| move |errno: Errno| FileError::raced(doing, at, errno);
        let (parent, name) = self.split(path).map_err(fail("write"))?;
        match self.open(parent, FOLDER) {
            Ok(folder) => return Ok((OpenPlace { folder, name }, Parents::default())),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(fail("look at")(errno)),
        }
        let (base, below) = self.base(parent).map_err(fail("look at"))?;
        let mut parents = Parents::default();
        let mut folder = fs::openat(&base, ".", FOLDER, Mode::empty()).map_err(fail("look at"))?;
        for name in below.iter() {
            folder = match step(folder.as_fd(), name) {
                Err(Errno::NOENT) => {
                    parents.make(&folder, name).map_err(fail("create the directory"))?;
                    step(folder.as_fd(), name)
                }
                other => other,
            }
            .map_err(fail("look at"))?;
        }
        Ok((OpenPlace { folder, name }, parents))
    }

    /// The path still leads to the object that the descriptors lead to. Work that goes by paths asks first.
    pub fn is_same(&self, path: &Path) -> bool {
        let ours = self.look(path).map(|sight| (sight.stat.st_dev, sight.stat.st_ino));
        let theirs = fs::lstat(path).map(|stat| (stat.st_dev, stat.st_ino));
        ours.is_ok() && ours == theirs
    }

    fn split<'a>(&self, path: &'a Path) -> Result<(&'a Path, &'a OsStr), Errno> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !self.is_root(path) => Ok((parent, name)),
            _ => Err(Errno::ISDIR),
        }
    }

    fn base<'a>(&self, path: &'a Path) -> Result<(Arc<OwnedFd>, &'a Path), Errno> {
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(Errno::INVAL);
        }
        let below = |root: &'_ WorkspaceRoot| path.strip_prefix(&root.path).ok();
        let roots = self.roots.now();
        let inside = roots.iter().filter_map(|root| Some((root, below(root)?)));
        if let Some((root, below)) = inside.max_by_key(|(root, _)| root.path.as_os_str().len()) {
            return Ok((Arc::clone(&root.folder), below));
        }
        let below = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
        Ok((self.slash.clone().ok_or(Errno::NOENT)?, below))
    }
}

/// What stands under a name in a directory that is held, and the object itself. A link is not followed.
pub fn look_in(folder: &OwnedFd, name: &OsStr) -> Result<(OwnedFd, PathSight), Errno> {
    #[cfg(test)]
    count(1);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let object = fs::openat(folder, name, flags, Mode::empty())?;
    let sight = seen(&object)?;
    Ok((object, sight))
}

fn seen(object: &OwnedFd) -> Result<PathSight, Errno> {
    let stat = fs::fstat(object)?;
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Some(target(object)?),
        _ => None,
    };
    Ok(PathSight { stat, target })
}

fn open_by_hand(base: BorrowedFd<'_>, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let Some(name) = below.file_name() else {
        return fs::openat(base, ".", flags, Mode::empty());
    };
    let mut folder = fs::openat(base, ".", FOLDER, Mode::empty())?;
    for name in below.parent().into_iter().flat_map(Path::iter) {
        folder = step(folder.as_fd(), name)?;
    }
    fs::openat(&folder, name, flags, Mode::empty())
}

/// One directory further, never through a link.
fn step(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    #[cfg(test)]
    count(1);
    fs::openat(folder, name, FOLDER, Mode::empty()).map_err(|errno| {
        let is_link = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        let link = errno == Errno::NOTDIR
            && fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(is_link);
        if link { Errno::LOOP } else { errno }
    })
}

fn target(link: &OwnedFd) -> Result<PathBuf, Errno> {
    let target = PathBuf::from(OsString::from_vec(fs::readlinkat(link, "", [])?.into_bytes()));
    let on_proc = fs::fstatfs(link).is_ok_and(|system| system.f_type as u64 == PROC);
    // Those of the kernel itself name another process's object, not a path: `/proc/1/root`, `pipe:[1]`.
    let is_plain = target.is_relative() && !target.as_os_str().as_encoded_bytes().contains(&b':');
    if on_proc && !is_plain { Err(Errno::XDEV) } else { Ok(target) }
}

/// Directories made for a file, removed again if the file did not come to be. Only the innermost is held, so that the
/// depth of a path is not limited by the number of descriptors.
#[derive(Default)]
pub struct Parents {
    made: Vec<MadeFolders>,
    /// The directory that holds the last one made.
    innermost: Option<OwnedFd>,
}

struct MadeFolders {
    name: OsString,
    /// Device and inode of the directory that holds it.
    holder: (u64, u64),
}

impl Parents {
    fn make(&mut self, folder: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        match fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                let holder = identity(folder)?;
                self.innermost = Some(folder.try_clone().map_err(|_| Errno::MFILE)?);
                self.made.push(MadeFolders { name: name.into(), holder });
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    pub fn keep(mut self) {
        self.made.clear();
    }
}

fn identity(folder: &OwnedFd) -> Result<(u64, u64), Errno> {
    fs::fstat(folder).map(|stat| (stat.st_dev, stat.st_ino))
}

impl Drop for Parents {
    /// From the inside out. Where somebody has moved a directory meanwhile, the rest stays.
    fn drop(&mut self) {
        let Some(mut folder) = self.innermost.take() else { return };
        while let Some(MadeFolders { name, holder }) = self.made.pop() {
            if identity(&folder) != Ok(holder) {
                return;
            }
            let _ = fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR);
            let Ok(above) = fs::openat(&folder, "..", FOLDER, Mode::empty()) else { return };
            folder = above;
        }
    }
}

#[cfg(test)]
thread_local! {
    /// Names that were looked up on this thread.
    static LOOKED_UP: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn count(names: usize) {
    LOOKED_UP.set(LOOKED_UP.get() + names);
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
