//! Which commands can be held to single files.

use super::*;
use crate::bash::DiskPlaces;
use crate::workspace::Files;
use ostler_core::permission::Workspace;
use std::ffi::OsStr;
use std::fs as disk;

struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    files: Files,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        disk::create_dir(root.join("sub")).unwrap();
        disk::write(root.join("old"), "x").unwrap();
        let workspace =
            Workspace { cwd: root.clone(), roots: vec![root.clone()], ..Workspace::default() };
        World { _dir: dir, root, files: Files::new(workspace, Vec::new(), Vec::new()) }
    }

    fn judged(&self, text: &str) -> Access {
        let places = DiskPlaces::new(&self.files, OsStr::new("/usr/bin:/bin"));
        let mut commands = ostler_shell::steps(text);
        commands.look_up(&places);
        commands.access(&places, |_| Vec::new())
    }

    fn in_place(&self, text: &str) -> Option<Vec<String>> {
        let paths = written_in_place(self.judged(text).runs.as_deref().unwrap())?;
        let name = |path: &PathBuf| path.strip_prefix(&self.root).unwrap().display().to_string();
        Some(paths.iter().map(name).collect())
    }
}

#[test]
fn what_is_written_in_place_is_known() {
    let world = World::new();
    for (text, files) in [
        ("touch a; sleep 0.5", &["a"] as &[_]),
        ("echo x > a", &["a"]),
        ("echo x >> sub/a; cat old > b", &["sub/a", "b"]),
        ("cat old | tee -a a b > /dev/null", &["a", "b"]),
        ("cd sub && touch a", &["sub/a"]),
        ("timeout 5 touch a", &["a"]),
        ("> a", &["a"]),
        ("cat old", &[]),
    ] {
        let found = world.in_place(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found, files, "{text}");
    }
    for text in [
        "sed -i s/a/b/ old",
        "mv old new",
        "cp old new",
        "rm old",
        "mkdir d",
        "touch -c a",
        "touch -d yesterday a",
        "tee --output-error a",
        "set -C; echo x > a",
        "umask 077; touch a",
        "echo x > $name",
        "touch *",
        "python3 x.py > a",
        "make > a",
        "git status > a",
        "PATH=. touch a",
    ] {
        assert_eq!(world.in_place(text), None, "{text}");
    }
}

/// Only what is not opened for writing goes; nothing that was there before is touched.
#[test]
fn new_files_stay_if_somebody_wrote_to_them() {
    let world = World::new();
    let names = ["unused", "emptied", "appended", "touched", "read", "replaced"];
    let files = names.map(|name| WrittenFile { path: world.root.join(name), identity: None });
    let watch = || inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    let mut new = NewFiles::create(ExactWrites { files: files.into(), watch: watch() }).unwrap();
    let at = |name: &str| world.root.join(name);
    assert!(names.iter().all(|name| at(name).exists()));
    disk::write(at("emptied"), "").unwrap();
    drop(disk::OpenOptions::new().append(true).open(at("appended")).unwrap());
    let now = std::time::SystemTime::now();
    disk::File::open(at("touched")).unwrap().set_modified(now).unwrap();
    disk::read(at("read")).unwrap();
    disk::write(at("other"), "a person's").unwrap();
    disk::rename(at("other"), at("replaced")).unwrap();
    new.remove_unused();
    let left: Vec<&str> = names.into_iter().filter(|name| at(name).exists()).collect();
    assert_eq!(left, ["emptied", "appended", "touched", "replaced"]);
    assert_eq!(disk::read_to_string(at("replaced")).unwrap(), "a person's");

    // One that has come to be meanwhile is not taken for ours, and what was created before it goes again.
    let files = ["first", "old"].map(|name| WrittenFile { path: at(name), identity: None });
    let refused = NewFiles::create(ExactWrites { files: files.into(), watch: watch() });
    assert!(refused.err().unwrap().contains("old cannot be created"));
    assert!(!at("first").exists() && disk::read_to_string(at("old")).unwrap() == "x");
}
