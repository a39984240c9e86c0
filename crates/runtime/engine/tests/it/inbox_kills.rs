//! A process that dies after any line of its log: what had arrived is delivered once in all, and a question is asked again
//! only where its call has not run.

use crate::inbox::{arrive, counts, item, notice, pending, steer, terminal};
use ostler_core::ids::InboundId;
use ostler_core::inbox::{Delivery, InboundSource};
use ostler_core::message::Block;
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::tool::ToolOutput;
use ostler_core::turn::Terminal;
use ostler_engine::{resume_turn, run_with};
use ostler_testkit::{FakeApprover, FakeTool, Script, TestAgent, calls, fails, live, says, until};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

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
        let ids = SessionRecord::fold(copy.clone()).inbox.into_iter().map(|item| item.id);
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
        .settings(|settings| settings.stream_backoff = Duration::from_secs(20))
        .answers([script, calls([("w2", "Write")]), broken, says("done")])
        .build();
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "answer").await;
    arrive(&rig, steer("stream"));
    pusher.call("w1", "Write");
    pusher.end(StopReason::ToolUse);
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

fn is_result_of(entry: &Entry, call: &str) -> bool {
    let Entry::CallFinished { result: Block::ToolResult { id, .. }, .. } = entry else {
        return false;
    };
    id.as_str() == call
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
    let done = at(|entry| is_result_of(entry, "w1"));
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
