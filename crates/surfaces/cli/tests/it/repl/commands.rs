//! The commands that begin with a slash.

use super::{both, quit, start, told};
use crate::support::World;
use crate::talk::Talk;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn answers() -> Script {
    Script::new().answer(text("ok")).forever()
}

fn say(talk: &mut Talk, prompt: &str) {
    talk.expect("> ");
    talk.send_line(prompt);
    talk.expect("tokens: ");
}

/// The name that is shown next.
fn session(talk: &mut Talk) -> String {
    talk.expect("session ");
    let line = talk.expect("\n");
    line.trim().to_owned()
}

#[test]
fn an_undo_says_how_to_take_it_back() {
    let write = calls([("Write", json!({"file_path": "a.txt", "content": "one\n"}))]);
    let world = World::new(Script::new().answer(write).answer(text("Done.")));
    let mut talk = start(&world, true, &["--permission-mode", "acceptEdits"]);
    say(&mut talk, "go");
    talk.expect("> ");
    talk.send_line("/undo --list");
    talk.expect("   1     1 file  Write (turn 1) a.txt");
    talk.expect("> ");
    talk.send_line("/undo");
    talk.expect("to go back to it: /undo --redo\r\n");
    assert!(!world.project().join("a.txt").exists());
    talk.expect("> ");
    talk.send_line("/undo --redo");
    talk.expect("to go back to it: /undo\r\n");
    quit(&mut talk);
    assert_eq!(world.read("a.txt"), "one\n");
}

/// Files and conversation, after a look at what would change.
#[test]
fn a_rewind_goes_back_to_before_a_turn() {
    let write = |text: &str| calls([("Write", json!({"file_path": "a.txt", "content": text}))]);
    let script = Script::new()
        .answer(text("Hello."))
        .answer(write("one\n"))
        .answer(text("Written."))
        .answer(text("Again."));
    let world = World::new(script);
    let mut talk = start(&world, true, &["--permission-mode", "acceptEdits"]);
    say(&mut talk, "first prompt");
    say(&mut talk, "second prompt");
    assert_eq!(world.read("a.txt"), "one\n");
    talk.expect("> ");
    talk.send_line("/rewind 2");
    talk.expect("a.txt");
    talk.expect("The conversation continues from before turn 2.");
    assert!(!world.project().join("a.txt").exists());
    say(&mut talk, "third prompt");
    quit(&mut talk);
    let messages = told(&world);
    assert!(messages.contains("first prompt") && !messages.contains("second prompt"), "{messages}");
    world.assert_never_rejected();
}

#[test]
fn help_and_mistakes() {
    both(answers, |world, talk| {
        let id = session(talk);
        for (line, answer) in [
            ("/help", "/resume [ID]"),
            ("/help", "Answer a question with y (once), s (this session), p (this project) or n"),
            ("/help", "`ostler permissions`"),
            (
                "/undo abc",
                "cannot read \"/undo abc\"; use /undo, /undo N, /undo --list or /undo --redo",
            ),
            (
                "/rewind --nonsense",
                "cannot read \"/rewind --nonsense\"; use /rewind or /rewind TURN",
            ),
            ("/undo --list", "There is nothing to undo."),
            ("/nonsense", "There is no command /nonsense"),
            ("/resume nonsense", "nonsense"),
            ("/resume 00000000-0000-0000-0000-000000000000", "00000000-0000"),
            ("/resume", "There is no other session"),
        ] {
            talk.expect("> ");
            talk.send_line(line);
            talk.expect(answer);
        }
        talk.expect("> ");
        talk.send_line(&format!("/resume {id}"));
        talk.expect("This is that session.");
        // After all that it works as before.
        say(talk, "a prompt");
        quit(talk);
        assert_eq!(world.server.requests().len(), 1);
    });
}

#[test]
fn sessions_can_be_listed_resumed_and_forked() {
    both(answers, |world, talk| {
        let new = session(talk);
        let old =
            world.run(&["-p", "the old prompt", "--output-format", "json"]).result()["session_id"]
                .clone();
        let old = old.as_str().unwrap().to_owned();
        say(talk, "the new prompt");
        talk.expect("> ");
        talk.send_line("/sessions");
        // Newest first.
        talk.expect(&new);
        talk.expect("the new prompt");
        talk.expect(&old);
        talk.expect("the old prompt");

        talk.expect("> ");
        talk.send_line("/resume");
        assert_eq!(session(talk), old, "the newest but this one");
        say(talk, "more of the old");
        let messages = told(world);
        assert!(
            messages.contains("the old prompt") && !messages.contains("the new prompt"),
            "{messages}"
        );

        talk.expect("> ");
        talk.send_line(&format!("/resume {}", &new[..13]));
        assert_eq!(session(talk), new);
        talk.expect("> ");
        talk.send_line("/fork");
        let copy = session(talk);
        assert!(copy != new && copy != old);
        say(talk, "only in the copy");
        quit(talk);
        let messages = told(world);
        assert!(
            messages.contains("the new prompt") && messages.contains("only in the copy"),
            "{messages}"
        );
        let log = |id: &str| {
            let path = world.logs().into_iter().find(|path| path.to_str().unwrap().contains(id));
            std::fs::read_to_string(path.unwrap()).unwrap()
        };
        assert!(!log(&new).contains("only in the copy") && log(&old).contains("more of the old"));
    });
}

#[test]
fn a_session_that_is_left_can_be_used_elsewhere() {
    let world = World::new(answers());
    let mut talk = start(&world, false, &[]);
    let first = session(&mut talk);
    say(&mut talk, "one");
    assert_eq!(world.run(&["-p", "two", "--resume", &first]).code, Some(74), "it is in use");
    talk.expect("> ");
    talk.send_line("/fork");
    session(&mut talk);
    assert_eq!(world.run(&["-p", "two", "--resume", &first]).code, Some(0), "it was given back");
    quit(&mut talk);
    world.assert_never_rejected();
}

/// Another process holds the session that is asked for: the one at hand continues.
#[test]
fn a_session_in_use_is_not_taken() {
    let world = World::new(answers());
    let (mut one, mut two) = (start(&world, false, &[]), start(&world, false, &[]));
    let taken = session(&mut one);
    say(&mut one, "mine");
    session(&mut two);
    two.expect("> ");
    two.send_line(&format!("/resume {taken}"));
    two.expect("another process");
    say(&mut two, "still here");
    quit(&mut two);
    quit(&mut one);
    world.assert_never_rejected();
}
