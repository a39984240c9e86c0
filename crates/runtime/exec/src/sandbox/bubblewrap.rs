//! The arguments of bubblewrap: a read-only view of the system in which private directories, the
//! roots and what is frozen in them are mounted, from the top of the tree downwards.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::Sandbox;
use super::available_layers::Bubblewrap;
use super::landlock::open_root;
use super::stubs::{HeldStubs, Stubs};
use super::view::{TreeView, ViewMark};

/// More listening sockets than this in sight are not masked one by one.
const MAX_SOCKETS: usize = 256;

/// A bubblewrap that is ready to be started.
#[derive(Debug)]
pub(crate) struct Bubble {
    /// Each with a NUL at its end.
    pub arguments: Vec<u8>,
    /// The roots, which the arguments name by number.
    pub roots: Vec<OwnedFd>,
    pub held: HeldStubs,
}

/// What is mounted in one place. The order is the one of mounts in the same place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum BubbleMount {
    Proc,
    Dev,
    /// Empty, private and not to be written.
    Empty,
    /// A directory without anything mounted, below an empty one.
    Folder,
    Link(PathBuf),
    ReadOnly,
    /// The directory itself, so that it cannot be renamed, or another one, by its descriptor.
    Writable,
    WritableFd(i32),
    /// A file that cannot be opened: a device where devices are not allowed.
    Masked,
    /// A directory that can be neither listed nor entered.
    Sealed,
    Frozen,
}

pub(crate) fn prepare(
    sandbox: &Sandbox,
    bubblewrap: &Bubblewrap,
    stubs: &mut Stubs,
) -> Result<Bubble, String> {
    let view = TreeView::new(sandbox);
    let mut plan = MountPlan { sandbox, view, mounts: Vec::new(), roots: Vec::new() };
    plan.system(bubblewrap)?;
    plan.marks(bubblewrap)?;
    plan.sockets()?;
    let mut held = HeldStubs::default();
    let frozen = match plan.frozen(stubs, &mut held) {
        Ok(frozen) => frozen,
        Err(reason) => {
            stubs.release(held);
            return Err(reason);
        }
    };
    plan.pin_hidden(&frozen);
    plan.mounts.sort_by_cached_key(|(path, mount)| {
        (path.components().count(), path.clone(), mount.clone())
    });
    plan.mounts.dedup();
    let arguments = plan.arguments(bubblewrap);
    Ok(Bubble { arguments, roots: plan.roots, held })
}

struct MountPlan<'a> {
    sandbox: &'a Sandbox,
    view: TreeView,
    mounts: Vec<(PathBuf, BubbleMount)>,
    roots: Vec<OwnedFd>,
}

impl MountPlan<'_> {
    fn system(&mut self, bubblewrap: &Bubblewrap) -> Result<(), String> {
        self.mounts.push(("/proc".into(), BubbleMount::Proc));
        self.mounts.push(("/dev".into(), BubbleMount::Dev));
        let temp = self.sandbox.temp.clone();
        self.writable("/tmp".into(), &temp, bubblewrap)?;
        // Programs are found through this link on some systems; where it leads to is in sight.
        let system = Path::new("/run/current-system");
        if let Ok(target) = std::fs::read_link(system) {
            self.mounts.push((system.into(), BubbleMount::Link(target)));
        }
        Ok(())
    }

    /// Mounts a directory by its descriptor where bubblewrap can do that: it then checks that it has
    /// mounted what we have opened.
    fn writable(&mut self, at: PathBuf, from: &Path, found: &Bubblewrap) -> Result<(), String> {
        let root = open_root(from)?;
        if found.bind_fd {
            self.mounts.push((at, BubbleMount::WritableFd(root.as_raw_fd())));
            self.roots.push(root);
        } else if at == from {
            self.mounts.push((at, BubbleMount::Writable));
        } else {
            return Err("this bubblewrap is too old; 0.8 or newer is needed".into());
        }
        Ok(())
    }

    fn marks(&mut self, bubblewrap: &Bubblewrap) -> Result<(), String> {
        let marks: Vec<_> =
            self.view.marks().map(|(path, kind)| (path.to_path_buf(), kind)).collect();
        for (path, kind) in marks {
            if kind == ViewMark::Writable {
                if path != self.sandbox.temp {
                    self.writable(path.clone(), &path, bubblewrap)?;
                }
                continue;
            }
            let data = match std::fs::symlink_metadata(&path) {
                Ok(data) => data,
                Err(error) if self.can_be_uncovered(&path, &error) => {
                    return Err(unprotected(&path, &error));
                }
                // What is missing has nothing to hide or to show.
                Err(_) => continue,
            };
            let around = self.view.around(&path);
            let is_private = path == Path::new("/tmp") || path == Path::new("/dev");
            let mount = match kind {
                ViewMark::Writable => continue,
                ViewMark::Closed if is_private => continue,
                // Where a link leads to has a mark of its own.
                ViewMark::Closed if data.is_symlink() => continue,
                ViewMark::Closed if around == ViewMark::Closed => {
                    match self.sandbox.homes.contains(&path) {
                        true => BubbleMount::Folder,
                        false => continue,
                    }
                }
                ViewMark::Closed if data.is_dir() => {
                    let is_sealed = self.view.is_hidden(&path) && !self.view.has_open_below(&path);
                    if is_sealed { BubbleMount::Sealed } else { BubbleMount::Empty }
                }
                ViewMark::Closed => BubbleMount::Masked,
                ViewMark::Readable if around != ViewMark::Closed => continue,
                ViewMark::Readable if data.is_symlink() => match std::fs::read_link(&path) {
                    Ok(target) => BubbleMount::Link(target),
                    Err(_) => continue,
                },
                ViewMark::Readable => BubbleMount::ReadOnly,
            };
            self.mounts.push((path, mount));
        }
        Ok(())
    }

    /// A read-only mount does not keep anybody from connecting to a socket in it, so each one
    /// that listens in sight is masked.
    fn sockets(&mut self) -> Result<(), String> {
        let list = std::fs::read("/proc/net/unix").unwrap_or_default();
        let mut count = 0;
        for path in socket_paths(&list) {
            let is_socket =
                std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
            let real = std::fs::canonicalize(path).unwrap_or_default();
            if !is_socket || self.view.of(&real) == ViewMark::Closed {
                continue;
            }
            count += 1;
            if count > MAX_SOCKETS {
                return Err(format!("more than {MAX_SOCKETS} sockets would have to be masked"));
            }
            self.mounts.push((real, BubbleMount::Masked));
        }
        Ok(())
    }

    /// The real places that are read-only from here on.
    fn frozen(&mut self, stubs: &mut Stubs, held: &mut HeldStubs) -> Result<Vec<PathBuf>, String> {
        let mut all = Vec::new();
        for path in &self.sandbox.frozen {
            if let Some(root) = self.root_of(path) {
                stubs.hold(&root, path, held).map_err(|error| unprotected(path, &error))?;
                // Through links, if it comes to that: then the place they lead to is held.
                match std::fs::canonicalize(path) {
                    Ok(real) => all.push(real),
                    Err(error) if self.can_be_uncovered(path, &error) => {
                        return Err(unprotected(path, &error));
                    }
                    Err(_) => {}
                }
            }
        }
        for path in &all {
            let is_inner = all.iter().any(|other| path != other && path.starts_with(other));
            let Some(root) = self.root_of(path).filter(|_| !is_inner) else { continue };
            self.pin_between(&root, path, &[]);
            self.mounts.push((path.clone(), BubbleMount::Frozen));
        }
        Ok(all)
    }

    /// Whether a name that cannot be looked at may be there all the same, in a place where the
    /// command can change the permissions that keep us from looking.
    fn can_be_uncovered(&self, path: &Path, error: &std::io::Error) -> bool {
        let is_absent = [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind());
        !is_absent && self.root_above(path).is_some()
    }

    /// The directories above a hidden name must not be renamed: the next command is told to hide
    /// the name, not what has become of it.
    fn pin_hidden(&mut self, frozen: &[PathBuf]) {
        let hidden: Vec<PathBuf> = self.view.hidden().map(Path::to_path_buf).collect();
        for path in hidden {
            let is_real = std::fs::canonicalize(&path).is_ok_and(|real| real == path);
            if is_real && let Some(root) = self.root_above(&path) {
                self.pin_between(&root, &path, frozen);
            }
        }
    }

    /// Mounts the directories between a root and a path on themselves, so that they can be
    /// neither renamed nor replaced. Those that are read-only already stay as they are.
    fn pin_between(&mut self, root: &Path, path: &Path, frozen: &[PathBuf]) {
        let between = path.ancestors().skip(1).take_while(|above| *above != root);
        let is_open = |above: &&Path| !frozen.iter().any(|frozen| above.starts_with(frozen));
        let pins =
            between.filter(is_open).map(|above| (above.to_path_buf(), BubbleMount::Writable));
        self.mounts.extend(pins);
    }

    /// The root that makes a path writable, if one does.
    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        if self.view.bears_mark(path) { None } else { self.root_above(path) }
    }

    /// The root around a path, whatever the path's own mark is.
    fn root_above(&self, path: &Path) -> Option<PathBuf> {
        let above = path.ancestors().skip(1).find(|above| self.view.bears_mark(above))?;
        (self.view.of(above) == ViewMark::Writable).then(|| above.to_path_buf())
    }

    fn arguments(&self, found: &Bubblewrap) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |words: &[&OsStr]| {
            for word in words {
                out.extend_from_slice(word.as_bytes());
                out.push(0);
            }
        };
        for word in [
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--as-pid-1",
            // Root would keep them, and could take off what is mounted.
            "--cap-drop",
            "ALL",
        ] {
            put(&[word.as_ref()]);
        }
        if !self.sandbox.network {
            put(&["--unshare-net".as_ref()]);
        }
        // The filter refuses namespaces too, and at no cost.
        if found.disable_userns && !self.sandbox.layers.seccomp {
            put(&["--disable-userns".as_ref()]);
        }
        put(&["--ro-bind", "/", "/"].map(OsStr::new));
        for (path, mount) in &self.mounts {
            let at = path.as_os_str();
            match mount {
                BubbleMount::Proc => put(&["--proc".as_ref(), at]),
                BubbleMount::Dev => put(&["--dev".as_ref(), at]),
                // By its mode, which is much cheaper for bubblewrap than another mount.
                BubbleMount::Empty => {
                    put(&["--perms".as_ref(), "0555".as_ref(), "--tmpfs".as_ref(), at])
                }
                BubbleMount::Folder => put(&["--dir".as_ref(), at]),
                BubbleMount::Link(target) => put(&["--symlink".as_ref(), target.as_os_str(), at]),
                BubbleMount::ReadOnly | BubbleMount::Frozen => put(&["--ro-bind".as_ref(), at, at]),
                BubbleMount::Writable => put(&["--bind".as_ref(), at, at]),
                BubbleMount::WritableFd(fd) => {
                    put(&["--bind-fd".as_ref(), fd.to_string().as_ref(), at]);
                }
                BubbleMount::Masked => put(&["--ro-bind".as_ref(), "/dev/null".as_ref(), at]),
                BubbleMount::Sealed => {
                    put(&["--perms".as_ref(), "0000".as_ref(), "--tmpfs".as_ref(), at]);
                    put(&["--remount-ro".as_ref(), at]);
                }
            }
        }
        out
    }
}

fn unprotected(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "{} cannot be protected ({error}); check the permissions of the directories above it",
        path.display()
    )
}

/// The names in `/proc/net/unix` that are paths.
fn socket_paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    list.split(|byte| *byte == b'\n').filter_map(|line| {
        let start = line.iter().position(|byte| *byte == b'/')?;
        Some(Path::new(OsStr::from_bytes(line.get(start..)?)))
    })
}
