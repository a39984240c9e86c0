//! Nobody reads what the program writes: a signal ends it all the same, and what was done is kept.

use crate::support::{Ran, World, finish, signal, until, wait};
use ostler_model_server::{Script, calls, text};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal;
use serde_json::json;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Into which nothing can be written until somebody reads, which nobody does.
fn full_pipe() -> (PipeReader, PipeWriter, usize) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    let mut filled = 0;
    // Byte by byte at the end: a page that is not full still takes a short line.
    for chunk in [4096, 1] {
        while let Ok(count) = writer.write(&vec![b'\n'; chunk]) {
            filled += count;
        }
    }
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer, filled)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Full {
    Output,
    Errors,
}

/// The program with one of its streams full.
fn stalled(mut command: Command, full: Full) -> (Child, PipeReader, usize) {
    let (reader, writer, filled) = full_pipe();
    match full {
        Full::Output => command.stdout(writer),
        Full::Errors => command.stderr(writer),
    };
    (command.spawn().unwrap(), reader, filled)
}

fn has_ended(world: &World) -> bool {
    let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    world.logs().iter().any(|path| text(path).contains(r#""fact":"end""#))
}

fn made() -> Script {
    Script::new()
        .answer(calls([("Bash", json!({"command": "echo new > made"}))]))
        .answer(text("It is made."))
}

const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// The turn is over and only its output waits. Each format, each stream, each signal.
#[test]
fn a_signal_ends_it_with_its_code_and_everything_is_kept() {
    let formats = ["text", "json", "stream-json"];
    let mut cases: Vec<_> = formats.iter().map(|format| (*format, Full::Output)).collect();
    cases.push(("text", Full::Errors));
    let run = |format: &str, full: Full, which: Signal, code: i32| {
        let world = World::new(made());
        let args = ["-p", "go", "--output-format", format, BYPASS[0], BYPASS[1]];
        let (child, _reader, _) = stalled(world.command(&args), full);
        until("the turn has ended", || has_ended(&world));
        signal(&child, which);
        let ran = finish(child);
        assert_eq!(ran.code, Some(code), "{format} {full:?} {which:?}: {}", ran.stderr);
        assert_eq!(world.read("made"), "new\n");
        assert_eq!(world.run(&["undo"]).code, Some(0), "{format} {full:?}");
        assert!(!world.project().join("made").exists(), "{format} {full:?}");
        world.assert_never_rejected();
    };
    std::thread::scope(|scope| {
        for (format, full) in cases {
            for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
                scope.spawn(move || run(format, full, which, code));
            }
        }
    });
}

/// More than may wait to be written, so that the turn itself waits for the reader.
#[test]
fn a_signal_ends_a_turn_that_waits_for_its_reader() {
    for full in [Full::Output, Full::Errors] {
        let world =
            World::new(Script::new().answer(text("many words ".repeat(30_000)).gate("hold")));
        let args = ["-p", "go", "--output-format", "stream-json", "--include-partial-messages"];
        let (child, _reader, _) = stalled(world.command(&args), full);
        wait(world.server.gate("hold").reached()).unwrap();
        signal(&child, Signal::INT);
        assert_eq!(finish(child).code, Some(130), "{full:?}");
        assert!(has_ended(&world), "{full:?}");
    }
}

/// Without a signal it waits as long as it has to, and nothing is lost.
#[test]
fn a_reader_that_goes_on_reading_misses_nothing() {
    let words = "many words ".repeat(100_000);
    let world = World::new(Script::new().answer(text(&words)));
    let args = ["-p", "go", "--output-format", "stream-json"];
    let (child, mut reader, filled) = stalled(world.command(&args), Full::Output);
    until("it has begun", || !world.logs().is_empty());
    let mut all = String::new();
    reader.read_to_string(&mut all).unwrap();
    let stdout = all.split_off(filled);
    let ran = Ran { stdout, ..finish(child) };
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "completed"), "{}", ran.stderr);
    assert_eq!(ran.result()["result"], words.as_str());
}

/// Also in the line session.
#[test]
fn a_line_session_ends_too() {
    let world = World::new(Script::new().answer(text("Done.")));
    let mut command = world.command(&[]);
    command.stdin(Stdio::piped());
    let (mut child, _reader, _) = stalled(command, Full::Output);
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    until("the turn has ended", || has_ended(&world));
    signal(&child, Signal::TERM);
    assert_eq!(finish(child).code, Some(143));
}
