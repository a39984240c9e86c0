//! A turn is a pull stream: a slow reader holds it back, dropping it stops it, and the truth stays.

use crate::{let_run, lines, until_so};
use futures_util::StreamExt;
use ostler_core::event::Event;
use ostler_core::message::Block;
use ostler_core::model::StopReason;
use ostler_core::ports::Progress;
use ostler_core::session::Entry;
use ostler_testkit::{
    FakeApprover, FakeTool, Script, TestAgent, calls, says, trace, until, until_all,
};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_the_model_back() {
    let script = (0..1_000).fold(Script::new(), |script, n| script.delta(&n.to_string()));
    let rig = TestAgent::new().answers([script.end_turn()]).build();
    let mut stream = rig.start("go");
    for read in 1..=20 {
        stream.next().await.unwrap();
        let_run().await;
        assert!(
            rig.model.pulled() <= read + 3,
            "{} pulled after {read} were read",
            rig.model.pulled()
        );
    }
    rig.dropped(stream).await;
    assert_eq!(rig.model.open_streams(), 0);
}

/// Calls are not held back by a reader that sleeps.
#[tokio::test(start_paused = true)]
async fn calls_go_on_while_the_reader_sleeps() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Wait").waits(&permits)])
        .answers([calls([("1", "Wait"), ("2", "Wait")]), says("done")])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "started 2").await;
    permits.add_permits(2);
    until_so("all have ended", || rig.timeline.running().is_empty()).await;
    rig.finish(read, stream).await;
}

/// Only the newest tail waits for the reader.
#[tokio::test(start_paused = true)]
async fn progress_is_coalesced_for_a_slow_reader() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Talk").reports(&["a", "b", "c", "d", "e", "f"], true)])
        .answers([Script::new().call("t1", "Talk").hold()])
        .build();
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "started t1").await;
    let_run().await;
    read.extend(until(&mut stream, "progress t1 \"f\"").await);
    assert!(lines(&read, &["progress"]).len() <= 3, "{}", trace(&read));
    rig.dropped(stream).await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_stops_a_hanging_call() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Hang").hangs()])
        .answers([calls([("h1", "Hang")])])
        .build();
    let mut stream = rig.start("go");
    until(&mut stream, "started h1").await;
    assert_eq!(rig.timeline.running().len(), 1);
    rig.dropped(stream).await;
    assert!(rig.timeline.render().ends_with("stopped h1"), "{}", rig.timeline.render());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_withdraws_a_question() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .approver(FakeApprover::silent())
        .answers([calls([("w1", "Write")]), says("done")])
        .build();
    let mut stream = rig.start("go");
    until(&mut stream, "asked w1").await;
    let_run().await;
    rig.dropped(stream).await;
    until_so("withdraw w1", || rig.timeline.render().ends_with("ask w1\nwithdraw w1")).await;
    // The next question is put, not kept behind the withdrawn one.
    let events = rig.turn("again").await;
    assert!(lines(&events, &["end completed"]).len() == 1, "{}", trace(&events));
}

/// What ended keeps its result; what had begun may have taken effect; what had not, has not.
#[tokio::test(start_paused = true)]
async fn after_a_dropped_turn_the_model_is_told_the_truth() {
    let rig = TestAgent::new()
        .tools([
            FakeTool::reading("Read"),
            FakeTool::writing("Hang").hangs(),
            FakeTool::reading("Stuck").hangs(),
        ])
        .settings(|settings| settings.max_parallel_calls = 3)
        .answers([
            Script::new()
                .text("I act.")
                .call("r1", "Read")
                .call_on("h1", "Hang", "/ws/a")
                .call("s1", "Stuck")
                .call_on("h2", "Hang", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    let mut stream = rig.start("go");
    until_all(&mut stream, &["finished r1", "started h1"]).await;
    rig.dropped(stream).await;
    rig.turn("what happened?").await;
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: "I act." | call r1 Read "{}" | call h1 Hang "{"path":"/ws/a"}" | call s1 Stuck "{}" | call h2 Hang "{"path":"/ws/a"}"
    user: r1 ok "echo {}" | h1 error "Interrupted: the program stopped while this call was running, and its …" | s1 error "No result: the program stopped before one was recorded. The call chang…" | h2 error "No result: the program stopped before one was recorded. The call chang…"
    user: "what happened?"
    "#);
}

/// A call may run while its answer is open. Its result is shown when both are in the log, so that nobody has seen what a
/// resumed session does not know.
#[tokio::test(start_paused = true)]
async fn a_result_is_in_the_log_before_it_is_shown() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read"), FakeTool::writing("Write").waits(&permits)])
        .answers([
            Script::new()
                .call("r1", "Read")
                .give_way()
                .delta("more")
                .call_on("w1", "Write", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    let mut stream = rig.start("go");
    let mut read = Vec::new();
    while let Some(event) = stream.next().await {
        if let Event::TextDelta { .. } = event {
            until_so("done r1", || rig.timeline.render().contains("done r1")).await;
        }
        if let Event::CallFinished { id, .. } = &event {
            let logged = rig.timeline.entries().iter().any(|entry| {
                matches!(entry, Entry::CallFinished { result: Block::ToolResult { id: had, .. }, .. } if had == id)
            });
            assert!(logged, "{id} is shown and not in the log:\n{}", rig.timeline.render());
            // Who is slow to read the first result does not hold up the next call.
            until_so("run w1", || rig.timeline.render().contains("run w1")).await;
            permits.add_permits(1);
        }
        read.push(event);
    }
    assert_eq!(lines(&read, &["finished"]).len(), 2, "{}", trace(&read));
}

/// Wherever a turn is dropped, the log and the engine agree, and the session continues.
#[tokio::test(start_paused = true)]
async fn a_turn_may_be_dropped_after_any_event() {
    let build = || {
        TestAgent::new()
            .tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
            .approver(FakeApprover::yes())
            .allow("Read")
            .answers([
                Script::new()
                    .text("I act.")
                    .call("r1", "Read")
                    .give_way()
                    .call_on("w1", "Write", "/ws/a")
                    .call("x1", "None")
                    .end_calls(),
                Script::new()
                    .thinking("hm")
                    .call("r2", "Read")
                    .give_way()
                    .end(StopReason::MaxTokens),
                says("done"),
                says("again done"),
                says("not asked for"),
                says("not asked for"),
            ])
            .build()
    };
    let whole = build().turn("go").await.len();
    assert!(whole > 25, "{whole}");
    for end in 0..=whole {
        for sleep in [false, true] {
            let rig = build();
            let mut stream = rig.start("go");
            for _ in 0..end {
                stream.next().await.unwrap();
            }
            if sleep {
                let_run().await;
            }
            rig.dropped(stream).await;
            let events = rig.turn("go on").await;
            assert!(matches!(events.last(), Some(Event::Finished(_))));
            assert!(rig.model.last_conversation().contains("\"go on\""));
        }
    }
}

/// A stream that was read to its end stays at its end.
#[tokio::test(start_paused = true)]
async fn nothing_follows_the_end() {
    let rig = TestAgent::new().answers([says("x")]).build();
    let mut stream = rig.start("go");
    until(&mut stream, "end").await;
    assert!(stream.next().await.is_none());
    assert!(stream.next().await.is_none());
}

/// A turn that is never read does nothing at all.
#[tokio::test(start_paused = true)]
async fn an_unread_turn_does_nothing() {
    let rig = TestAgent::new().answers([says("x")]).build();
    let stream = rig.start("go");
    let_run().await;
    rig.dropped(stream).await;
    assert_eq!(rig.timeline.render(), "");
}

/// A call that always has something to say does not drown the model: here it speaks after every event.
#[tokio::test(start_paused = true)]
async fn a_noisy_call_does_not_hold_the_answer_up() {
    let voice: Arc<Mutex<Option<Arc<dyn Progress>>>> = Arc::default();
    let lent = voice.clone();
    let noisy = FakeTool::reading("Noise").acts(move |_, cx| {
        *lent.lock().unwrap() = Some(cx.progress);
        Box::pin(std::future::pending())
    });
    let script = Script::new().call("n1", "Noise").give_way().delta("x").delta("y").hold();
    let rig = TestAgent::new().tools([noisy]).answers([script]).build();
    let mut stream = rig.start("go");
    until(&mut stream, "started n1").await;
    let voice = voice.lock().unwrap().take().unwrap();
    let mut read = Vec::new();
    while lines(&read, &["text \"y\""]).is_empty() {
        voice.tail("noise");
        read.push(stream.next().await.unwrap());
        assert!(read.len() < 100, "the answer is not heard:\n{}", trace(&read));
    }
    rig.dropped(stream).await;
}
