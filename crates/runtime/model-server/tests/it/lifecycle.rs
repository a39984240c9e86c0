//! Starting and stopping: port, thread and connections are freed.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use ostler_model_server::{ModelServer, Script, ServerError, after, text};

use crate::client::{Client, End, hello, serve};

#[test]
fn binds_loopback_only() {
    let server = serve(Script::new());
    assert!(server.addr().ip().is_loopback());
    assert_eq!(server.url(), format!("http://{}", server.addr()));
    let far: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let error = ModelServer::start_on(far, Script::new()).err().unwrap();
    assert!(matches!(error, ServerError::NotLoopback(_)), "{error}");
}

#[test]
fn a_port_in_use_is_an_error_with_its_address() {
    let server = serve(Script::new());
    let error = ModelServer::start_on(server.addr(), Script::new()).err().unwrap();
    assert!(error.to_string().contains(&server.addr().to_string()), "{error}");
}

#[test]
fn dropping_frees_the_port_and_ends_connections() {
    let script = Script::new()
        .answer(text("hello").cut(after("message_start").stall()))
        .answer(text("held").due_at("nobody opens it"))
        .by(|_| {
            loop {
                std::thread::park();
            }
        });
    let server = serve(script);
    let mut clients: Vec<Client> = (0..3).map(|_| Client::to(&server)).collect();
    for client in &mut clients {
        client.send(&hello());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(server.wait_for_requests(3, Duration::from_secs(20))).unwrap();
    let addr = server.addr();
    drop(server);
    TcpListener::bind(addr).expect("the port is free again");
    for mut client in clients {
        assert_ne!(client.read().end, End::Silent, "no connection stays open");
    }
}

#[tokio::test]
async fn shutdown_frees_the_port_and_wakes_those_who_wait() {
    let server = serve(Script::new());
    let addr = server.addr();
    let gate = server.gate("g");
    let waiting = tokio::spawn(async move { gate.reached().await });
    tokio::task::yield_now().await;
    server.shutdown().await;
    TcpListener::bind(addr).expect("the port is free again");
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, ServerError::Stopped), "{error}");
}

#[test]
fn serves_while_the_test_blocks_its_only_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let server = serve(Script::new().answer(text("hi")));
        assert_eq!(Client::to(&server).ask(&hello()).said(), "hi");
    });
}

#[test]
fn many_servers_live_side_by_side() {
    let servers: Vec<ModelServer> =
        (0..20).map(|at| serve(Script::new().answer(text(format!("I am {at}"))))).collect();
    for (at, server) in servers.iter().enumerate() {
        assert_eq!(Client::to(server).ask(&hello()).said(), format!("I am {at}"));
    }
}
