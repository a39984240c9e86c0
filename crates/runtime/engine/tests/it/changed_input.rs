//! A person answers a question with another input.

use crate::{let_run, lines, until_so};
use ostler_core::event::Event;
use ostler_core::hook::{EventName, HookOutcome, Stand};
use ostler_core::permission::Mode;
use ostler_core::ports::Reply;
use ostler_core::session::{Entry, Verdict};
use ostler_engine::resume_turn;
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, ScriptedHooks, TestAgent, finished, says, trace,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

fn to(path: &str) -> Reply {
    Reply::YesWithInput(json!({ "path": path }))
}

fn agent(reply: Reply) -> TestAgent {
    TestAgent::new()
        .tools([FakeTool::writing("Write").demanding_a_path()])
        .approver(FakeApprover::scripted([reply]))
}

fn write(path: &str) -> Script {
    Script::new().call_on("w1", "Write", path).end_calls()
}

fn decided(rig: &Rig) -> Vec<(Verdict, String, Option<Value>)> {
    let decided = |entry| match entry {
        Entry::Decided { verdict, why, input, .. } => Some((verdict, why, input)),
        _ => None,
    };
    rig.timeline.entries().into_iter().filter_map(decided).collect()
}

fn ran_with(events: &[Event]) -> Vec<Option<Value>> {
    let input = |event: &Event| match event {
        Event::CallFinished { input, .. } => Some(input.as_deref().cloned()),
        _ => None,
    };
    events.iter().filter_map(input).collect()
}

#[tokio::test(start_paused = true)]
async fn the_changed_input_runs_and_the_model_keeps_its_own() {
    let rig = agent(to("/ws/b")).answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(ran_with(&events), [Some(json!({ "path": "/ws/b" }))]);
    assert_eq!(
        lines(&events, &["started"]),
        ["started w1 Write \"{\"path\":\"/ws/b\"}\""],
        "{}",
        trace(&events)
    );
    let [(verdict, why, input)] = &decided(&rig)[..] else { panic!("{:?}", decided(&rig)) };
    assert_eq!(*verdict, Verdict::Allow);
    assert_eq!(why, "the user changed the input and said yes");
    assert_eq!(input, &Some(json!({ "path": "/ws/b" })));
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: call w1 Write "{"path":"/ws/a"}"
    user: w1 ok "The user changed the input of this call to {"path":"/ws/b"}⏎echo {"pat…"
    "#);
}

/// A yes to what was shown is no change, however it is said.
#[tokio::test(start_paused = true)]
async fn the_same_input_is_a_plain_yes() {
    let rig = agent(to("/ws/a")).answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(ran_with(&events), [None]);
    assert_eq!(decided(&rig), [(Verdict::Allow, "the user said yes".into(), None)]);
}

/// The question was about a file that nobody else touches, so the other call runs already, before or behind it.
#[tokio::test(start_paused = true)]
async fn a_changed_call_waits_for_what_it_conflicts_with_now() {
    for changed in ["first", "second"] {
        let permits = Arc::new(Semaphore::new(0));
        let path = |id: &str| if id == changed { "/ws/a" } else { "/ws/open" };
        let rig = TestAgent::new()
            .tools([FakeTool::writing("Write").waits(&permits)])
            .allow("Write(./open)")
            .approver(FakeApprover::scripted([to("/ws/open")]))
            .answers([
                Script::new()
                    .call_on("first", "Write", path("first"))
                    .call_on("second", "Write", path("second"))
                    .end_calls(),
                says("done"),
            ])
            .build();
        let mut stream = rig.start("go");
        let read = ostler_testkit::until(&mut stream, "asked").await;
        let reading = rig.finish(read, stream);
        let other = if changed == "first" { "second" } else { "first" };
        let checking = async {
            until_so("the change is on record", || {
                decided(&rig).iter().any(|(_, _, input)| input.is_some())
            })
            .await;
            until_so("the other one runs", || !rig.timeline.began().is_empty()).await;
            let_run().await;
            assert_eq!(rig.timeline.began(), [other]);
            permits.add_permits(2);
        };
        let (events, ()) = tokio::join!(reading, checking);
        assert_eq!(rig.timeline.began(), [other, changed]);
        assert_eq!(finished(&events).denials.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_the_tool_does_not_take_is_a_refusal() {
    let reply = Reply::YesWithInput(json!({ "file": 1 }));
    let rig = agent(reply).answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert!(rig.timeline.began().is_empty());
    assert_eq!(
        decided(&rig),
        [(
            Verdict::Deny,
            "Write cannot be called with the changed input: the field \"path\" is missing".into(),
            None
        )]
    );
    assert_eq!(finished(&events).denials[0].input, json!({ "file": 1 }));
    assert!(
        rig.model.last_conversation().contains("The user changed the input of this call to"),
        "{}",
        rig.model.last_conversation()
    );
}

#[tokio::test(start_paused = true)]
async fn a_person_cannot_change_a_call_into_something_denied() {
    let rig = agent(to("/ws/secret/key"))
        .deny("Write(./secret/**)")
        .answers([write("/ws/a"), says("done")])
        .build();
    let events = rig.turn("go").await;
    assert!(rig.timeline.began().is_empty());
    assert_eq!(
        decided(&rig),
        [(Verdict::Deny, "the deny rule Write(./secret/**) covers it".into(), None)]
    );
    assert_eq!(finished(&events).denials.len(), 1);
    // What would ask is answered, also outside of the folder.
    let rig = agent(to("/elsewhere/a")).answers([write("/ws/a"), says("done")]).build();
    rig.turn("go").await;
    assert_eq!((rig.timeline.began(), rig.approver.asked().len()), (vec!["w1".to_owned()], 1));
}

/// The changed call waits for another one when the mode becomes stricter.
#[tokio::test(start_paused = true)]
async fn a_stricter_mode_stops_a_changed_call_that_has_not_started() {
    let permits = Arc::new(Semaphore::new(0));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").waits(&permits)])
        .allow("Write(./open)")
        .approver(FakeApprover::scripted([to("/ws/open")]))
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/open")
                .call_on("w2", "Write", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    let checking = async {
        until_so("the change is on record", || {
            decided(&rig).iter().any(|(_, _, input)| input.is_some())
        })
        .await;
        rig.agent.set_mode(Mode::Plan);
        permits.add_permits(2);
    };
    let (events, ()) = tokio::join!(rig.turn("go"), checking);
    assert_eq!(rig.timeline.began(), ["w1"]);
    assert_eq!(finished(&events).denials.len(), 1, "{}", trace(&events));
}

/// A hook that forbids the changed input is heard; one that only wants a person to look was answered.
#[tokio::test(start_paused = true)]
async fn hooks_hear_the_changed_input() {
    for (stand, runs) in [(Stand::Block, false), (Stand::Ask, true)] {
        let hooks =
            ScriptedHooks::new().on(EventName::PreToolUse, "Write", move |event| {
                match event.tool_input() {
                    Some(input) if input["path"] == "/ws/b" => {
                        HookOutcome::of(stand, "guard", "hm")
                    }
                    _ => HookOutcome::default(),
                }
            });
        let hooks = Arc::new(hooks);
        let rig =
            agent(to("/ws/b")).hooks(hooks.clone()).answers([write("/ws/a"), says("done")]).build();
        rig.turn("go").await;
        assert_eq!(rig.timeline.began().len(), usize::from(runs));
        assert_eq!((hooks.names().len(), rig.approver.asked().len()), (2, 1));
    }
}

/// Killed between the answer and the start: what is asked again is the changed input.
#[tokio::test(start_paused = true)]
async fn a_new_process_goes_on_with_the_changed_input() {
    let rig = agent(to("/ws/b")).answers([write("/ws/a"), says("done")]).build();
    rig.turn("go").await;
    let entries = rig.timeline.entries();
    let changed = |entry: &Entry| matches!(entry, Entry::Decided { input: Some(_), .. });
    let decided_at = entries.iter().position(changed).unwrap();
    let until_decided = entries[..=decided_at].to_vec();
    let read: Vec<Entry> = until_decided
        .iter()
        .map(|entry| serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap())
        .collect();
    assert_eq!(read, until_decided);

    let next = agent(Reply::Yes).resumed(read).answers([says("done")]).build();
    let stream = resume_turn(next.agent.clone(), CancellationToken::new());
    let events = next.finish(Vec::new(), stream).await;
    assert_eq!(next.approver.questions()[0].input, json!({ "path": "/ws/b" }));
    assert_eq!(ran_with(&events), [Some(json!({ "path": "/ws/b" }))]);
    assert_eq!(next.model.last_conversation(), rig.model.last_conversation());

    // Killed while it ran: the model is told what may have taken effect.
    let started = |entry: &Entry| matches!(entry, Entry::CallStarted { .. });
    let started_at = entries.iter().position(started).unwrap();
    let next = agent(Reply::Yes).resumed(entries[..=started_at].to_vec());
    let next = next.answers([says("done")]).build();
    next.turn("something else").await;
    let told = next.view().messages().map(|m| format!("{:?}", m.blocks())).collect::<String>();
    assert!(told.contains("of this call to {\\\"path\\\":\\\"/ws/b\\\"}\\nInterrupted"), "{told}");
}
