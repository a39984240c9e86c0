//! Many tools: the model is told their names and looks for the rest.

use crate::ground::{listed, results, scripted, turn, with_servers};
use crate::support::{World, assert_extensions, becomes, open, runs, with, with_log};
use futures_util::StreamExt;
use ostler::mcp_servers::{ServerConfig, ServerScope, ServerTransport, Tunnel, TunnelError};
use ostler::{BoxFuture, Event, Session, SessionChoice, USE_TOOL};
use ostler_model_server::{Match, Recorded, Script, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Fifty tools, each with a description and a schema of ordinary size.
struct Fifty(AtomicUsize);

impl Tunnel for Fifty {
    fn exchange(&self, message: Value) -> BoxFuture<'static, Result<Option<Value>, TunnelError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let Some(id) = message.get("id").cloned() else { return Ok(None) };
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "fifty", "version": "1"},
                }),
                "tools/list" => json!({"tools": (0..50).map(tool).collect::<Vec<_>>()}),
                "tools/call" => {
                    let name = message["params"]["name"].as_str().unwrap_or_default();
                    json!({"content": [{"type": "text", "text": format!("called {name}")}]})
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

fn tool(n: usize) -> Value {
    let field = |what: &str| json!({"type": "string", "description": format!("The {what} that the tool works on, as it is written elsewhere")});
    json!({
        "name": format!("manage_widget_{n}"),
        "description": format!("Manages widget number {n}: finds it, changes its colour and size, and reports what it did in a few words."),
        "inputSchema": {
            "type": "object", "required": ["widget"],
            "properties": {"widget": field("widget"), "colour": field("colour"), "size": field("size"), "owner": field("owner")},
        },
    })
}

fn twenty() -> (Vec<ServerConfig>, Vec<Arc<Fifty>>) {
    let tunnels: Vec<Arc<Fifty>> = (0..20).map(|_| Arc::new(Fifty(AtomicUsize::new(0)))).collect();
    let config = |(n, tunnel): (usize, &Arc<Fifty>)| {
        let transport = ServerTransport::Tunnel(tunnel.clone());
        ServerConfig::new(format!("server{n:02}"), transport, ServerScope::Session)
    };
    (tunnels.iter().enumerate().map(config).collect(), tunnels)
}

/// Tokens of tools and messages, as an estimate counts them.
fn tokens(request: &Recorded) -> usize {
    let body = request.json();
    (body["tools"].to_string().len() + body["messages"].to_string().len()) / 4
}

pub async fn a_thousand_tools_cost_little_and_start_nothing() {
    let world =
        World::new(Script::new().answer(text("Hi.")).answer(text("Hello.")).answer(text("Hello.")));
    let session = open(world.on_disk());
    turn(&session, "hello").await;
    session.close("other").await;
    let (configs, tunnels) = twenty();
    let session = open(with_servers(world.on_disk(), configs.clone()));
    turn(&session, "hello").await;
    let asked: usize = tunnels.iter().map(|tunnel| tunnel.0.load(Ordering::SeqCst)).sum();
    assert!(asked > 0, "unknown servers are asked once");
    // The second time everything is known.
    let host = crate::support::host(&world.on_disk());
    let again = host.session(with_servers(world.on_disk(), configs).session).unwrap();
    turn(&again, "hello").await;
    let now: usize = tunnels.iter().map(|tunnel| tunnel.0.load(Ordering::SeqCst)).sum();
    assert_eq!(now, asked, "no server was reached");
    let requests = world.server.requests();
    let cost = tokens(&requests[2]) - tokens(&requests[0]);
    println!("20 servers with 50 tools each: {cost} tokens more in the first request");
    assert!(cost < 3_000, "{cost}");
    let told = world.told(2);
    assert!(
        told.contains("<tools-deferred>") && told.contains("- server19: manage_widget_0"),
        "{told}"
    );
    assert!(listed(&requests[2]).iter().all(|name| !name.starts_with("mcp__")));
    session.close("other").await;
    again.close("other").await;
}

pub async fn a_deferred_tool_is_found_called_and_kept() {
    let name = "mcp__server07__manage_widget_33";
    let search = text("I look.").call("ToolSearch", json!({"query": name}));
    let call = || text("I call.").call(USE_TOOL, json!({"name": name, "input": {"widget": "w"}}));
    let script = Script::new().answer(search).answer(call()).answer(text("Done."));
    let direct = text("Directly.").call("mcp__server03__manage_widget_1", json!({"widget": "v"}));
    let world = World::new(
        script.answer(direct).answer(text("Done.")).answer(call()).answer(text("Done.")),
    );
    let (configs, _) = twenty();
    let session = open(with_servers(world.on_disk(), configs.clone()));
    turn(&session, "find it").await;
    let told = world.told(1);
    assert!(told.contains(name) && told.contains("input_schema"), "{told}");
    assert!(results(&world).contains("called manage_widget_33"), "{}", results(&world));
    assert_eq!(
        world.told(2).matches("input_schema").count(),
        told.matches("input_schema").count(),
        "said once"
    );
    turn(&session, "one that was not searched for").await;
    assert!(results(&world).contains("called manage_widget_1"), "{}", results(&world));
    session.close("other").await;
    drop(session);

    let options = with_log(with_servers(world.on_disk(), configs), SessionChoice::Continue);
    let session = open(with(options, |_| ()));
    turn(&session, "again after a restart").await;
    assert!(results(&world).contains("called manage_widget_33"), "{}", results(&world));
    let requests = world.server.requests();
    assert_eq!(listed(&requests[0]), listed(requests.last().unwrap()), "the list stays as it was");
    session.close("other").await;
}

/// Answers in order; whenever a summary is asked for, a short one.
fn with_summaries(script: Script) -> Script {
    let asked = Match {
        contains: vec!["is about to be replaced by a summary that you write now".into()],
        ..Match::default()
    };
    script.answer(text("# Summary\nA widget was managed.")).when(asked).forever()
}

async fn compact(session: &Session) {
    let mut compacting = session.compact(None).unwrap();
    let mut is_compacted = false;
    while let Some(envelope) = compacting.next().await {
        is_compacted |= matches!(envelope.event, Event::Compacted { .. });
    }
    assert!(is_compacted, "the conversation was not summarized");
}

pub async fn what_was_found_is_in_the_list_after_a_compaction() {
    let (name, other) = ("mcp__server07__manage_widget_33", "mcp__server07__manage_widget_34");
    let search = text("I look.").call("ToolSearch", json!({"query": name}));
    let words = |n: usize| text(format!("Answer {n} goes into every detail. ").repeat(100));
    let mut script = with_summaries(Script::new()).answer(search);
    for n in 0..10 {
        script = script.answer(words(n));
    }
    let direct = text("I call.").call(name, json!({"widget": "w"}));
    let world = World::new(script.answer(direct).answer(text("Done.")));
    let (configs, _) = twenty();
    let session = open(with_servers(world.on_disk(), configs));
    for n in 0..10 {
        turn(&session, &format!("question {n}")).await;
    }
    assert!(!listed(world.server.requests().last().unwrap()).contains(&name.to_owned()));
    compact(&session).await;
    turn(&session, "call it").await;
    let requests = world.server.requests();
    let names = listed(&requests[requests.len() - 2]);
    assert!(names.contains(&name.to_owned()), "what was found is described: {names:?}");
    assert!(!names.contains(&other.to_owned()), "the rest is still searched for: {names:?}");
    assert!(results(&world).contains("called manage_widget_33"), "{}", results(&world));
    let described = world.told(requests.len() - 2).matches("input_schema").count();
    assert_eq!(described, 0, "the list says it, not the conversation");
    world.assert_never_rejected();
    session.close("other").await;
}

/// The model has read its description, so it has to learn of the new one.
pub async fn a_found_tool_that_changes_is_described_again() {
    let echo = "mcp__files__echo";
    let through =
        |name: &str| text("I call.").call(USE_TOOL, json!({"name": name, "input": {"text": "x"}}));
    let script = Script::new()
        .answer(text("I look.").call("ToolSearch", json!({"query": echo})))
        .answer(through("mcp__files__change"))
        .answer(text("Done."))
        .answer(text("Done."));
    let world = World::new(script);
    let options = with(with_servers(world.on_disk(), vec![scripted("files", &[]).0]), |options| {
        options.session.mcp.share = 0;
    });
    let session = open(options);
    turn(&session, "find it").await;
    let tools = || session.mcp_status()[0].tools.len();
    assert!(world.told(1).contains("Repeats the text."), "{}", world.told(1));
    becomes("the list is known", || tools() == crate::tools::TOOLS + 1).await;
    turn(&session, "and now?").await;
    let told = world.told(3);
    assert!(told.contains("Says something else."), "{told}");
    assert!(!told.contains("Was not there before."), "nobody has looked for it: {told}");
    session.close("other").await;
}

/// Across a search, a list that changes, a tool that arrives with it, and a restart.
pub async fn requests_stay_byte_extensions_of_each_other() {
    let found = "mcp__server07__manage_widget_33";
    let late = "mcp__files__late";
    let search = |name: &str| text("I look.").call("ToolSearch", json!({"query": name}));
    let script = [
        text("Hello."),
        search(found),
        text("I call.").call(USE_TOOL, json!({"name": found, "input": {"widget": "w"}})),
        text("Called."),
        text("I change.").call("mcp__files__change", json!({})),
        text("Changed."),
        search(late),
        text("I use it.").call(USE_TOOL, json!({"name": late, "input": {"text": "new"}})),
        text("Used."),
        text("After the restart."),
    ];
    let world = World::new(script.into_iter().fold(Script::new(), Script::answer));
    let (mut configs, _) = twenty();
    configs.push(scripted("files", &[]).0);
    let session = open(with_servers(world.on_disk(), configs.clone()));
    turn(&session, "hello").await;
    turn(&session, "find it").await;
    assert!(results(&world).contains("called manage_widget_33"), "{}", results(&world));
    let tools = |session: &Session| {
        session.mcp_status().iter().map(|server| server.tools.len()).sum::<usize>()
    };
    let before = tools(&session);
    turn(&session, "change it").await;
    becomes("the list is known", || tools(&session) == before + 1).await;
    turn(&session, "use what is new").await;
    assert!(results(&world).contains("echo: new"), "{}", results(&world));
    session.close("other").await;
    drop(session);
    let options = with_log(with_servers(world.on_disk(), configs), SessionChoice::Continue);
    let session = open(options);
    turn(&session, "go on").await;
    session.close("other").await;
    let requests = world.server.requests();
    assert_eq!(requests.len(), 10);
    assert_extensions(&requests);
    let announced = world.told(9).matches(late).count();
    assert!(announced > 0 && world.told(5).matches(late).count() == 0, "it arrived in between");
    world.assert_never_rejected();
    println!(
        "requests compared: 10 in a row across list_changed and a search, each a byte extension of the one before"
    );
}

pub async fn dead_servers_cost_nothing_at_the_start() {
    let world = World::new(Script::new().answer(text("Hi.")).answer(text("Hi.")));
    let mut marks = Vec::new();
    let mut configs = Vec::new();
    for n in 0..20 {
        let (mut config, mark) = scripted(&format!("dead{n}"), &["silent"]);
        if let ServerTransport::Stdio { command, .. } = &mut config.transport {
            *command = "no-such-program".into();
        }
        configs.push(config);
        marks.push(mark);
    }
    let begin = Instant::now();
    let session = open(world.on_disk());
    turn(&session, "hello").await;
    let without = begin.elapsed();
    session.close("other").await;
    let begin = Instant::now();
    let session = open(with_servers(world.on_disk(), configs));
    turn(&session, "hello").await;
    let with = begin.elapsed();
    println!("first turn without servers: {without:?}, with 20 dead ones: {with:?}");
    assert!(session.mcp_status().iter().all(|it| it.status.name() == "failed"));
    assert!(marks.iter().all(|mark| !runs(mark)));
    session.close("other").await;
}
