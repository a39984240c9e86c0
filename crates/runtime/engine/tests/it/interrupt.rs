//! An interrupt ends the turn in order, wherever it falls: every call is answered, the end is on disk.

use crate::{let_run, lines};
use futures_util::StreamExt;
use ostler_core::event::Event;
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::turn::Terminal;
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, TestAgent, calls, finished, hangs, live, says, until,
};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Reads up to a line, interrupts, and reads the rest.
async fn interrupted_at(rig: &Rig, line: &str) -> Vec<Event> {
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = until(&mut stream, line).await;
    let_run().await;
    interrupt.cancel();
    rig.finish(read, stream).await
}

#[tokio::test(start_paused = true)]
async fn in_the_stream_the_partial_text_is_kept() {
    let rig = TestAgent::new()
        .answers([Script::new().text("whole.").delta(" ha").delta("lf").hold()])
        .build();
    let events = interrupted_at(&rig, "text \"lf\"").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!(finished(&events).text, "whole. half");
    insta::assert_snapshot!(rig.timeline.render_log(), @r#"
    prompt "go"
    spent model in=100 out=1
    answer "whole." | " half" stop=none
    note meta "[The user interrupted the turn here.]"
    end aborted_streaming
    "#);
}

#[tokio::test(start_paused = true)]
async fn while_nothing_comes_back() {
    let rig = TestAgent::new().answers([hangs()]).build();
    let events = interrupted_at(&rig, "iteration 1").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!((rig.model.requests().len(), finished(&events).usage.input), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn before_the_first_word_only_the_note_is_added() {
    let rig = TestAgent::new().answers([Script::new().hold(), says("done")]).build();
    let events = interrupted_at(&rig, "answer m1").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    rig.turn("go on").await;
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    user: meta "[The user interrupted the turn here.]"
    user: "go on"
    "#);
}

/// A call that may run stops, one that may not never starts, and one that had ended keeps its result.
#[tokio::test(start_paused = true)]
async fn in_the_stream_every_call_is_answered() {
    let rig = TestAgent::new()
        .tools([
            FakeTool::reading("Read"),
            FakeTool::reading("Hang").reports(&["half way"], true),
            FakeTool::writing("Write"),
        ])
        .answers([Script::new()
            .call("r1", "Read")
            .call("h1", "Hang")
            .call_on("w1", "Write", "/ws/w")
            .text("and")
            .hold()])
        .build();
    let events = interrupted_at(&rig, "progress h1").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!(finished(&events).calls_run, 2);
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "go"
    assistant: call r1 Read "{}" | call h1 Hang "{}" | call w1 Write "{"path":"/ws/w"}" | "and"
    user: r1 ok "echo {}" | h1 error "Stopped by the user after 0.0 s. It may have taken effect in part. Las…" | w1 error "Not run: the user interrupted before it could start."
    user: meta "[The user interrupted the turn here.]"
    "#);
    assert_eq!(rig.timeline.began(), ["r1", "h1"]);
}

#[tokio::test(start_paused = true)]
async fn in_a_call_the_rest_is_not_started() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Hang").reports(&["half way"], true)])
        .answers([
            Script::new().call_on("h1", "Hang", "/ws/a").call_on("h2", "Hang", "/ws/a").end_calls(),
            says("done"),
        ])
        .build();
    let events = interrupted_at(&rig, "progress h1").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedTools);
    assert_eq!(finished(&events).calls_run, 1);
    rig.turn("go on").await;
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: call h1 Hang "{"path":"/ws/a"}" | call h2 Hang "{"path":"/ws/a"}"
    user: h1 error "Stopped by the user after 0.0 s. It may have taken effect in part. Las…" | h2 error "Not run: the user interrupted before it could start."
    user: meta "[The user interrupted while tools were running. The results above say …"
    user: "go on"
    "#);
}

/// The call is over, but nobody has looked at its result yet: it is the result, not a guess.
#[tokio::test(start_paused = true)]
async fn a_call_that_has_ended_keeps_its_result() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").waits(&permits)])
        .answers([calls([("w1", "Write")])])
        .build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = until(&mut stream, "started w1").await;
    permits.add_permits(1);
    let_run().await;
    assert_eq!(rig.timeline.running(), []);
    interrupt.cancel();
    let events = rig.finish(read, stream).await;
    assert_eq!(lines(&events, &["finished"]), [r#"finished w1 ok "waited""#]);
    assert_eq!(finished(&events).terminal, Terminal::AbortedTools);
}

/// Calls that were answered without running are in the log, too, although the reader had not heard of them.
#[tokio::test(start_paused = true)]
async fn calls_that_were_refused_keep_their_reason() {
    let (model, script) = live();
    let rig = TestAgent::new()
        .tools([
            FakeTool::reading("Never"),
            FakeTool::reading("Hang").hangs(),
            FakeTool::misused("Wrong"),
        ])
        .deny("Never")
        .answers([script])
        .build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    for (id, tool) in [("h1", "Hang"), ("n1", "Never"), ("x1", "None"), ("m1", "Wrong")] {
        model.call(id, tool);
    }
    let read = until(&mut stream, "block call h1").await;
    interrupt.cancel();
    rig.finish(read, stream).await;
    // The same once more, with the interrupt as late as possible.
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Never"), FakeTool::writing("Hang").hangs()])
        .deny("Never")
        .answers([calls([("h1", "Hang"), ("n1", "Never"), ("x1", "None")])])
        .build();
    let events = interrupted_at(&rig, "block call n1").await;
    insta::assert_snapshot!(lines(&events, &["finished", "end"]).join("\n"), @r#"
    finished denied n1 error "Permission denied: the deny rule Never covers it. Nothing was run. Con…"
    finished x1 error "<tool_use_error>There is no tool named "None". The tools are: Hang, Ne…"
    finished h1 error "Not run: the user interrupted before it could start."
    end aborted_streaming "" iterations=1 calls=0 in=100 out=1 cost=0.000315 denied=n1
    "#);
}

#[tokio::test(start_paused = true)]
async fn in_a_wait_before_a_retry() {
    let rig = TestAgent::new()
        .settings(|settings| settings.stream_backoff = std::time::Duration::from_secs(20))
        .answers([Script::new().delta("x").fail(ModelErrorKind::Unavailable), says("done")])
        .build();
    let since = tokio::time::Instant::now();
    let events = interrupted_at(&rig, "went stream_retry 1").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!(since.elapsed().as_secs(), 0, "the wait was not cut short");
    assert_eq!(rig.model.requests().len(), 1);
}

/// The question goes away, and nobody claims that the call may have run.
#[tokio::test(start_paused = true)]
async fn while_a_question_is_open() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .approver(FakeApprover::silent())
        .answers([Script::new()
            .call_on("w1", "Write", "/ws/a")
            .call_on("w2", "Write", "/ws/b")
            .end_calls()])
        .build();
    let events = interrupted_at(&rig, "asked w1").await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedTools);
    assert_eq!(finished(&events).calls_run, 0);
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    insta::assert_snapshot!(rig.timeline.render(), @r#"
    log prompt "go"
    sync
    request 1
    log spent model in=100 out=10
    log answer call w1 Write "{"path":"/ws/a"}" | call w2 Write "{"path":"/ws/b"}" stop=tool_use
    sync
    log asked 00000000-0000-7000-8000-000000000002 w1
    ask w1
    withdraw w1
    log call_finished w1 error "Not run: the user interrupted before it could start."
    log call_finished w2 error "Not run: the user interrupted before it could start."
    log note meta "[The user interrupted while tools were running. The results above say …"
    log end aborted_tools
    sync
    "#);
}

/// Not even for a moment, on however many threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_interrupt_nothing_starts() {
    for _ in 0..20 {
        let script = (0..16).fold(Script::new(), |script, n| {
            script.call_on(&format!("w{n}"), "Write", &format!("/ws/{n}"))
        });
        let rig = TestAgent::new()
            .tools([FakeTool::writing("Write")])
            .answers([script.delta("and").hold()])
            .build();
        interrupted_at(&rig, "text").await;
        let log = rig.timeline.render_log();
        assert!(!log.contains("call_started"), "{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn before_the_turn_began() {
    let rig = TestAgent::new().answers([says("x")]).build();
    let interrupt = CancellationToken::new();
    interrupt.cancel();
    let events = rig.finish(Vec::new(), rig.start_with("go", &interrupt)).await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!(rig.model.requests().len(), 0);
    // The prompt is kept: it was said.
    assert!(rig.conversation().starts_with("user: \"go\"\n"), "{}", rig.conversation());
}

/// Between two iterations: the results are there, no further request goes out.
#[tokio::test(start_paused = true)]
async fn before_the_next_request() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .answers([calls([("w1", "Write")]), says("done")])
        .build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = until(&mut stream, "finished w1").await;
    interrupt.cancel();
    let events = rig.finish(read, stream).await;
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!(lines(&events, &["went"]), ["went next_turn"]);
    assert_eq!(rig.model.requests().len(), 1);
    assert!(rig.conversation().contains(r#"w1 ok "echo {}""#), "{}", rig.conversation());
}

/// The answer is complete, the hooks of the stop are next: the interrupt wins, the answer stays.
#[tokio::test(start_paused = true)]
async fn before_the_stop_hooks() {
    let rig = TestAgent::new().answers([says("all of it")]).build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = until(&mut stream, "block").await;
    interrupt.cancel();
    let events = rig.finish(read, stream).await;
    assert_eq!(
        (finished(&events).terminal, finished(&events).text.as_str()),
        (Terminal::AbortedStreaming, "all of it")
    );
}

/// Wherever it falls, the laws hold, control returns, and the session continues.
#[tokio::test(start_paused = true)]
async fn an_interrupt_may_come_after_any_event() {
    let build = || {
        TestAgent::new()
            .tools([
                FakeTool::reading("Read").reports(&["x"], false),
                FakeTool::writing("Write").reports(&["y"], false),
            ])
            .approver(FakeApprover::yes())
            .allow("Read")
            .answers([
                Script::new()
                    .text("I act.")
                    .call("r1", "Read")
                    .give_way()
                    .call_on("w1", "Write", "/ws/a")
                    .call("x1", "None")
                    .call_on("w2", "Write", "/ws/a")
                    .end_calls(),
                Script::new().call("r2", "Read").give_way().end(StopReason::MaxTokens),
                Script::new().text("half").fail(ModelErrorKind::Unavailable),
                says("done"),
                says("again done"),
                says("not asked for"),
                says("not asked for"),
            ])
            .build()
    };
    let whole = build().turn("go").await.len();
    assert!(whole > 30, "{whole}");
    let mut ends = std::collections::BTreeSet::new();
    for end in 0..=whole {
        for sleep in [false, true] {
            let (rig, interrupt) = (build(), CancellationToken::new());
            let mut stream = rig.start_with("go", &interrupt);
            let mut read = Vec::new();
            for _ in 0..end {
                read.push(stream.next().await.unwrap());
            }
            if sleep {
                let_run().await;
            }
            interrupt.cancel();
            let events = rig.finish(read, stream).await;
            ends.insert(finished(&events).terminal.name());
            rig.turn("go on").await;
            assert!(rig.model.last_conversation().contains("\"go on\""));
        }
    }
    assert_eq!(
        ends.into_iter().collect::<Vec<_>>(),
        ["aborted_streaming", "aborted_tools", "completed"]
    );
}
