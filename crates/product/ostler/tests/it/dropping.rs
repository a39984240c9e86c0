//! A driver that is dropped, or not read: what the turn owns goes, or waits.

use crate::support::{PATIENCE, World, becomes, is_text, open, runs, unique_sleep, until, with};
use ostler::Event;
use ostler_model_server::{Script, ServedOutcome, text};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// A command that only reads runs while the answer that asked for it still streams: both go.
pub async fn dropping_ends_the_request_and_the_command() {
    let mark = unique_sleep();
    let answer = text("I wait. ")
        .call("Bash", json!({ "command": format!("sleep {mark}") }))
        .gate("hold")
        .say("never to be read");
    let world = World::new(Script::new().answer(answer));
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    becomes("the command runs", || runs(&mark)).await;
    world.server.gate("hold").reached().await.unwrap();
    let dropped = Instant::now();
    drop(turn);
    assert_eq!(world.server.outcome(0, PATIENCE).await.unwrap(), ServedOutcome::ClientGone);
    let request = dropped.elapsed();
    becomes("the command has ended", || !runs(&mark)).await;
    let both = dropped.elapsed();
    println!(
        "driver dropped: request closed after {request:.1?}, request and command gone after {both:.1?}"
    );
    world.assert_never_rejected();
}

/// Between the session and the model: passes everything on and counts what the session's side has taken.
struct CountingProxy {
    url: String,
    taken: Arc<AtomicU64>,
}

impl CountingProxy {
    async fn start(to: std::net::SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // What waits on our side of the connection is not taken: little can.
        socket.set_send_buffer_size(16 << 10).unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(16).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taken = Arc::new(AtomicU64::new(0));
        let count = taken.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(to).await.unwrap();
                tokio::spawn(pass(client, server, count.clone()));
            }
        });
        CountingProxy { url, taken }
    }
}

async fn pass(client: TcpStream, server: TcpStream, taken: Arc<AtomicU64>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut buffer = vec![0; 4 << 10];
    while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
        for piece in buffer[..count].chunks(1 << 10) {
            if to_client.write_all(piece).await.is_err() {
                return;
            }
            taken.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
    }
}

const LONG: usize = 48 << 20;
/// What the kernel's and our own buffers may hold, with room to spare.
const HELD: u64 = 12 << 20;

/// Whoever does not poll takes nothing from the model but what buffers hold, while another session reads all of it.
pub async fn a_driver_that_is_not_polled_takes_nothing() {
    let long = text("x".repeat(LONG)).delta(32 << 10);
    let world = World::new(Script::new().answer(long).times(2));
    let proxy = CountingProxy::start(world.server.addr()).await;
    let session = open(with(world.options(), |o| o.host.base_url = Some(proxy.url.clone())));
    let mut turn = session.ask("stop reading").unwrap();
    until(&mut turn, is_text).await;
    let other = crate::support::finished(world.session().ask("read on").unwrap()).await;
    assert_eq!(other.text.len(), LONG);
    let taken = proxy.taken.load(Ordering::Relaxed);
    println!(
        "driver not polled: {} KB taken of {} KB, another session read all of its own meanwhile",
        taken >> 10,
        LONG >> 10
    );
    assert!(taken < HELD, "{taken} bytes");
    let sent = world.server.outcome(0, Duration::from_millis(1)).await;
    assert!(sent.is_err(), "it was sent to nobody: {sent:?}");
    drop(turn);
    assert_eq!(world.server.outcome(0, PATIENCE).await.unwrap(), ServedOutcome::ClientGone);
}
