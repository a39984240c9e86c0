//! Another process continues with the log: the model is told what really happened.

use ostler_core::session::Entry;
use ostler_testkit::{FakeTool, Script, TestAgent, finished, says};

fn agent() -> TestAgent {
    TestAgent::new().tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
}

async fn whole_log() -> Vec<Entry> {
    let rig = agent()
        .answers([
            Script::new()
                .text("I act.")
                .call("r1", "Read")
                .give_way()
                .call_on("w1", "Write", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    rig.timeline.entries()
}

/// Wherever the process died, a new one continues, and its next request is valid (a law of every run).
#[tokio::test(start_paused = true)]
async fn from_every_beginning_of_a_log() {
    let entries = whole_log().await;
    for end in 0..=entries.len() {
        let rig = agent().resumed(entries[..end].to_vec()).answers([says("on")]).build();
        let events = rig.turn("go on").await;
        assert_eq!(finished(&events).text, "on");
        assert!(rig.model.last_conversation().ends_with("user: \"go on\""));
    }
}

#[tokio::test(start_paused = true)]
async fn a_started_call_without_a_result_may_have_taken_effect() {
    let entries = whole_log().await;
    let started =
        entries.iter().position(|entry| matches!(entry, Entry::CallStarted { .. })).unwrap();
    let rig = agent().resumed(entries[..=started].to_vec()).answers([says("on")]).build();
    rig.turn("go on").await;
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: "I act." | call r1 Read "{}" | call w1 Write "{"path":"/ws/a"}"
    user: r1 ok "echo {}" | w1 error "Interrupted: the program stopped while this call was running, and its …"
    user: "go on"
    "#);
}

/// The same conversation, whether the process lived on or a new one took over between the turns.
#[tokio::test(start_paused = true)]
async fn a_resumed_session_asks_the_same_as_one_that_never_stopped() {
    let rig = agent().resumed(whole_log().await).answers([says("on")]).build();
    rig.turn("go on").await;
    let stayed = agent()
        .answers([
            Script::new()
                .text("I act.")
                .call("r1", "Read")
                .give_way()
                .call_on("w1", "Write", "/ws/a")
                .end_calls(),
            says("done"),
            says("on"),
        ])
        .build();
    stayed.turn("go").await;
    stayed.turn("go on").await;
    assert_eq!(
        rig.model.requests().last().unwrap().view,
        stayed.model.requests().last().unwrap().view
    );
}
