//! `--fork-session --at`: a copy of a session that ends at a turn or an entry.

use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

fn forked(world: &World, session: &[&str], at: &str) -> (Option<i32>, String, String) {
    let common = ["-p", "another way", "--output-format", "json", "--fork-session", "--at", at];
    let ran = world.run(&[session, &common].concat());
    let id = serde_json::from_str::<Value>(&ran.stdout).unwrap_or_default();
    (ran.code, id["session_id"].as_str().unwrap_or_default().to_owned(), ran.stderr)
}

fn newest_request(world: &World) -> String {
    world.server.requests().last().unwrap().json()["messages"].to_string()
}

fn id_of(world: &World, args: &[&str]) -> String {
    let ran = world.run(&[args, &["--output-format", "json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.result()["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_turn_is_numbered_as_rewind_numbers_it() {
    let world = World::new(Script::new().answer(text("answer")).forever());
    let id = id_of(&world, &["-p", "prompt one"]);
    for prompt in ["prompt two", "prompt three"] {
        assert_eq!(id_of(&world, &["-p", prompt, "--continue"]), id);
    }
    let log = std::fs::read(world.logs().pop().unwrap()).unwrap();
    for (turn, kept, gone) in [
        ("3", &["prompt one", "prompt two"][..], &["prompt three"][..]),
        ("2", &["prompt one"], &["prompt two", "prompt three"]),
        ("1", &[], &["prompt one", "prompt two", "prompt three"]),
    ] {
        let (code, fork, said) = forked(&world, &["--resume", &id], turn);
        assert_eq!(code, Some(0), "{said}");
        assert_ne!(fork, id);
        let sent = newest_request(&world);
        assert!(sent.contains("another way"));
        assert!(kept.iter().all(|prompt| sent.contains(prompt)), "{turn}: {sent}");
        assert!(!gone.iter().any(|prompt| sent.contains(prompt)), "{turn}: {sent}");
    }
    // The newest session is the last fork, whose first turn is "another way".
    let (code, _, said) = forked(&world, &["--continue"], "1");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(newest_request(&world).matches("another way").count(), 1);

    // After a rewind the turns have new numbers.
    let rewound = world.run(&["rewind", "--to", "2", "--conversation", "--session", &id, "--yes"]);
    assert_eq!(rewound.code, Some(0), "{}", rewound.stderr);
    id_of(&world, &["-p", "prompt two again", "--resume", &id]);
    let (code, _, said) = forked(&world, &["--resume", &id], "3");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("has 2 turns"), "{said}");
    forked(&world, &["--resume", &id], "2");
    assert!(!newest_request(&world).contains("prompt two"));
    let original = world.logs().into_iter().find(|path| path.to_str().unwrap().contains(&id));
    assert!(std::fs::read(original.unwrap()).unwrap().starts_with(&log), "nothing was rewritten");
    world.assert_never_rejected();
}

/// Wherever it is cut, the fork continues: calls that are open there are answered as after a crash.
#[test]
fn every_entry_is_a_place_to_fork_from() {
    let work = calls([
        ("Write", json!({"file_path": "made.txt", "content": "made\n"})),
        ("Bash", json!({"command": "touch touched"})),
    ]);
    let world = World::new(
        Script::new().answer(work).answer(text("done")).answer(text("answer")).forever(),
    );
    let all = ["--permission-mode", "bypassPermissions"];
    let id = id_of(&world, &[&["-p", "go"], &all[..]].concat());
    let log = std::fs::read_to_string(world.logs().pop().unwrap()).unwrap();
    let entries = log.lines().count();
    assert!(entries > 8, "{log}");
    let mut lost = 0;
    for entry in 1..=entries {
        let (code, fork, said) = forked(&world, &["--resume", &id], &format!("entry:{entry}"));
        assert_eq!(code, Some(0), "{entry}: {said}");
        let path = world.logs().into_iter().find(|path| path.to_str().unwrap().contains(&fork));
        let copied = std::fs::read_to_string(path.unwrap()).unwrap();
        let from = format!("\"forked_from\":{{\"session\":\"{id}\",\"entries\":{}}}", entry - 1);
        assert!(copied.lines().next().unwrap().contains(&from), "{copied}");
        lost += usize::from(newest_request(&world).contains("tool_result") && entry < entries - 3);
    }
    assert!(lost > 0, "some of them are between a call and its result");
    assert_eq!(world.read("made.txt"), "made\n", "files are not touched");
    world.assert_never_rejected();
}

#[test]
fn a_point_that_is_not_there_is_a_mistake_of_the_caller() {
    let world = World::new(Script::new().answer(text("answer")).forever());
    let id = id_of(&world, &["-p", "one"]);
    let entries = std::fs::read_to_string(world.logs().pop().unwrap()).unwrap().lines().count();
    for (at, wanted) in [
        ("0", "cannot fork at turn 0: session "),
        ("2", " has 1 turn"),
        ("entry:0", "cannot fork at entry 0: session "),
        ("entry:999", &format!(" has {entries} entries")),
        ("last", "\"last\" is neither a turn nor an entry: use a turn"),
        ("entry:x", "e.g. entry:57"),
    ] {
        let (code, _, said) = forked(&world, &["--resume", &id], at);
        assert_eq!(code, Some(2), "{at}: {said}");
        assert!(said.contains(wanted), "{at}: {said}");
    }
    assert_eq!(world.run(&["-p", "x", "--resume", &id, "--at", "1"]).code, Some(2));
    assert_eq!(world.run(&["-p", "x", "--fork-session", "--at", "1"]).code, Some(2));
    let wrong = ["-p", "x", "--resume", &id, "--fork-session", "--at", "last"];
    let ran = world.run(&wrong);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("--at \"last\" is neither a turn nor an entry"), "{}", ran.stderr);
    assert_eq!(world.logs().len(), 1, "nothing was made for it");
}
