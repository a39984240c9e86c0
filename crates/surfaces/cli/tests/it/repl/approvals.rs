//! A yes for more than once: for the session, for the project, and taken back.

use super::{ASKS, bash, both, quit, start};
use crate::support::World;
use crate::talk::Talk;
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::json;

fn write(name: &str) -> Reply {
    calls([("Write", json!({"file_path": name, "content": "x"}))])
}

fn has(world: &World, name: &str) -> bool {
    world.project().join(name).exists()
}

/// A session with one prompt; what is asked is answered so, and nothing else is asked.
fn session(world: &World, terminal: bool, answers: &[&str]) -> String {
    let mut talk = start(world, terminal, &[]);
    talk.expect("> ");
    talk.send_line("go");
    let asked = answer(&mut talk, answers);
    talk.expect("Done.");
    quit(&mut talk);
    asked
}

fn answer(talk: &mut Talk, answers: &[&str]) -> String {
    let mut asked = String::new();
    for answer in answers {
        asked += &talk.expect(ASKS);
        talk.send_line(answer);
    }
    asked
}

#[test]
fn always_is_the_same_call_for_the_session() {
    let script = || {
        Script::new()
            .answer(bash("touch one"))
            .answer(bash("touch one"))
            .answer(bash("touch two"))
            .answer(text("Done."))
            .answer(bash("touch one"))
            .answer(text("Over."))
    };
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        let asked = answer(talk, &["a"]);
        assert!(asked.contains("command: touch one") && asked.contains("[s]ession: "), "{asked}");
        let asked = answer(talk, &["n"]);
        assert_eq!(asked.matches("\n? ").count(), 1, "{asked}");
        assert!(asked.contains("command: touch two"), "{asked}");
        talk.expect("Done.");
        // Another session knows nothing of it.
        talk.expect("> ");
        talk.send_line("/fork");
        talk.expect("> ");
        talk.send_line("more");
        let asked = answer(talk, &["n"]);
        assert!(asked.contains("command: touch one"), "{asked}");
        talk.expect("Over.");
        quit(talk);
        assert!(has(world, "one") && !has(world, "two"));
    });
}

#[test]
fn for_the_session_is_what_the_offered_rule_covers() {
    for terminal in [true, false] {
        let world = World::new(
            Script::new()
                .answer(write("notes/a"))
                .answer(write("notes/b"))
                .answer(write("other/c"))
                .answer(text("Done."))
                .answer(write("notes/d"))
                .answer(text("Done.")),
        );
        let asked = session(&world, terminal, &["s", "n"]);
        let rule = "[s]ession: Edit(./notes/**)  [p]roject: Edit(./notes/**)  [n]o";
        assert!(asked.contains(rule) && asked.contains("changes: "), "{asked}");
        assert_eq!(asked.matches("? Write").count(), 2, "{asked}");
        assert_eq!(["notes/a", "notes/b", "other/c"].map(|n| has(&world, n)), [true, true, false]);
        // It is over with the session.
        session(&world, terminal, &["n"]);
        assert!(!has(&world, "notes/d"));
        world.assert_never_rejected();
    }
}

#[test]
fn for_the_project_is_there_after_a_restart_until_it_is_revoked() {
    let world = World::new(
        Script::new()
            .answer(write("notes/a"))
            .answer(text("Done."))
            .answer(write("notes/b"))
            .answer(text("Done."))
            .answer(write("notes/c"))
            .answer(text("Done.")),
    );
    session(&world, true, &["p"]);
    session(&world, true, &[]);
    assert!(has(&world, "notes/a") && has(&world, "notes/b"));
    assert_eq!(world.read(".ostler/settings.local.json"), "", "nothing is kept in the project");
    let listed = world.run(&["permissions", "list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let (_, approvals) = listed.stdout.split_once("approvals of this project\n").unwrap();
    assert!(approvals.starts_with("  Edit(./notes/**)  accepted 2"), "{approvals}");

    let revoked = world.run(&["permissions", "revoke", "Edit(./notes/**)"]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.stderr);
    let again = world.run(&["permissions", "revoke", "Edit(./notes/**)"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("no approval Edit(./notes/**)"), "{}", again.stderr);
    session(&world, true, &["n"]);
    assert!(!has(&world, "notes/c"));
    world.assert_never_rejected();
}

#[test]
fn without_an_offer_nothing_can_be_kept() {
    let script = || Script::new().answer(bash("echo 1 > \"$(echo made)\"")).answer(text("Done."));
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        let asked = talk.expect(ASKS);
        assert!(asked.contains("[s]ession: exactly this call"), "{asked}");
        assert!(!asked.contains("[p]roject"), "{asked}");
        talk.send_line("p");
        let told = talk.expect(ASKS);
        assert!(told.contains("No rule can be saved"), "{told}");
        assert!(!has(world, "made"));
        talk.send_line("y");
        talk.expect("Done.");
        quit(talk);
        assert_eq!(world.read("made"), "1\n");
    });
}

#[test]
fn a_rule_that_cannot_be_kept_holds_for_the_session() {
    let script =
        || Script::new().answer(write("notes/a")).answer(write("notes/b")).answer(text("Done."));
    both(script, |world, talk| {
        talk.expect("> ");
        // Where approvals would be kept there is a file.
        std::fs::write(world.home().join("projects"), "in the way").unwrap();
        talk.send_line("go");
        answer(talk, &["p"]);
        talk.expect("ostler: the rule applies to this session only: ");
        talk.expect("Done.");
        quit(talk);
        assert!(has(world, "notes/a") && has(world, "notes/b"));
    });
}

/// At a terminal the very first session asks how much may run; it is asked once, and a pipe is never asked.
#[test]
fn the_first_session_asks_what_may_run() {
    let script = || Script::new().answer(write("one")).answer(text("Done."));
    for (answer, mode) in [("c", "default"), ("e", "acceptEdits"), ("", "default")] {
        let world = World::new(script());
        let mut talk = crate::talk::Talk::on_terminal(&world.command(&[]));
        let asked = talk.expect("[c/e/a]: ");
        assert!(asked.contains("No permission mode is set yet."), "{asked}");
        assert!(
            asked.contains("what your rules deny or ask about, and protected names"),
            "{asked}"
        );
        talk.send_line(answer);
        talk.expect("> ");
        talk.send_line("go");
        if mode != "acceptEdits" {
            talk.expect(ASKS);
            talk.send_line("n");
        }
        talk.expect("Done.");
        assert_eq!(has(&world, "one"), mode == "acceptEdits");
        quit(&mut talk);
        let kept = std::fs::read_to_string(world.home().join("settings.json")).unwrap();
        assert!(kept.contains(mode), "{answer:?}: {kept}");
    }
    let world = World::new(script());
    let mut talk = start(&world, false, &[]);
    let begun = talk.expect("> ");
    assert!(!begun.contains("first session"), "{begun}");
    talk.send_line("go");
    answer(&mut talk, &["n"]);
    talk.expect("Done.");
    quit(&mut talk);
}
