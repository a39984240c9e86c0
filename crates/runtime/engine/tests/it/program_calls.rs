//! Calls that a program makes without a model: the same gate, log and limits, and nothing that grows.

use crate::let_run;
use ostler_core::event::{CallOutcome, NotRun};
use ostler_core::hook::{EventName, HookOutcome, Stand};
use ostler_core::permission::Mode;
use ostler_core::session::SessionRecord;
use ostler_engine::{CallEnd, CallNews, ProgramCall, program_call};
use ostler_testkit::{FakeApprover, FakeTool, LogFault, Rig, ScriptedHooks, TestAgent};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

fn call(id: &str, tool: &str) -> ProgramCall {
    let input = json!({"path": format!("/ws/{id}")});
    ProgramCall { id: id.into(), tool: tool.into(), input, caller: "a program wants it".into() }
}

async fn run(rig: &Rig, call: ProgramCall) -> CallEnd {
    program_call(&rig.agent, call, &Mutex::default(), &CancellationToken::new(), |_| {}).await
}

fn facts(rig: &Rig) -> Vec<String> {
    let log = rig.timeline.render_log();
    log.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_changing_call_is_a_turn_of_its_own_and_a_reading_one_leaves_nothing() {
    let rig =
        TestAgent::new().tools([FakeTool::reading("Read"), FakeTool::writing("Write")]).build();
    assert_eq!(run(&rig, call("r", "Read")).await.outcome, CallOutcome::Succeeded);
    assert_eq!(facts(&rig), [] as [&str; 0]);
    for id in ["a", "b"] {
        assert_eq!(run(&rig, call(id, "Write")).await.outcome, CallOutcome::Succeeded);
    }
    let turn = ["prompt", "answer", "decided", "call_started", "call_finished", "end"];
    assert_eq!(facts(&rig), [turn, turn].concat(), "{}", rig.timeline.render_log());
    // Who reads the log has all of it; this process has nothing of it any more.
    assert_eq!(SessionRecord::fold(rig.timeline.entries()).turns, 2);
    assert_eq!(rig.agent.journal.conversation().0.items().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_does_not_run() {
    let rig = TestAgent::new().tools([FakeTool::writing("Write")]).mode(Mode::Plan).build();
    assert!(run(&rig, call("a", "Write")).await.outcome.is_denied());
    let unknown = run(&rig, call("b", "Fly")).await;
    assert_eq!(unknown.outcome, CallOutcome::NotRun { why: NotRun::UnknownTool });
    let deferring = ScriptedHooks::new()
        .on(EventName::PreToolUse, "", |_| HookOutcome::of(Stand::Defer, "guard", "later"));
    let rig_with_hook =
        TestAgent::new().tools([FakeTool::writing("Write")]).hooks(Arc::new(deferring)).build();
    let deferred = run(&rig_with_hook, call("c", "Write")).await;
    assert!(matches!(deferred.outcome, CallOutcome::NotRun { .. }), "{deferred:?}");
    assert_eq!([rig.timeline.began(), rig_with_hook.timeline.began()].concat(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_passed_on_and_its_answer_counts() {
    let approver = FakeApprover::no("not this one");
    let rig = TestAgent::new().tools([FakeTool::writing("Write")]).approver(approver).build();
    let mut asked = Vec::new();
    let (changing, stop) = (Mutex::default(), CancellationToken::new());
    let end = program_call(&rig.agent, call("a", "Write"), &changing, &stop, |news| match news {
        CallNews::Asked(question) => asked.push(question.tool.clone()),
        CallNews::Progress(_) => {}
    });
    assert!(end.await.outcome.is_denied());
    assert_eq!(asked, ["Write"]);
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn one_change_at_a_time_and_an_interrupt_ends_the_waiting() {
    let gate = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new().tools([FakeTool::writing("Write").waits(&gate)]).build();
    let (changing, first, second) =
        (Mutex::default(), CancellationToken::new(), CancellationToken::new());
    let one = program_call(&rig.agent, call("a", "Write"), &changing, &first, |_| {});
    let two = program_call(&rig.agent, call("b", "Write"), &changing, &second, |_| {});
    let rest = async {
        // Another thread makes the log durable first.
        while rig.timeline.began().is_empty() {
            tokio::task::yield_now().await;
        }
        second.cancel();
        let_run().await;
        first.cancel();
    };
    let (one, two, ()) = tokio::join!(one, two, rest);
    assert_eq!(one.outcome, CallOutcome::Stopped);
    assert_eq!(two.outcome, CallOutcome::NotRun { why: NotRun::Interrupted });
    assert_eq!(rig.timeline.began(), ["a"]);
    assert_eq!(facts(&rig).last().map(String::as_str), Some("end"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_recorded_does_not_run() {
    for fault in [LogFault::Append(1), LogFault::Append(2), LogFault::Sync(1)] {
        let rig = TestAgent::new().tools([FakeTool::writing("Write")]).fault(fault).build();
        let end = run(&rig, call("a", "Write")).await;
        assert!(end.output.is_error, "{fault:?}");
        assert_eq!(rig.timeline.began(), [] as [&str; 0], "{fault:?}");
    }
}
