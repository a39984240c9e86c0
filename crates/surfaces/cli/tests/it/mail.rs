//! `ostler mail`: send, list and peek. None of them reads.

use crate::support::World;
use ostler_model_server::Script;
use serde_json::{Value, json};

fn object(world: &World, args: &[&str]) -> Value {
    let ran = world.run(&[&["mail"], args, &["--json"]].concat());
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn mail_is_sent_listed_and_peeked_at() {
    let world = World::new(Script::new());
    assert_eq!(world.run(&["mail", "list"]).stdout, "No mail.\n");
    let first =
        object(&world, &["send", "--force", "--to", "writer", "Please use\nthe new names."]);
    assert_eq!(
        (&first["status"], &first["seq"], &first["behind"]),
        (&json!("unread"), &json!(1), &json!(1))
    );
    let id = first["id"].as_str().unwrap();
    let second =
        object(&world, &["send", "--to", "writer", "--in-reply-to", id, "And \u{1b}[2J hurry."]);
    assert_eq!((&second["seq"], &second["behind"]), (&json!(2), &json!(2)));
    object(&world, &["send", "--to", "user", "--from", "writer", "Done."]);
    for _ in 0..2 {
        let peeked = object(&world, &["peek", "writer"]);
        let texts: Vec<_> =
            peeked["mail"].as_array().unwrap().iter().map(|mail| &mail["text"]).collect();
        assert_eq!(texts, ["Please use\nthe new names.", "And \u{1b}[2J hurry."]);
        assert_eq!(peeked["mail"][0]["status"], "unread");
        assert_eq!(peeked["mail"][1]["in_reply_to"], json!(id));
    }
    assert_eq!(object(&world, &["list"])["mail"].as_array().unwrap().len(), 3);
    assert_eq!(object(&world, &["list", "--from", "writer"])["mail"].as_array().unwrap().len(), 1);
    let text = world.run(&["mail", "peek", "writer"]).stdout;
    assert!(text.contains("user → writer #1\n  Please use\n  the new names.\n"), "{text}");
    assert!(!text.contains('\u{1b}'));
    let list = world.run(&["mail", "list", "--to", "writer"]).stdout;
    assert_eq!(list.lines().count(), 2, "{list}");
    assert_eq!(world.run(&["mail", "peek", "nobody"]).stdout, "No unread mail.\n");
}

#[test]
fn mail_that_cannot_be_sent_is_one_line() {
    let world = World::new(Script::new());
    let long = "x".repeat(300_000 / 3);
    for (args, why) in [
        (&["send", "--force", "--to", "ostler", "x"][..], "a name that Ostler uses itself"),
        (&["send", "--to", " ", "x"], "the name of an agent is empty"),
        (&["send", "--force", "--to", &long, "x"], "the name of an agent has"),
        (&["list", "--board", "redis://127.0.0.1:1"], "nothing listens there"),
    ] {
        let ran = world.run(&[&["mail"], args].concat());
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
}

/// A mistake in a name does not become mail that nobody ever reads.
#[test]
fn a_name_that_nobody_has_is_refused_with_those_that_are_known() {
    let world = World::new(Script::new());
    let ran = world.run(&["mail", "send", "--to", "writer", "hello"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    let why = "no agent is called \"writer\": no team is running here, and nobody has mail; --force sends it anyway";
    assert!(ran.stderr.contains(why), "{ran:?}");
    assert_eq!(world.run(&["mail", "list", "--all"]).stdout, "No mail.\n");
    object(&world, &["send", "--force", "--to", "writer@1f2e3d4c", "--from", "scout", "hello"]);
    let ran = world.run(&["mail", "send", "--to", "wirter", "hello"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("known are scout, writer@1f2e3d4c;"), "{ran:?}");
    // Whoever has mail is known, by the whole address or by the name in it; and so is whoever has sent some.
    for name in ["writer", "writer@1f2e3d4c"] {
        assert_eq!(object(&world, &["send", "--to", name, "again"])["to"], "writer@1f2e3d4c");
        assert_eq!(object(&world, &["peek", name])["mail"][0]["text"], "hello");
        assert!(world.run(&["mail", "list", "--to", name]).stdout.contains("scout → writer@"));
    }
    assert_eq!(object(&world, &["send", "--to", "scout", "--from", "user", "x"])["to"], "scout");
    assert_eq!(object(&world, &["send", "--to", "user", "--from", "scout", "x"])["to"], "user");
    object(&world, &["send", "--force", "--to", "writer@99999999", "x"]);
    let ran = world.run(&["mail", "peek", "writer"]);
    assert!(ran.stderr.contains("several teammates are called \"writer\""), "{ran:?}");
}
