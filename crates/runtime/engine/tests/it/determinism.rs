//! The same script twice gives the same bytes.

use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_testkit::{FakeApprover, FakeTool, Rig, Script, TestAgent, calls, says, until};
use tokio_util::sync::CancellationToken;

fn rich() -> Rig {
    let slow = |tool: FakeTool| tool.reports(&["a", "b"], false);
    TestAgent::new()
        .tools([
            slow(FakeTool::reading("Read")),
            slow(FakeTool::writing("Write")),
            FakeTool::unknown("Run").panics(),
            FakeTool::reading("Hang").reports(&["stuck"], true),
        ])
        .approver(FakeApprover::yes())
        .fallback("other")
        .answers([
            Script::new()
                .thinking("hm")
                .text("I look.")
                .call("r1", "Read")
                .call_on("r2", "Read", "/etc/x")
                .call("x1", "None")
                .call("r1", "Read")
                .end_calls(),
            // One at a time: how long the disk takes for two at once is nobody's promise.
            Script::new()
                .call_on("w1", "Write", "/ws/a")
                .call_on("w2", "Write", "/ws/a")
                .call("u1", "Run")
                .end_calls(),
            Script::new().text("part").call("r9", "Read").end(StopReason::MaxTokens),
            Script::new().text("half").fail(ModelErrorKind::Overloaded),
            says("done"),
            calls([("h1", "Hang")]),
        ])
        .build()
}

/// The log as a store would write it, and every field of every event.
async fn bytes() -> (String, String) {
    let rig = rich();
    let mut events = rig.turn("go").await;
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("and now", &interrupt);
    let read = until(&mut stream, "progress h1").await;
    tokio::time::advance(std::time::Duration::from_millis(1_500)).await;
    interrupt.cancel();
    events.extend(rig.finish(read, stream).await);
    let log: Vec<_> =
        rig.timeline.entries().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let events: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
    (log.join("\n"), events.join("\n"))
}

#[tokio::test(start_paused = true)]
async fn the_same_script_gives_the_same_log_and_the_same_events() {
    let (log, events) = bytes().await;
    assert!(log.contains("Stopped by the user after 1.5 s"), "{log}");
    for _ in 0..20 {
        let again = bytes().await;
        assert_eq!(log, again.0);
        assert_eq!(events, again.1);
    }
}
