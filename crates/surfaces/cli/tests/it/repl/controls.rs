//! Commands that show or change something about the session: the next request shows what became of them.

use super::{both, quit, start, told};
use crate::support::World;
use crate::talk::Talk;
use ostler_model_server::{Script, text};
use serde_json::Value;

fn answers() -> Script {
    Script::new().answer(text("ok")).forever()
}

fn enter(talk: &mut Talk, line: &str) {
    talk.expect("> ");
    talk.send_line(line);
}

fn turn(talk: &mut Talk, prompt: &str) {
    enter(talk, prompt);
    talk.expect("tokens: ");
}

fn models(world: &World) -> Vec<Value> {
    world.server.requests().iter().map(|request| request.json()["model"].clone()).collect()
}

#[test]
fn the_model_is_shown_and_changed() {
    both(answers, |world, talk| {
        enter(talk, "/model");
        talk.expect("model: scripted");
        turn(talk, "one");
        enter(talk, "/model other");
        talk.expect("model: other");
        turn(talk, "two");
        quit(talk);
        assert_eq!(models(world), ["scripted", "other"]);
    });
}

/// The request with the results of the call has it.
#[test]
fn the_model_changes_in_the_middle_of_a_turn() {
    let answer = text("I look.").gate("hold").call("Glob", serde_json::json!({"pattern": "*"}));
    let world = World::new(Script::new().answer(answer).answer(text("Done.")));
    let mut talk = start(&world, true, &[]);
    enter(&mut talk, "go");
    talk.expect("I look.");
    talk.send_line("/model other");
    talk.expect("model: other");
    world.server.gate("hold").release();
    talk.expect("Done.");
    quit(&mut talk);
    assert_eq!(models(&world), ["scripted", "other"]);
}

#[test]
fn memories_are_listed_and_searched() {
    both(answers, |world, talk| {
        for text in ["Run the tests with make check.", "The staging port is 5433."] {
            let added = world.run(&["memory", "add", text]);
            assert_eq!(added.code, Some(0), "{}", added.stderr);
        }
        enter(talk, "/memory");
        let listed = talk.expect("> ");
        assert!(listed.contains("make check") && listed.contains("5433"), "{listed}");
        talk.send_line("/memory staging port");
        let found = talk.expect("> ");
        assert!(found.contains("5433") && !found.contains("make check"), "{found}");
        // Words that look like a flag are words.
        talk.send_line("/memory --help");
        let nothing = talk.expect("> ");
        assert!(!nothing.contains("Usage"), "{nothing}");
        talk.send_line("/quit");
        assert_eq!(talk.finish().code, Some(0));
        assert!(world.server.requests().is_empty());
    });
}

#[test]
fn rules_are_listed() {
    both(answers, |world, talk| {
        std::fs::create_dir_all(world.home()).unwrap();
        let rules = "allow:\n  - Bash(make:*)\n";
        std::fs::write(world.home().join("permissions.yaml"), rules).unwrap();
        enter(talk, "/permissions");
        let listed = talk.expect("> ");
        assert!(listed.contains("Bash(make:*)"), "{listed}");
        talk.send_line("/quit");
        assert_eq!(talk.finish().code, Some(0));
    });
}

#[test]
fn a_cleared_session_knows_nothing_and_stays_on_disk() {
    both(answers, |world, talk| {
        talk.expect("session ");
        let first = talk.expect("\n").trim().to_owned();
        turn(talk, "the zebra");
        enter(talk, "/clear");
        talk.expect("session ");
        let second = talk.expect("\n").trim().to_owned();
        assert_ne!(first, second);
        turn(talk, "the lion");
        let messages = told(world);
        assert!(messages.contains("lion") && !messages.contains("zebra"), "{messages}");
        enter(talk, &format!("/resume {first}"));
        turn(talk, "go on");
        quit(talk);
        let messages = told(world);
        assert!(messages.contains("zebra") && !messages.contains("lion"), "{messages}");
    });
}
