//! What rules on programs may lean on: that undo keeps what a command is known to change.

use super::*;
use crate::bash::places::DiskPlaces;
use ostler_core::permission::Workspace;
use ostler_snapshots::Config;
use std::ffi::OsStr;
use std::fs;

#[test]
fn what_undo_does_not_keep_is_named() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap().join("ws");
    // More files than are kept of a build directory.
    let modules = root.join("node_modules");
    fs::create_dir_all(&modules).unwrap();
    for number in 0..2_001 {
        fs::write(modules.join(number.to_string()), "").unwrap();
    }
    let workspace =
        Workspace { cwd: root.clone(), roots: vec![root.clone()], ..Workspace::default() };
    let files = Arc::new(Files::new(workspace, Vec::new(), Vec::new()));
    let access = |text: &str| {
        let places = DiskPlaces::new(&files, OsStr::new("/usr/bin:/bin"));
        let mut commands = ostler_shell::steps(text);
        commands.look_up(&places);
        commands.access(&places, |_| Vec::new())
    };
    let dir = world.path().join("kept");
    let config = Config { dir, roots: vec![root], hidden: Vec::new(), now: || 0 };
    let snapshots = Arc::new(Snapshots::open(config).unwrap());
    let not_kept = |keeping: Keeping, text: &str| {
        let found = Undo::new(keeping, Arc::clone(&files)).not_kept(&access(text));
        found.map(|why| why.into_owned()).unwrap_or_default()
    };
    let kept = || Keeping::OnlyJudges(Arc::clone(&snapshots));
    for text in ["echo x > a", "sed -i s/a/b/ a", "git branch x", "python3 x.py", "ls"] {
        assert_eq!(not_kept(kept(), text), "", "{text}");
        assert_eq!(not_kept(Keeping::Off, text), "undo is off", "{text}");
        let in_own_tree = not_kept(Keeping::Disposable, text);
        let expected = match text {
            "git branch x" => "the repository does not belong to the worktree",
            _ => "",
        };
        assert_eq!(in_own_tree, expected, "{text}");
        let why = not_kept(Keeping::Impossible("no room".into()), text);
        assert_eq!(why, "undo is not possible: no room", "{text}");
    }
    for text in ["echo x > node_modules/a", "sed -i s/a/b/ a node_modules/1"] {
        let why = not_kept(kept(), text);
        assert!(why.starts_with("undo does not cover ") && why.ends_with("node_modules"), "{why}");
    }
    // A repository around the workspace, and the one that a linked worktree belongs to.
    let above = world.path().join(".git");
    fs::create_dir(&above).unwrap();
    assert!(not_kept(kept(), "git branch x").contains("the repository"));
    assert_eq!(not_kept(kept(), "git branch"), "", "it only reads");
    let own = world.path().join("ws/.git");
    fs::write(&own, "gitdir: elsewhere").unwrap();
    assert!(not_kept(kept(), "git tag -d x").contains("the repository"));
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    assert_eq!(not_kept(kept(), "git branch x"), "");
}
