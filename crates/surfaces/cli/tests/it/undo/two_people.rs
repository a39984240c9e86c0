//! Several people and sessions work in one directory; then one command is undone. The table stands in docs/undo.md.

use super::{sh, undone};
use crate::support::{World, finish, open_gate, until};
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::{Value, json};

const DOC: &str = include_str!("../../../../../../docs/undo.md");

/// Who changed something, when, where; what undoing the command does; the file; what it holds then; what is said of it.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
);

const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const COMMAND: &str = "command\n2\n3\n4\n5\n6\n7\n8\n9\n";

#[rustfmt::skip]
const ROWS: [Row; 15] = [
    ("the command", "", "a file it made", "removed", "made.txt", None, Some("removed")),
    ("the command", "", "an existing file", "restored", "old.txt", Some(OLD), Some("restored")),
    ("Edit or Write in the same session", "while it ran", "another file", "a separate call, undone on its own", "tool.txt", None, Some("removed")),
    ("Edit or Write in another session", "while it ran", "another file", "stays", "other.txt", Some("other\n"), Some("stays")),
    ("Edit or Write in another session", "while it ran", "the same file, other lines", "stays; the command's lines are restored", "far.txt", Some("1\n2\n3\n4\n5\n6\n7\n8\nedited\n"), Some("merged")),
    ("Edit or Write in another session", "while it ran", "the same lines", "stays; the old version is saved next to it", "same.txt", Some("edited\n2\n3\n4\n5\n6\n7\n8\n9\n"), Some("conflict")),
    ("a command in another session", "while it ran", "another file", "stays", "theirs.txt", Some("theirs\n"), Some("stays")),
    ("you, in an editor", "before it", "another file", "stays", "before.txt", Some("mine\n"), None),
    ("you, in an editor", "before it", "the same file", "stays; the command's lines are restored", "before-same.txt", Some("1\n2\n3\n4\n5\n6\n7\n8\nmine\n"), Some("restored")),
    ("you, in an editor", "while it ran", "another file", "listed first, then undone", "while.txt", Some("old\n"), Some("restored")),
    ("you, in an editor", "while it ran", "a new file", "listed first, then removed", "while-new.txt", None, Some("removed")),
    ("you, in an editor", "while it ran", "the same file", "listed first, then undone", "while-same.txt", Some(OLD), Some("restored")),
    ("you, in an editor", "while it ran", "a file named with `--keep`", "stays", "kept.txt", Some("mine\n"), Some("stays")),
    ("you, in an editor", "after it", "the same file, other lines", "stays; the command's lines are restored", "after-far.txt", Some("1\n2\n3\n4\n5\n6\n7\n8\nmine\n"), Some("merged")),
    ("you, in an editor", "after it", "the same lines", "stays; the old version is saved next to it", "after-same.txt", Some("mine\n2\n3\n4\n5\n6\n7\n8\n9\n"), Some("conflict")),
];

const TOUCHED: [&str; 7] = [
    "old.txt",
    "far.txt",
    "same.txt",
    "before-same.txt",
    "while-same.txt",
    "after-far.txt",
    "after-same.txt",
];

/// Writes its files, and waits: every place it touches is declared, so that a file tool may run beside it.
fn command() -> String {
    let write = |name: &str| match name {
        "before-same.txt" => format!("printf '{}' > {name}; ", COMMAND.replace('9', "mine")),
        name => format!("printf '{COMMAND}' > {name}; "),
    };
    let all: String = TOUCHED.iter().map(|name| write(name)).collect();
    format!("{all}cat gate > made.txt").replace('\n', "\\n")
}

fn edit(file: &str, old: &str, new: &str) -> Reply {
    calls([("Edit", json!({"file_path": file, "old_string": old, "new_string": new}))])
}

fn read(file: &str) -> Reply {
    calls([("Read", json!({"file_path": file}))])
}

/// One session's command waits; a second session works; a person edits before, meanwhile and afterwards.
fn played() -> World {
    let both = calls([
        ("Bash", json!({"command": command(), "timeout": 600_000})),
        ("Write", json!({"file_path": "tool.txt", "content": "tool\n"})),
    ]);
    let earlier = calls([("Bash", json!({"command": "printf base > base.txt"}))]);
    let script = Script::new().answer(earlier).answer(text("done")).answer(both);
    let one = World::new(script.answer(text("done")));
    let two = World::new(
        Script::new()
            .answer(calls([("Write", json!({"file_path": "other.txt", "content": "other\n"}))]))
            .answer(read("far.txt"))
            .answer(edit("far.txt", "9", "edited"))
            .answer(read("same.txt"))
            .answer(edit("same.txt", "command", "edited"))
            .answer(calls([("Bash", json!({"command": "printf 'theirs\\n' > theirs.txt"}))]))
            .answer(text("done")),
    );
    TOUCHED.iter().for_each(|name| drop(one.file(name, OLD)));
    for name in ["before.txt", "while.txt", "kept.txt"] {
        one.file(name, "old\n");
    }
    sh(&one, "mkfifo gate");
    assert_eq!(one.go().code, Some(0));

    one.file("before.txt", "mine\n");
    one.file("before-same.txt", &OLD.replace('9', "mine"));
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let first = one.command(&args).spawn().unwrap();
    until("it has written its files", || one.project().join("made.txt").exists());
    until("the file tool has run beside it", || one.read("tool.txt") == "tool\n");

    let mut second = two.command(&args);
    second.current_dir(one.project()).env("OSTLER_HOME", one.home());
    let second = finish(second.spawn().unwrap());
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(one.read("theirs.txt"), "theirs\n");

    one.file("while.txt", "mine\n");
    one.file("while-new.txt", "mine\n");
    one.file("while-same.txt", &COMMAND.replace('9', "mine"));
    one.file("kept.txt", "mine\n");
    open_gate(&one, "gate");
    let first = finish(first);
    assert_eq!(first.code, Some(0), "{}", first.stderr);

    one.file("after-far.txt", &COMMAND.replace('9', "mine"));
    one.file("after-same.txt", &COMMAND.replace("command", "mine"));
    one.assert_never_rejected();
    two.assert_never_rejected();
    one
}

fn fate<'a>(said: &'a Value, name: &str) -> Option<&'a str> {
    let paths = said["paths"].as_array()?;
    let is =
        |path: &&Value| path["path"].as_str().is_some_and(|p| p.ends_with(&format!("/{name}")));
    paths.iter().find(is)?["fate"].as_str()
}

/// The session that ran this.
fn session_of(world: &World, command: &str) -> String {
    let ran = |log: &std::path::PathBuf| std::fs::read_to_string(log).unwrap().contains(command);
    let log = world.logs().into_iter().find(ran).unwrap();
    log.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn undo_while_two_people_edit() {
    let world = played();
    let session = session_of(&world, "cat gate > made.txt");
    let listed = world.run(&["undo", "2", "--session", &session, "--dry-run"]);
    for line in ["  restore  while.txt", "  remove   while-new.txt", "  restore  while-same.txt"] {
        assert!(listed.stdout.contains(line), "{line}: {}", listed.stdout);
    }
    assert_eq!(world.read("while.txt"), "mine\n", "only listed");
    let (ran, said) = undone(&world, &["2", "--session", &session, "--keep", "kept.txt"]);
    assert_eq!(ran.code, Some(1), "two conflicts are said: {said:#} {}", ran.stderr);
    let mut shown = String::new();
    for (who, when, place, does, file, content, expected) in ROWS {
        let path = world.project().join(file);
        let is = path.exists().then(|| world.read(file));
        assert_eq!(is.as_deref(), content, "{who} {when}, {place}: {said:#}");
        assert_eq!(fate(&said, file), expected, "{who} {when}, {place}: {said:#}");
        let row = format!("| {who} | {when} | {place} | {does} |\n").replace("|  |", "| |");
        assert!(DOC.contains(&row), "docs/undo.md does not say: {row}");
        shown.push_str(&row);
    }
    for name in ["same.txt", "after-same.txt"] {
        assert_eq!(world.read(&format!("{name}.before-undo")), OLD);
    }
    println!("{shown}undo with two people: {} rows, all as stated", ROWS.len());
}

/// What the other session did can be undone there, and takes nothing of the first one's along.
#[test]
fn each_session_undoes_its_own() {
    let world = played();
    let session = session_of(&world, "> theirs.txt");
    let (ran, said) = undone(&world, &["1", "--session", &session]);
    assert_eq!(ran.code, Some(0), "{said:#} {}", ran.stderr);
    assert!(!world.project().join("theirs.txt").exists());
    assert_eq!(said["paths"].as_array().unwrap().len(), 1, "{said:#}");
    let (ran, said) = undone(&world, &["3", "--session", &session]);
    assert_eq!(ran.code, Some(0), "{said:#} {}", ran.stderr);
    assert_eq!((world.read("same.txt"), world.read("far.txt")), (COMMAND.into(), COMMAND.into()));
    assert!(!world.project().join("other.txt").exists());
    assert_eq!(world.read("old.txt"), COMMAND);
}
