//! What arrives during a turn reaches the model once, at the next safe moment, wherever the process dies.

use crate::{let_run, lines};
use ostler_core::event::Event;
use ostler_core::hook::{EventName, HookOutcome, Stand};
use ostler_core::ids::InboundId;
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::message::Message;
use ostler_core::model::{ModelErrorKind, Request};
use ostler_core::session::{Entry, Session};
use ostler_core::time::Timestamp;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::{Limits, Terminal};
use ostler_engine::{resume_turn, run_with};
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, ScriptedHooks, TestAgent, calls, conversation, fails,
    finished, hangs, live, says, until,
};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

fn item(id: &str, source: InboundSource, when: Delivery) -> Inbound {
    let body = match source {
        InboundSource::Person => Message::user(format!("<{id}>")),
        _ => Message::meta(format!("<{id}>")),
    };
    Inbound { id: id.into(), source, when, body, at: Timestamp(0) }
}

fn steer(id: &str) -> Inbound {
    item(id, InboundSource::Person, Delivery::NextBoundary)
}

fn notice(id: &str, when: Delivery) -> Inbound {
    item(id, InboundSource::Job { id: "j1".into() }, when)
}

fn arrive(rig: &Rig, item: Inbound) {
    rig.agent.inbox().arrive(item).unwrap();
}

fn pending(rig: &Rig) -> Vec<String> {
    rig.agent.inbox().pending().iter().map(|item| item.id.to_string()).collect()
}

/// How often an item is in what a request carries.
fn count(request: &Request, id: &str) -> usize {
    conversation(&request.view).matches(&format!("<{id}>")).count()
}

/// For each request.
fn counts(rig: &Rig, id: &str) -> Vec<usize> {
    rig.model.requests().iter().map(|request| count(request, id)).collect()
}

/// Entries of a log that make an item part of the conversation.
fn admissions(entries: &[Entry], id: &str) -> usize {
    let names = |ids: &[InboundId]| ids.iter().filter(|had| had.as_str() == id).count();
    let of = |entry: &Entry| match entry {
        Entry::Prompt { inbound, .. } | Entry::Note { inbound, .. } => names(inbound),
        _ => 0,
    };
    entries.iter().map(of).sum()
}

fn has_arrived(entries: &[Entry], id: &str) -> bool {
    entries.iter().any(|entry| matches!(entry, Entry::Inbound(item) if item.id.as_str() == id))
}

fn terminal(events: &[Event]) -> Terminal {
    finished(events).terminal
}

#[tokio::test(start_paused = true)]
async fn a_steer_before_the_answer_began_abandons_that_try() {
    let rig = TestAgent::new().answers([hangs(), says("done")]).build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "iteration").await;
    let waits = async {
        let_run().await;
        arrive(&rig, steer("i1"));
    };
    let (events, ()) = tokio::join!(rig.finish(read, stream), waits);
    assert_eq!(
        lines(&events, &["iteration", "went", "delivered", "end"])[..4],
        [
            "iteration 1 model",
            "went redirected",
            "delivered i1",
            "iteration 1 model after redirected"
        ]
    );
    assert_eq!(counts(&rig, "i1"), [0, 1]);
    assert_eq!(terminal(&events), Terminal::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_steer_during_a_back_off_ends_the_wait() {
    let broken = Script::new().text("half").fail(ModelErrorKind::Protocol);
    let long = std::time::Duration::from_secs(20);
    let rig = TestAgent::new()
        .settings(|settings| settings.stream_backoff = long)
        .answers([broken, says("done")])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "went stream_retry").await;
    let waits = async {
        let_run().await;
        arrive(&rig, steer("i1"));
    };
    let (events, ()) = tokio::join!(rig.finish(read, stream), waits);
    let went = lines(&events, &["went", "delivered"]);
    assert_eq!(went, ["went stream_retry 1", "went redirected", "delivered i1"]);
    assert_eq!(counts(&rig, "i1"), [0, 1]);
}

/// The answer is kept, its changing calls are skipped, and the model is told why.
#[tokio::test(start_paused = true)]
async fn a_steer_during_an_answer_skips_its_changing_calls() {
    let (pusher, script) = live();
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
        .answers([script, says("done")])
        .build();
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "answer").await;
    pusher.call("r1", "Read");
    pusher.call("w1", "Write");
    read.extend(until(&mut stream, "block call w1").await);
    arrive(&rig, steer("i1"));
    pusher.end(ostler_core::model::StopReason::ToolUse);
    let events = rig.finish(read, stream).await;
    assert_eq!(rig.timeline.began(), ["r1"]);
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: call r1 Read "{}" | call w1 Write "{}"
    user: r1 ok "echo {}" | w1 error "Skipped: the user redirected before it could start. Their message foll…"
    user: "<i1>"
    "#);
    assert_eq!(terminal(&events), Terminal::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_steer_while_calls_run_lets_them_end_and_skips_the_rest() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").waits(&permits)])
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/a")
                .call_on("w2", "Write", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "started w1").await;
    arrive(&rig, steer("i1"));
    let ends = async {
        let_run().await;
        permits.add_permits(1);
    };
    let (events, ()) = tokio::join!(rig.finish(read, stream), ends);
    assert_eq!(rig.timeline.began(), ["w1"]);
    let told = rig.model.last_conversation();
    assert!(told.contains("w1 ok \"waited\" | w2 error \"Skipped: the user redirected"), "{told}");
    assert_eq!(counts(&rig, "i1"), [0, 1]);
    assert_eq!(terminal(&events), Terminal::Completed);
}

/// Who says something else does not want to be asked.
#[tokio::test(start_paused = true)]
async fn a_steer_withdraws_an_open_question() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .approver(FakeApprover::silent())
        .answers([calls([("w1", "Write")]), says("done")])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "asked w1").await;
    assert!(rig.agent.journal.has_open_question());
    arrive(&rig, steer("i1"));
    let events = rig.finish(read, stream).await;
    assert!(rig.timeline.render().contains("withdraw w1"));
    assert!(!rig.agent.journal.has_open_question());
    assert_eq!(counts(&rig, "i1"), [0, 1]);
    assert_eq!((terminal(&events), finished(&events).denials.len()), (Terminal::Completed, 0));
}

/// A notice is no reason to stop what the model wants to do; it comes with the next request.
#[tokio::test(start_paused = true)]
async fn a_notice_redirects_nothing() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").waits(&permits)])
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/a")
                .call_on("w2", "Write", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "started w1").await;
    arrive(&rig, notice("n1", Delivery::NextBoundary));
    arrive(&rig, notice("n2", Delivery::NextBoundary));
    arrive(&rig, notice("later", Delivery::Later));
    arrive(&rig, item("p1", InboundSource::Person, Delivery::AfterTurn));
    permits.add_permits(2);
    let events = rig.finish(read, stream).await;
    assert_eq!(rig.timeline.began(), ["w1", "w2"]);
    assert_eq!(lines(&events, &["delivered"]), ["delivered n1,n2"]);
    let told = rig.model.last_conversation();
    assert!(told.ends_with("user: meta \"<n1>\" | meta \"<n2>\""), "{told}");
    assert_eq!(pending(&rig), ["later", "p1"]);
    let next = rig.agent.inbox().next_prompt().unwrap();
    assert_eq!(next.id.as_str(), "p1");
}

/// `Later` waits for a call that waits, and arrivals end such a call.
#[tokio::test(start_paused = true)]
async fn later_items_come_after_a_call_that_waits() {
    let sleep = FakeTool::waiting("Sleep")
        .acts(|_, cx| Box::pin(async move { ToolOutput::text(cx.arrivals.next().await.text) }));
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read"), sleep])
        .answers([calls([("r1", "Read")]), calls([("s1", "Sleep")]), says("done")])
        .build();
    arrive(&rig, notice("n1", Delivery::Later));
    let events = rig.turn("go").await;
    assert_eq!(counts(&rig, "n1"), [0, 0, 2], "once as the result of the call, once delivered");
    assert_eq!(lines(&events, &["delivered"]), ["delivered n1"]);
}

#[tokio::test(start_paused = true)]
async fn what_arrives_at_the_end_keeps_the_turn_going_within_its_limit() {
    for (max, ends, left) in [(None, Terminal::Completed, 0), (Some(1), Terminal::MaxTurns, 1)] {
        let (pusher, script) = live();
        let limits = Limits { max_iterations: max, ..Limits::default() };
        let rig = TestAgent::new().limits(limits).answers([script, says("done")]).build();
        let mut stream = rig.start("go");
        let read = until(&mut stream, "answer").await;
        arrive(&rig, steer("i1"));
        pusher.delta("so");
        pusher.end(ostler_core::model::StopReason::EndTurn);
        let events = rig.finish(read, stream).await;
        assert_eq!((terminal(&events), pending(&rig).len()), (ends, left), "{max:?}");
        assert_eq!(counts(&rig, "i1").last(), Some(&usize::from(max.is_none())));
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_leaves_what_is_pending() {
    let rig = TestAgent::new().answers([hangs(), says("on")]).build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = until(&mut stream, "iteration").await;
    arrive(&rig, item("p1", InboundSource::Person, Delivery::AfterTurn));
    interrupt.cancel();
    let events = rig.finish(read, stream).await;
    assert_eq!((terminal(&events), pending(&rig).len()), (Terminal::AbortedStreaming, 1));
    let queued = rig.agent.inbox().next_prompt().unwrap();
    let prompt = std::future::ready((queued.body, Vec::new()));
    let ids = vec![queued.id];
    let stream = run_with(rig.agent.clone(), prompt, ids, CancellationToken::new());
    let events = rig.finish(Vec::new(), stream).await;
    assert_eq!(lines(&events, &["delivered"]), ["delivered p1"]);
    assert_eq!((counts(&rig, "p1"), pending(&rig).len()), (vec![0, 1], 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_is_not_delivered_and_what_was_taken_stays() {
    let rig = TestAgent::new().answers([says("done")]).build();
    arrive(&rig, steer("i1"));
    arrive(&rig, steer("i2"));
    let inbox = rig.agent.inbox();
    assert_eq!(inbox.next_prompt().unwrap().id.as_str(), "i1");
    let gone = inbox.withdraw(&["i1".into(), "i2".into(), "unknown".into()]).unwrap();
    assert_eq!(gone, ["i2".into()], "the first is about to be a prompt");
    assert_eq!(pending(&rig), ["i1"]);
}

/// The words of a person do not pass by the hooks that see prompts.
#[tokio::test(start_paused = true)]
async fn hooks_hear_a_steer_as_they_hear_a_prompt() {
    let hooks = ScriptedHooks::new().on(EventName::UserPromptSubmit, "", |event| {
        match format!("{event:?}").contains("<i1>") {
            true => HookOutcome::of(Stand::Block, "guard", "no secrets"),
            false => HookOutcome::default(),
        }
    });
    let rig = TestAgent::new().hooks(Arc::new(hooks)).answers([says("done")]).build();
    arrive(&rig, steer("i1"));
    arrive(&rig, steer("i2"));
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["dequeued", "delivered"]), ["dequeued i1", "delivered i2"]);
    assert_eq!((counts(&rig, "i1"), counts(&rig, "i2")), (vec![0], vec![1]));
    assert!(pending(&rig).is_empty());
}

/// A log with an arrival, its admission and a summary after it.
async fn summed_up() -> Vec<Entry> {
    let text = "word ".repeat(200);
    let read = FakeTool::reading("Read").gives(ToolOutput::text(text));
    let rig = TestAgent::new()
        .tools([read])
        .answers([
            calls([("c1", "Read")]),
            calls([("c2", "Read")]),
            fails(ModelErrorKind::ContextOverflow),
            says("so far"),
            calls([("c3", "Read")]),
            says("done"),
        ])
        .build();
    arrive(&rig, item("p1", InboundSource::Person, Delivery::AfterTurn));
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "finished c1").await;
    arrive(&rig, notice("n1", Delivery::NextBoundary));
    read.extend(until(&mut stream, "compacting").await);
    arrive(&rig, notice("n2", Delivery::NextBoundary));
    read.extend(until(&mut stream, "finished").await);
    rig.finish(read, stream).await;
    rig.timeline.entries()
}

/// What a new process reads: what the newest boundary replaced is not there.
fn since_boundary(entries: &[Entry]) -> Vec<Entry> {
    let from = entries.iter().rposition(|entry| matches!(entry, Entry::Boundary(_))).unwrap_or(0);
    entries[from..].to_vec()
}

/// Killed after every line of the log: what was recorded is delivered once in all, what was not has never been there.
#[tokio::test(start_paused = true)]
async fn killed_at_every_write_each_item_is_delivered_once() {
    let whole = summed_up().await;
    assert!(whole.iter().any(|entry| matches!(entry, Entry::Boundary(_))));
    let (mut tried, mut delivered) = (0, 0);
    for end in 1..=whole.len() {
        let before = &whole[..end];
        for resumes in [true, false] {
            let rig = TestAgent::new()
                .tools([FakeTool::reading("Read")])
                .resumed(since_boundary(before))
                .answers((0..4).map(|_| says("on")))
                .build();
            if resumes && !matches!(before.last(), Some(Entry::End { .. })) {
                let stream = resume_turn(rig.agent.clone(), CancellationToken::new());
                rig.finish(Vec::new(), stream).await;
            }
            while let Some(queued) = rig.agent.inbox().next_prompt() {
                let prompt = std::future::ready((queued.body, Vec::new()));
                let ids = vec![queued.id];
                let stream = run_with(rig.agent.clone(), prompt, ids, CancellationToken::new());
                rig.finish(Vec::new(), stream).await;
            }
            rig.turn("the last").await;
            let after = rig.timeline.entries().split_off(since_boundary(before).len());
            for id in ["p1", "n1", "n2"] {
                let expected = usize::from(has_arrived(before, id));
                let all = admissions(before, id) + admissions(&after, id);
                assert_eq!(all, expected, "{id} after {end} entries");
                assert!(counts(&rig, id).iter().all(|count| *count <= 1), "{id} twice");
                delivered += expected;
            }
            assert!(pending(&rig).is_empty());
            tried += 1;
        }
    }
    println!("kill points of the inbox tried: {tried}: {delivered} items due, each delivered once");
}

/// A fork does not deliver what waits in the original.
#[tokio::test(start_paused = true)]
async fn killed_and_forked_nothing_pending_is_copied() {
    let whole = summed_up().await;
    let mut tried = 0;
    for end in 1..=whole.len() {
        // As the stores copy it; their contract says so.
        let mut copy = whole[..end].to_vec();
        let ids = Session::fold(copy.clone()).inbox.into_iter().map(|item| item.id);
        copy.push(Entry::Withdrawn { inbound: ids.collect(), questions: vec![] });
        let rig = TestAgent::new().resumed(copy.clone()).answers([says("on")]).build();
        rig.turn("the last").await;
        for id in ["p1", "n1", "n2"] {
            let again = rig.timeline.entries().split_off(copy.len());
            assert_eq!(admissions(&again, id), 0, "{id} is delivered there, after {end} entries");
        }
        tried += 1;
    }
    println!("kill points of the inbox with a fork tried: {tried}: nothing delivered twice");
}

/// Steered during the stream, a tool and a back-off, killed at every write.
#[tokio::test(start_paused = true)]
async fn steers_are_delivered_once_wherever_the_process_died() {
    let permits = Arc::new(Semaphore::new(0));
    let (pusher, script) = live();
    let broken = Script::new().text("half").fail(ModelErrorKind::Protocol);
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").waits(&permits)])
        .settings(|settings| settings.stream_backoff = std::time::Duration::from_secs(20))
        .answers([script, calls([("w2", "Write")]), broken, says("done")])
        .build();
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "answer").await;
    arrive(&rig, steer("stream"));
    pusher.call("w1", "Write");
    pusher.end(ostler_core::model::StopReason::ToolUse);
    read.extend(until(&mut stream, "started w2").await);
    arrive(&rig, steer("tool"));
    permits.add_permits(1);
    read.extend(until(&mut stream, "went stream_retry").await);
    arrive(&rig, steer("wait"));
    let events = rig.finish(read, stream).await;
    assert_eq!(terminal(&events), Terminal::Completed, "{}", rig.timeline.render());
    for id in ["stream", "tool", "wait"] {
        assert_eq!(counts(&rig, id).last(), Some(&1), "{id}");
    }
    let whole = rig.timeline.entries();
    let mut tried = 0;
    for end in 1..=whole.len() {
        let rig = TestAgent::new()
            .tools([FakeTool::writing("Write")])
            .resumed(whole[..end].to_vec())
            .answers((0..3).map(|_| says("on")))
            .build();
        if end < whole.len() {
            let stream = resume_turn(rig.agent.clone(), CancellationToken::new());
            rig.finish(Vec::new(), stream).await;
        }
        rig.turn("the last").await;
        for id in ["stream", "tool", "wait"] {
            let expected = usize::from(has_arrived(&whole[..end], id));
            assert_eq!(counts(&rig, id).last(), Some(&expected), "{id} after {end} entries");
            assert_eq!(admissions(&rig.timeline.entries(), id), expected);
        }
        tried += 1;
    }
    println!("kill points of steering tried: {tried}: each steer delivered once");
}

/// A question that was open when the process died is asked once more, and its call runs once.
#[tokio::test(start_paused = true)]
async fn an_open_question_is_asked_again_once() {
    let agent = || {
        TestAgent::new()
            .tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
            .approver(FakeApprover::yes())
    };
    let answer =
        || Script::new().call("r1", "Read").give_way().call_on("w1", "Write", "/ws/a").end_calls();
    let rig = agent().answers([answer(), says("done")]).build();
    rig.turn("go").await;
    let whole = rig.timeline.entries();
    let at = |wanted: fn(&Entry) -> bool| whole.iter().position(wanted).unwrap() + 1;
    let answered = at(|entry| matches!(entry, Entry::Answer { .. }));
    let asked = at(|entry| matches!(entry, Entry::Asked { .. }));
    let started = at(|entry| matches!(entry, Entry::CallStarted { .. }));
    let done = at(
        |entry| matches!(entry, Entry::CallFinished { result: ostler_core::message::Block::ToolResult { id, .. }, .. } if id.as_str() == "w1"),
    );
    let mut tried = 0;
    for end in answered..whole.len() {
        let rig = agent().resumed(whole[..end].to_vec()).answers([says("on")]).build();
        assert_eq!(rig.agent.journal.has_open_question(), end == asked);
        let stream = resume_turn(rig.agent.clone(), CancellationToken::new());
        rig.finish(Vec::new(), stream).await;
        let again = usize::from(end < started);
        assert_eq!(rig.approver.asked().len(), again, "after {end} entries");
        assert_eq!(rig.timeline.began().iter().filter(|id| *id == "w1").count(), again);
        let told = rig.model.last_conversation();
        let lost = (started..done).contains(&end);
        assert_eq!(told.contains("w1 error \"Interrupted: the program"), lost, "{end}: {told}");
        assert_eq!(told.contains("w1 ok"), !lost, "{end}: {told}");
        assert!(!rig.agent.journal.has_open_question());
        tried += 1;
    }
    println!("kill points around a question tried: {tried}: asked again only where it had not run");
}

#[tokio::test(start_paused = true)]
async fn a_new_prompt_or_a_fork_withdraws_an_open_question() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .approver(FakeApprover::silent())
        .answers([calls([("w1", "Write")])])
        .build();
    let mut stream = rig.start("go");
    until(&mut stream, "asked w1").await;
    let open = rig.timeline.entries();
    rig.dropped(stream).await;
    let next = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .resumed(open)
        .answers([says("on")])
        .build();
    assert!(next.agent.journal.has_open_question() && next.agent.journal.has_open_calls());
    next.turn("something else").await;
    assert!(!next.agent.journal.has_open_question());
    let told = next.model.last_conversation();
    assert!(told.contains("w1 error"), "{told}");
    assert!(next.timeline.began().is_empty());
}

/// The hook is heard again when the turn is resumed, and says something else by then.
#[tokio::test(start_paused = true)]
async fn a_deferred_call_waits_until_the_turn_is_resumed() {
    let deferring = ScriptedHooks::new().on(EventName::PreToolUse, "Write", |_| {
        HookOutcome::of(Stand::Defer, "guard", "ask the board")
    });
    let tools = || [FakeTool::reading("Read"), FakeTool::writing("Write")];
    let rig = TestAgent::new()
        .tools(tools())
        .hooks(Arc::new(deferring))
        .answers([calls([("r1", "Read"), ("w1", "Write"), ("w2", "Write")])])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::ToolDeferred);
    assert_eq!(rig.timeline.began(), ["r1"]);
    let whole = rig.timeline.entries();

    let resumed =
        TestAgent::new().tools(tools()).resumed(whole.clone()).answers([says("done")]).build();
    assert!(resumed.agent.journal.has_open_calls());
    let stream = resume_turn(resumed.agent.clone(), CancellationToken::new());
    let events = resumed.finish(Vec::new(), stream).await;
    assert_eq!(resumed.timeline.began(), ["w1", "w2"]);
    assert_eq!(terminal(&events), Terminal::Completed);
    let told = resumed.model.last_conversation();
    assert!(
        told.ends_with("user: r1 ok \"echo {}\" | w1 ok \"echo {}\" | w2 ok \"echo {}\""),
        "{told}"
    );

    let instead = TestAgent::new().tools(tools()).resumed(whole).answers([says("on")]).build();
    instead.turn("never mind").await;
    assert!(instead.timeline.began().is_empty());
    let told = instead.model.last_conversation();
    assert!(told.contains("r1 ok \"echo {}\" | w1 error") && !told.contains("w1 ok"), "{told}");
}
