//! The HTTP side: routes, bodies, keep-alive, limits.

use ostler_model_server::{ModelServer, RequestVerdict, Script, ServedOutcome, redirect, text};
use serde_json::json;

use crate::client::{Client, End, HEADERS, asking, hello, once, plain, post, serve};

fn three() -> ModelServer {
    serve(Script::new().answer(text("one")).answer(text("two")).answer(text("three")))
}

#[test]
fn keeps_the_connection_between_requests() {
    let server = three();
    let mut client = Client::to(&server);
    for wanted in ["one", "two", "three"] {
        assert_eq!(client.ask(&hello()).said(), wanted);
    }
    let connections: Vec<u64> = server.requests().iter().map(|one| one.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
    let steps: Vec<_> = server.requests().iter().map(|one| one.step).collect();
    assert_eq!(steps, [Some(0), Some(1), Some(2)]);
}

#[test]
fn answers_pipelined_requests_in_order() {
    let server = three();
    let mut client = Client::to(&server);
    let one = post("/v1/messages", HEADERS, &hello().to_string());
    client.write(one.repeat(3));
    let said: Vec<String> = (0..3).map(|_| client.read().said()).collect();
    assert_eq!(said, ["one", "two", "three"]);
}

#[test]
fn closes_when_asked_to() {
    let server = three();
    let mut client = Client::to(&server);
    let headers = [HEADERS, &[("connection", "close")]].concat();
    client.write(post("/v1/messages", &headers, &hello().to_string()));
    assert_eq!(client.read().said(), "one");
    assert_eq!(client.read().end, End::Closed);
}

#[test]
fn head_of_the_root_and_unknown_paths() {
    let server = serve(Script::new());
    let mut client = Client::to(&server);
    client.write("HEAD / HTTP/1.1\r\nhost: x\r\n\r\n");
    let head = client.read();
    assert_eq!((head.status, head.end), (200, End::Complete));
    for request in ["GET /v1/messages", "GET /", "POST /v1/complete", "POST /v1/messages/"] {
        client.write(format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n"));
        let answer = client.read();
        assert_eq!(answer.status, 404, "{request}");
        assert_eq!(answer.error().0, "not_found_error");
    }
    assert_eq!(server.requests().len(), 0, "only requests for a message count");
    assert_eq!(server.traffic().len(), 5);
    assert!(server.rejected().is_empty(), "an unknown path is no broken rule");
}

#[test]
fn reads_bodies_in_chunks_and_in_single_bytes() {
    let server = three();
    let mut client = Client::to(&server);
    let body = hello().to_string();
    let (left, right) = body.split_at(7);
    let mut request = String::from("POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n");
    for (name, value) in HEADERS {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("\r\n{:x};ext=1\r\n{left}\r\n{:X}\r\n{right}\r\n", 7, right.len()));
    request.push_str("0\r\ntrailer: yes\r\n\r\n");
    for byte in request.as_bytes() {
        client.write([*byte]);
    }
    assert_eq!(client.read().said(), "one");
    assert_eq!(server.requests()[0].body, body, "the recorded body is the decoded one");
    assert_eq!(client.ask(&hello()).said(), "two", "nothing of the body was left over");
}

#[test]
fn says_continue_before_the_body_comes() {
    let server = three();
    let mut client = Client::to(&server);
    let headers = [HEADERS, &[("expect", "100-continue")]].concat();
    let body = hello().to_string();
    let request = post("/v1/messages", &headers, &body);
    let (head, body) = request.split_at(request.len() - body.len());
    client.write(head);
    assert_eq!(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write(body);
    assert_eq!(client.read().said(), "one");
}

#[test]
fn refuses_what_is_too_large_before_reading_it() {
    let mut script = Script::new().answer(text("never"));
    script.limits.body_bytes = 1000;
    let server = serve(script);
    let mut client = Client::to(&server);
    let headers = [HEADERS, &[("expect", "100-continue")]].concat();
    client.write(
        post("/v1/messages", &headers, "").replace("content-length: 0", "content-length: 1001"),
    );
    let answer = client.read();
    assert_eq!((answer.status, answer.error().0.as_str()), (413, "request_too_large"));
    assert_eq!(client.read().end, End::Closed);

    let mut client = Client::to(&server);
    client.write("POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3e8\r\n");
    client.write([b'x'; 1000]);
    client.write("\r\n1\r\n");
    assert_eq!(client.read().status, 413, "also in chunks, at the first byte too many");
    assert_eq!(server.rejected(), ["Request exceeds the maximum size"; 2]);
}

#[test]
fn refuses_broken_heads() {
    let heads: &[(&str, u16)] = &[
        ("nonsense\r\n\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\ncontent-length: +5\r\n\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n", 400),
        (
            "POST /v1/messages HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
            400,
        ),
        ("POST /v1/messages HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        ("POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        ("POST /v1/messages HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n", 413),
    ];
    let server = serve(Script::new());
    for (head, status) in heads {
        let mut client = Client::to(&server);
        client.write(head);
        assert_eq!(client.read().status, *status, "{head:?}");
        assert_eq!(client.read().end, End::Closed, "{head:?}");
    }
}

#[test]
fn a_head_without_end_is_refused() {
    let server = serve(Script::new());
    let mut client = Client::to(&server);
    client.write(format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(70 << 10)));
    assert_eq!(client.read().status, 431);
}

#[test]
fn serves_no_more_connections_than_allowed() {
    let mut script = Script::new().answer(text("hi")).forever();
    script.limits.connections = 2;
    let server = serve(script);
    let (mut one, mut two) = (Client::to(&server), Client::to(&server));
    assert_eq!(one.ask(&hello()).said(), "hi");
    assert_eq!(two.ask(&hello()).said(), "hi");
    let mut three = Client::to(&server);
    three.send(&hello());
    assert_eq!(two.ask(&hello()).said(), "hi", "the others are served meanwhile");
    drop(one);
    assert_eq!(three.read().said(), "hi", "it had to wait for a free place");
    let order: Vec<u64> = server.requests().iter().map(|one| one.connection).collect();
    assert_eq!(order, [0, 1, 1, 2]);
}

#[test]
fn counts_tokens() {
    let server = serve(Script::new());
    let mut client = Client::to(&server);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(4000)}]});
    client.write(post("/v1/messages/count_tokens?beta=true", HEADERS, &body.to_string()));
    // 4000 bytes of text and 12 of its keys and kind, a quarter of a token each.
    assert_eq!(client.read().json(), json!({"input_tokens": 1003}));
    let body = json!({"model": "m", "messages": [], "max_tokens": 5});
    client.write(post("/v1/messages/count_tokens", HEADERS, &body.to_string()));
    assert_eq!(client.read().error().1, "max_tokens: Extra inputs are not permitted");
}

#[test]
fn records_what_came() {
    let server = serve(Script::new().answer(text("hi")));
    let mut client = Client::to(&server);
    let body = plain(asking(json!([{"role": "user", "content": "grüße"}]))).to_string();
    client.write(post("/v1/messages?beta=true", HEADERS, &body));
    assert_eq!(client.read().status, 200);
    let requests = server.requests();
    let [one] = requests.as_slice() else { panic!("one request") };
    assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/v1/messages?beta=true"));
    assert_eq!(one.header("X-API-Key"), Some("sk-test"));
    assert_eq!(one.body, body.as_bytes());
    assert_eq!(one.messages()[0]["content"], "grüße");
    assert_eq!((one.model(), one.streams()), ("test-model", false));
    assert_eq!((one.verdict.clone(), one.step, one.number), (RequestVerdict::Accepted, Some(0), 0));
}

#[test]
fn lets_old_bodies_go_beyond_the_limit() {
    let mut script = Script::new().answer(text("hi")).forever();
    let body = hello().to_string();
    script.limits.record_bytes = body.len() * 2;
    let server = serve(script);
    let mut client = Client::to(&server);
    for _ in 0..4 {
        assert_eq!(client.ask(&hello()).status, 200);
    }
    let dropped: Vec<bool> = server.requests().iter().map(|one| one.body_dropped).collect();
    assert_eq!(dropped, [true, true, false, false]);
    assert_eq!(server.requests()[3].body, body.as_bytes());
}

#[test]
fn redirects_and_shows_who_brought_credentials() {
    let other = serve(Script::new().answer(text("from the other host")));
    let to = format!("{}/v1/messages", other.url());
    let server = serve(Script::new().answer(redirect(307, &to)));
    let answer = Client::to(&server).ask(&hello());
    assert_eq!((answer.status, answer.header("location")), (307, Some(to.as_str())));
    let careful = [("content-type", "application/json"), ("anthropic-version", "2023-06-01")];
    let mut client = Client::to(&other);
    client.write(post("/v1/messages", &careful, &hello().to_string()));
    assert_eq!(client.read().status, 401);
    let seen = other.traffic();
    assert_eq!((seen.len(), seen[0].header("x-api-key")), (1, None));
}

#[test]
fn a_big_request_is_answered_at_once() {
    let server = serve(Script::new().answer(text("read")));
    let mut client = Client::to(&server);
    let blocks: Vec<_> = (0..400)
        .map(|at| json!({"type": "text", "text": format!("{at} {}", "y".repeat(4000))}))
        .collect();
    let body = asking(json!([{"role": "user", "content": blocks}])).to_string();
    assert!(body.len() > 1_600_000);
    client.write(post("/v1/messages", HEADERS, &body));
    let answer = client.read();
    assert_eq!(answer.said(), "read");
    let start = &answer.events()[0].1;
    assert!(start["message"]["usage"]["input_tokens"].as_u64().unwrap() > 400_000);
}

#[tokio::test]
async fn tells_how_a_response_ended() {
    let server = serve(Script::new().answer(text("hi")));
    assert_eq!(once(Script::new().answer(text("hi")), &hello()).end, End::Complete);
    let mut client = Client::to(&server);
    client.ask(&hello());
    let limit = std::time::Duration::from_secs(10);
    assert_eq!(server.outcome(0, limit).await.unwrap(), ServedOutcome::Delivered);
}
