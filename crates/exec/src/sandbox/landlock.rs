//! The Landlock rules of a sandbox. They are made before the command exists; the command's own
//! process only puts them on.
//!
//! Landlock grants and never takes back: where something closed lies below a folder, that folder
//! is not granted, but each of its other entries is. Such a folder can then not get new entries,
//! and it can be listed only if what is closed below it are single files.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::Sandbox;
use super::view::{Kind, View};

/// More rules than this would make the start of each command slow; a sandbox that needs them hides
/// something in a folder that is too large.
const MAX_RULES: usize = 4096;

/// Rights newer than this are not known to these rules.
const NEWEST: i32 = 6;

/// What a command may do with devices; no other device is even seen.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// What stands around the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing: they hold alone.
    Bare,
    /// The mounts of bubblewrap, which decide what is seen.
    Inside,
}

/// The version of the kernel's Landlock, or why there is none.
pub(crate) fn version() -> Result<i32, String> {
    crate::sys::landlock_version().map_err(|errno| explain(errno).into())
}

pub(crate) fn explain(errno: i32) -> &'static str {
    match errno {
        libc::ENOSYS => "this kernel has no Landlock (it came with Linux 5.13)",
        libc::EOPNOTSUPP => {
            "this kernel has Landlock but did not start it; add landlock to its lsm= parameter"
        }
        libc::EPERM | libc::EACCES => "something around us (a container?) refuses Landlock",
        _ => "the kernel does not answer the question for Landlock",
    }
}

/// Whether this version keeps commands from signalling others and from abstract sockets.
pub(crate) fn has_scopes(version: i32) -> bool {
    version >= 6
}

pub(crate) fn rules(sandbox: &Sandbox, place: Place) -> Result<OwnedFd, String> {
    let version = version()?;
    let mut rules = Rules::new(sandbox, place, version.min(NEWEST))?;
    match place {
        Place::Bare => rules.grant_view(sandbox)?,
        Place::Inside => rules.grant_inside(sandbox)?,
    }
    let fd: Option<OwnedFd> = rules.ruleset.into();
    fd.ok_or_else(|| "the kernel gave no Landlock rules".into())
}

struct Rules {
    ruleset: RulesetCreated,
    read: BitFlags<AccessFs>,
    write: BitFlags<AccessFs>,
    device: BitFlags<AccessFs>,
    file: BitFlags<AccessFs>,
    count: usize,
}

impl Rules {
    fn new(sandbox: &Sandbox, place: Place, version: i32) -> Result<Self, String> {
        let abi = ABI::from(version);
        let all = AccessFs::from_all(abi);
        let words = |error: landlock::RulesetError| format!("Landlock refused: {error}");
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)
            .map_err(words)?;
        // Inside, the network is a private one, or it is granted.
        if version >= 4 && place == Place::Bare && !sandbox.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(words)?;
        }
        if has_scopes(version) {
            ruleset = ruleset.scope(Scope::from_all(abi)).map_err(words)?;
        }
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir;
        Ok(Self {
            ruleset: ruleset.create().map_err(words)?,
            read: AccessFs::from_read(abi),
            write: all & !devices,
            device: if version >= 5 { device | AccessFs::IoctlDev } else { device },
            file: AccessFs::from_file(abi),
            count: 0,
        })
    }

    fn grant_view(&mut self, sandbox: &Sandbox) -> Result<(), String> {
        let view = View::new(sandbox);
        self.grant_tree(&view, Path::new("/"), self.read)?;
        for (path, kind) in view.marks() {
            match kind {
                Kind::Closed => {}
                Kind::Readable => self.grant_tree(&view, path, self.read)?,
                Kind::Writable => {
                    drop(open_root(path)?);
                    self.grant_tree(&view, path, self.write)?;
                }
            }
        }
        self.grant_devices(&DEVICES)
    }

    /// The mounts decide what is seen; this holds writes to the same places once more.
    fn grant_inside(&mut self, sandbox: &Sandbox) -> Result<(), String> {
        self.grant(open(Path::new("/")).map_err(|e| e.to_string())?, self.read)?;
        for root in sandbox.writable.iter().map(PathBuf::as_path).chain([Path::new("/tmp")]) {
            let words = |error| format!("the root {} cannot be opened: {error}", root.display());
            self.grant(open(root).map_err(words)?, self.write)?;
        }
        if let Ok(shared) = open(Path::new("/dev/shm")) {
            self.grant(shared, self.write)?;
        }
        self.grant_devices(&["/dev"])
    }

    fn grant_devices(&mut self, paths: &[&str]) -> Result<(), String> {
        for path in paths {
            if let Ok(device) = open(Path::new(path)) {
                self.grant(device, self.device)?;
            }
        }
        Ok(())
    }

    /// Grants a folder with all below it, apart from what bears a mark of its own.
    fn grant_tree(
        &mut self,
        view: &View,
        top: &Path,
        rights: BitFlags<AccessFs>,
    ) -> Result<(), String> {
        let mut waiting = VecDeque::from([top.to_path_buf()]);
        while let Some(path) = waiting.pop_front() {
            if !view.has_closed_below(&path) {
                // What has gone meanwhile, or is not ours to open, needs no right.
                if let Ok(fd) = open(&path) {
                    self.grant(fd, rights)?;
                }
                continue;
            }
            // Rules hold for all below, so this lists every directory there and reads no file.
            if view.is_listable(&path)
                && let Ok(fd) = open(&path)
            {
                self.grant(fd, rights & AccessFs::ReadDir)?;
            }
            for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
                let child = entry.path();
                // Where a link leads to is granted there or not at all.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if !is_link && !view.bears_mark(&child) {
                    waiting.push_back(child);
                }
            }
            if waiting.len() > MAX_RULES {
                return Err(too_many(&path));
            }
        }
        Ok(())
    }

    fn grant(&mut self, fd: OwnedFd, rights: BitFlags<AccessFs>) -> Result<(), String> {
        self.count += 1;
        if self.count > MAX_RULES {
            return Err(too_many(Path::new("/")));
        }
        let is_dir = rustix::fs::fstat(&fd)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        let rights = if is_dir { rights } else { rights & self.file };
        let rule = PathBeneath::new(fd.as_fd() as BorrowedFd<'_>, rights);
        let ruleset = &mut self.ruleset;
        ruleset.add_rule(rule).map(drop).map_err(|error| format!("Landlock refused: {error}"))
    }
}

fn too_many(path: &Path) -> String {
    format!(
        "hiding what lies below {} would take more than {MAX_RULES} Landlock rules",
        path.display()
    )
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens a root, no part of whose path may be a link: a link could be turned to another place
/// between the caller's look and ours.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    opened.map_err(|error| match error {
        rustix::io::Errno::LOOP => format!("a part of the root {} is a link", path.display()),
        error => format!("the root {} cannot be opened: {error}", path.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_landlock_is_explained() {
        for (errno, word) in [
            (libc::ENOSYS, "5.13"),
            (libc::EOPNOTSUPP, "lsm="),
            (libc::EPERM, "refuses"),
            (libc::EINVAL, "does not answer"),
        ] {
            assert!(explain(errno).contains(word), "{errno}");
        }
        assert!(!has_scopes(5) && has_scopes(6));
    }

    #[test]
    fn a_folder_too_large_to_grant_one_by_one_is_an_error_not_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (0..=MAX_RULES)
            .for_each(|n| drop(std::fs::File::create(root.join(n.to_string())).unwrap()));
        let sandbox = Sandbox {
            writable: vec![root.clone()],
            readable: Vec::new(),
            homes: Vec::new(),
            hidden: vec![root.join("hidden")],
            frozen: Vec::new(),
            temp: root.join("1"),
            network: false,
            layers: crate::sandbox::Layers::default(),
        };
        if version().is_ok() {
            assert!(rules(&sandbox, Place::Bare).unwrap_err().contains("more than"));
        }
    }
}
