//! What goes over the line besides the answer: connections, proxies, headers, cancellation.

use crate::raw_server::RawServer;
use crate::support::{PATIENCE, SECRET, go, hasty, hear, model, quick, request, serve, settings};
use futures_util::StreamExt;
use ostler_core::message::Message;
use ostler_core::ports::Model;
use ostler_core::view::View;
use ostler_model_server::{Reply, Script, ServedOutcome, after, status, text};
use ostler_models::{CredentialKind, HttpModel, ModelSettings, ProxySettings};
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

#[tokio::test]
async fn one_connection_serves_a_session() {
    let mut script = Script::new();
    for n in 0..5 {
        script = script.answer(text(format!("answer {n}")));
    }
    let server = serve(script);
    let model = model(&server.url());
    for n in 0..5 {
        assert_eq!(hear(&model, go()).await.text(), format!("answer {n}"));
    }
    assert_eq!(connections(&server), [0; 5]);
}

#[tokio::test]
async fn a_failed_try_does_not_cost_the_connection() {
    let server = serve(Script::new().status(500).answer(text("ok")));
    let mut asked = go();
    asked.retries = 1;
    hear(&model(&server.url()), asked).await;
    assert_eq!(connections(&server), [0, 0]);
}

fn connections(server: &ostler_model_server::ModelServer) -> Vec<u64> {
    server.requests().iter().map(|request| request.connection).collect()
}

#[tokio::test]
async fn the_request_has_its_length_and_all_its_bytes() {
    let server = serve(Script::new().answer(text("ok")));
    let mut view = View::default();
    for n in 0..300 {
        let text = if n % 7 == 0 { "long ".repeat(5_000) } else { format!("short {n}") };
        let model = ostler_core::ids::ModelId::new("scripted");
        view.push(if n % 2 == 0 {
            Message::user(text)
        } else {
            Message::assistant(&model, vec![ostler_core::message::Block::text(text)])
        });
    }
    view.push(Message::user("end"));
    hear(&model(&server.url()), request(&view)).await;
    let sent = &server.requests()[0];
    assert_eq!(sent.header("content-length"), Some(sent.body.len().to_string().as_str()));
    assert_eq!(sent.header("transfer-encoding"), None);
    assert_eq!(sent.messages().len(), 301);
    assert_eq!(sent.path, "/v1/messages");
    assert_eq!(sent.header("x-api-key"), Some(SECRET));
    assert_eq!(sent.header("authorization"), None);
    assert_eq!(sent.header("anthropic-version"), Some("2023-06-01"));
    assert!(sent.header("user-agent").unwrap().starts_with("ostler/"));
    assert_eq!(sent.header("accept-encoding"), None);
    assert!(server.rejected().is_empty(), "{:?}", server.rejected());
}

#[tokio::test]
async fn a_token_goes_into_the_authorization_header() {
    let server = serve(Script::new().answer(text("ok")));
    let mut settings = settings(&server.url());
    settings.credentials.kind = CredentialKind::Bearer;
    hear(&HttpModel::new(settings).unwrap(), go()).await;
    let sent = &server.requests()[0];
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(sent.header("x-api-key"), None);
}

/// A port that nobody listens on.
async fn dead() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// A15.
#[tokio::test]
async fn nobody_there() {
    let addr = dead().await;
    let mut asked = go();
    asked.retries = 2;
    let heard = hear(&model(&format!("http://{addr}")), asked).await;
    assert!(
        heard.error().message.contains(&format!("cannot connect to {addr}: ")),
        "{}",
        heard.error()
    );
    assert_eq!(heard.starting_with("retrying").len(), 2);
    let heard = hear(&model("http://no-such-host.invalid"), go()).await;
    assert!(
        heard.error().message.contains("cannot connect to no-such-host.invalid:80: "),
        "{}",
        heard.error()
    );
}

/// A16: the other side does not answer the handshake, because its queue is full.
#[tokio::test]
async fn a_connect_that_hangs_is_given_up() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    let short = std::time::Duration::from_millis(200);
    while let Ok(Ok(stream)) = tokio::time::timeout(short, TcpStream::connect(addr)).await {
        queued.push(stream);
        assert!(queued.len() < 100, "the queue does not fill");
    }
    let mut limits = quick();
    limits.first_event = PATIENCE;
    let heard = hear(&hasty(&format!("http://{addr}"), limits), go()).await;
    assert!(
        heard
            .error()
            .message
            .contains(&format!("cannot connect to {addr}: it did not answer in time")),
        "{}",
        heard.error()
    );
}

fn through(proxy: SocketAddr, base: &str, no_proxy: Option<&str>) -> HttpModel {
    let url = Some(format!("http://user:proxy-password@{proxy}"));
    let proxies =
        ProxySettings { http: url.clone(), https: url, no_proxy: no_proxy.map(str::to_owned) };
    HttpModel::new(ModelSettings { proxies, ..settings(base) }).unwrap()
}

/// A47.
#[tokio::test]
async fn a_dead_proxy_is_named() {
    let proxy = dead().await;
    for base in ["http://api.test", "https://api.test"] {
        let heard = hear(&through(proxy, base, None), go()).await;
        let message = &heard.error().message;
        assert!(message.contains(&format!("through the proxy {proxy}: ")), "{message}");
        assert!(
            message.contains("cannot reach api.test:") && !message.contains("password"),
            "{message}"
        );
    }
    let server = serve(Script::new().answer(text("direct")));
    let heard = hear(&through(proxy, &server.url(), Some("127.0.0.1")), go()).await;
    assert_eq!(heard.text(), "direct", "an exempt host is asked directly");
}

#[tokio::test]
async fn a_proxy_is_used() {
    let proxy = RawServer::start(b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy").await;
    let heard = hear(&through(proxy.addr, "http://api.test/base", None), go()).await;
    assert_eq!(heard.error().message, "api.test answered 503: busy");
    assert!(
        proxy.requests()[0].starts_with("POST http://api.test/base/v1/messages HTTP/1.1\r\n"),
        "{:?}",
        proxy.requests()
    );
    let proxy = RawServer::start(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n").await;
    let heard = hear(&through(proxy.addr, "https://api.test", None), go()).await;
    assert!(heard.error().message.contains("through the proxy"), "{}", heard.error());
    let request = &proxy.requests()[0];
    assert!(request.starts_with("CONNECT api.test:443 HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains(SECRET), "the key is for the host behind the proxy");
}

/// A connection that the other side closed in the meantime is not the caller's trouble.
#[tokio::test]
async fn a_kept_connection_may_die() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 95\r\n\r\n\
        data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"message_delta\"}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let server = RawServer::start(answer).await;
    let model = model(&format!("http://{}", server.addr));
    for _ in 0..3 {
        let mut asked = go();
        asked.retries = 1;
        let heard = hear(&model, asked).await;
        assert_eq!(heard.lines.last().unwrap(), "ended Other(\"\")");
    }
    assert_eq!(server.requests().len(), 3);
}

/// A45: the other side notices that nobody listens any more.
#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for reply in
        [text("hello").cut(after("request").stall()), text("hello").delta(1).gate("never").say("x")]
    {
        let server = serve(Script::new().answer(reply));
        let model = model(&server.url());
        let mut stream = model.stream(go());
        let _ = tokio::time::timeout(std::time::Duration::from_millis(300), stream.next()).await;
        server.wait_for_requests(1, PATIENCE).await.unwrap();
        drop(stream);
        assert_eq!(server.outcome(0, PATIENCE).await.unwrap(), ServedOutcome::ClientGone);
    }
}

#[tokio::test]
async fn the_request_id_is_kept() {
    let server = serve(Script::new().answer(text("ok")));
    let model = model(&server.url());
    let first = model.stream(go()).next().await.unwrap().unwrap();
    let ostler_core::model::ModelEvent::Started { request_id, .. } = first else {
        panic!("{first:?}")
    };
    assert_eq!(request_id.as_deref(), Some("req_000000000001"));
}

/// I6: an error page of any length is read only so far.
#[tokio::test]
async fn a_long_error_page_is_not_read_whole() {
    let page = format!("<html><title>Oh</title>{}", "x".repeat(8 << 20));
    let server =
        serve(Script::new().answer(Reply::http(500, "text/html", page)).answer(status(500)));
    let heard = hear(&model(&server.url()), go()).await;
    assert!(heard.error().message.ends_with("a web page titled \"Oh\""), "{}", heard.error());
}
