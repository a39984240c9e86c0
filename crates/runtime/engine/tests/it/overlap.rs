//! What runs beside what, and in which order. Proved by barriers and by the timeline, never by clocks.

use crate::{let_run, lines};
use ostler_core::message::Block;
use ostler_core::model::StopReason;
use ostler_core::permission::Mode;
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, TestAgent, TimelineMoment, calls, live, says, until,
};
use std::sync::Arc;
use tokio::sync::{Barrier, Semaphore};

/// The stream only ends after both tools met it: if either waited for the other or for the end, nobody would come.
#[tokio::test(start_paused = true)]
async fn harmless_calls_meet_each_other_and_the_open_stream() {
    harmless_calls_and_stream_meet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn harmless_calls_meet_each_other_and_the_open_stream_on_many_threads() {
    harmless_calls_and_stream_meet().await;
}

async fn harmless_calls_and_stream_meet() {
    let barrier = Arc::new(Barrier::new(3));
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Meet").meets(&barrier)])
        .answers([
            Script::new()
                .call("1", "Meet")
                .call("2", "Meet")
                .meet(&barrier)
                .text("met")
                .end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["finished"]).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_changing_call_waits_for_the_seal_and_the_disk() {
    let (model, script) = live();
    let rig = TestAgent::new()
        .tools([
            FakeTool::writing("Write"),
            FakeTool::unknown("Run"),
            FakeTool::contacting("Fetch", "host"),
        ])
        .answers([script, says("done")])
        .build();
    let mut stream = rig.start("go");
    for (id, tool) in [("w1", "Write"), ("u1", "Run"), ("f1", "Fetch")] {
        model.call(id, tool);
    }
    model.delta("and");
    let read = until(&mut stream, "text").await;
    let_run().await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    model.end(StopReason::ToolUse);
    rig.finish(read, stream).await;
    insta::assert_snapshot!(rig.timeline.render(), @r#"
    log prompt "go"
    sync
    request 1
    log spent model in=100 out=10
    log answer call w1 Write "{}" | call u1 Run "{}" | call f1 Fetch "{}" | "and" stop=tool_use
    sync
    log decided w1 allow: permissions are bypassed
    log call_started w1
    sync
    run w1
    done w1
    log call_finished w1 ok "echo {}"
    log decided u1 allow: permissions are bypassed
    log call_started u1
    sync
    run u1
    done u1
    log call_finished u1 ok "echo {}"
    log decided f1 allow: permissions are bypassed
    log call_started f1
    sync
    run f1
    done f1
    log call_finished f1 ok "echo {}"
    log went next_turn
    request 2
    log spent model in=100 out=10
    log answer "done" stop=end_turn
    log end completed
    sync
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_waits_for_the_seal_though_it_is_harmless() {
    let (model, script) = live();
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .approver(FakeApprover::yes())
        .answers([script, says("done")])
        .build();
    let mut stream = rig.start("go");
    model.event(ostler_core::model::ModelEvent::Block(Block::ToolUse {
        id: "r1".into(),
        name: "Read".into(),
        input: serde_json::json!({ "path": "/etc/passwd" }),
        via: None,
    }));
    model.delta("and");
    let read = until(&mut stream, "text").await;
    let_run().await;
    assert_eq!(rig.approver.asked(), [] as [&str; 0]);
    model.end(StopReason::ToolUse);
    rig.finish(read, stream).await;
    assert_eq!(rig.approver.asked(), ["r1"]);
    assert_eq!(rig.timeline.began(), ["r1"]);
}

#[tokio::test(start_paused = true)]
async fn disjoint_writes_run_together_after_the_seal() {
    let barrier = Arc::new(Barrier::new(2));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").meets(&barrier)])
        .answers([
            Script::new().call_on("a", "Write", "/ws/a").call_on("b", "Write", "/ws/b").end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["finished"]).len(), 2);
}

/// The order of the calls, although the last of them would be ready first.
#[tokio::test(start_paused = true)]
async fn writes_to_one_path_run_one_after_the_other_in_order() {
    let rig = TestAgent::new()
        .tools([
            FakeTool::writing("Slow").reports(&["x", "y", "z"], false),
            FakeTool::writing("Quick"),
        ])
        .answers([
            Script::new()
                .call_on("1", "Slow", "/ws/a")
                .call_on("2", "Quick", "/ws/a")
                .call_on("3", "Slow", "/ws/a")
                .call_on("other", "Quick", "/ws/b")
                .end_calls(),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    let runs: Vec<_> = tool_runs(&rig).into_iter().filter(|run| !run.contains("other")).collect();
    assert_eq!(runs, ["run 1", "done 1", "run 2", "done 2", "run 3", "done 3"]);
}

/// A reader sees what the write before it left, and a write waits for the reader before it.
#[tokio::test(start_paused = true)]
async fn a_reader_and_a_writer_of_one_path_keep_their_order() {
    let rig = TestAgent::new()
        .tools([
            FakeTool::reading("Read").reports(&["x", "y"], false),
            FakeTool::writing("Write").reports(&["x", "y"], false),
        ])
        .answers([
            Script::new()
                .call_on("r1", "Read", "/ws/a")
                .call_on("w1", "Write", "/ws/a")
                .call_on("r2", "Read", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    assert_eq!(tool_runs(&rig), ["run r1", "done r1", "run w1", "done w1", "run r2", "done r2"]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_call_runs_alone() {
    let slow = |tool: FakeTool| tool.reports(&["x", "y"], false);
    let rig = TestAgent::new()
        .tools([slow(FakeTool::reading("Read")), slow(FakeTool::unknown("Run"))])
        .answers([
            calls([
                ("r1", "Read"),
                ("r2", "Read"),
                ("u1", "Run"),
                ("u2", "Run"),
                ("r3", "Read"),
                ("r4", "Read"),
            ]),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    insta::assert_snapshot!(tool_runs(&rig).join("\n"), @r"
    run r1
    run r2
    done r1
    done r2
    run u1
    done u1
    run u2
    done u2
    run r3
    run r4
    done r3
    done r4
    ");
}

#[tokio::test(start_paused = true)]
async fn results_stand_in_call_order_although_they_come_in_another() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Late").waits(&permits), FakeTool::reading("Soon")])
        .answers([calls([("1", "Late"), ("2", "Soon"), ("3", "Soon")]), says("done")])
        .build();
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "finished 3").await;
    permits.add_permits(1);
    read.extend(until(&mut stream, "finished 1").await);
    let events = rig.finish(read, stream).await;
    let order: Vec<_> =
        lines(&events, &["finished"]).iter().map(|line| line[9..10].to_owned()).collect();
    assert_eq!(order, ["2", "3", "1"]);
    assert_eq!(result_ids(&rig), ["1", "2", "3"]);
}

/// Calls are answered whatever their number, and never more of them run at once than allowed.
#[tokio::test(start_paused = true)]
async fn five_hundred_calls_are_bounded_and_paired() {
    assert_eq!(five_hundred_calls(FakeTool::reading("Tool")).await, 7);
    assert_eq!(five_hundred_calls(FakeTool::writing("Tool")).await, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_calls_are_bounded_and_paired_on_many_threads() {
    // How many really overlap is up to the threads.
    let most = five_hundred_calls(FakeTool::reading("Tool")).await;
    assert!((1..=7).contains(&most), "{most}");
    assert_eq!(five_hundred_calls(FakeTool::unknown("Tool")).await, 1);
}

/// How many ran at the same time at most.
async fn five_hundred_calls(tool: FakeTool) -> usize {
    let script = (0..500).fold(Script::new(), |script, n| {
        script.call_on(&format!("c{n}"), "Tool", &format!("/ws/{n}"))
    });
    let rig = TestAgent::new()
        .tools([tool.reports(&["a", "b", "c"], false)])
        .settings(|settings| settings.max_parallel_calls = 7)
        .answers([script.end_calls(), says("done")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["finished"]).len(), 500);
    let expected: Vec<_> = (0..500).map(|n| format!("c{n}")).collect();
    assert_eq!(result_ids(&rig), expected);
    most_at_once(&rig)
}

#[tokio::test(start_paused = true)]
async fn after_the_answer_means_that_nothing_runs_early() {
    let (model, script) = live();
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .settings(|settings| settings.after_the_answer = true)
        .answers([script, says("done")])
        .build();
    let mut stream = rig.start("go");
    model.call("r1", "Read");
    model.delta("and");
    let read = until(&mut stream, "text").await;
    let_run().await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    model.end(StopReason::ToolUse);
    let events = rig.finish(read, stream).await;
    assert_eq!(rig.timeline.began(), ["r1"]);
    assert_eq!(
        lines(&events, &["sealed", "started"])[0],
        "sealed in=100 out=10 cost=0.000450 stop=tool_use"
    );
}

/// The connection to the model is not held while calls run: a child agent may need it.
#[tokio::test(start_paused = true)]
async fn the_models_stream_is_given_back_before_calls_are_waited_for() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").waits(&permits)])
        .mode(Mode::BypassPermissions)
        .answers([calls([("w1", "Write")]), says("done")])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "started w1").await;
    assert_eq!(rig.model.open_streams(), 0);
    permits.add_permits(1);
    rig.finish(read, stream).await;
}

fn tool_runs(rig: &Rig) -> Vec<String> {
    let told = rig.timeline.render();
    told.lines()
        .filter(|line| line.starts_with("run ") || line.starts_with("done "))
        .map(str::to_owned)
        .collect()
}

fn result_ids(rig: &Rig) -> Vec<String> {
    let view = rig.view();
    let id = |block: &Block| match block {
        Block::ToolResult { id, .. } => Some(id.to_string()),
        _ => None,
    };
    view.messages()
        .flat_map(|message| message.blocks().iter().filter_map(id).collect::<Vec<_>>())
        .collect()
}

fn most_at_once(rig: &Rig) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for moment in rig.timeline.moments() {
        match moment {
            TimelineMoment::Began { .. } => now += 1,
            TimelineMoment::Ended(_) | TimelineMoment::Stopped(_) => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}
