//! What is typed and pasted at a terminal reaches the model as it was meant, and the terminal is given back.

use super::{ASKS, bash, quit, start};
use crate::support::{World, signal, until};
use crate::talk::{CTRL_D, Talk};
use ostler_model_server::{Script, text};
use rustix::process::Signal;
use serde_json::{Value, json};

/// How a terminal hands over a pasted text.
fn pasted(text: &str) -> String {
    format!("\u{1b}[200~{text}\u{1b}[201~")
}

/// The texts of the prompts of the newest request.
fn prompts(world: &World) -> Vec<String> {
    let request = world.server.requests().pop().unwrap();
    let is_user = |message: &&Value| message["role"] == "user";
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks.as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned(),
    };
    request.messages().iter().filter(is_user).map(text).collect()
}

fn answering(times: usize) -> World {
    World::new((0..times).fold(Script::new(), |script, _| script.answer(text("Answered."))))
}

/// Types each text and enters it; gives back the prompts as the model got them.
fn typed(texts: &[&str]) -> Vec<String> {
    let world = answering(texts.len());
    let mut talk = start(&world, true, &[]);
    for text in texts {
        talk.expect("> ");
        talk.send(text);
        talk.send("\r");
        talk.expect("Answered.");
    }
    quit(&mut talk);
    world.assert_never_rejected();
    prompts(&world)
}

#[test]
fn a_pasted_text_of_several_lines_is_one_prompt() {
    assert_eq!(
        typed(&[&format!("explain: {} please", pasted("one\r\n\ttwo\rthree\n"))]),
        ["explain: one\n\ttwo\nthree\n please"]
    );
    // A line that looks like an answer or a command is neither.
    assert_eq!(typed(&[&pasted("y\n/quit\n")]), ["y\n/quit"]);
}

#[test]
fn nothing_is_cut_however_long_it_is() {
    for bracketed in [true, false] {
        let world = answering(1);
        let mut talk = start(&world, true, &[]);
        let line: String = (0..4000).map(|n| format!("{n:05} ")).collect();
        let line = line.trim_end();
        talk.expect("> ");
        let whole = if bracketed { pasted(line) } else { line.to_owned() };
        let writer = talk.send_long(format!("{whole}\r"));
        talk.expect("Answered.");
        writer.join().unwrap();
        quit(&mut talk);
        assert_eq!(prompts(&world), [line], "bracketed: {bracketed}");
    }
}

/// Also what was typed while nobody read it: the terminal itself would keep 4 095 bytes of a line.
#[test]
fn nothing_is_cut_that_is_typed_ahead() {
    let world =
        World::new(Script::new().answer(text("Wait.").gate("hold")).answer(text("Answered.")));
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Wait.");
    let line = "abcdefgh ".repeat(700);
    let line = line.trim_end();
    let writer = talk.send_long(format!("{line}\n"));
    writer.join().unwrap();
    world.server.gate("hold").release();
    talk.expect("Answered.");
    quit(&mut talk);
    assert_eq!(prompts(&world), ["go", line]);
}

#[test]
fn a_mistake_while_it_works_ends_nothing() {
    let world = World::new(Script::new().answer(text("Wait.").gate("hold").say(" All of it.")));
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Wait.");
    talk.send_line("/mode nonsense");
    talk.expect("unknown mode \"nonsense\"");
    talk.send_line("/rewind 1");
    talk.expect("waits for the turn to end");
    talk.send_line("/mode plan");
    talk.expect("mode: plan");
    world.server.gate("hold").release();
    talk.expect("All of it.");
    talk.expect("tokens:");
    quit(&mut talk);
    assert_eq!(world.server.requests().len(), 1);
    world.assert_never_rejected();
}

#[test]
fn keys_edit_the_line_and_never_reach_the_model() {
    let (left, right, up, down) = ("\u{1b}[D", "\u{1b}[C", "\u{1b}[A", "\u{1b}[B");
    for (keys, expected) in [
        (format!("ac{left}b"), "abc"),
        (format!("bc{left}{left}{left}a{right}{right}{right}d"), "abcd"),
        ("bc\u{1b}[Ha\u{1b}[Fd".into(), "abcd"),
        ("bc\u{1b}OHa\u{1b}OFd".into(), "abcd"),
        ("abx\u{7f}c".into(), "abc"),
        ("abxc\u{1b}[D\u{1b}[D\u{1b}[3~".into(), "abc"),
        ("wrong\u{15}right one\u{17}two".into(), "right two"),
        (format!("{up}{down}\u{1b}[15~\u{1b}[5~\u{1b}OP\u{1b}xabc\u{1b}[1;2P"), "abc"),
        ("grüßx\u{7f}e 中文".into(), "grüße 中文"),
    ] {
        assert_eq!(typed(&[&keys]), [expected], "{keys:?}");
    }
}

#[test]
fn earlier_prompts_can_be_fetched_back() {
    let (up, down) = ("\u{1b}[A", "\u{1b}[B");
    let lines =
        ["first", "second", &format!("{up}{up} again"), &format!("draft{up}{up}{down}{down}")];
    assert_eq!(typed(&lines), ["first", "second", "first again", "draft"]);
    assert_eq!(typed(&[&pasted("one\ntwo"), &format!("{up}!")]), ["one\ntwo", "one\ntwo!"]);
}

/// What stands on the screen is the line, also after it was edited in the middle.
#[test]
fn the_line_is_shown_as_it_is_typed() {
    let world = answering(1);
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send("hello");
    talk.expect("hello");
    talk.send(pasted("one\ntwo\nthree"));
    talk.expect("[pasted 3 lines]");
    talk.send("\r");
    talk.expect("Answered.");
    quit(&mut talk);
    assert_eq!(prompts(&world), ["helloone\ntwo\nthree"]);
}

/// A terminal that understands nothing gets nothing to understand.
#[test]
fn a_dumb_terminal_gets_words_only() {
    let world = answering(1);
    world.has_chosen();
    let mut command = world.command(&[]);
    command.env("TERM", "dumb");
    let mut talk = Talk::on_terminal(&command);
    talk.expect("> ");
    talk.send("ac\u{1b}[Db\r");
    talk.expect("Answered.");
    let left = quit(&mut talk);
    assert!(!left.said.contains('\u{1b}'), "{:?}", left.said);
    assert_eq!(prompts(&world), ["abc"]);
}

/// However the session ends, the terminal is as it was found and marks no pastes any more.
#[test]
fn the_terminal_is_given_back() {
    for ending in ["/quit\r", CTRL_D, "\u{3}", "TERM", "HUP", "question", "text"] {
        let world = World::new(Script::new().answer(bash("touch made")));
        world.has_chosen();
        let mut talk = Talk::on_terminal(&world.command(&[]));
        let found = format!("{:?}", talk.modes_before());
        talk.expect("\u{1b}[?2004h");
        talk.expect("> ");
        until("keys are read", || format!("{:?}", talk.modes()) != found);
        match ending {
            "TERM" => signal(talk.child(), Signal::TERM),
            "HUP" => signal(talk.child(), Signal::HUP),
            "\u{3}" => {
                talk.send(ending);
                talk.expect("> ");
                talk.send(ending);
            }
            "question" => {
                talk.send("go\r");
                talk.expect(ASKS);
                signal(talk.child(), Signal::TERM);
            }
            "text" => {
                talk.send("half a line");
                talk.expect("half a line");
                signal(talk.child(), Signal::TERM);
            }
            keys => talk.send(keys),
        }
        let left = talk.finish();
        assert!(left.code.is_some(), "{ending:?}: {}", left.said);
        assert_eq!(format!("{:?}", talk.modes()), found, "{ending:?}");
        let (on, off) = (left.said.rfind("\u{1b}[?2004h"), left.said.rfind("\u{1b}[?2004l"));
        assert!(on < off, "{ending:?}: {:?}", left.said);
    }
}

/// What was typed before the first question was shown is no answer to it, and is not lost.
#[test]
fn the_first_question_swallows_no_prompt_that_was_typed_ahead() {
    let world = answering(1);
    let mut talk = Talk::on_terminal_with(&world.command(&[]), "fix the bug\n");
    talk.expect("[c/e/a]: ");
    talk.send("e\r");
    talk.expect("> ");
    talk.expect("Answered.");
    quit(&mut talk);
    assert_eq!(prompts(&world), ["fix the bug"]);
    let kept = std::fs::read_to_string(world.home().join("settings.json")).unwrap();
    assert!(kept.contains("acceptEdits"), "{kept}");
}

#[test]
fn a_prompt_instead_of_an_answer_is_a_prompt() {
    let world = answering(1);
    let mut talk = Talk::on_terminal(&world.command(&[]));
    talk.expect("[c/e/a]: ");
    // A word that is no answer may be a slip of the finger: it is asked again.
    talk.send("x\r");
    talk.expect("Please answer c, e or a: ");
    talk.send("fix the bug\r");
    talk.expect("Sent as a prompt");
    talk.expect("Answered.");
    quit(&mut talk);
    assert_eq!(prompts(&world), ["fix the bug"]);
    assert!(!world.home().join("settings.json").exists(), "nothing was chosen");
}

#[test]
fn a_command_instead_of_an_answer_is_a_command() {
    let world = answering(0);
    let mut talk = Talk::on_terminal(&world.command(&[]));
    talk.expect("[c/e/a]: ");
    talk.send("/mode\r");
    talk.expect("Taken as a command; ");
    talk.expect("mode: default");
    quit(&mut talk);
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn a_prompt_of_one_word_is_not_lost_either() {
    let world = answering(1);
    let mut talk = Talk::on_terminal(&world.command(&[]));
    talk.expect("[c/e/a]: ");
    talk.send("refactor\r");
    talk.expect("Sent as a prompt");
    talk.expect("Answered.");
    quit(&mut talk);
    assert_eq!(prompts(&world), ["refactor"]);
}

/// A script knows of no question: what it pipes in is a prompt, unless it is an answer.
#[test]
fn the_question_of_trust_swallows_no_prompt() {
    let wants = json!({"permissions": {"allow": ["Bash(make:*)"]}}).to_string();
    for (piped, trusted, expected) in [
        ("fix the bug\n", false, vec!["fix the bug"]),
        ("hello\n", false, vec!["hello"]),
        ("t\nfix the bug\n", true, vec!["fix the bug"]),
        ("n\nfix the bug\n", false, vec!["fix the bug"]),
    ] {
        let world = answering(1);
        world.file(".claude/settings.json", &wants);
        let mut talk = start(&world, false, &[]);
        talk.send(piped);
        talk.end_input();
        let left = talk.finish();
        assert_eq!(left.code, Some(0), "{}", left.said);
        assert_eq!(left.said.contains("Ignoring them"), !trusted, "{piped:?}: {}", left.said);
        assert_eq!(prompts(&world), expected, "{piped:?}: {}", left.said);
    }
    // The same at a terminal, typed ahead.
    let world = answering(1);
    world.has_chosen();
    world.file(".claude/settings.json", &wants);
    let mut talk = Talk::on_terminal_with(&world.command(&[]), "fix the bug\n");
    talk.expect("[t]rust / [n]o: ");
    talk.send("t\r");
    talk.expect("Answered.");
    let left = quit(&mut talk);
    assert!(!left.said.contains("Ignoring them"), "{}", left.said);
    assert_eq!(prompts(&world), ["fix the bug"]);
}

#[test]
fn a_failing_command_shows_how_it_ended_and_its_last_lines() {
    let script = Script::new()
        .answer(bash("seq 1 50; echo 'the reason' >&2; exit 3"))
        .answer(bash("seq 1 50"))
        .answer(text("Answered."));
    let world = World::new(script);
    let mut talk = start(&world, true, &["--permission-mode", "bypassPermissions"]);
    talk.expect("> ");
    talk.send("go\r");
    talk.expect("✗ Bash");
    let shown = talk.expect("the reason");
    let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["Exit code 3", "… 47 lines", "48", "49", "50", "the reason"]);
    // What worked shows its beginning.
    talk.expect("✓ Bash");
    let shown = talk.expect("more lines");
    let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["1", "2", "3", "4", "… 46 more lines"]);
    talk.expect("Answered.");
    quit(&mut talk);
}

/// The sign of life says what is waited for and goes away before anything is written.
#[test]
fn waiting_shows_a_sign_of_life() {
    let world = World::new(Script::new().answer(text("Answered.").due_at("hold")));
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send("go\r");
    talk.expect("… waiting for the model, ");
    talk.expect(" s");
    world.server.gate("hold").release();
    let between = talk.expect("Answered.");
    let erased = between.trim_end_matches("Answered.");
    assert!(erased.ends_with('\u{8}'), "{between:?}");
    quit(&mut talk);
    // Nobody sees it in a pipe.
    let world = World::new(Script::new().answer(text("Answered.").gate("hold").say(" Whole.")));
    let mut talk = start(&world, false, &[]);
    talk.send_line("go");
    talk.expect("Answered.");
    world.server.gate("hold").release();
    let left = quit(&mut talk);
    assert!(!left.said.contains('\u{8}') && !left.said.contains("waiting"), "{:?}", left.said);
}
