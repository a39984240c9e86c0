//! What a killed process leaves beside the files it was writing, and a disk on which files cannot grow.

use crate::support::{World, finish, until};
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
