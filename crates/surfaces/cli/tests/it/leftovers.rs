//! What a killed process leaves beside the files it was writing, and a disk on which files cannot grow.

use crate::support::{World, finish, until, wait};
use ostler_model_server::{Script, calls, text};
use serde_json::json;

/// Removed at the next start, also below the top; what a living process holds stays.
#[test]
fn temporary_files_of_the_dead_are_removed() {
    let world = World::new(Script::new().answer(text("done").due_at("hold")));
    world.file(".ostler-0123456789abcdef.tmp", "half");
    world.file("a/b/.ostler-fedcba9876543210.tmp", "half");
    world.file(".ostler-00000000000000aa.tmp", "being written");
    world.file(".ostler-mine.tmp", "a person's");
    let held = world.project().join(".ostler-00000000000000aa.tmp");
    let holder = std::fs::File::open(&held).unwrap();
    holder.lock().unwrap();
    let child = world.command(&["-p", "go"]).spawn().unwrap();
    let gone = |name: &str| !world.project().join(name).exists();
    until("leftovers are gone", || {
        gone(".ostler-0123456789abcdef.tmp") && gone("a/b/.ostler-fedcba9876543210.tmp")
    });
    world.server.gate("hold").release();
    assert_eq!(finish(child).code, Some(0));
    assert!(held.exists() && !gone(".ostler-mine.tmp"));
}

/// A session's directory for temporary files is its own as long as it lives, whatever process numbers mean elsewhere.
#[test]
#[allow(clippy::print_stdout, reason = "a skipped test must be seen")]
fn temporary_files_of_a_living_session_survive_one_in_another_container() {
    let as_root = ["unshare", "-p", "-f", "--mount-proc"];
    let as_user = ["unshare", "-U", "-r", "-p", "-f", "--mount-proc"];
    let works = |launcher: &[&str]| {
        let mut command = std::process::Command::new(launcher[0]);
        command.args(&launcher[1..]).arg("true").status().is_ok_and(|status| status.success())
    };
    let launcher = match (works(&as_root), works(&as_user)) {
        (true, _) => &as_root[..],
        (_, true) => &as_user[..],
        _ => return println!("SKIPPED: another process namespace (this test may not make one)"),
    };
    let bash = |command: &str| calls([("Bash", json!({ "command": command }))]);
    let script = Script::new().answer(bash("echo kept > $TMPDIR/file"));
    let script = script.answer(bash("cat $TMPDIR/file").due_at("hold")).answer(text("done"));
    let (world, other) = (
        World::new(script),
        World::new(Script::new().answer(bash("touch made")).answer(text("done"))),
    );
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let child = world.command(&args).spawn().unwrap();
    wait(world.server.gate("hold").reached()).unwrap();
    let ran = finish(other.launched(launcher, &args).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(other.project().join("made").exists(), "{}", ran.stderr);
    world.server.gate("hold").release();
    assert_eq!(finish(child).code, Some(0));
    let told = world.server.requests()[2].tool_results()[0]["content"].to_string();
    assert!(told.contains("kept"), "{told}");
}

/// Wherever the files of a session stop growing, the program ends with a code and never by a signal.
#[test]
fn files_that_cannot_grow_never_kill_it() {
    let (mut fine, mut full) = (0, 0);
    for blocks in [0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100_000] {
        let input = json!({"file_path": "made", "content": "x".repeat(3_000)});
        let world =
            World::new(Script::new().answer(calls([("Write", input)])).answer(text("done")));
        let limit = r#"trap "" XFSZ; ulimit -f "$1"; shift; exec "$@""#;
        let launcher = ["bash", "-c", limit, "bash", &blocks.to_string()];
        let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
        let ran = finish(world.launched(&launcher, &args).spawn().unwrap());
        match ran.code {
            Some(0) => fine += 1,
            Some(74) => full += 1,
            other => panic!("{blocks} blocks: {other:?} {}", ran.stderr),
        }
    }
    assert!(fine > 0 && full > 0, "{fine} {full}");
}
