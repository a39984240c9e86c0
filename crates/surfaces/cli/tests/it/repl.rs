//! `ostler` without -p: the line session, on a real terminal and through pipes.

mod agents;
mod approvals;
mod commands;
mod controls;
mod jobs;
mod kept_jobs;
mod person_requests;
mod questions;
mod steering;
mod stopping;
mod team;
mod typing;

use crate::support::World;
use crate::talk::{Left, Talk};
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::json;

/// The end of the line that waits for an answer.
pub const ASKS: &str = "(or say why not): ";

/// Plays the same conversation on a terminal and through pipes.
pub fn both(script: impl Fn() -> Script, play: impl Fn(&World, &mut Talk)) {
    for terminal in [true, false] {
        let world = World::new(script());
        let mut talk = start(&world, terminal, &[]);
        play(&world, &mut talk);
        world.assert_never_rejected();
    }
}

/// Without colours, so that words can be found.
pub fn start(world: &World, terminal: bool, args: &[&str]) -> Talk {
    let mut command = world.command(args);
    command.env("NO_COLOR", "1");
    match terminal {
        true => {
            world.has_chosen();
            Talk::on_terminal(&command)
        }
        false => Talk::on_pipes(command),
    }
}

pub fn bash(command: &str) -> Reply {
    calls([("Bash", json!({ "command": command }))])
}

/// Leaves in the way everybody does.
pub fn quit(talk: &mut Talk) -> Left {
    talk.expect("> ");
    talk.send_line("/quit");
    let left = talk.finish();
    assert_eq!(left.code, Some(0), "{}", left.said);
    left
}

/// The messages of the newest request, as JSON text.
pub fn told(world: &World) -> String {
    world.server.requests().pop().unwrap().json()["messages"].to_string()
}

#[test]
fn text_streams_and_calls_have_their_lines() {
    let script = || {
        Script::new()
            .answer(
                text("I look. ")
                    .gate("hold")
                    .say("Still here.")
                    .call("Read", json!({"file_path": "a.txt"})),
            )
            .answer(text("It says **hello**."))
            .answer(text("You are welcome."))
    };
    both(script, |world, talk| {
        world.file("a.txt", "hello\n");
        talk.expect("session ");
        talk.expect("> ");
        talk.send_line("what is in a.txt?");
        // Nothing after this text has been sent, so it was not kept back until the end.
        talk.expect("I look. ");
        world.server.gate("hold").release();
        for line in
            ["Still here.", "● Read a.txt", "✓ Read", "hello", "It says **hello**.", "tokens: "]
        {
            talk.expect(line);
        }
        talk.expect("> ");
        talk.send_line("thanks");
        talk.expect("You are welcome.");
        let left = quit(talk);
        // The terminal is told to mark pastes, which is no colour.
        let said = left.said.replace("\u{1b}[?2004h", "").replace("\u{1b}[?2004l", "");
        assert!(!said.contains('\u{1b}'), "no colours were asked for: {said:?}");
        let messages = told(world);
        assert!(
            messages.contains("what is in a.txt?") && messages.contains("It says **hello**."),
            "one session: {messages}"
        );
    });
}

#[test]
fn the_prompt_may_be_an_argument() {
    for terminal in [true, false] {
        let world = World::new(Script::new().answer(text("First.")).answer(text("Second.")));
        let mut talk = start(&world, terminal, &["do the first"]);
        talk.expect("First.");
        talk.expect("> ");
        talk.send_line("do the second");
        talk.expect("Second.");
        quit(&mut talk);
        let messages = told(&world);
        assert!(
            messages.contains("do the first") && messages.contains("do the second"),
            "{messages}"
        );
        world.assert_never_rejected();
    }
}

#[test]
fn the_end_of_input_leaves() {
    both(Script::new, |_, talk| {
        talk.expect("> ");
        talk.end_input();
        assert_eq!(talk.finish().code, Some(0));
    });
    // A turn that runs by then is finished first.
    let world = World::new(Script::new().answer(text("Answer.").gate("hold").say(" Whole.")));
    let mut talk = start(&world, false, &[]);
    talk.send_line("go");
    talk.end_input();
    talk.expect("Answer.");
    world.server.gate("hold").release();
    let left = talk.finish();
    assert_eq!(left.code, Some(0));
    assert!(left.said.contains("Answer. Whole."), "{}", left.said);
}

#[test]
fn an_odd_line_is_a_line() {
    let world = World::new(Script::new().answer(text("Taken.")).answer(text("And this.")));
    let mut talk = start(&world, false, &[]);
    talk.send(b"caf\xe9 au lait\r\n");
    talk.expect("Taken.");
    talk.send_line("  ");
    talk.send_line("next");
    talk.expect("And this.");
    quit(&mut talk);
    let messages = told(&world);
    assert!(
        messages.contains("caf\u{fffd} au lait\"") && messages.contains("\"next\""),
        "{messages}"
    );
}

#[test]
fn an_error_of_the_model_does_not_end_the_session() {
    let script =
        || Script::new().answer(ostler_model_server::status(400)).answer(text("Better now."));
    both(script, |_, talk| {
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("ostler: the request to the model failed");
        talk.expect("> ");
        talk.send_line("again");
        talk.expect("Better now.");
        quit(talk);
    });
}

/// A key would not help.
#[test]
fn without_a_session_to_continue_that_is_said_before_a_missing_key() {
    let world = World::new(Script::new());
    for args in [&["--continue"][..], &["--continue", "-p", "go"]] {
        let mut command = world.command(args);
        command.env_remove("ANTHROPIC_API_KEY");
        let left = Talk::on_pipes(command).finish();
        assert_eq!(left.code, Some(1), "{}", left.said);
        assert!(left.said.contains("there is no session to continue in "), "{}", left.said);
        assert!(!left.said.contains("credential"), "{}", left.said);
    }
}

#[test]
fn a_resumed_session_says_what_it_was_about() {
    let world =
        World::new(Script::new().answer(text("It is 42.\n\nAs expected.")).answer(text("Bye.")));
    world.run(&["-p", "what is the total?\nof all orders"]);
    world.run(&["-p", "thanks", "--continue"]);
    for terminal in [true, false] {
        let mut talk = start(&world, terminal, &["-c"]);
        talk.expect("resumed \"what is the total?\" · 2 turns · ");
        talk.expect(" ago · last answer: Bye.");
        quit(&mut talk);
    }
    let mut talk = start(&world, false, &[]);
    let left = quit(&mut talk);
    assert!(!left.said.contains("resumed"), "{}", left.said);
}

#[test]
fn without_a_key_nothing_starts() {
    let world = World::new(Script::new());
    let mut command = world.command(&[]);
    command.env_remove("ANTHROPIC_API_KEY");
    let left = Talk::on_pipes(command).finish();
    assert_eq!(left.code, Some(3));
    assert!(left.said.contains("ostler demo"), "{}", left.said);
}
