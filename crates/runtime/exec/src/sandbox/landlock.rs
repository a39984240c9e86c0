//! The Landlock rules of a sandbox. They are made before the command exists; the command's own
//! process only puts them on.
//!
//! Landlock grants and never takes back: where something closed lies below a directory, that directory
//! is not granted, but each of its other entries is. Such a directory can then not get new entries,
//! and it can be listed only if what is closed below it are single files.
//!
//! With bounds, nothing but the named programs can be executed, and a command that only reads opens
//! no other file in the directories of programs: the loader, which has to stay executable, would
//! start it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::rule_inputs::RuleInputs;
use super::view::{TreeView, ViewMark};
use super::{Bounds, Sandbox, programs};

/// More rules than this would make the start of each command slow; a sandbox that needs them hides
/// something in a directory that is too large.
const MAX_RULES: usize = 4096;

/// Rights newer than this are not known to these rules.
const NEWEST: i32 = 6;

/// The devices that a command may use; it sees no others. Terminals are not among them: the
/// terminals of the user lie in the same directory.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What stands around the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RulePlace {
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
        libc::EPERM | libc::EACCES => "something outside (a container?) blocks Landlock",
        _ => "the kernel does not say whether it has Landlock",
    }
}

/// Whether this version keeps commands from signalling others and from abstract sockets.
pub(crate) fn has_scopes(version: i32) -> bool {
    version >= 6
}

/// Rules as the kernel knows them.
#[derive(Debug)]
pub(crate) struct MadeRuleset {
    pub fd: OwnedFd,
    /// What they depend on.
    pub watch: RuleInputs,
}

/// The rules for a command that is started as this program.
pub(crate) fn rules(
    sandbox: &Sandbox,
    place: RulePlace,
    program: &Path,
) -> Result<MadeRuleset, String> {
    let version = version()?;
    let mut rules = LandlockRules::new(sandbox, place, version.min(NEWEST))?;
    match place {
        RulePlace::Bare => rules.grant_view(sandbox, program)?,
        RulePlace::Inside => rules.grant_inside(sandbox, program)?,
    }
    let fd: Option<OwnedFd> = rules.ruleset.into();
    let fd = fd.ok_or_else(|| String::from("the kernel gave no Landlock rules"))?;
    Ok(MadeRuleset { fd, watch: rules.watch })
}

struct LandlockRules {
    ruleset: RulesetCreated,
    read: BitFlags<AccessFs>,
    write: BitFlags<AccessFs>,
    device: BitFlags<AccessFs>,
    file: BitFlags<AccessFs>,
    count: usize,
    watch: RuleInputs,
}

impl LandlockRules {
    fn new(sandbox: &Sandbox, place: RulePlace, version: i32) -> Result<Self, String> {
        let abi = ABI::from(version);
        let all = AccessFs::from_all(abi);
        let words = |error: landlock::RulesetError| format!("Landlock refused: {error}");
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)
            .map_err(words)?;
        // Inside, the network is a private one, or it is granted.
        if version >= 4 && place == RulePlace::Bare && !sandbox.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(words)?;
        }
        if has_scopes(version) {
            ruleset = ruleset.scope(Scope::from_all(abi)).map_err(words)?;
        }
        let bounds = sandbox.bounds.as_ref();
        let mut unused = AccessFs::MakeChar | AccessFs::MakeBlock;
        if bounds.is_some_and(|bounds| bounds.programs.is_some()) {
            unused |= AccessFs::Execute;
        }
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir;
        Ok(Self {
            ruleset: ruleset.create().map_err(words)?,
            read: AccessFs::from_read(abi) & !unused,
            write: all & !unused,
            device: if version >= 5 { device | AccessFs::IoctlDev } else { device },
            file: AccessFs::from_file(abi),
            count: 0,
            watch: RuleInputs::start(),
        })
    }

    fn grant_view(&mut self, sandbox: &Sandbox, program: &Path) -> Result<(), String> {
        let mut view = TreeView::new(sandbox);
        view.marks().for_each(|(path, _)| self.watch.identity(path));
        if let Some(bounds) = &sandbox.bounds {
            self.grant_programs(bounds, program, |path| view.of(path) != ViewMark::Closed)?;
            for directory in self.grant_listing(bounds, &view)? {
                view.close(directory);
            }
        }
        self.grant_tree(&view, Path::new("/"), self.read)?;
        for (path, kind) in view.marks() {
            match kind {
                ViewMark::Closed => {}
                ViewMark::Readable => self.grant_tree(&view, path, self.read)?,
                ViewMark::Writable => {
                    drop(open_root(path)?);
                    self.grant_tree(&view, path, self.rights_in(sandbox, path))?;
                }
            }
        }
        self.grant_devices(&DEVICES)
    }

    /// The rights in a root or the temporary directory.
    fn rights_in(&self, sandbox: &Sandbox, path: &Path) -> BitFlags<AccessFs> {
        let is_temp = path == sandbox.temp;
        match &sandbox.bounds {
            Some(bounds) if bounds.only_reads && !(bounds.temp && is_temp) => self.read,
            _ => self.write,
        }
    }

    /// The mounts decide what is seen; this holds writes to the same places once more.
    fn grant_inside(&mut self, sandbox: &Sandbox, program: &Path) -> Result<(), String> {
        if let Some(bounds) = &sandbox.bounds {
            self.grant_programs(bounds, program, |_| true)?;
        }
        self.grant(open(Path::new("/")).map_err(|e| e.to_string())?, self.read)?;
        for root in sandbox.writable.iter().chain([&sandbox.temp]) {
            let rights = self.rights_in(sandbox, root);
            let root = if *root == sandbox.temp { Path::new("/tmp") } else { root };
            let words = |error| format!("the root {} cannot be opened: {error}", root.display());
            self.grant(open(root).map_err(words)?, rights)?;
        }
        let only_reads = sandbox.bounds.as_ref().is_some_and(|bounds| bounds.only_reads);
        if !only_reads && let Ok(shared) = open(Path::new("/dev/shm")) {
            self.grant(shared, self.write)?;
        }
        self.grant_devices(&["/dev"])
    }

    /// Lets the bounded programs be executed, as far as they are in sight.
    fn grant_programs(
        &mut self,
        bounds: &Bounds,
        program: &Path,
        in_sight: impl Fn(&Path) -> bool,
    ) -> Result<(), String> {
        let Some(named) = &bounds.programs else { return Ok(()) };
        let named = named.iter().map(PathBuf::as_path).chain([program]);
        let rights = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
        for path in programs::with_interpreters(named).iter().filter(|path| in_sight(path)) {
            self.watch.identity(path);
            if let Ok(fd) = open(path) {
                self.grant(fd, rights)?;
            }
        }
        Ok(())
    }

    /// Lets the directories of programs be listed, and what the command was judged to read there be
    /// read. Returns the directories, which must not be granted as a whole.
    fn grant_listing(&mut self, bounds: &Bounds, view: &TreeView) -> Result<Vec<PathBuf>, String> {
        if !bounds.only_reads || bounds.programs.is_none() {
            return Ok(Vec::new());
        }
        let in_sight = |path: &&PathBuf| view.of(path) != ViewMark::Closed;
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let real = paths.iter().filter_map(|path| path.canonicalize().ok());
            real.collect()
        };
        let directories: Vec<_> =
            real(&bounds.search_path).iter().filter(in_sight).cloned().collect();
        for directory in &directories {
            self.watch.identity(directory);
            if let Ok(fd) = open(directory) {
                self.grant(fd, AccessFs::ReadDir.into())?;
            }
        }
        for path in real(&bounds.reads).iter().filter(in_sight) {
            self.watch.identity(path);
            // Something hidden may lie below it.
            self.grant_tree(view, path, self.read)?;
        }
        Ok(directories)
    }

    fn grant_devices(&mut self, paths: &[&str]) -> Result<(), String> {
        for path in paths {
            if let Ok(device) = open(Path::new(path)) {
                self.grant(device, self.device)?;
            }
        }
        Ok(())
    }

    /// Grants a directory with all below it, apart from what bears a mark of its own.
    fn grant_tree(
        &mut self,
        view: &TreeView,
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
            self.watch.entries(&path);
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
            (libc::EPERM, "blocks"),
            (libc::EINVAL, "does not say"),
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
            bounds: None,
        };
        if version().is_ok() {
            let made = rules(&sandbox, RulePlace::Bare, Path::new("/bin/sh"));
            assert!(made.unwrap_err().contains("more than"));
        }
    }
}
