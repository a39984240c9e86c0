//! Undo, with the real program and real git: destructive commands, a person's edits, going back and forth.

mod aftermath;
mod denied;
mod destructive;
mod exit_codes;
mod full_disk;
mod going_on;
mod interruption;
mod listing;
mod made_folders;
mod pruning;
mod repositories;
mod review;
mod rewind;
mod roots;
mod session;
mod side_by_side;
mod steps;
mod two_people;

use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A model that runs these commands, one a turn of the loop, and stops.
fn running(commands: &[&str]) -> World {
    let mut script = Script::new();
    for command in commands {
        script = script.answer(calls([("Bash", json!({ "command": command }))]));
    }
    World::new(script.answer(text("done")).forever())
}

/// A shell as a person has it, in the project.
fn sh(world: &World, script: &str) -> String {
    let output = Command::new("bash")
        .args(["-euc", script])
        .current_dir(world.project())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.home().parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Path → kind, mode and content; without what git keeps for itself.
type Tree = BTreeMap<PathBuf, String>;

fn tree(world: &World) -> Tree {
    let mut found = Tree::new();
    describe(&world.project(), &world.project(), &mut found);
    found
}

/// Of what is closed to us there is only the mode.
fn describe(root: &Path, folder: &Path, tree: &mut Tree) {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return,
        entries => entries.unwrap(),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let mode = meta.mode() & 0o7777;
        let line = if meta.is_symlink() {
            format!("link {:?}", fs::read_link(&path).unwrap())
        } else if meta.is_dir() {
            if entry.file_name() != ".git" {
                describe(root, &path, tree);
            }
            format!("folder {mode:o}")
        } else if !meta.is_file() {
            format!("neither {mode:o}")
        } else {
            let content = match fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => b"closed".to_vec(),
                content => content.unwrap(),
            };
            format!("file {mode:o} {:?}", String::from_utf8_lossy(&content))
        };
        tree.insert(path.strip_prefix(root).unwrap().to_path_buf(), line);
    }
}

fn undone(world: &World, args: &[&str]) -> (Ran, Value) {
    let args: Vec<&str> = [&["undo", "--json"], args].concat();
    let ran = world.run(&args);
    let value = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    (ran, value)
}
