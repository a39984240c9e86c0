//! How servers are greeted, and what is remembered about it.

use crate::ground::{listed, logged, results, scripted, turn, with_servers};
use crate::support::{World, becomes, host, open, with};
use ostler::Session;
use ostler::mcp_servers::ServerConfig;
use ostler_model_server::{Script, text};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// What it was asked since the last time.
fn taken(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    text.lines().map(str::to_owned).collect()
}

/// A session of another process, which knows only what is on disk.
fn other_process(world: &World, config: &ServerConfig) -> Session {
    let options = with_servers(world.on_disk(), vec![config.clone()]);
    host(&options).session(options.session).unwrap()
}

fn echo() -> ostler_model_server::Reply {
    text("I call.").call("mcp__files__echo", json!({"text": "x"}))
}

pub async fn a_server_that_ignores_the_probe_is_probed_once() {
    let script = Script::new().answer(echo()).answer(text("Done."));
    let world = World::new(script.answer(echo()).answer(text("Done.")));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut config = logged(&["ignores-probe"], &log);
    // Less than the protocol's own patience of ten seconds, which would be all there is.
    config.start_limit = Duration::from_millis(9_900);
    let session = open(with_servers(world.on_disk(), vec![config.clone()]));
    turn(&session, "call it").await;
    assert!(results(&world).contains("echo: x"), "{}", results(&world));
    assert_eq!(
        taken(&log),
        ["server/discover", "initialize", "tools/list", "prompts/list", "tools/call"]
    );
    session.close("other").await;
    let session = other_process(&world, &config);
    turn(&session, "call it").await;
    assert!(results(&world).contains("echo: x"), "{}", results(&world));
    assert_eq!(taken(&log), ["initialize", "tools/list", "prompts/list", "tools/call"]);
    session.close("other").await;
}

pub async fn a_server_that_ends_on_the_probe_is_greeted_as_an_older_one() {
    let world = World::new(Script::new().answer(echo()).answer(text("Done.")));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let config = logged(&["ends-on-probe"], &log);
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "call it").await;
    assert!(results(&world).contains("echo: x"), "{}", results(&world));
    assert_eq!(
        taken(&log),
        ["server/discover", "initialize", "tools/list", "prompts/list", "tools/call"]
    );
    session.close("other").await;
}

pub async fn a_server_that_became_newer_is_probed_again() {
    let script = Script::new().answer(text("Hello."));
    let world = World::new(script.answer(echo()).answer(text("Done.")));
    let folder = tempfile::tempdir().unwrap();
    let (log, newer) = (folder.path().join("log"), folder.path().join("newer"));
    let word = format!("newer={}", newer.display());
    let config = logged(&[&word], &log);
    let session = open(with_servers(world.on_disk(), vec![config.clone()]));
    turn(&session, "hello").await;
    session.close("other").await;
    std::fs::write(&newer, "").unwrap();
    taken(&log);
    let session = other_process(&world, &config);
    turn(&session, "call it").await;
    assert!(results(&world).contains("echo: x"), "{}", results(&world));
    let asked = taken(&log);
    assert_eq!(asked[..2], ["initialize", "server/discover"], "{asked:?}");
    session.close("other").await;
}

pub async fn a_server_that_failed_is_left_alone_for_a_while() {
    let script = Script::new().answer(text("Hello.")).answer(text("Hello."));
    let world = World::new(script);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut config = logged(&["silent"], &log);
    config.start_limit = Duration::from_millis(300);
    let session = open(with_servers(world.on_disk(), vec![config.clone()]));
    turn(&session, "hello").await;
    let error = session.mcp_status()[0].error.clone().unwrap_or_default();
    assert!(error.starts_with("it did not answer"), "{error}");
    session.close("other").await;
    taken(&log);
    let session = other_process(&world, &config);
    turn(&session, "hello").await;
    let status = session.mcp_status().remove(0);
    assert_eq!(status.status.name(), "failed");
    let error = status.error.unwrap_or_default();
    assert!(error.starts_with("it failed a short time ago"), "{error}");
    assert!(error.contains("it did not answer"), "{error}");
    assert!(taken(&log).is_empty(), "it was not started");
    let again = ostler::McpInput::Reconnect { name: "files".into() };
    session.send(ostler::Input::Mcp(again)).unwrap();
    becomes("it was started", || log.exists()).await;
    session.close("other").await;
}

pub async fn the_first_prompt_waits_for_servers_that_are_always_listed() {
    let script = Script::new().answer(text("Hello.")).answer(text("Hello."));
    let world = World::new(script);
    let (mut config, _) = scripted("files", &[]);
    config.always_load = true;
    let (mut silent, _) = scripted("silent", &["silent"]);
    silent.start_limit = Duration::from_secs(3_600);
    let options = with(with_servers(world.on_disk(), vec![config, silent]), |options| {
        options.session.mcp.first_wait = ostler::McpOptions::default().first_wait;
    });
    let session = open(options);
    turn(&session, "hello").await;
    assert!(listed(&world.server.requests()[0]).contains(&"mcp__files__echo".to_owned()));
    assert_eq!(session.mcp_status()[1].status.name(), "pending", "nobody waited for it");
    session.close("other").await;
}

pub async fn nobody_waits_twice_for_a_server_that_does_not_answer() {
    let script = Script::new().answer(text("Hello.")).answer(text("Hello.")).answer(text("Hello."));
    let world = World::new(script);
    let (mut config, _) = scripted("files", &["silent"]);
    config.start_limit = Duration::from_secs(20);
    let options = with_servers(world.on_disk(), vec![config.clone()]);
    let waits = |wait| with(options.clone(), |options| options.session.mcp.first_wait = wait);
    let session = open(waits(Duration::from_millis(1)));
    turn(&session, "hello").await;
    // Neither the next prompt nor the next session waits as long as it may.
    let pending = |session: &Session| session.mcp_status()[0].status.name() == "pending";
    turn(&session, "hello").await;
    assert!(pending(&session));
    let options = waits(crate::support::PATIENCE);
    let other = host(&options).session(options.session).unwrap();
    turn(&other, "hello").await;
    assert!(pending(&other));
    session.close("other").await;
    other.close("other").await;
}
