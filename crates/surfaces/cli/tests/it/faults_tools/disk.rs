//! B19: the disk is full, under the workspace or under the session itself.

use super::namespace::Namespace;
use super::{Told, bash};
use crate::support::{Ran, World, facts};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::path::Path;

const GO: [&str; 6] =
    ["-p", "go", "--output-format", "json", "--permission-mode", "bypassPermissions"];

/// What happened inside, brought outside: the run's code, and the directory it left.
fn code(world: &World, name: &str) -> String {
    world.outside(name, "code").trim().to_owned()
}

impl World {
    /// A file that a script in a namespace has put beside the project.
    fn outside(&self, run: &str, file: &str) -> String {
        let path = self.home().parent().unwrap().join(run).join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// Runs the program as `$NAME` would, and keeps its code, its outputs and its home outside.
const KEEP: &str = r#"
keep() { # name, arguments added to the program's
    name=$1; shift
    out=$OUTSIDE/$name; mkdir "$out"; code=0
    "$PROGRAM" "$@" >"$out/stdout" 2>"$out/stderr" || code=$?
    echo $code >"$out/code"; cp -r "$OSTLER_HOME" "$out/home"
}
"#;

fn in_namespace(world: &World, script: &str) -> Option<Ran> {
    let space = Namespace::new()?;
    let mut program = world.command(&[]);
    program.env("OUTSIDE", world.home().parent().unwrap());
    program.env("PROGRAM", env!("CARGO_BIN_EXE_ostler"));
    std::fs::create_dir(world.home()).unwrap();
    let ran = space.script(&format!("{KEEP}{script}"), &program);
    assert_eq!(ran.code, Some(0), "the script itself: {ran:?}");
    Some(ran)
}

/// The only log of a home that was brought outside.
fn log_in(home: &Path) -> String {
    fn find(folder: &Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .flat_map(|e| if e.path().is_dir() { find(&e.path()) } else { vec![e.path()] })
            .collect()
    }
    let logs: Vec<_> = find(home)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "log"))
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    std::fs::read_to_string(&logs[0]).unwrap()
}

#[test]
fn b19_the_session_s_own_disk_fills_up() {
    // The result is longer than what is left, and the command has an effect that must not be repeated.
    let command = "echo ran >> effects.txt; head -c 25000 /dev/zero | tr '\\0' x";
    let world = World::new(Script::new().answer(bash(command)).answer(text("resumed")));
    let args = GO.join(" ");
    let script = format!(
        r#"
        mkdir -m 700 "$OSTLER_HOME/sessions"
        mount -t tmpfs -o size=64k,mode=700 tmpfs "$OSTLER_HOME/sessions"
        head -c 36000 /dev/zero >"$OSTLER_HOME/sessions/filler"
        keep first {args}
        rm "$OSTLER_HOME/sessions/filler"
        keep second -p again --continue --output-format json
        "#
    );
    if in_namespace(&world, &script).is_none() {
        return;
    }
    assert_eq!(code(&world, "first"), "74", "{}", world.outside("first", "stderr"));
    let result: serde_json::Value =
        serde_json::from_str(&world.outside("first", "stdout")).unwrap();
    let line = result["errors"][0].as_str().unwrap();
    assert!(
        line.starts_with("the session log cannot be written: ")
            && line.contains("Free some disk space")
            && !line.contains('\n'),
        "{line}"
    );
    assert!(line.contains("No space left") || line.contains("bytes fit"), "{line}");
    assert_eq!(world.outside("first", "stderr"), "");
    // What was written before is whole, and is what the session continues with.
    let home = |name: &str| world.home().parent().unwrap().join(name).join("home");
    let (before, after) = (log_in(&home("first")), log_in(&home("second")));
    let kept: Vec<String> =
        facts(&before).iter().map(|fact| fact["fact"].as_str().unwrap().to_owned()).collect();
    assert!(kept.contains(&"prompt".into()) && kept.contains(&"call_started".into()), "{kept:?}");
    assert!(
        !kept.contains(&"call_finished".into()) && !kept.contains(&"end".into()),
        "the disk was not full: {kept:?}"
    );
    assert!(after.starts_with(&before), "an earlier record has changed");
    assert!(facts(&after).len() > kept.len());
    assert_eq!(code(&world, "second"), "0", "{}", world.outside("second", "stderr"));
    // The model learns that the command had begun, and it was not run again.
    let told = Told::of(&world.server.requests()[1].json()["messages"][2]["content"][0]);
    assert!(told.is_error && told.text.contains("may have taken effect"), "{told:?}");
    assert_eq!(world.read("effects.txt"), "ran\n");
    world.assert_never_rejected();
}

#[test]
fn b19_in_words_for_people() {
    let world = World::new(
        Script::new().answer(bash("head -c 25000 /dev/zero | tr '\\0' x; : >effects.txt")),
    );
    let script = r#"
        mkdir -m 700 "$OSTLER_HOME/sessions"
        mount -t tmpfs -o size=64k,mode=700 tmpfs "$OSTLER_HOME/sessions"
        head -c 36000 /dev/zero >"$OSTLER_HOME/sessions/filler"
        keep first -p go --permission-mode bypassPermissions
        "#;
    if in_namespace(&world, script).is_none() {
        return;
    }
    assert_eq!(code(&world, "first"), "74");
    let stderr = world.outside("first", "stderr");
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.contains("tokens: ")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(
        lines[0].starts_with("ostler: the session log cannot be written: ")
            && lines[0].ends_with("then resume the session."),
        "{stderr}"
    );
    assert!(!stderr.contains("panicked") && !stderr.contains("internal error"), "{stderr}");
}

/// With no room for the prompt itself nothing is asked of the model.
#[test]
fn b19_full_from_the_start() {
    let world = World::new(Script::new().answer(text("never")));
    let script = r#"
        mount -t tmpfs -o size=64k,mode=700 tmpfs "$OSTLER_HOME"
        cat /dev/zero >"$OSTLER_HOME/filler" 2>/dev/null || :
        keep first -p go
        "#;
    if in_namespace(&world, script).is_none() {
        return;
    }
    assert_eq!(code(&world, "first"), "74");
    let stderr = world.outside("first", "stderr");
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.contains("tokens: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("No space left"), "{stderr}");
    assert_eq!(world.server.requests().len(), 0, "a prompt that is not on disk was sent");
}

#[test]
fn b19_the_workspace_s_disk_fills_up() {
    let write = calls([("Write", json!({"file_path": "kept.txt", "content": "y".repeat(30_000)}))]);
    let script = Script::new()
        .answer(calls([("Read", json!({"file_path": "kept.txt"}))]))
        .answer(bash("head -c 1000000 /dev/zero >filler"))
        .answer(write)
        .answer(bash("ls -A; cat kept.txt"))
        .answer(text("ok"))
        .answer(text("resumed"));
    let world = World::new(script);
    let args = GO.join(" ");
    // The project is a directory on the small disk; the shell stands in the old one until it goes there.
    let script = format!(
        r#"
        mount -t tmpfs -o size=64k tmpfs "$PWD"; cd "$PWD"
        echo old >kept.txt
        keep first {args}
        rm filler
        keep second -p again --continue --output-format json
        "#
    );
    if in_namespace(&world, &script).is_none() {
        return;
    }
    assert_eq!(code(&world, "first"), "0", "{}", world.outside("first", "stderr"));
    let told = super::results(&world);
    assert!(told[1].is_error && told[1].text.contains("No space left on device"), "{:?}", told[1]);
    // B27: the old content stands, and nothing is left beside it.
    assert!(told[2].is_error && told[2].text.contains("No space left"), "{:?}", told[2]);
    assert_eq!(told[3].text, "filler\nkept.txt\nold");
    assert_eq!(code(&world, "second"), "0", "{}", world.outside("second", "stderr"));
    let log = log_in(&world.home());
    assert_eq!(facts(&log).iter().filter(|fact| fact["fact"] == "call_finished").count(), 4);
    world.assert_never_rejected();
}
