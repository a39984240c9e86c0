//! What the person's terminal gets: words and, if wanted, colours. Nothing foreign commands it, and it is left as it
//! was found.

use crate::support::{World, finish, processes_with, signal, unique_sleep, until};
use crate::talk::{CTRL_C, Talk};
use ostler_model_server::{Reply, Script, calls, status, text};
use rustix::process::Signal;
use serde_json::json;

const GO: [&str; 4] = ["-p", "go", "--permission-mode", "bypassPermissions"];

/// Switches the screen, sets the title, moves the cursor, wipes the line, writes over itself and backwards, and asks
/// the terminal to type something back: each in the form of a shell's `printf`.
const COMMANDS: &str = r"\033[?1049h\033]0;TITLE\007\033[2J\033[1;1H\033[6nwords\rWIPED\b\b\033[31mred\033P1$r\033\\\302\2332J end";

fn bash(command: &str) -> Reply {
    calls([("Bash", json!({ "command": command }))])
}

/// Everything a terminal would obey, apart from colours of ours and line ends.
fn commands_in(said: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = said;
    while let Some(at) = rest.find(|c: char| c.is_control() && c != '\n' && c != '\t') {
        rest = &rest[at..];
        let colour =
            ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[36m"];
        // The terminal itself puts a carriage return before each newline.
        let skip = colour.iter().find(|code| rest.starts_with(**code)).map_or(0, |code| code.len());
        let skip = if rest.starts_with("\r\n") { 2 } else { skip };
        if skip == 0 {
            found.push(rest.chars().take(12).collect());
        }
        rest = &rest[skip.max(rest.chars().next().map_or(1, char::len_utf8))..];
    }
    found
}

#[test]
fn b25_the_terminal_is_left_as_it_was_found() {
    let tries = [
        "stty raw -echo; printf '\\033[?1049h'",
        "stty -F /dev/tty raw -echo; printf '\\033[?1049h' > /dev/tty; echo \"status $?\"",
        "exec 9<>/dev/tty; stty raw -echo <&9; printf '\\033[?1049h' >&9",
        "setsid --ctty stty raw -echo",
        "script -qc 'stty raw -echo' /dev/null",
        "reset; clear; tput smcup",
    ];
    for command in tries {
        let world = World::new(Script::new().answer(bash(command)).answer(text("Done.")));
        let mut talk = Talk::on_terminal(&world.command(&GO));
        let before = format!("{:?}", talk.modes_before());
        let left = talk.finish();
        assert_eq!(left.code, Some(0), "{}", left.said);
        assert_eq!(format!("{:?}", talk.modes()), before, "{command}");
        assert!(
            left.said.contains("Done.") && left.said.contains("●"),
            "it was on a terminal: {}",
            left.said
        );
        assert_eq!(commands_in(&left.said), [] as [&str; 0], "{command}");
        // A change would have been seen.
        talk.make_raw();
        assert_ne!(format!("{:?}", talk.modes()), before);
        world.assert_never_rejected();
    }
}

/// The same applies to the other ways out.
#[test]
fn b25_also_after_a_signal_and_in_a_line_session() {
    for (ending, code) in [("key", 130), ("INT", 130), ("TERM", 143), ("KILL", -1)] {
        let mark = unique_sleep();
        let script = Script::new().answer(bash(&format!(
            "stty -F /dev/tty raw -echo; printf '\\033[?1049h'; sleep {mark}"
        )));
        let world = World::new(script);
        let mut talk = Talk::on_terminal(&world.command(&GO));
        let before = format!("{:?}", talk.modes_before());
        until("the command runs", || !processes_with(&mark).is_empty());
        match ending {
            "key" => talk.send(CTRL_C),
            "INT" => signal(talk.child(), Signal::INT),
            "TERM" => signal(talk.child(), Signal::TERM),
            _ => signal(talk.child(), Signal::KILL),
        }
        let left = talk.finish();
        assert_eq!(left.code.unwrap_or(-1), code, "{ending}: {}", left.said);
        assert_eq!(format!("{:?}", talk.modes()), before, "{ending}");
        assert_eq!(commands_in(&left.said.replace("^C", "")), [] as [&str; 0], "{ending}");
        until("the command has ended", || processes_with(&mark).is_empty());
    }
    let world =
        World::new(Script::new().answer(bash("stty -F /dev/tty raw -echo")).answer(text("Done.")));
    let mut talk = Talk::on_terminal(&world.command(&["--permission-mode", "bypassPermissions"]));
    let before = format!("{:?}", talk.modes_before());
    talk.expect("> ");
    let at_prompt = format!("{:?}", talk.modes());
    talk.send_line("go");
    talk.expect("Done.");
    talk.expect("> ");
    until("keys are read again", || format!("{:?}", talk.modes()) == at_prompt);
    talk.send_line("/quit");
    assert_eq!(talk.finish().code, Some(0));
    assert_eq!(format!("{:?}", talk.modes()), before);
}

#[test]
fn b11_nothing_foreign_commands_the_terminal() {
    // As the bytes themselves, where they come from the model.
    let obeyed = "\u{1b}[?1049h\u{1b}]0;TITLE\u{7}\u{1b}[2Jwords\rWIPED\u{8}\u{9b}2J\u{7f}";
    let script = Script::new()
        .answer(status(529).error("overloaded_error", format!("busy {obeyed}")))
        .answer(
            text(format!("I say {obeyed} and go on.\n"))
                .delta(3)
                .call("Bash", json!({"command": format!("printf '{COMMANDS}'")})),
        )
        .answer(calls([
            (format!("No{obeyed}Tool"), json!({"a": 1})),
            ("Read".to_owned(), json!({"file_path": format!("a{obeyed}b")})),
        ]))
        .answer(calls([(
            "Bash",
            json!({"command": format!("printf '{COMMANDS}' >&2; exit 3 # {obeyed}")}),
        )]))
        .answer(text("end").stop(format!("odd{obeyed}reason")))
        .answer(status(400).error("invalid_request_error", format!("wrong {obeyed}")));
    let world = World::new(script);
    let mut talk = Talk::on_terminal(&world.command(&GO));
    let left = talk.finish();
    assert_eq!(left.code, Some(0), "{}", left.said);
    assert_eq!(commands_in(&left.said), [] as [&str; 0], "{:?}", left.said);
    assert!(left.said.contains("red") && left.said.contains(" and go on."), "{:?}", left.said);
    let refused = Talk::on_terminal(&world.command(&["-p", "again", "--continue"])).finish();
    assert_eq!(refused.code, Some(1), "{}", refused.said);
    assert!(refused.said.contains("wrong"), "{}", refused.said);
    assert_eq!(commands_in(&refused.said), [] as [&str; 0], "{:?}", refused.said);
    // The model gets what was written: escapes are the screen's business only.
    let result = world.server.requests()[2].tool_results()[0]["content"].to_string();
    assert!(result.contains(r"\u001b[?1049h"), "{result}");
    world.assert_never_rejected();
}

/// What a person typed is shown again in listings and in complaints.
#[test]
fn b11_listings_and_complaints_are_words() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.run(&["-p", "a title \u{1b}]0;TITLE\u{7}\u{1b}[2J with commands"]);
    let left = Talk::on_terminal(&world.command(&["sessions"])).finish();
    assert_eq!(left.code, Some(0));
    assert!(left.said.contains("with commands"), "{}", left.said);
    assert_eq!(commands_in(&left.said), [] as [&str; 0], "{:?}", left.said);
    let odd = "missing\u{1b}]0;TITLE\u{7}\u{9b}2J\nfolder";
    let left = Talk::on_terminal(&world.command(&["-p", "go", "--add-dir", odd])).finish();
    assert_eq!(left.code, Some(3), "{}", left.said);
    assert!(left.said.contains("missing") && left.said.lines().count() == 1, "{:?}", left.said);
    assert_eq!(commands_in(&left.said), [] as [&str; 0], "{:?}", left.said);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let script = || Script::new().answer(bash("echo 1")).answer(text("Done."));
    let coloured = |name: &str, value: &str| {
        let world = World::new(script());
        let mut command = world.command(&GO);
        command.env(name, value);
        let left = Talk::on_terminal(&command).finish();
        assert_eq!(left.code, Some(0), "{}", left.said);
        assert!(left.said.contains("Bash") && left.said.contains("Done."), "{}", left.said);
        left.said.contains('\u{1b}')
    };
    for (name, value, wanted) in [
        ("TERM", "xterm-256color", true),
        ("TERM", "dumb", false),
        ("NO_COLOR", "1", false),
        // As the convention has it: empty means not set.
        ("NO_COLOR", "", true),
    ] {
        assert_eq!(coloured(name, value), wanted, "{name}={value}");
    }
    // No terminal, no colours, whatever the environment says.
    let world = World::new(script());
    let ran = finish(
        world
            .command(&GO)
            .env("TERM", "xterm-256color")
            .env("CLICOLOR_FORCE", "1")
            .spawn()
            .unwrap(),
    );
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn h06_poor_surroundings() {
    for (name, value, columns) in
        [("TERM", "dumb", 80), ("LC_ALL", "C", 80), ("TERM", "xterm", 10), ("TERM", "", 1)]
    {
        let world = World::new(
            Script::new()
                .answer(bash("printf 'grüße\\n'; locale charmap"))
                .answer(text("Schöne Grüße.")),
        );
        let mut command = world.command(&GO);
        command.env(name, value);
        let mut talk = Talk::on_terminal_of(&command, columns);
        let left = talk.finish();
        assert_eq!(left.code, Some(0), "{name}={value}: {}", left.said);
        assert!(
            left.said.contains("grüße") && left.said.contains("Schöne Grüße."),
            "{name}={value}: {}",
            left.said
        );
        world.assert_never_rejected();
    }
}

/// H01: the first ends the turn in order, more of them change nothing for the worse.
#[test]
fn h01_interrupts_in_quick_succession() {
    for times in [2, 5] {
        for terminal in [true, false] {
            let mark = unique_sleep();
            let script = Script::new()
                .answer(bash(&format!("trap '' INT TERM; sleep {mark}")))
                .answer(text("ok"));
            let world = World::new(script);
            let command = world.command(&GO);
            let mut talk =
                if terminal { Talk::on_terminal(&command) } else { Talk::on_pipes(command) };
            if !terminal {
                talk.end_input();
            }
            until("the command runs", || !processes_with(&mark).is_empty());
            for _ in 0..times {
                talk.interrupt();
            }
            let left = talk.finish();
            assert_eq!(left.code, Some(130), "{times} {terminal}: {}", left.said);
            assert!(
                !left.said.contains("internal error") && !left.said.contains("panicked"),
                "{}",
                left.said
            );
            until("the command has ended", || processes_with(&mark).is_empty());
            assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
            world.assert_never_rejected();
        }
    }
}

/// H01, H02: a reader that goes away in the middle ends the run quietly, with everything it had started.
#[test]
fn h01_a_reader_that_goes_away() {
    for format in ["text", "json", "stream-json"] {
        let mark = unique_sleep();
        let script = Script::new()
            .answer(text("Look.").call(
                "Bash",
                json!({"command": format!("sleep {mark} & echo 1; wait -n; sleep {mark}")}),
            ))
            .answer(text("ok"));
        let world = World::new(script);
        let args: Vec<&str> = GO.iter().chain(&["--output-format", format]).copied().collect();
        let mut child = world.command(&args).spawn().unwrap();
        until("the command runs", || !processes_with(&mark).is_empty());
        drop(child.stdout.take());
        // Only stream-json has something to say before the end.
        signal(&child, Signal::INT);
        let ran = finish(child);
        assert!(ran.code.is_some_and(|code| code != 0), "{format}: {ran:?}");
        assert!(
            !ran.stderr.contains("internal error") && !ran.stderr.contains("panicked"),
            "{}",
            ran.stderr
        );
        until("the command has ended", || processes_with(&mark).is_empty());
        assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
        world.assert_never_rejected();
    }
}

/// H02: a full disk behind standard output is an error, not a success.
#[test]
fn h02_standard_output_cannot_be_written() {
    for format in ["text", "json", "stream-json"] {
        let world = World::new(Script::new().answer(text("ok")));
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = world.command(&["-p", "go", "--output-format", format]);
        let ran = finish(command.stdout(full).spawn().unwrap());
        assert!(ran.code.is_some_and(|code| code != 0), "{format}: {ran:?}");
        assert!(
            ran.stderr.contains("No space left") && !ran.stderr.contains("panicked"),
            "{format}: {}",
            ran.stderr
        );
    }
}

/// SIGPIPE is ours to ignore, not the commands'.
#[test]
fn h01_commands_meet_a_closed_pipe_as_ever() {
    let world = World::new(
        Script::new().answer(bash("yes | head -n 1; echo ${PIPESTATUS[0]}")).answer(text("ok")),
    );
    assert_eq!(finish(world.command(&GO).spawn().unwrap()).code, Some(0));
    assert_eq!(world.server.requests()[1].tool_results()[0]["content"], "y\n141");
}
