//! A directory, a store beside it, and what a directory holds as a value.

pub use crate::world::now;
use ostler_snapshots::{Config, PlanOutcome, Snapshots, UndoUnit};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

pub struct World {
    folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("ws");
        fs::create_dir(&root).unwrap();
        World { folder, root }
    }

    pub fn config(&self) -> Config {
        let dir = self.folder.path().join("store");
        Config { dir, roots: vec![self.root.clone()], hidden: vec![], now }
    }

    pub fn open(&self) -> Snapshots {
        Snapshots::open(self.config()).unwrap()
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn link(&self, name: &str, target: &str) {
        symlink(target, self.root.join(name)).unwrap();
    }

    pub fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root.join(name)).ok()
    }

    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        describe(&self.root, &self.root, &mut tree);
        tree
    }
}

/// Path → kind, mode and content.
pub type Tree = BTreeMap<PathBuf, String>;

fn describe(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let mode = meta.mode() & 0o7777;
        let line = if meta.is_symlink() {
            format!("link {:?}", fs::read_link(&path).unwrap())
        } else if meta.is_dir() {
            describe(root, &path, tree);
            format!("folder {mode:o}")
        } else if meta.is_file() {
            format!("file {mode:o} {:?}", fs::read(&path).unwrap())
        } else {
            "other".into()
        };
        tree.insert(path.strip_prefix(root).unwrap().to_path_buf(), line);
    }
}

/// Undoes what changed between two snapshots.
pub fn undo(snapshots: &Snapshots, before: u64, after: u64) -> Vec<PlanOutcome> {
    snapshots.take("before undo").unwrap();
    let changes = snapshots.diff(before, after).unwrap();
    let wanted = changes.into_iter().map(Into::into).collect();
    let unit = UndoUnit { wanted, ..UndoUnit::default() };
    let plan = snapshots.plan(&[unit]).unwrap();
    snapshots.restore(&plan).unwrap()
}

/// Root may do everything. True if the caller is to continue here; else the test of this name was run by somebody else.
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
pub fn as_ordinary_user(name: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let test = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    command.arg(test).args(["--exact", name]).env_remove("TMPDIR");
    let Ok(output) = command.output() else {
        eprintln!("SKIPPED {name}: running as root, and there is no setpriv");
        return false;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{name}: {text} {error}");
    false
}
