//! Tools of servers in a session.

use crate::ground::{listed, results, scripted, turn, turn_events, with_servers};
use crate::support::{World, becomes, finished, host, open, runs, until, with};
use ostler::config::ServerLimits;
use ostler::mcp_servers::{ServerConfig, ServerScope, ServerTransport, Tunnel, TunnelError};
use ostler::{BoxFuture, Event, Input, McpInput, Mode, Notice, Reply, USE_TOOL};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::sync::Arc;

/// Those that the scripted server offers.
pub const TOOLS: usize = 15;

pub async fn a_tool_of_a_server_is_called_like_any_other() {
    let call = text("I call.").call("mcp__files__echo", json!({"text": "hello"}));
    let world = World::new(Script::new().answer(call).answer(text("Done.")));
    let (config, mark) = scripted("files", &["banner"]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "call it").await;
    let request = &world.server.requests()[0];
    assert!(listed(request).contains(&"mcp__files__echo".to_owned()), "{:?}", listed(request));
    let tools = request.json()["tools"].to_string();
    assert!(tools.contains("[files] Repeats the text."), "{tools}");
    assert!(results(&world).contains("echo: hello"), "{}", results(&world));
    let status = &session.mcp_status()[0];
    assert_eq!(
        (status.name.as_str(), status.status.name(), status.scope),
        ("files", "connected", "user")
    );
    assert_eq!(status.server_info, Some(("scripted".into(), "1.2".into())));
    assert!(runs(&mark));
    session.close("other").await;
    becomes("the server ended with its session", || !runs(&mark)).await;
    world.assert_never_rejected();
}

pub async fn rules_and_questions_see_the_real_name() {
    let call = |tool: &str| text("I call.").call(tool, json!({"text": "x"}));
    let world = World::new(
        Script::new()
            .answer(call("mcp__files__echo"))
            .answer(call("mcp__files__picture"))
            .answer(text("Done.")),
    );
    let (config, _) = scripted("files", &[]);
    let options = with(with_servers(world.on_disk(), vec![config]), |options| {
        options.session.mode = Mode::Default;
        options.session.allow = vec!["mcp__files__echo".into()];
        options.session.deny = vec!["mcp__files__dies".into()];
    });
    let session = open(options);
    let attendance = session.attend();
    let mut driver = session.ask("call it").unwrap();
    let mut asked = Vec::new();
    let end = until(&mut driver, |event| {
        if let Event::CallAsked { name, .. } = event {
            asked.push(name.clone());
            crate::support::answer(&session, event, &Reply::Yes);
        }
        matches!(event, Event::Finished(_))
    })
    .await;
    assert!(matches!(end, Event::Finished(_)));
    drop(attendance);
    assert_eq!(asked, ["mcp__files__picture"], "one rule allows, the other call is asked about");
    assert!(!listed(&world.server.requests()[0]).contains(&"mcp__files__dies".to_owned()));
}

pub async fn a_known_server_is_not_started_before_it_is_used() {
    let call = text("I call.").call("mcp__files__echo", json!({"text": "again"}));
    let script = Script::new().answer(text("Hello.")).answer(text("Hi.")).answer(call);
    let world = World::new(script.answer(text("Done.")));
    let (config, mark) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config.clone()]));
    turn(&session, "hello").await;
    session.close("other").await;
    becomes("it ended", || !runs(&mark)).await;

    let session = open(with_servers(world.on_disk(), vec![config]));
    assert_eq!(session.mcp_status()[0].tools.len(), TOOLS, "known from the disk");
    turn(&session, "hi").await;
    assert!(listed(&world.server.requests()[1]).contains(&"mcp__files__echo".to_owned()));
    assert_eq!(session.mcp_status()[0].status.name(), "pending");
    assert!(!runs(&mark), "nothing was started for a prompt without a call");
    turn(&session, "call it").await;
    assert!(results(&world).contains("echo: again"));
    assert!(runs(&mark));
    session.close("other").await;
}

pub async fn images_are_shown_and_binary_parts_are_sizes() {
    let call = text("I call.").call("mcp__files__picture", json!({}));
    let long = text("And a long one.").call("mcp__files__long", json!({}));
    let world = World::new(Script::new().answer(call).answer(long).answer(text("Done.")));
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "call it").await;
    let told = world.told(2);
    assert!(told.contains("iVBORw0KGgo=") && told.contains("image/png"), "{told}");
    assert!(told.contains("[audio audio/wav, 6 bytes]"), "{told}");
    assert!(told.contains("[resource file:///x.bin application/octet-stream, 6 bytes]"), "{told}");
    assert!(told.contains("[resource y: file:///y]"), "{told}");
    assert!(told.contains("The full output is in"), "a long result is stored: {told}");
    assert!(told.len() < 120_000, "{}", told.len());
    session.close("other").await;
}

/// Answers as a server on the other side of a surface would.
struct Mirror;

impl Tunnel for Mirror {
    fn exchange(&self, message: Value) -> BoxFuture<'static, Result<Option<Value>, TunnelError>> {
        Box::pin(async move {
            let Some(id) = message.get("id").cloned() else { return Ok(None) };
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "mirror", "version": "1"},
                }),
                "tools/list" => {
                    json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]})
                }
                "tools/call" => {
                    let given = message["params"]["arguments"].to_string();
                    json!({"content": [{"type": "text", "text": format!("mirrored {given}")}]})
                }
                _ => {
                    let error = json!({"code": -32601, "message": "Method not found"});
                    return Ok(Some(json!({"jsonrpc": "2.0", "id": id, "error": error})));
                }
            };
            Ok(Some(json!({"jsonrpc": "2.0", "id": id, "result": result})))
        })
    }
}

fn mirror(name: &str) -> ServerConfig {
    ServerConfig::new(name, ServerTransport::Tunnel(Arc::new(Mirror)), ServerScope::Session)
}

pub async fn a_server_through_a_tunnel_is_like_any_other() {
    let call = text("I call.").call("mcp__calc__add", json!({"a": 1}));
    let world = World::new(Script::new().answer(call).answer(text("Done.")));
    let session = open(with_servers(world.options(), vec![mirror("calc")]));
    turn(&session, "call it").await;
    assert!(results(&world).contains("mirrored {\\\"a\\\":1}"), "{}", results(&world));
    session.close("other").await;
}

/// Whoever gives the session its servers: options, or a surface while it runs.
pub async fn servers_that_settings_do_not_permit_are_not_used() {
    let world = World::new(Script::new().answer(text("Hello.")));
    let options = with(world.options(), |options| {
        options.session.mcp.may_change = true;
        options.session.mcp.limits = ServerLimits::without(["calc".into()]);
        options.session.mcp.servers = vec![mirror("calc"), mirror("other")];
    });
    let session = open(options);
    let names = || session.mcp_status().into_iter().map(|server| server.name).collect::<Vec<_>>();
    assert_eq!(names(), ["other"]);
    let mut seen = String::new();
    turn_events(&session, "hello", |event| {
        if let Event::Notice { notice: Notice::Mcp { text, .. }, .. } = event {
            seen += text;
        }
    })
    .await;
    let why =
        "the MCP server \"calc\" is not used: deniedMcpServers in your settings does not permit it";
    assert_eq!(seen, why);
    let set = |names: &[&str]| {
        let servers = names.iter().map(|name| mirror(name)).collect();
        session.send(Input::Mcp(McpInput::Set(servers)))
    };
    assert_eq!(set(&["third", "calc"]).unwrap_err().to_string(), why);
    assert_eq!(names(), ["other"], "nothing of a refused input takes effect");
    set(&["third"]).unwrap();
    assert_eq!(names(), ["other", "third"]);
    session.close("other").await;
}

pub async fn servers_are_set_and_switched_while_the_session_runs() {
    let call =
        |tool: &str| text("I call.").call(USE_TOOL, json!({"name": tool, "input": {"a": 2}}));
    let script = Script::new().answer(text("Hello.")).answer(call("mcp__calc__add"));
    let script = script.answer(text("Done.")).answer(call("mcp__calc__add")).answer(text("Gone."));
    let world = World::new(script);
    let options = with(world.options(), |options| {
        options.session.mcp.may_change = true;
        options.session.mcp.first_wait = crate::support::PATIENCE;
    });
    let (host, session) = (host(&options), open(options));
    turn(&session, "hello").await;
    session.send(Input::Mcp(McpInput::Set(vec![mirror("calc")]))).unwrap();
    turn(&session, "use it").await;
    assert!(world.told(1).contains("<tools-added>"), "{}", world.told(1));
    assert!(results(&world).contains("mirrored"), "{}", results(&world));
    session.send(Input::Mcp(McpInput::Toggle { name: "calc".into(), enabled: false })).unwrap();
    assert_eq!(session.mcp_status()[0].status.name(), "disabled");
    let end = finished(session.ask("again").unwrap()).await;
    assert!(end.error.is_none(), "{end:?}");
    assert!(world.told(3).contains("<tools-removed>"), "{}", world.told(3));
    assert!(!results(&world).contains("mirrored"), "{}", results(&world));
    let unknown = McpInput::Toggle { name: "other".into(), enabled: true };
    let refused = session.send(Input::Mcp(unknown)).unwrap_err();
    assert_eq!(refused.to_string(), "there is no MCP server \"other\" in this session");
    session.close("other").await;
    host.close().await;
}

/// The server answers both calls only when it has both; the calls of the other one are to come one after the other.
pub async fn reading_calls_of_a_trusted_server_run_side_by_side() {
    for (trusted, given, met) in [(true, "both", "met: 2"), (false, "alone", "met: 1")] {
        let call = || ("mcp__files__meets", json!({"text": given}));
        let world = World::new(Script::new().answer(calls([call(), call()])).answer(text("Done.")));
        let (mut config, _) = scripted("files", &[]);
        config.trusted = trusted;
        let session = open(with_servers(world.on_disk(), vec![config]));
        turn(&session, "call both").await;
        let told = results(&world);
        assert_eq!(told.matches(met).count(), 2, "trusted: {trusted}: {told}");
        session.close("other").await;
    }
}

pub async fn progress_is_the_tail_of_the_call() {
    let call = text("I call.").call("mcp__files__progress", json!({}));
    let world = World::new(Script::new().answer(call).answer(text("Done.")));
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    let mut driver = session.ask("call it").unwrap();
    let is_progress = |event: &Event| matches!(event, Event::CallProgress { .. });
    let Event::CallProgress { tail, .. } = until(&mut driver, is_progress).await else {
        panic!("no progress")
    };
    assert!(tail.starts_with("step ") && tail.ends_with(" of 3)"), "{tail}");
    until(&mut driver, |event| matches!(event, Event::Finished(_))).await;
    drop(driver);
    session.close("other").await;
}

pub async fn a_changed_list_is_announced_with_a_notice() {
    let change = text("I change.").call("mcp__files__change", json!({}));
    let late = json!({"name": "mcp__files__late", "input": {"text": "new"}});
    let script = Script::new().answer(change).answer(text("Done."));
    let script = script.answer(text("I use it.").call(USE_TOOL, late)).answer(text("Good."));
    let world = World::new(script);
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "change it").await;
    becomes("the list is known", || session.mcp_status()[0].tools.len() == TOOLS + 1).await;
    let mut driver = session.ask("use it").unwrap();
    let mut said = String::new();
    until(&mut driver, |event| {
        if let Event::Notice { notice: Notice::Mcp { text, .. }, .. } = event {
            said += text;
        }
        matches!(event, Event::Finished(_))
    })
    .await;
    drop(driver);
    assert_eq!(said, "it describes these tools differently now: mcp__files__echo");
    let told = world.told(2);
    assert!(told.contains("<tools-added>") && told.contains("mcp__files__late"), "{told}");
    assert!(results(&world).contains("echo: new"), "{}", results(&world));
    session.close("other").await;
}

pub async fn a_server_of_the_newest_revision_is_asked_to_tell_of_changes() {
    let world = World::new(
        Script::new()
            .answer(text("I change.").call("mcp__files__change", json!({})))
            .answer(text("Done.")),
    );
    let newer = tempfile::NamedTempFile::new().unwrap();
    let newer = format!("newer={}", newer.path().display());
    let (mut config, _) = scripted("files", &[&newer, "subscribed"]);
    // It looks for a file of ours.
    config.reach.unconfined = true;
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "change it").await;
    becomes("the new tool is known", || session.mcp_status()[0].tools.len() == TOOLS + 1).await;
    session.close("other").await;
}

pub async fn a_description_that_changed_between_sessions_is_reported_once() {
    let script = Script::new().answer(text("Hello.")).answer(text("Hello.")).answer(text("Hello."));
    let world = World::new(script);
    for (words, notice) in [
        (&[][..], ""),
        (&["changed"], "it describes these tools differently now: mcp__files__echo"),
        (&["changed"], ""),
    ] {
        // Another configuration under the same name, as with another version of the program.
        let (config, _) = scripted("files", words);
        let options = with_servers(world.on_disk(), vec![config]);
        let session = host(&options).session(options.session).unwrap();
        let mut said = String::new();
        turn_events(&session, "hello", |event| {
            if let Event::Notice { notice: Notice::Mcp { text, .. }, .. } = event {
                said += text;
            }
        })
        .await;
        assert_eq!(said, notice);
        session.close("other").await;
    }
}

pub async fn subagents_have_the_tools_of_their_session() {
    let delegate = text("I delegate.").call(
        "Agent",
        json!({"description": "echo", "prompt": "echo it", "subagent_type": "general"}),
    );
    let call = text("I call.").call("mcp__files__echo", json!({"text": "from below"}));
    let script =
        Script::new().answer(delegate).answer(call).answer(text("Below.")).answer(text("Done."));
    let world = World::new(script);
    let (config, mark) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    let mut driver = session.ask("delegate").unwrap();
    until(&mut driver, |event| matches!(event, Event::Finished(_))).await;
    drop(driver);
    assert!(world.told(2).contains("echo: from below"), "{}", world.told(2));
    assert_eq!(processes(&mark), 1, "one connection serves both");
    session.close("other").await;
    becomes("it ended", || !runs(&mark)).await;
}

/// How many processes have this in their command line, the sandbox around them not counted.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let own = std::env::current_exe().unwrap();
    let is_server = |line: &Vec<u8>| {
        let line = String::from_utf8_lossy(line);
        line.contains(mark) && line.starts_with(own.to_str().unwrap())
    };
    lines.filter(is_server).count()
}
