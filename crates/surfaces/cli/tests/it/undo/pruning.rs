//! Calls whose snapshots no longer exist: never said to be undone, named, and still listed.

use super::{running, undone};
use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn forget(world: &World) {
    std::fs::remove_dir_all(world.home().join("snapshots")).unwrap();
}

#[test]
fn nothing_is_called_undone_that_was_not() {
    let world = running(&["rm given"]);
    world.file("given", "precious\n");
    world.go();
    forget(&world);
    for _ in 0..2 {
        let ran = world.run(&["undo"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        assert!(ran.stdout.contains("NOT UNDONE: Bash (turn 1) rm given: "), "{}", ran.stdout);
        assert!(!ran.stdout.contains("Undone:"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("nothing differs"), "{}", ran.stdout);
        let (ran, said) = undone(&world, &[]);
        assert_eq!((ran.code, said["complete"].as_bool()), (Some(1), Some(false)), "{said:#}");
        assert_eq!(said["calls"], json!([]));
        assert_eq!(said["not_undone"][0]["what"], "rm given", "it is still listed");
    }
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(1));
}

/// A store that starts from scratch in the middle of a session does not take one call's numbers for another's.
#[test]
fn what_is_still_kept_is_undone() {
    let bash = |command: &str| calls([("Bash", json!({ "command": command }))]);
    let world = World::new(
        Script::new()
            .answer(bash("echo 1 > one; rm given"))
            .answer(text("done"))
            .answer(bash("echo 2 > two"))
            .answer(text("done")),
    );
    world.file("given", "precious\n");
    world.go();
    forget(&world);
    let on = ["-p", "on", "--continue", "--permission-mode", "bypassPermissions"];
    assert_eq!(world.run(&on).code, Some(0));
    let (ran, said) = undone(&world, &["2"]);
    assert_eq!(ran.code, Some(1), "{said:#}");
    assert_eq!(said["calls"].as_array().map(Vec::len), Some(1), "{said:#}");
    assert_eq!(said["calls"][0]["what"], "echo 2 > two");
    assert_eq!(said["not_undone"][0]["what"], "echo 1 > one; rm given");
    assert_eq!((world.read("one"), world.read("two")), ("1\n".into(), String::new()));
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(0));
    assert_eq!(world.read("two"), "2\n");
}

/// What was undone stays undone when its snapshots are pruned: a person's own change later is not taken for the call's.
#[test]
fn what_was_undone_is_not_undone_again() {
    let mut script = Script::new()
        .answer(calls([("Write", json!({"file_path": "made", "content": "by hand, too\n"}))]))
        .answer(text("done"));
    for n in 0..201 {
        script = script.answer(calls([("Bash", json!({"command": format!("echo {n} > n")}))]));
    }
    let world = World::new(script.answer(text("done")).forever());
    world.go();
    assert_eq!(undone(&world, &[]).0.code, Some(0));
    let on = ["-p", "on", "--continue", "--permission-mode", "bypassPermissions", "--no-sandbox"];
    assert_eq!(world.run(&on).code, Some(0));
    let pruned = world.run(&["snapshots", "prune", "--json"]);
    assert!(!pruned.stdout.contains("\"snapshots\":0"), "{}", pruned.stdout);
    // The last undo is still known, and that it cannot be redone.
    let redone = world.run(&["undo", "--redo"]);
    assert_eq!(redone.code, Some(1), "{}", redone.stdout);
    assert!(redone.stderr.contains("no longer exist"), "{}", redone.stderr);
    world.file("made", "by hand, too\n");
    let (_, said) = undone(&world, &["500"]);
    assert!(!said["calls"].to_string().contains("\"Write\""), "{said:#}");
    assert_eq!(world.read("made"), "by hand, too\n");
}
