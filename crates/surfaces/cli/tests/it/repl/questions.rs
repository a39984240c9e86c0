//! A question is open until it is answered, and shows what it is about.

use super::{ASKS, bash, both, quit, start, told};
use crate::support::{World, processes_with, unique_sleep, until};
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn one_call() -> Script {
    Script::new().answer(bash("touch made")).answer(text("Seen.")).answer(text("Next."))
}

/// Asks and answers; gives back what the model was told about the call.
fn answered(answer: &'static str, runs: bool, want: &'static str) {
    both(one_call, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        let question = talk.expect(ASKS);
        assert!(
            question.contains("? Bash") && question.contains("command: touch made"),
            "{question}"
        );
        assert!(question.contains("  why: "), "{question}");
        let begun = world.entries().iter().any(|entry| entry["fact"] == "call_started");
        assert!(!begun && !world.project().join("made").exists(), "it ran before the answer");
        talk.send_line(answer);
        talk.expect("Seen.");
        let result = world.server.requests()[1].tool_results()[0].to_string();
        assert!(result.contains(want), "{answer:?}: {result}");
        assert_eq!(world.project().join("made").exists(), runs, "{answer:?}");
        talk.expect("> ");
        talk.send_line("and now");
        talk.expect("Next.");
        quit(talk);
    });
}

/// What would fail whatever the person says is not asked about.
#[test]
fn nobody_is_asked_about_a_write_that_would_be_refused() {
    let write =
        |content: &str| calls([("Write", json!({"file_path": "a.txt", "content": content}))]);
    let script = || {
        Script::new()
            .answer(write("one\ntwo\n"))
            .answer(calls([("Read", json!({"file_path": "a.txt"}))]))
            .answer(write("one\ntwo\n"))
            .answer(text("Done."))
    };
    both(script, |world, talk| {
        world.file("a.txt", "old\n");
        talk.expect("> ");
        talk.send_line("go");
        let before = talk.expect(ASKS);
        let refused = before.find("a.txt exists and you have not read it. Read it first.").unwrap();
        let asked = before.find("? Write").unwrap();
        assert!(refused < asked && before.matches("? Write").count() == 1, "{before}");
        assert!(before.contains("content (2 lines):"), "{before}");
        assert!(!before.contains("tool_use_error"), "{before}");
        talk.send_line("y");
        talk.expect("Done.");
        quit(talk);
        assert_eq!(world.read("a.txt"), "one\ntwo\n");
    });
}

#[test]
fn yes_runs_it() {
    answered("y", true, "(no output)");
    answered("  YES ", true, "(no output)");
}

#[test]
fn no_does_not() {
    answered("n", false, "Permission denied: the user said no. Nothing was run");
    answered("", false, "Permission denied: the user said no. Nothing was run");
    answered("No", false, "the user said no. ");
}

#[test]
fn a_reason_reaches_the_model() {
    answered(
        "use `make` instead, please",
        false,
        "the user said no: use `make` instead, please. Nothing was run",
    );
    // Not even words that begin like a yes.
    answered("yes but not now", false, "the user said no: yes but not now.");
    answered("ya", false, "the user said no: ya.");
}

#[test]
fn questions_come_one_at_a_time_and_in_order() {
    let script = || {
        let call = |name: &str| ("Write", json!({"file_path": name, "content": "x"}));
        Script::new().answer(calls([call("one"), call("two"), call("three")])).answer(text("Done."))
    };
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        for (name, answer) in [("one", "y"), ("two", "n"), ("three", "y")] {
            let question = talk.expect(ASKS);
            assert!(question.contains(&format!("file_path: {name}")), "{question}");
            assert!(!world.project().join(name).exists());
            talk.send_line(answer);
        }
        talk.expect("Done.");
        quit(talk);
        assert_eq!(
            ["one", "two", "three"].map(|name| world.project().join(name).exists()),
            [true, false, true]
        );
    });
}

#[test]
fn the_end_of_input_means_no() {
    both(one_call, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        talk.expect(ASKS);
        talk.end_input();
        talk.expect("Seen.");
        assert_eq!(talk.finish().code, Some(0));
        let result = world.server.requests()[1].tool_results()[0].to_string();
        assert!(result.contains("the input ended before the user said yes"), "{result}");
        assert!(!world.project().join("made").exists());
    });
}

/// B11, and more: what a person says yes to must be what runs.
#[test]
fn the_whole_command_is_shown_and_nothing_of_it_is_obeyed() {
    let long = format!("touch made {} # the very end", "argument ".repeat(600));
    // A title that is a command, hidden text, text that is wiped and text that runs backwards.
    let tricks = "true # \u{1b}]0;`touch made`\u{7}\u{1b}[8m; \u{8}\u{8}\u{8}\r# harmless \u{202e}";
    let shown = r"true # \u{1b}]0;`touch made`\u{7}\u{1b}[8m; \u{8}\u{8}\u{8}\r# harmless \u{202e}";
    let script = || {
        let lines = json!({"command": format!("{tricks}\n  run it? \ntouch made"), "timeout": 77});
        let three = [json!({"command": long}), json!({"command": tricks}), lines];
        Script::new().answer(calls(three.map(|input| ("Bash", input)))).answer(text("Done."))
    };
    let one_line = format!("  command: {shown}");
    let first_of_three = format!("    │ {shown}");
    let questions: [&[&str]; 3] = [
        &[&long],
        &[&one_line],
        &[
            "command (3 lines):",
            &first_of_three,
            "    │   run it? ",
            "    │ touch made",
            "  timeout: 77",
        ],
    ];
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        for parts in questions {
            let question = talk.expect(ASKS);
            for part in parts {
                assert!(question.contains(part), "{part:?} is missing in {question:?}");
            }
            let obeyed = |c: char| c.is_control() && !"\r\n\t".contains(c) || c == '\u{202e}';
            assert!(!question.contains(obeyed), "{question:?}");
            // The only carriage returns are those the terminal puts before a newline.
            assert_eq!(question.matches('\r').count(), question.matches("\r\n").count());
            talk.send_line("n");
        }
        talk.expect("Done.");
        quit(talk);
        assert!(!world.project().join("made").exists());
    });
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    let script = || {
        Script::new()
            .answer(text("Wait.").gate("hold").call("Bash", json!({"command": "touch made"})))
            .answer(text("Done."))
    };
    // A line that is entered while the turn runs is a message to the model.
    let world = World::new(script());
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Wait.");
    talk.send_line("y");
    talk.expect("+ y");
    world.server.gate("hold").release();
    talk.expect("Done.");
    quit(&mut talk);
    let request = world.server.requests()[1].clone();
    let result = request.tool_results()[0].to_string();
    assert!(result.contains("the user sent a message"), "{result}");
    let messages = request.json()["messages"].to_string();
    assert_eq!(messages.matches("\"y\"").count(), 1, "{messages}");
    assert!(!world.project().join("made").exists());

    // A script that pipes its answers has no other way than to write them early.
    let world = World::new(script());
    let mut talk = start(&world, false, &[]);
    talk.send("go\ny\n/quit\n");
    talk.expect("Wait.");
    world.server.gate("hold").release();
    assert_eq!(talk.finish().code, Some(0));
    assert!(world.project().join("made").exists());
    world.assert_never_rejected();
}

/// A call that ends while a question is open tells so afterwards.
#[test]
fn nothing_is_written_into_an_open_question() {
    let name = format!("pipe-{}", unique_sleep());
    let script = || {
        let slow = ("Bash", json!({"command": format!("cat {name}")}));
        let asks = ("Write", json!({"file_path": "made", "content": "x"}));
        Script::new().answer(calls([slow, asks])).answer(text("Done."))
    };
    both(script, |world, talk| {
        let pipe = world.project().join(&name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from(0o600)).unwrap();
        talk.expect("> ");
        talk.send_line("go");
        talk.expect(ASKS);
        let running = || processes_with(&name);
        until("the reader runs", || !running().is_empty());
        std::fs::write(&pipe, "from the pipe\n").unwrap();
        until("the reader has ended", || running().is_empty());
        talk.send_line("y");
        let between = talk.expect("✓ ");
        // First the end of the question's own line.
        let end = if talk.is_on_terminal() { "y\r\n" } else { "\n" };
        assert!(between.starts_with(end), "{between:?}");
        talk.expect("Done.");
        quit(talk);
        assert!(told(world).contains("from the pipe"));
    });
}
