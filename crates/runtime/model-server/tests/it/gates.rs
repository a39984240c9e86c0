//! Gates hold a reply at a named point, so that overlap needs no clock.

use std::time::Duration;

use ostler_model_server::{Part, Reply, Script, ServedOutcome, ServerError, after, text};
use serde_json::json;

use crate::client::{Client, hello, serve};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_stream_waits_between_its_blocks() {
    let reply = text("before").call("Bash", json!({})).gate("mid").say("after");
    let server = serve(Script::new().answer(reply));
    let mut client = Client::to(&server);
    client.send(&hello());
    let gate = server.gate("mid");
    gate.reached().await.unwrap();
    let first = client.until("\"content_block_stop\",\"index\":1}\n\n");
    assert!(first.contains("befo") && !first.contains("afte"), "{first}");
    gate.release();
    let rest = client.until("event: message_stop");
    assert!(rest.contains("afte"));
}

#[tokio::test]
async fn a_gate_stands_inside_a_block_or_before_the_head() {
    let inside =
        text("hello world").insert(after("content_block_delta").nth(2), Part::gate("inside"));
    let server = serve(Script::new().answer(inside).answer(text("late").due_at("due")));
    let mut client = Client::to(&server);
    client.send(&hello());
    server.gate("inside").reached().await.unwrap();
    let start = client.until("o wo");
    assert!(!start.contains("rld"), "{start}");
    server.gate("inside").release();
    client.until("0\r\n\r\n");

    client.send(&hello());
    server.gate("due").reached().await.unwrap();
    assert!(client.is_quiet());
    server.gate("due").release();
    assert_eq!(client.read().said(), "late");
}

#[tokio::test]
async fn a_release_lets_one_pass_and_may_come_first() {
    let server = serve(Script::new().answer(text("x").due_at("g")).times(3));
    let gate = server.gate("g");
    gate.release();
    assert_eq!(Client::to(&server).ask(&hello()).said(), "x");
    let (mut two, mut three) = (Client::to(&server), Client::to(&server));
    two.send(&hello());
    gate.reached_times(2).await.unwrap();
    three.send(&hello());
    gate.reached_times(3).await.unwrap();
    gate.open();
    assert_eq!((two.read().said(), three.read().said()), ("x".into(), "x".into()));
}

#[tokio::test]
async fn two_replies_meet() {
    let server = serve(
        Script::new()
            .answer(text("a").gate("first").say("b"))
            .answer(text("c").gate("second").say("d")),
    );
    let (mut one, mut two) = (Client::to(&server), Client::to(&server));
    one.send(&hello());
    server.gate("first").reached().await.unwrap();
    two.send(&hello());
    server.gate("second").reached().await.unwrap();
    // Both streams are open at the same time: this is what a gate proves.
    server.gate("second").release();
    assert_eq!(two.read().said(), "cd");
    server.gate("first").release();
    assert_eq!(one.read().said(), "ab");
}

#[tokio::test]
async fn a_client_that_leaves_a_gate_is_noticed() {
    let server = serve(Script::new().answer(Reply::default().gate("g").say("x")));
    let mut client = Client::to(&server);
    client.send(&hello());
    server.gate("g").reached().await.unwrap();
    drop(client);
    assert_eq!(server.outcome(0, LIMIT).await.unwrap(), ServedOutcome::ClientGone);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_requests_uses_the_servers_clock() {
    let server = serve(Script::new().answer(text("x")).forever());
    let address = server.addr();
    let asker = std::thread::spawn(move || {
        // The test's own clock is paused and would run ahead during this.
        std::thread::sleep(Duration::from_millis(50));
        std::net::TcpStream::connect(address).map(|mut stream| {
            let body = hello().to_string();
            let request = crate::client::post("/v1/messages", crate::client::HEADERS, &body);
            std::io::Write::write_all(&mut stream, request.as_bytes())
        })
    });
    let requests = server.wait_for_requests(1, LIMIT).await.unwrap();
    assert_eq!(requests.len(), 1);
    asker.join().unwrap().unwrap().unwrap();
    let late = server.wait_for_requests(2, Duration::from_millis(20)).await.unwrap_err();
    assert!(matches!(late, ServerError::Waited { .. }));
    assert_eq!(late.to_string(), "waited 20ms for 2 requests; 1 came");
}
