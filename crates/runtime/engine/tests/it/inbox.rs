//! What arrives during a turn reaches the model once, at the next safe moment, wherever the process dies.

use crate::{let_run, lines};
use ostler_core::event::Event;
use ostler_core::hook::{EventName, HookOutcome, Stand};
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::message::Message;
use ostler_core::model::{ModelErrorKind, Request};
use ostler_core::time::Timestamp;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::{Limits, Terminal};
use ostler_engine::{resume_turn, run_with};
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, ScriptedHooks, TestAgent, calls, conversation, finished,
    hangs, live, says, until,
};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) fn item(id: &str, source: InboundSource, when: Delivery) -> Inbound {
    let body = match source {
        InboundSource::Person => Message::user(format!("<{id}>")),
        _ => Message::meta(format!("<{id}>")),
    };
    Inbound { id: id.into(), source, when, body, at: Timestamp(0) }
}

pub(crate) fn steer(id: &str) -> Inbound {
    item(id, InboundSource::Person, Delivery::NextBoundary)
}

pub(crate) fn notice(id: &str, when: Delivery) -> Inbound {
    item(id, InboundSource::Job { id: "j1".into(), summary: None }, when)
}

pub(crate) fn arrive(rig: &Rig, item: Inbound) {
    rig.agent.inbox().arrive(item).unwrap();
}

pub(crate) fn pending(rig: &Rig) -> Vec<String> {
    rig.agent.inbox().pending().iter().map(|item| item.id.to_string()).collect()
}

/// How often an item is in what a request carries.
fn count(request: &Request, id: &str) -> usize {
    conversation(&request.view).matches(&format!("<{id}>")).count()
}

/// For each request.
pub(crate) fn counts(rig: &Rig, id: &str) -> Vec<usize> {
    rig.model.requests().iter().map(|request| count(request, id)).collect()
}

pub(crate) fn terminal(events: &[Event]) -> Terminal {
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
    user: r1 ok "echo {}" | w1 error "Skipped: the user sent a message before it could start. The message fo…"
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
    assert!(
        told.contains("w1 ok \"waited\" | w2 error \"Skipped: the user sent a message"),
        "{told}"
    );
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

#[tokio::test(start_paused = true)]
async fn a_new_prompt_withdraws_an_open_question() {
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
