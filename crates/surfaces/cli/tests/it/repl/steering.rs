//! What is typed while the agent works reaches the model once, where it was meant.

use super::{bash, quit, start};
use crate::support::{World, until};
use crate::talk::Talk;
use ostler_model_server::{Script, status, text};
use serde_json::{Value, json};

const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

fn messages(world: &World) -> Vec<String> {
    world.server.requests().iter().map(|request| request.json()["messages"].to_string()).collect()
}

/// It has arrived when it is on disk.
fn arrived(world: &World, words: &str) {
    let has = |fact: &Value| fact["fact"] == "inbound" && fact.to_string().contains(words);
    until("it has arrived", || world.entries().iter().any(has));
}

/// Request `first` is the first that has these words, and every later one has them once.
fn reached_once(world: &World, words: &str, first: usize) {
    let counts: Vec<usize> =
        messages(world).iter().map(|text| text.matches(words).count()).collect();
    let expected: Vec<usize> = (0..counts.len()).map(|n| usize::from(n >= first)).collect();
    assert_eq!(counts, expected, "{words}");
    world.assert_never_rejected();
}

fn go(world: &World, args: &[&str]) -> Talk {
    let mut talk = start(world, true, args);
    talk.expect("> ");
    talk.send_line("go");
    talk
}

/// The command continues, and the request with its result has the message.
#[test]
fn during_a_tool() {
    let script = Script::new()
        .answer(bash("touch begun; while [ ! -e go ]; do sleep 0.01; done; echo over"))
        .answer(text("Seen."))
        .answer(text("Next."));
    let world = World::new(script);
    let mut talk = go(&world, &BYPASS);
    until("the command runs", || world.project().join("begun").exists());
    talk.send_line("the zebra first");
    arrived(&world, "the zebra first");
    world.file("go", "");
    talk.expect("Seen.");
    talk.expect("> ");
    talk.send_line("and now");
    talk.expect("Next.");
    quit(&mut talk);
    reached_once(&world, "the zebra first", 1);
    assert!(messages(&world)[1].contains("over"), "{}", messages(&world)[1]);
}

/// The next try has it, and starts at once: nobody waits an hour.
#[test]
fn during_a_backoff() {
    let script = Script::new().answer(status(529)).answer(text("Seen.")).answer(text("Next."));
    let world = World::new(script);
    world.has_chosen();
    let mut command = world.command(&[]);
    command.env("NO_COLOR", "1").env("OSTLER_RETRY_WAIT_MS", "3600000");
    let mut talk = Talk::on_terminal(&command);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("retrying in");
    talk.send_line("the zebra first");
    talk.expect("Seen.");
    talk.expect("> ");
    talk.send_line("and now");
    talk.expect("Next.");
    quit(&mut talk);
    reached_once(&world, "the zebra first", 1);
}

/// What was queued is a turn of its own.
#[test]
fn queued_for_the_end_of_the_turn() {
    let script = Script::new()
        .answer(text("Wait.").gate("hold").say(" All of it."))
        .answer(text("Queued turn."));
    let world = World::new(script);
    let mut talk = go(&world, &[]);
    talk.expect("Wait.");
    talk.send_line("/queue the zebra next");
    talk.expect("(queued until the turn ends)");
    world.server.gate("hold").release();
    talk.expect("All of it.");
    talk.expect("Queued turn.");
    quit(&mut talk);
    reached_once(&world, "the zebra next", 1);
    assert!(messages(&world)[1].contains("All of it."), "a turn of its own");
}

/// Without TEXT it starts what waits, and is never a prompt itself: neither at the prompt nor during a turn.
#[test]
fn queue_alone_is_no_prompt() {
    let script = Script::new()
        .answer(text("Wait.").gate("hold").say(" All of it."))
        .answer(text("Queued turn."));
    let world = World::new(script);
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("/queue");
    talk.expect("Nothing is queued.");
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Wait.");
    talk.send_line("/queue");
    talk.expect("Nothing is queued.");
    talk.send_line("/queue the zebra next");
    talk.expect("(queued until the turn ends)");
    talk.send_line("/queue");
    talk.expect("queued until the turn ends:");
    talk.expect("  the zebra next");
    world.server.gate("hold").release();
    talk.expect("Queued turn.");
    quit(&mut talk);
    assert_eq!(world.server.requests().len(), 2);
    reached_once(&world, "the zebra next", 1);
}

/// A turn that reached its limit keeps what is queued; /queue during the next turn starts it after that turn.
#[test]
fn queue_alone_starts_what_was_held_back() {
    let call = json!({ "command": "true" });
    let script = Script::new()
        .answer(text("First.").gate("first").call("Bash", call))
        .answer(text("Second.").gate("second").say(" All of it."))
        .answer(text("Queued turn."));
    let world = World::new(script);
    let mut talk = go(&world, &[&BYPASS[..], &["--max-turns", "1"]].concat());
    talk.expect("First.");
    talk.send_line("/queue the zebra next");
    talk.expect("(queued until the turn ends)");
    world.server.gate("first").release();
    talk.expect("tokens: ");
    talk.expect("> ");
    talk.send_line("something else");
    talk.expect("Second.");
    talk.send_line("/queue");
    talk.expect("queued until the turn ends:");
    talk.expect("  the zebra next");
    world.server.gate("second").release();
    talk.expect("Queued turn.");
    quit(&mut talk);
    reached_once(&world, "the zebra next", 2);
}

/// Commands that only look work at once; others say that they wait, and which of them can be queued.
#[test]
fn commands_during_a_turn() {
    let world = World::new(Script::new().answer(text("Wait.").gate("hold").say(" All of it.")));
    let mut talk = start(&world, true, &[]);
    talk.expect("session ");
    let id = talk.expect("\n").trim().to_owned();
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Wait.");
    for (line, answer) in [
        ("/sessions", id.as_str()),
        ("/skills", "debugging"),
        ("/rewind 1", "/rewind waits for the turn to end: stop it with Ctrl+C\r\n"),
        ("/quit", "/quit waits for the turn to end: stop it with Ctrl+C\r\n"),
        (
            "/debugging it",
            "/debugging waits for the turn to end: stop it with Ctrl+C, or enter /queue /debugging it",
        ),
    ] {
        talk.send_line(line);
        talk.expect(answer);
    }
    world.server.gate("hold").release();
    talk.expect("All of it.");
    quit(&mut talk);
    assert_eq!(world.server.requests().len(), 1);
}
