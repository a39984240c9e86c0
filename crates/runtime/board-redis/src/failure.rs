//! What a server or the way to it can answer instead of a result, each in one line that says what to do.

use redis::{ErrorKind, RedisError, ServerErrorKind};
use std::time::Duration;

/// What is sensible after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// It would fail again.
    GiveUp,
    /// The server will be ready soon.
    Wait,
    /// On a new connection. The request may have been performed.
    Reconnect,
    /// The board is on this node of the cluster.
    Move {
        host: String,
        port: u16,
    },
    /// The board is on its way to this node.
    Ask {
        host: String,
        port: u16,
    },
    LoadScript,
}

pub(crate) fn remedy(error: &RedisError) -> Remedy {
    match error.kind() {
        ErrorKind::Io | ErrorKind::Parse => Remedy::Reconnect,
        ErrorKind::Server(ServerErrorKind::NoScript) => Remedy::LoadScript,
        ErrorKind::Server(kind @ (ServerErrorKind::Moved | ServerErrorKind::Ask)) => {
            let node = error.redirect_node().and_then(|(node, _)| node.rsplit_once(':'));
            match node.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
                Some((host, port)) if kind == ServerErrorKind::Moved => {
                    Remedy::Move { host: host.to_owned(), port }
                }
                Some((host, port)) => Remedy::Ask { host: host.to_owned(), port },
                None => Remedy::GiveUp,
            }
        }
        _ => match code(error) {
            "LOADING" | "TRYAGAIN" | "CLUSTERDOWN" | "BUSY" => Remedy::Wait,
            // After a change of roles, the name may lead to the new primary.
            "READONLY" | "MASTERDOWN" => Remedy::Reconnect,
            _ => Remedy::GiveUp,
        },
    }
}

/// The first word of the server's answer.
fn code(error: &RedisError) -> &str {
    error.code().unwrap_or_default()
}

/// Why, and what to do.
pub(crate) fn explain(error: &RedisError, patience: Duration) -> (String, &'static str) {
    let known = match code(error) {
        "OOM" => {
            ("the server has no memory left (OOM)", "Raise its maxmemory, or remove data from it")
        }
        "READONLY" => {
            ("the server is a read-only replica (READONLY)", "Use the address of the primary")
        }
        "LOADING" => ("the server is still loading its data (LOADING)", "Try again in a moment"),
        "MISCONF" => (
            "the server refuses changes because it cannot save them to its disk (MISCONF)",
            "Free disk space on the server, and check its log",
        ),
        "NOAUTH" => (
            "the server wants a password (NOAUTH)",
            "Put it into the address: redis://:PASSWORD@HOST",
        ),
        "WRONGPASS" => {
            ("the server does not accept this user and password (WRONGPASS)", "Check the address")
        }
        "NOPERM" => (
            "the server does not allow this user what a board needs (NOPERM)",
            "Give the user the permissions that docs/tasks.md lists",
        ),
        "CLUSTERDOWN" | "MASTERDOWN" => (
            "the cluster is down, or a part of it is (CLUSTERDOWN)",
            "Check the nodes with redis-cli cluster info",
        ),
        "BUSY" => ("another script keeps the server busy (BUSY)", "Try again in a moment"),
        "WRONGTYPE" => (
            "another program has changed its keys (WRONGTYPE)",
            "Choose another board with ?board=NAME",
        ),
        _ => return unknown(error, patience),
    };
    (known.0.to_owned(), known.1)
}

fn unknown(error: &RedisError, patience: Duration) -> (String, &'static str) {
    const RUNNING: &str = "Check that the server is running and can be reached";
    if error.is_connection_refusal() {
        return ("nothing listens there (connection refused)".to_owned(), RUNNING);
    }
    if error.is_timeout() {
        let why = format!("the server did not answer within {} s", patience.as_secs().max(1));
        return (why, RUNNING);
    }
    let hint = if error.is_io_error() { RUNNING } else { "Check the server" };
    // One line, without the position inside our script.
    let text = match error.detail() {
        Some(detail) if error.code().is_some() => detail.to_owned(),
        _ => error.to_string(),
    };
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.split(" script: ").next().unwrap_or_default();
    (line.chars().take(200).collect(), hint)
}
