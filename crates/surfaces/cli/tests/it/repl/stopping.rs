//! Ctrl+C gives the prompt back; what asks the program to end ends it in order.

use super::{ASKS, bash, both, quit, start, told};
use crate::support::{World, facts, processes_with, signal, unique_sleep, until, wait};
use ostler_model_server::{Script, text};
use rustix::process::Signal;

#[test]
fn in_an_answer() {
    let script =
        || Script::new().answer(text("one two three").gate("hold")).answer(text("Here again."));
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("three");
        talk.interrupt();
        talk.expect("interrupted. Everything done so far is kept");
        let between = talk.expect("> ");
        assert!(!between.contains("/quit"), "the same key press counted twice: {between:?}");
        talk.send_line("go on");
        talk.expect("Here again.");
        let left = quit(talk);
        assert!(!left.said.contains("to exit)"), "{}", left.said);
        let messages = told(world);
        assert!(
            messages.contains("one two three") && messages.contains("interrupted"),
            "{messages}"
        );
    });
}

/// Nothing was answered, and nothing was reported: that is neither a failure nor free of charge for certain.
#[test]
fn before_the_answer_begins() {
    let script = || Script::new().answer(text("never").due_at("hold")).answer(text("Here again."));
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        wait(world.server.gate("hold").reached()).unwrap();
        talk.interrupt();
        talk.expect("interrupted. Everything done so far is kept");
        talk.expect("> ");
        talk.send_line("/cost");
        talk.expect(
            "1 request was cancelled before the answer began; the provider reported no cost.",
        );
        let left = quit(talk);
        assert!(!left.said.contains("failed and cost nothing"), "{}", left.said);
        world.server.gate("hold").open();
    });
}

#[test]
fn in_a_command() {
    for terminal in [true, false] {
        let mark = unique_sleep();
        let script = Script::new()
            .answer(bash(&format!("echo begun; sleep {mark}")))
            .answer(text("Here again."));
        let world = World::new(script);
        let mut talk = start(&world, terminal, &["--permission-mode", "bypassPermissions"]);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("● Bash");
        until("the command runs", || !processes_with(&mark).is_empty());
        talk.interrupt();
        talk.expect("interrupted. Everything done so far is kept");
        talk.expect("> ");
        until("it is gone", || processes_with(&mark).is_empty());
        talk.send_line("go on");
        talk.expect("Here again.");
        quit(&mut talk);
        assert!(told(&world).contains("Stopped by the user"));
        world.assert_never_rejected();
    }
}

#[test]
fn in_a_question() {
    let script = || Script::new().answer(bash("touch made")).answer(text("Here again."));
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        talk.expect(ASKS);
        talk.interrupt();
        talk.expect("interrupted. Everything done so far is kept");
        talk.expect("> ");
        // Not an answer to the question that is gone.
        talk.send_line("y");
        talk.expect("Here again.");
        quit(talk);
        let messages = told(world);
        assert!(
            messages.contains("Not run: the user interrupted") && messages.contains("\"y\""),
            "{messages}"
        );
        assert!(!world.project().join("made").exists());
    });
}

#[test]
fn at_the_prompt() {
    both(
        || Script::new().answer(text("Here.")),
        |_, talk| {
            talk.expect("> ");
            talk.interrupt();
            talk.expect("(press Ctrl+C again or enter /quit to exit)");
            talk.expect("> ");
            talk.send_line("go");
            talk.expect("Here.");
            // What was entered in between begins the count again.
            talk.expect("> ");
            talk.interrupt();
            talk.expect("to exit)");
            quit(talk);
        },
    );
}

#[test]
fn twice_at_the_prompt_leaves() {
    both(Script::new, |_, talk| {
        talk.expect("> ");
        talk.interrupt();
        talk.expect("to exit)");
        talk.expect("> ");
        talk.interrupt();
        assert_eq!(talk.finish().code, Some(130));
    });
}

/// A line that was being typed is cleared first, whatever was pressed before.
#[test]
fn a_line_is_cleared_before_anything_is_left() {
    let world = World::new(Script::new().answer(text("Here.")));
    let mut talk = start(&world, true, &[]);
    for _ in 0..3 {
        talk.expect("> ");
        talk.send("half a line");
        talk.expect("half a line");
        talk.interrupt();
        talk.expect("to exit)");
    }
    talk.expect("> ");
    talk.send_line("a whole one");
    talk.expect("Here.");
    quit(&mut talk);
    let messages = told(&world);
    assert!(messages.contains("\"a whole one\"") && !messages.contains("half"), "{messages}");
}

/// Also while the turn is being stopped; the session can be continued.
#[test]
fn twice_in_a_turn_leaves() {
    let mark = unique_sleep();
    let command = format!("trap '' INT TERM; sleep {mark}");
    let world = World::new(Script::new().answer(bash(&command)).answer(text("Here again.")));
    let mut talk = start(&world, true, &["--permission-mode", "bypassPermissions"]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("● Bash");
    until("the command runs", || !processes_with(&mark).is_empty());
    talk.expect("\n");
    talk.interrupt();
    // It has arrived.
    talk.expect("\n");
    talk.interrupt();
    let left = talk.finish();
    assert_eq!(left.code, Some(130), "{}", left.said);
    until("the command has ended", || processes_with(&mark).is_empty());
    assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
    // Whoever does not wait for the end is not told how it ended.
    let messages = told(&world);
    let truths = ["Stopped by the user", "Interrupted: the program stopped"];
    assert!(truths.iter().any(|truth| messages.contains(truth)), "{messages}");
    world.assert_never_rejected();
}

#[test]
fn a_signal_to_end_leaves_in_order() {
    let world = World::new(Script::new());
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    signal(talk.child(), Signal::TERM);
    assert_eq!(talk.finish().code, Some(143));

    let mark = unique_sleep();
    let world = World::new(Script::new().answer(bash(&format!("sleep {mark}"))));
    let mut talk = start(&world, true, &["--permission-mode", "bypassPermissions"]);
    talk.expect("> ");
    talk.send_line("go");
    until("the command runs", || !processes_with(&mark).is_empty());
    signal(talk.child(), Signal::TERM);
    assert_eq!(talk.finish().code, Some(143));
    assert!(processes_with(&mark).is_empty());
    assert_eq!(world.entries().last().unwrap()["fact"], "end");
}

/// B36: an open question that nobody will answer is no yes, and the session can be resumed.
#[test]
fn b36_the_program_or_its_terminal_ends_in_a_question() {
    for closes in [false, true] {
        let world = World::new(Script::new().answer(bash("touch made")).answer(text("ok")));
        let mut talk = start(&world, true, &[]);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect(ASKS);
        if closes {
            talk.hang_up();
        } else {
            signal(talk.child(), Signal::TERM);
            assert_eq!(talk.finish().code, Some(143));
        }
        let log = std::fs::read_to_string(world.logs().pop().unwrap()).unwrap();
        let known: Vec<_> =
            facts(&log).iter().map(|fact| fact["fact"].as_str().unwrap().to_owned()).collect();
        assert!(!known.contains(&"call_started".to_owned()) && !log.contains("\"allow\""), "{log}");
        assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
        let messages = told(&world);
        // The end of the input is a no, if it is seen before the signal; a terminal that takes no more output ends the
        // program as well.
        let said = [
            "Not run",
            "the input ended before the user said yes",
            "stopped before one was recorded. The call changed nothing",
        ];
        assert!(said.iter().any(|said| messages.contains(said)), "closes: {closes}: {messages}");
        assert!(!world.project().join("made").exists());
        world.assert_never_rejected();
    }
}
