//! One connection: requests one after the other until someone ends it.

use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http::{self, NoRequest};
use crate::record::ServedOutcome;
use crate::reply::{Response, SentBytes, deliver};
use crate::state::{ReplyDecision, ServerShared};

pub(crate) async fn serve(mut stream: TcpStream, shared: Arc<ServerShared>, connection: u64) {
    // Small writes are the point of this server; a socket that refuses still works.
    let _ = stream.set_nodelay(true);
    let limits = &shared.script.limits;
    let mut buffer = BytesMut::new();
    loop {
        let read = http::read_request(&mut stream, &mut buffer, limits.body_bytes, limits.idle);
        let incoming = match read.await {
            Ok(incoming) => incoming,
            Err(NoRequest::Gone) => return,
            Err(NoRequest::Bad { status, message }) => {
                return refuse(&mut stream, &shared, status, message).await;
            }
        };
        let arrived = Instant::now();
        let wanted = incoming.keep_alive;
        let (number, decision) = shared.decide(incoming, connection, arrived);
        let response = match decision {
            ReplyDecision::Ready(response) => response,
            ReplyDecision::Ask { compute, recorded, asked } => {
                let answer = tokio::task::spawn_blocking(move || compute(&recorded)).await;
                match answer {
                    Ok(reply) => shared.render(&reply, &asked, number),
                    Err(_) => panicked(&shared, number),
                }
            }
        };
        let status = response.status();
        let SentBytes { outcome, reusable } =
            deliver(&mut stream, response, &shared.gates, limits.hold).await;
        if reusable && wanted {
            shared.finish(number, outcome, status);
            continue;
        }
        // Whoever sees the outcome shall find the connection ended.
        drop(stream);
        return shared.finish(number, outcome, status);
    }
}

fn panicked(shared: &ServerShared, number: usize) -> Response {
    let message = "the code that computes this reply panicked".to_owned();
    let response =
        Response::error(400, "invalid_request_error", &message, &crate::state::request_id(number));
    shared.lock().reject(message);
    response
}

async fn refuse(stream: &mut TcpStream, shared: &ServerShared, status: u16, message: String) {
    let kind = if status == 413 { "request_too_large" } else { "invalid_request_error" };
    let response = Response::error(status, kind, &message, "req_unread");
    shared.unreadable(status, message);
    let sent = deliver(stream, response, &shared.gates, shared.script.limits.hold).await;
    if sent.outcome == ServedOutcome::Delivered && stream.shutdown().await.is_ok() {
        http::drain(stream).await;
    }
}
