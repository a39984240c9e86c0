//! Faults after each event of an answer: between any two of them the connection may end, or the user may.

use super::{Row, STREAM, resumed_request, sound};
use crate::support::{Ran, World, finish, processes_with, read_until, signal, unique_sleep, until};
use ostler_model_server::{
    At, Cut, ModelServer, Part, Reply, Script, after, calls, sse, status, text,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SAID: &str = "one two three four";

/// Far more than it takes, far less than anything it could be waiting for.
const SOON: Duration = Duration::from_secs(10);

/// A text in two pieces, and a call in several that must run once or not at all.
fn answer(then: &str) -> Reply {
    let command = format!("echo x >> effects.txt{then}");
    text(SAID).call("Bash", json!({ "command": command })).delta(12)
}

/// A place in the answer: after the `nth` event of that name, which is the `count`-th of all.
#[derive(Clone, Debug)]
struct Boundary {
    event: &'static str,
    nth: u32,
    count: usize,
}

impl Boundary {
    fn at(&self) -> At {
        after(self.event).nth(self.nth)
    }

    fn is_end(&self) -> bool {
        self.event == "message_stop"
    }
}

/// Every boundary of the answer, in order. What the server has to say at most is what the script's check accepts.
fn boundaries() -> Vec<Boundary> {
    let exists = |event, nth| {
        ModelServer::start(Script::new().answer(answer("").cut(after(event).nth(nth).end())))
            .is_ok()
    };
    let number = |event| (1..100).take_while(|nth| exists(event, *nth)).count();
    assert_eq!(
        [number("content_block_start"), number("content_block_stop"), number("message_stop")],
        [2, 2, 1]
    );
    let (text_deltas, all_deltas) = (2, number("content_block_delta"));
    assert!(all_deltas >= text_deltas + 2, "the call comes in several pieces");
    let mut events = vec!["message_start", "content_block_start"];
    events.extend(vec!["content_block_delta"; text_deltas]);
    events.extend(["content_block_stop", "content_block_start"]);
    events.extend(vec!["content_block_delta"; all_deltas - text_deltas]);
    events.extend(["content_block_stop", "message_delta", "message_stop"]);
    let nth = |i: usize| events[..=i].iter().filter(|event| **event == events[i]).count() as u32;
    let boundary =
        |(i, event): (usize, &&'static str)| Boundary { event, nth: nth(i), count: i + 1 };
    events.iter().enumerate().map(boundary).collect()
}

fn effects(world: &World) -> usize {
    world.read("effects.txt").lines().count()
}

/// The answer ends early, by whatever cut: asked again, nothing run, nothing shown twice. Complete, it counts.
fn cut_everywhere(cut: fn(At) -> Cut) -> usize {
    let boundaries = boundaries();
    for boundary in &boundaries {
        let script = Script::new().answer(answer("").cut(cut(boundary.at()))).answer(text("done"));
        let told = Row::new(script).survives();
        told.asked(2).answered("done");
        let dropped =
            told.ran.frames().iter().filter(|frame| frame["subtype"] == "answer_dropped").count();
        let (way, want) =
            if boundary.is_end() { ("next_turn", (1, 0)) } else { ("stream_retry", (0, 1)) };
        told.went(&[way]);
        assert_eq!((effects(&told.world), dropped), want, "{boundary:?}");
    }
    // In a pipe nothing of the first try is shown at all.
    let text_done =
        Script::new().answer(answer("").cut(cut(after("content_block_stop")))).answer(text("done"));
    let ran = World::new(text_done).run(&super::TEXT);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"));
    for event in ["content_block_delta", "content_block_stop", "message_delta"] {
        let boundary = boundaries.iter().rfind(|boundary| boundary.event == event).unwrap();
        cut_for_ever(boundary, cut(boundary.at()));
    }
    boundaries.len()
}

/// Never complete: given up after a bounded number of tries, with the text that came, and no call run.
fn cut_for_ever(boundary: &Boundary, cut: Cut) {
    let told = Row::new(Script::new().answer(answer("").cut(cut)).forever()).fails("model_error");
    told.asked(4).went(&["stream_retry"; 3]);
    assert_eq!(effects(&told.world), 0, "{boundary:?}");
    assert_eq!(
        told.last_answer,
        (SAID.to_owned(), false),
        "{boundary:?}: kept, and marked as incomplete"
    );
}

#[test]
fn a19_reset_at_each_boundary() {
    let cuts = cut_everywhere(At::reset);
    println!("boundaries reset: {cuts} of one answer, and 3 of them for ever");
}

#[test]
fn a20_clean_end_at_each_boundary() {
    let cuts = cut_everywhere(At::end);
    println!("boundaries ended: {cuts} of one answer, and 3 of them for ever");
    let told = Row::new(
        Script::new().answer(text(SAID).cut(after("message_delta").close())).answer(text("done")),
    )
    .survives();
    told.asked(2).went(&["stream_retry"]).answered("done");
    // Some gateways leave out the answer's name. It has begun all the same, and has cost something.
    let usage = json!({"input_tokens": 5, "output_tokens": 1});
    let start = json!({"type": "message_start", "message": {"usage": usage}});
    let nameless = sse([Part::event("message_start", start), Part::Text(SAID.into())]);
    let told = Row::new(Script::new().answer(nameless).answer(text("done"))).survives();
    told.asked(2).went(&["stream_retry"]).answered("done");
    let spent = told.world.entries().iter().filter(|fact| fact["fact"] == "spent").count();
    assert_eq!(spent, 3, "the broken one, the good one, and the one of the resumed run");
}

/// A run that stands still right after a boundary; the model's events up to it have been read and shown.
fn stopped_at(boundary: &Boundary, how: Signal) -> (World, Ran) {
    let nap = unique_sleep();
    let reply = answer(&format!("; sleep {nap}")).insert(boundary.at(), Part::gate("here"));
    let row = Row::new(Script::new().answer(reply)).args(&["--include-partial-messages"]);
    let world = World::new(row.script.clone());
    let mut child = row.command(&world, &STREAM).spawn().unwrap();
    let mut seen = String::new();
    let mut events = 0;
    while events < boundary.count {
        let line = read_until(&mut child, "");
        events += usize::from(line.contains("\"type\":\"stream_event\""));
        seen.push_str(&line);
    }
    // Shown is not yet taken in: it has done with the event when it waits for the next one.
    until("it waits", || is_waiting(child.id()));
    if boundary.is_end() {
        until("the command has begun", || effects(&world) > 0);
    }
    let began = Instant::now();
    signal(&child, how);
    let mut ran = finish(child);
    assert!(began.elapsed() < SOON, "{boundary:?}");
    ran.stdout.insert_str(0, &seen);
    until("the command is gone", || processes_with(&nap).is_empty());
    (world, ran)
}

fn is_waiting(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Whatever was said up to the boundary is kept, the call is answered, and the model learns of the interrupt.
fn stopped_everywhere(how: Signal, code: i32) -> usize {
    let boundaries = boundaries();
    for boundary in &boundaries {
        let (world, ran) = stopped_at(boundary, how);
        let terminal = if boundary.is_end() { "aborted_tools" } else { "aborted_streaming" };
        assert_eq!(
            (ran.code, ran.terminal().as_str()),
            (Some(code), terminal),
            "{boundary:?} {ran:?}"
        );
        assert_eq!(effects(&world), usize::from(boundary.is_end()), "{boundary:?}");
        assert_eq!(
            world.entries().last().unwrap()["fact"],
            "end",
            "{boundary:?}: everything is written"
        );
        told_of_it(boundary, &resumed_request(&world));
        sound(&world, &ran);
    }
    boundaries.len()
}

fn told_of_it(boundary: &Boundary, messages: &[Value]) {
    let all = Value::from(messages).to_string();
    assert!(all.contains("The user interrupted"), "{boundary:?}: {all}");
    let kept = match boundary.count {
        0..=2 => "",
        3 => "one two thre",
        _ => SAID,
    };
    assert!(all.contains(kept), "{boundary:?}: the partial text is lost: {all}");
    assert_eq!(all.contains("tool_use"), all.contains("tool_result"), "{boundary:?}: {all}");
    let result = match boundary.event {
        "message_delta" => "Not run",
        "message_stop" => "Stopped by the user",
        _ => "",
    };
    assert!(all.contains(result), "{boundary:?}: {all}");
}

#[test]
fn a45_interrupt_at_each_boundary_and_in_each_wait() {
    let stops = stopped_everywhere(Signal::INT, 130);
    println!("boundaries interrupted: {stops} of one answer");
    let waits = [
        ("before a repeat", status(429).header("retry-after", "100"), "api_retry"),
        (
            "before a broken stream is asked again",
            text("x").cut(after("message_start").end()),
            "stream_retry",
        ),
    ];
    for (name, reply, needle) in waits {
        let row = Row::new(Script::new().answer(reply)).env("OSTLER_STREAM_BACKOFF_MS", 30_000);
        let world = World::new(row.script.clone());
        let mut child = row.command(&world, &STREAM).spawn().unwrap();
        let seen = read_until(&mut child, needle);
        let began = Instant::now();
        signal(&child, Signal::INT);
        let mut ran = finish(child);
        assert!(began.elapsed() < SOON, "{name}");
        ran.stdout.insert_str(0, &seen);
        assert_eq!((ran.code, ran.terminal().as_str()), (Some(130), "aborted_streaming"), "{name}");
        assert_eq!(world.server.requests().len(), 1, "{name}");
        sound(&world, &ran);
    }
}

#[test]
fn a46_terminated_at_each_boundary() {
    let stops = stopped_everywhere(Signal::TERM, 143);
    println!("boundaries terminated: {stops} of one answer");
    // In a tool that resists.
    let nap = unique_sleep();
    let stubborn = format!("trap '' INT TERM; sleep {nap} & wait; wait; sleep {nap}");
    let world = World::new(Script::new().answer(calls([("Bash", json!({ "command": stubborn }))])));
    let child = world.command(&STREAM).spawn().unwrap();
    until("the command runs", || !processes_with(&nap).is_empty());
    signal(&child, Signal::TERM);
    let ran = finish(child);
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(143), "aborted_tools"), "{ran:?}");
    until("the command is gone", || processes_with(&nap).is_empty());
    sound(&world, &ran);
}
