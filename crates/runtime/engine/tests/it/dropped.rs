//! Answers that are discarded leave no trace but their price.

use crate::{lines, until_so};
use ostler_core::message::Block;
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::session::Entry;
use ostler_testkit::{FakeTool, Script, TestAgent, live, says, trace, until};

/// The reader runs, and ends, while the answer is still open.
fn script_of_calls() -> Script {
    Script::new()
        .text("I act.")
        .call("r1", "Read")
        .call_on("w1", "Write", "/ws/w")
        .call("u1", "Run")
        .give_way()
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_dropped_answer_runs_that_changes_anything() {
    let ends: [fn(Script) -> Script; 4] = [
        |script| script.end(StopReason::MaxTokens),
        |script| script.fail(ModelErrorKind::Unavailable),
        |script| script.fail(ModelErrorKind::ContextOverflow),
        |script| script,
    ];
    for (n, end) in ends.into_iter().enumerate() {
        let overflows = n == 2;
        let rig = TestAgent::new()
            .tools([
                FakeTool::reading("Read"),
                FakeTool::writing("Write"),
                FakeTool::unknown("Run"),
            ])
            .answers([
                end(script_of_calls()),
                Script::new().call("r2", "Read").give_way().end_calls(),
                says("done"),
            ])
            .build();
        let events = rig.turn("go").await;
        // Neither now nor with the calls of the next answer.
        let began = rig.timeline.began();
        assert!(
            began == ["r1", "r2"] || (overflows && began == ["r1"]),
            "{}",
            rig.timeline.render()
        );
        assert_eq!(
            lines(&events, &["started r1", "finished r1", "dropped"]),
            ["started r1 Read \"{}\"", "dropped"],
            "what it gave back is shown to nobody"
        );
        let of_dropped = |entry: &Entry| match entry {
            Entry::CallStarted { .. } => true,
            Entry::Decided { call, .. } => call.as_str() != "r2",
            Entry::CallFinished { result: Block::ToolResult { id, .. }, .. } => id.as_str() != "r2",
            _ => false,
        };
        assert!(!rig.timeline.entries().iter().any(of_dropped), "{}", rig.timeline.render_log());
        assert!(!rig.conversation().contains("I act."), "{}", rig.conversation());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_as_the_reader_and_the_log_see_it() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .answers([
            Script::new().text("first").call("r1", "Read").give_way().end(StopReason::MaxTokens),
            Script::new().text("second").call("r1", "Read").end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    insta::assert_snapshot!(trace(&events), @r#"
    turn 1
    iteration 1 model
    answer m1
    text "first"
    block "first"
    block call r1 Read "{}"
    started r1 Read "{}"
    dropped
    went max_output_tokens_escalate
    iteration 1 model after max_output_tokens_escalate
    answer m2
    text "second"
    block "second"
    block call r1 Read "{}"
    sealed in=100 out=10 cost=0.000450 stop=tool_use
    started r1 Read "{}"
    finished r1 ok "echo {}"
    went next_turn
    iteration 2 model after next_turn
    answer m3
    text "done"
    block "done"
    sealed in=100 out=10 cost=0.000450 stop=end_turn
    end completed "done" iterations=2 calls=1 in=300 out=30 cost=0.001350
    "#);
    insta::assert_snapshot!(rig.timeline.render_log(), @r#"
    prompt "go"
    spent model in=100 out=10
    went max_output_tokens_escalate
    spent model in=100 out=10
    answer "second" | call r1 Read "{}" stop=tool_use
    decided r1 allow: it only reads inside the workspace
    call_finished r1 ok "echo {}"
    went next_turn
    spent model in=100 out=10
    answer "done" stop=end_turn
    end completed
    "#);
}

/// A reader of a dropped answer that would run forever is stopped with it, and the turn continues.
#[tokio::test(start_paused = true)]
async fn a_hanging_call_of_a_dropped_answer_is_stopped() {
    let (model, script) = live();
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Hang").hangs()])
        .answers([script, says("done")])
        .build();
    let mut stream = rig.start("go");
    model.call("h1", "Hang");
    let read = until(&mut stream, "started h1").await;
    until_so("it runs", || rig.timeline.running().len() == 1).await;
    model.end(StopReason::MaxTokens);
    let events = rig.finish(read, stream).await;
    assert_eq!(lines(&events, &["finished"]), [] as [&str; 0]);
    assert!(rig.timeline.render().contains("stopped h1"));
}

/// What was dropped is paid for all the same.
#[tokio::test(start_paused = true)]
async fn a_dropped_answer_is_paid_for() {
    let rig = TestAgent::new()
        .answers([Script::new().text("x").end(StopReason::MaxTokens), says("done")])
        .build();
    let events = rig.turn("go").await;
    let end = ostler_testkit::finished(&events);
    assert_eq!((end.usage.input, end.usage.output), (200, 20));
    let spent = rig.agent.budget.spent();
    assert!((spent - 0.0009).abs() < 1e-12, "{spent}");
}
