//! Servers on the network that fail, lie or attack.

use crate::ground::{results, turn, with_servers};
use crate::scripted_http::{EVENTS, Request, ScriptedHttp, good, is_call, respond, respond_well};
use crate::support::{World, becomes, open};
use ostler::mcp_servers::{ServerConfig, ServerScope, ServerTransport};
use ostler_model_server::{Script, text};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn http(address: &str) -> ServerConfig {
    let url = format!("http://{address}/mcp");
    let transport = ServerTransport::Http { url, headers: Vec::new() };
    ServerConfig::new("net", transport, ServerScope::User)
}

/// What the model is told about a call of the server's tool.
async fn told(config: ServerConfig, limit: Duration) -> String {
    told_until(config, limit, || true).await
}

/// The same; the session stays open until the server has seen this.
async fn told_until(
    mut config: ServerConfig,
    limit: Duration,
    has_seen: impl FnMut() -> bool,
) -> String {
    let call = || text("I call.").call("mcp__net__go", json!({}));
    let world = World::new(Script::new().answer(call()).answer(text("Done.")));
    config.call_limit = limit;
    let session = open(with_servers(world.on_disk(), vec![config]));
    turn(&session, "call it").await;
    becomes("the server has seen it", has_seen).await;
    session.close("other").await;
    results(&world)
}

/// Good until the tool is called.
fn on_call(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> ScriptedHttp {
    ScriptedHttp::start(move |request, stream| match is_call(request) {
        true => answer(request, stream),
        false => respond_well(request, stream),
    })
}

const LONG: Duration = Duration::from_secs(60);

pub async fn answers_of_100_megabytes_are_not_read() {
    let json = on_call(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        flood(stream, b"                                                                ");
    });
    let said = told(http(&json.address), LONG).await;
    assert!(said.contains("its answer has more than 16 MB"), "{said}");
    let event = on_call(|_, stream| {
        let _ = stream.write_all(EVENTS.as_bytes());
        let _ = stream.write_all(b"data: \"");
        flood(stream, b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    });
    let said = told(http(&event.address), Duration::from_secs(20)).await;
    assert!(said.contains("MCP server net: it"), "{said}");
}

/// As long as somebody reads.
fn flood(stream: &mut TcpStream, piece: &[u8]) {
    let piece = piece.repeat(1_024);
    while stream.write_all(&piece).is_ok() {}
}

pub async fn an_endless_stream_without_an_answer_ends_with_the_call() {
    let server = on_call(|_, stream| {
        let _ = stream.write_all(EVENTS.as_bytes());
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
        let ping = json!({"jsonrpc": "2.0", "id": "x".repeat(1_000), "method": "ping"});
        let events = format!(": comment\n\ndata: {note}\n\ndata: {ping}\n\n");
        flood(stream, events.as_bytes());
    });
    let times = |method: &str| server.asked().iter().filter(|it| *it == method).count();
    let is_cancelled = || times("notifications/cancelled") == 1;
    let config = http(&server.address);
    let said = told_until(config, Duration::from_millis(500), is_cancelled).await;
    assert!(said.contains("was not answered within"), "{said}");
    assert_eq!(times("tools/call"), 1);
}

pub async fn nothing_is_sent_to_where_a_server_redirects() {
    let other = ScriptedHttp::start(respond_well);
    let to = format!("Location: http://{}/mcp\r\n", other.address);
    let server = on_call(move |_, stream| respond(stream, "307 Temporary Redirect", &to, ""));
    let said = told(http(&server.address), LONG).await;
    assert!(said.contains("it redirects to another address, which is not followed"), "{said}");
    assert!(other.asked().is_empty(), "{:?}", other.asked());
}

pub async fn what_is_not_an_answer_is_an_error() {
    for (status, kind, body, expected) in [
        ("200 OK", "text/html", "<html>login</html>", "MCP server net: it"),
        ("200 OK", "application/json", "{\"jsonrpc\":", "MCP server net: it"),
        ("500 Oops", "text/plain", "boom \u{1b}[2J", "it answers with status 500"),
        ("200 OK", "application/json", "[]", "MCP server net: it"),
    ] {
        let headers = format!("Content-Type: {kind}\r\n");
        let server = on_call(move |_, stream| respond(stream, status, &headers, body));
        let said = told(http(&server.address), LONG).await;
        assert!(said.contains(expected), "{status} {body}: {said}");
        assert!(!said.contains("\\u001b") && said.len() < 3_000, "{said}");
        let calls = server.asked().iter().filter(|it| *it == "tools/call").count();
        assert_eq!(calls, 1, "a call is sent once");
    }
}

pub async fn a_server_that_wants_a_login_is_in_its_own_state() {
    let server = ScriptedHttp::start(|_, stream| {
        respond(stream, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "");
    });
    let world = World::new(Script::new().answer(text("Hello.")));
    let session = open(with_servers(world.on_disk(), vec![http(&server.address)]));
    turn(&session, "hello").await;
    assert_eq!(session.mcp_status()[0].status.name(), "needs_auth");
    session.close("other").await;
}

/// The older transport: answers come as events of the first connection.
fn legacy(endpoint: impl Fn(&str) -> String + Send + Sync + 'static) -> ScriptedHttp {
    let events: Arc<Mutex<Option<mpsc::Sender<String>>>> = Arc::default();
    ScriptedHttp::start(move |request, stream| {
        if request.line.starts_with("GET") {
            let (send, receive) = mpsc::channel();
            *events.lock().unwrap() = Some(send);
            let own = stream.local_addr().unwrap().to_string();
            let begin = format!("{EVENTS}event: endpoint\ndata: {}\n\n", endpoint(&own));
            let _ = stream.write_all(begin.as_bytes());
            for event in receive {
                let event = format!("event: message\ndata: {event}\n\n");
                if stream.write_all(event.as_bytes()).is_err() {
                    return;
                }
            }
            return;
        }
        respond(stream, "202 Accepted", "", "");
        if request.message.get("id").is_some()
            && let Some(events) = &*events.lock().unwrap()
        {
            let _ = events.send(good(&request.message).to_string());
        }
    })
}

fn sse(address: &str) -> ServerConfig {
    let url = format!("http://{address}/sse");
    let transport = ServerTransport::Sse { url, headers: Vec::new() };
    ServerConfig::new("net", transport, ServerScope::User)
}

pub async fn the_older_transport_works_and_stays_on_its_host() {
    let server = legacy(|_| "/messages?session=1".into());
    let said = told(sse(&server.address), LONG).await;
    assert!(said.contains("went"), "{said}");

    let other = ScriptedHttp::start(respond_well);
    let elsewhere = format!("http://{}/messages", other.address);
    let server = legacy(move |_| elsewhere.clone());
    let world = World::new(Script::new().answer(text("Hello.")));
    let session = open(with_servers(world.on_disk(), vec![sse(&server.address)]));
    turn(&session, "hello").await;
    let error = session.mcp_status()[0].error.clone().unwrap_or_default();
    assert!(error.contains("it names an address on another host"), "{error}");
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    session.close("other").await;
}
