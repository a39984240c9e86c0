//! What is on disk when; and what happens when the disk says no.

use ostler_core::model::StopReason;
use ostler_core::session::Entry;
use ostler_core::turn::Terminal;
use ostler_testkit::{
    FakeApprover, FakeTool, LogFault, Rig, Script, TestAgent, TimelineMoment, calls, finished,
    says, until,
};

/// A turn with everything that is written: an early reader, a question, writes, a refused call, a dropped answer.
fn busy() -> TestAgent {
    TestAgent::new()
        .tools([FakeTool::reading("Read"), FakeTool::writing("Write"), FakeTool::unknown("Run")])
        .approver(FakeApprover::yes())
        .allow("Run")
        .answers([
            Script::new()
                .text("I act.")
                .call("r1", "Read")
                .give_way()
                .call_on("w1", "Write", "/ws/a")
                .call_on("w2", "Write", "/ws/b")
                .call("x1", "None")
                .call("u1", "Run")
                .end_calls(),
            Script::new().text("part").end(StopReason::MaxTokens),
            Script::new().call("u2", "Run").end_calls(),
            says("done"),
            says("a later turn"),
            says("not asked for"),
            says("not asked for"),
            says("not asked for"),
        ])
}

/// Forced to the disk: the prompt, the answer with a changing call, the start of that call, the end. Nothing else.
#[tokio::test(start_paused = true)]
async fn a_typical_turn() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
        .approver(FakeApprover::yes())
        .answers([
            calls([("r1", "Read")]),
            Script::new().text("I write.").call_on("w1", "Write", "/ws/a").end_calls(),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    insta::assert_snapshot!(rig.timeline.render(), @r#"
    log prompt "go"
    sync
    request 1
    log spent model in=100 out=10
    log answer call r1 Read "{}" stop=tool_use
    run r1
    done r1
    log decided r1 allow: it only reads inside the workspace
    log call_finished r1 ok "echo {}"
    log went next_turn
    request 2
    log spent model in=100 out=10
    log answer "I write." | call w1 Write "{"path":"/ws/a"}" stop=tool_use
    sync
    log asked 00000000-0000-7000-8000-000000000003 w1
    ask w1
    reply w1
    log decided w1 allow: the user said yes
    log call_started w1
    sync
    run w1
    done w1
    log call_finished w1 ok "echo {"path":"/ws/a"}"
    log went next_turn
    request 3
    log spent model in=100 out=10
    log answer "done" stop=end_turn
    log end completed
    sync
    "#);
}

/// A result that came while the answer was open waits for it: no result stands in the log before its call.
#[tokio::test(start_paused = true)]
async fn an_early_result_is_recorded_after_its_answer() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .answers([
            Script::new().call("r1", "Read").give_way().text("and").end_calls(),
            says("done"),
        ])
        .build();
    let mut stream = rig.start("go");
    let mut read = until(&mut stream, "text \"and\"").await;
    assert_eq!(rig.timeline.render_log(), "prompt \"go\"");
    assert!(rig.timeline.render().contains("done r1"), "{}", rig.timeline.render());
    read.extend(until(&mut stream, "went").await);
    insta::assert_snapshot!(rig.timeline.render_log(), @r#"
    prompt "go"
    spent model in=100 out=10
    answer call r1 Read "{}" | "and" stop=tool_use
    decided r1 allow: it only reads inside the workspace
    call_finished r1 ok "echo {}"
    went next_turn
    "#);
    rig.finish(read, stream).await;
}

/// What a tool records stands between its start and its result.
#[tokio::test(start_paused = true)]
async fn a_tool_writes_its_snapshot_before_it_acts() {
    let snapshot = |call| Entry::Snapshot {
        call,
        path: "/ws/a".into(),
        before: None,
        mode: None,
        after: None,
    };
    let tool = FakeTool::writing("Write").acts(move |_, cx| {
        Box::pin(async move {
            cx.recorder.record(snapshot(cx.call.clone())).unwrap();
            ostler_core::tool::ToolOutput::text("written")
        })
    });
    let rig =
        TestAgent::new().tools([tool]).answers([calls([("w1", "Write")]), says("done")]).build();
    rig.turn("go").await;
    let told = rig.timeline.render();
    let of_call: Vec<_> =
        told.lines().filter(|line| line.contains("w1") && !line.contains("answer")).collect();
    assert_eq!(
        of_call,
        [
            "log decided w1 allow: permissions are bypassed",
            "log call_started w1",
            "run w1",
            "log snapshot w1 /ws/a",
            "done w1",
            "log call_finished w1 ok \"written\"",
        ]
    );
}

/// For every n, once and from then on: the turn ends as it must, nothing changes the world after the failure, every
/// beginning of the log is a valid conversation (a law of every run), and the session can continue.
async fn fails_at(fault: LogFault) {
    let rig = busy().fault(fault).build();
    let events = rig.turn("go").await;
    let end = finished(&events);
    assert_eq!(end.terminal, Terminal::StoreFailed, "{fault:?}\n{}", rig.timeline.render());
    assert!(
        end.error.as_ref().is_some_and(|error| error.contains("the disk is full")),
        "{fault:?} {:?}",
        end.error
    );
    assert_eq!(
        changes_after_the_failure(&rig),
        [] as [&str; 0],
        "{fault:?}\n{}",
        rig.timeline.render()
    );
    let ended = rig.timeline.entries().iter().any(|entry| matches!(entry, Entry::End { .. }));
    let at_the_end = matches!(fault, LogFault::Sync(_) | LogFault::SyncsFrom(_));
    assert!(!ended || at_the_end, "{fault:?}\n{}", rig.timeline.render());
    let events = rig.turn("go on").await;
    let expected = match fault {
        LogFault::Append(_) | LogFault::Sync(_) => Terminal::Completed,
        LogFault::AppendsFrom(_) | LogFault::SyncsFrom(_) => Terminal::StoreFailed,
    };
    assert_eq!(finished(&events).terminal, expected, "{fault:?}\n{}", rig.timeline.render());
}

#[tokio::test(start_paused = true)]
async fn an_append_may_fail_anywhere() {
    let (appends, _) = operations().await;
    assert!(appends > 20, "{appends}");
    for n in 1..=appends {
        fails_at(LogFault::Append(n)).await;
        fails_at(LogFault::AppendsFrom(n)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sync_may_fail_anywhere() {
    let (_, syncs) = operations().await;
    assert!(syncs > 6, "{syncs}");
    for n in 1..=syncs {
        fails_at(LogFault::Sync(n)).await;
        fails_at(LogFault::SyncsFrom(n)).await;
    }
}

/// What the turn does when nothing fails.
async fn operations() -> (usize, usize) {
    let rig = busy().build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::Completed);
    assert_eq!(rig.timeline.began().len(), 5, "{}", rig.timeline.render());
    rig.log.operations()
}

fn changes_after_the_failure(rig: &Rig) -> Vec<String> {
    let moments = rig.timeline.moments();
    let after = moments.iter().skip_while(|moment| !matches!(moment, TimelineMoment::Refused(_)));
    let change = |moment: &TimelineMoment| match moment {
        TimelineMoment::Began { id, access } if !access.is_harmless() => Some(id.to_string()),
        _ => None,
    };
    after.filter_map(change).collect()
}
