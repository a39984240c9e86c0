//! C20: a compaction is killed, at every write and in every way that makes room; what is found is the old history or the new.

use super::at_once;
use crate::context::{body, is_summary};
use crate::crash::whole_records;
use crate::support::{World, facts, finish, wait};
use ostler_model_server::{Recorded, Reply, Script, UsageNumbers, status, text, think};
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;

const GO: [&str; 4] = ["--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
/// What a conversation that was summarized begins with, and what stands for a result that was left out.
const NEW: [&str; 2] = ["The conversation so far was summarized", "[Left out to save space: "];

/// One way to make room.
struct Story {
    name: &'static str,
    answer: fn(&Recorded) -> Reply,
    /// Said before, in a run that is not disturbed.
    first: Option<&'static str>,
    prompt: &'static str,
    /// The fact that separates the old history from the new.
    fact: &'static str,
    /// Calls of the old history.
    calls: usize,
}

const STORIES: [Story; 5] = [
    Story {
        name: "the provider refuses",
        answer: refused,
        first: None,
        prompt: "go",
        fact: "boundary",
        calls: 5,
    },
    Story {
        name: "in pieces",
        answer: in_pieces,
        first: None,
        prompt: "go",
        fact: "boundary",
        calls: 9,
    },
    Story {
        name: "the estimate says so",
        answer: reported,
        first: None,
        prompt: "go",
        fact: "boundary",
        calls: 5,
    },
    Story {
        name: "somebody asks",
        answer: plain,
        first: Some("go"),
        prompt: "/compact",
        fact: "boundary",
        calls: 5,
    },
    Story {
        name: "old results go",
        answer: elided,
        first: None,
        prompt: "go",
        fact: "elided",
        calls: 12,
    },
];

fn too_long() -> Reply {
    status(400).error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
}

/// So many reads with thinking; then nothing.
fn calls(request: &Recorded, count: usize, file: &str) -> Option<Reply> {
    let done = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    let call = || think("hm").call("Read", json!({ "file_path": file, "offset": done + 1 }));
    (done < count && !is_new(request)).then(call)
}

fn is_new(request: &Recorded) -> bool {
    let body = body(request);
    NEW.iter().any(|words| body.contains(words))
}

/// Whoever resumes is answered at once; so is who asks for a summary.
fn short(request: &Recorded) -> Option<Reply> {
    if is_summary(request) {
        return Some(text("# Summary\nHalf is done."));
    }
    body(request).contains("please go on").then(|| text("all done"))
}

fn plain(request: &Recorded) -> Reply {
    short(request).or_else(|| calls(request, 5, "some.txt")).unwrap_or_else(|| text("done"))
}

fn refused(request: &Recorded) -> Reply {
    let refusal = || if is_new(request) { text("done") } else { too_long() };
    short(request).or_else(|| calls(request, 5, "some.txt")).unwrap_or_else(refusal)
}

fn in_pieces(request: &Recorded) -> Reply {
    let refusal = || if is_new(request) { text("done") } else { too_long() };
    if is_summary(request) && request.messages().len() > 8 {
        return too_long();
    }
    short(request).or_else(|| calls(request, 9, "few.txt")).unwrap_or_else(refusal)
}

fn reported(request: &Recorded) -> Reply {
    let full = UsageNumbers { input_tokens: Some(190_000), ..UsageNumbers::default() };
    let done = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    let reply =
        short(request).or_else(|| calls(request, 5, "some.txt")).unwrap_or_else(|| text("done"));
    if done == 4 && !is_new(request) && !is_summary(request) { reply.usage(full) } else { reply }
}

/// The results are most of it, so that it is enough to leave the old ones out.
fn elided(request: &Recorded) -> Reply {
    let refusal = || if is_new(request) { text("done") } else { too_long() };
    short(request).or_else(|| calls(request, 12, "many.txt")).unwrap_or_else(refusal)
}

impl Story {
    fn world(&self) -> World {
        let world = World::new(Script::new().by(self.answer).forever());
        for (name, lines) in [("few.txt", 20), ("some.txt", 100), ("many.txt", 800)] {
            world.file(
                name,
                &(0..lines).map(|n| format!("line {n} of {name}\n")).collect::<String>(),
            );
        }
        if let Some(prompt) = self.first {
            self.run(&world, prompt, &[]);
        }
        world
    }

    fn args<'a>(&self, prompt: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        ["-p", prompt].iter().chain(&GO).chain(more).copied().collect()
    }

    fn run(&self, world: &World, prompt: &str, more: &[&str]) {
        let ran = world.run(&self.args(prompt, more));
        assert_eq!(
            (ran.code, ran.terminal().as_str()),
            (Some(0), "completed"),
            "{}: {ran:?}",
            self.name
        );
        world.assert_never_rejected();
    }

    /// With room enough: what is found is sent as it is.
    fn resume(&self, world: &World) {
        let mut command = world.command(&self.args("please go on", &["--continue"]));
        let ran = finish(command.env("OSTLER_CONTEXT_WINDOW", "100000000").spawn().unwrap());
        assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "completed"), "{}", self.name);
        world.assert_never_rejected();
    }

    fn more(&self) -> &'static [&'static str] {
        if self.first.is_some() { &["--continue"] } else { &[] }
    }

    /// The writes of a run that is not disturbed: which of them make room, and how long each is.
    fn points(&self) -> Vec<(usize, usize)> {
        let world = self.world();
        let before = world.entries().len();
        self.run(&world, self.prompt, self.more());
        let log = std::fs::read_to_string(world.logs().pop().unwrap()).unwrap();
        let all = facts(&log);
        let room = all.iter().rposition(|fact| fact["fact"] == self.fact);
        let room = room.unwrap_or_else(|| panic!("{}: no room was made:\n{log}", self.name));
        // From the last thing that was said before room was made.
        let said = |fact: &Value| ["call_finished", "end"].iter().any(|kind| fact["fact"] == *kind);
        let from = all.iter().take(room).rposition(said).map_or(0, |at| at + 1).max(before);
        assert!(from <= room, "{}: {from} {room}", self.name);
        let lengths: Vec<usize> = log.lines().map(str::len).collect();
        (from..all.len()).map(|at| (at - before + 1, lengths[at])).collect()
    }

    fn killed_and_resumed(&self, point: &str) -> bool {
        let at = format!("{}, write {point}", self.name);
        let world = self.world();
        let mut command = world.command(&self.args(self.prompt, self.more()));
        let status = command.env("OSTLER_CRASH_AT_WRITE", point).output().unwrap().status;
        assert_eq!(status.signal(), Some(6), "{at}: the crash did not happen");
        let path = world.logs().pop().unwrap();
        let log = whole_records(&std::fs::read_to_string(&path).unwrap());
        let is_new = facts(&log).iter().any(|fact| fact["fact"] == self.fact);
        self.resume(&world);
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(after.starts_with(log.trim_end_matches('\n')), "{at}: the log was rewritten");
        self.assert_old_or_new(&at, &world, is_new);
        is_new
    }

    /// The resumed request, which the server has accepted, holds the one history or the other, whole.
    fn assert_old_or_new(&self, at: &str, world: &World, new: bool) {
        let last = world.server.requests().pop().unwrap();
        assert!(body(&last).contains("please go on"), "{at}");
        assert_eq!(is_new(&last), new, "{at}");
        let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
        let of = |kind: &'static str| {
            let messages = last.messages().iter().flat_map(blocks).collect::<Vec<_>>();
            messages.into_iter().filter(|block| block["type"] == kind).count()
        };
        let (calls, results) = (of("tool_use"), of("tool_result"));
        assert_eq!(calls, results, "{at}: pairs");
        match new && self.fact == "boundary" {
            true => assert!((1..self.calls).contains(&calls), "{at}: {calls} calls"),
            false => assert_eq!(calls, self.calls, "{at}: a call is lost"),
        }
        for message in last.messages().iter().filter(|message| message["role"] == "assistant") {
            let kinds: Vec<Value> =
                blocks(message).iter().map(|block| block["type"].clone()).collect();
            let called = kinds.contains(&json!("tool_use"));
            assert!(!called || kinds[0] == "thinking", "{at}: thinking is lost: {kinds:?}");
            assert_ne!(kinds.last(), Some(&json!("thinking")), "{at}: thinking is last");
        }
    }
}

#[test]
fn c20_a_compaction_killed_at_any_write_leaves_the_old_or_the_new_history() {
    let stories: Vec<&Story> = STORIES.iter().collect();
    let found = at_once(&stories, |story| story.points());
    let mut points = Vec::new();
    for (story, writes) in stories.iter().zip(&found) {
        for (write, length) in writes {
            points.push((*story, write.to_string()));
            let places = [0, 1, length / 2, *length];
            points.extend(places.map(|torn| (*story, format!("{write}:{torn}"))));
        }
    }
    let new = at_once(&points, |(story, point)| story.killed_and_resumed(point));
    for story in &stories {
        let of = |wanted: bool| {
            let pairs = points.iter().zip(&new);
            pairs.filter(|((its, _), new)| its.name == story.name && **new == wanted).count()
        };
        assert!(
            of(true) > 0 && of(false) > 0,
            "{}: {} old, {} new",
            story.name,
            of(false),
            of(true)
        );
    }
    let after = new.iter().filter(|new| **new).count();
    println!(
        "kill points of compactions tried: {} ({} ways to make room, {} writes, whole and torn at four places): {} old, {after} new",
        points.len(),
        stories.len(),
        found.iter().map(Vec::len).sum::<usize>(),
        points.len() - after,
    );
}

/// The summary is on its way when the process is killed.
#[test]
fn c20_killed_while_the_summary_is_written_the_old_history_stays() {
    let story = &STORIES[0];
    let answer = |request: &Recorded| match is_summary(request) {
        true => text("# Summary\nHalf").gate("half").say(" is done."),
        false => refused(request),
    };
    let world = World::new(Script::new().by(answer).forever());
    world.file("some.txt", &"a line\n".repeat(100));
    let mut child = world.command(&story.args("go", &[])).spawn().unwrap();
    let gate = world.server.gate("half");
    wait(gate.reached()).unwrap();
    child.kill().unwrap();
    assert_eq!(finish(child).code, None);
    gate.release();
    story.resume(&world);
    story.assert_old_or_new("in the summary", &world, false);
}
