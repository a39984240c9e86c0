//! Calls that get no answer: the server dies, is silent, or a person interrupts. What the server wrote down is what counts.

use crate::faults::calls;
use crate::ground::{logged, results, times, turn, with_servers};
use crate::support::{World, becomes, finished, interrupt, open};
use ostler::{Input, McpInput, Terminal};
use ostler_model_server::{Script, text};
use serde_json::json;
use std::time::Duration;

/// What the server writes down when its open call is cancelled. Then it answers the call.
const CANCELLED: &str = "cancelled: the call";

/// D04
pub async fn a_server_that_dies_in_a_call_is_started_again_for_the_next() {
    let world = World::new(calls(&["mcp__files__dies", "mcp__files__echo"]));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let session = open(with_servers(world.on_disk(), vec![logged(&[], &log)]));
    turn(&session, "call it").await;
    let told = world.told(2);
    assert!(told.contains("MCP server files: it ended (exit code 9)"), "{told}");
    assert!(told.contains("echo: x"), "{told}");
    let starts = times(&log, "tools/list");
    assert_eq!((starts, times(&log, "tools/call")), (2, 2), "the call was not sent to the new one");
    session.close("other").await;
}

/// D04
pub async fn a_server_that_dies_again_and_again_is_given_up() {
    let dies = "mcp__files__dies";
    let mut script = calls(&[dies, dies, dies, "mcp__files__echo"]);
    script = script.answer(text("I call.").call("mcp__files__echo", json!({"text": "y"})));
    let world = World::new(script.answer(text("Done.")));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let session = open(with_servers(world.on_disk(), vec![logged(&[], &log)]));
    turn(&session, "call it").await;
    let told = world.told(4);
    assert_eq!(told.matches("it ended (exit code 9)").count(), 3, "{told}");
    assert!(told.contains("it exited too often; reconnect it to try again"), "{told}");
    assert!(!told.contains("echo: x"), "{told}");
    assert_eq!((times(&log, "tools/list"), times(&log, "tools/call")), (3, 3));
    let again = McpInput::Reconnect { name: "files".into() };
    session.send(Input::Mcp(again)).unwrap();
    becomes("it was started", || times(&log, "tools/list") == 4).await;
    turn(&session, "call it again").await;
    assert!(results(&world).contains("echo: y"), "{}", results(&world));
    session.close("other").await;
}

/// D05
pub async fn a_call_without_an_answer_is_cancelled() {
    let world = World::new(calls(&["mcp__files__hangs", "mcp__files__echo"]));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut config = logged(&[], &log);
    config.call_limit = Duration::from_millis(200);
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "call it").await;
    let told = world.told(2);
    assert!(told.contains("was not answered within 0 s and was cancelled"), "{told}");
    becomes("the server knows", || times(&log, CANCELLED) == 1).await;
    assert_eq!(times(&log, "tools/list"), 1, "the connection goes on");
    assert!(told.contains("echo: x") && !told.contains("too late"), "{told}");
    session.close("other").await;
}

/// D05
pub async fn a_late_answer_harms_nothing() {
    let after = text("I call.").call("mcp__files__echo", json!({"text": "after it"}));
    let script = calls(&["mcp__files__hangs"]).answer(after).answer(text("Done."));
    let world = World::new(script);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut config = logged(&[], &log);
    config.call_limit = Duration::from_millis(200);
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "call it").await;
    becomes("the server knows", || times(&log, CANCELLED) == 1).await;
    turn(&session, "call another").await;
    let told = results(&world);
    assert!(told.contains("echo: after it") && !told.contains("too late"), "{told}");
    assert_eq!(session.mcp_status()[0].status.name(), "connected");
    assert_eq!(times(&log, "tools/list"), 1, "on the same connection");
    session.close("other").await;
}

/// D05
pub async fn a_call_that_is_interrupted_is_cancelled_on_the_server() {
    let script = Script::new()
        .answer(text("I call.").call("mcp__files__hangs", json!({})))
        .answer(text("I call.").call("mcp__files__echo", json!({"text": "x"})));
    let world = World::new(script.answer(text("Done.")));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let session = open(with_servers(world.on_disk(), vec![logged(&[], &log)]));
    let turn_of_the_call = session.ask("call it").unwrap();
    let interrupted = async {
        becomes("the server has the call", || times(&log, "tools/call") == 1).await;
        assert_eq!(times(&log, CANCELLED), 0);
        interrupt(&session);
    };
    let (end, ()) = tokio::join!(finished(turn_of_the_call), interrupted);
    assert_eq!(end.terminal, Terminal::AbortedTools, "{end:?}");
    becomes("the server knows", || times(&log, CANCELLED) == 1).await;
    turn(&session, "go on").await;
    assert!(results(&world).contains("echo: x"), "{}", results(&world));
    assert_eq!((times(&log, "tools/list"), times(&log, "tools/call")), (1, 2));
    session.close("other").await;
}
