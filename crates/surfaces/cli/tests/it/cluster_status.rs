//! `ostler cluster status`, for a board in a file and one on a server.

use crate::redis_server::RedisServer;
use crate::support::{Ran, World, finish, read_until};
use crate::tasks::world;
use serde_json::{Value, json};

const SECRET: &str = "gehe1m";

fn run(world: &World, board: &str, args: &[&str]) -> Ran {
    finish(world.command(&[args, &["--board", board]].concat()).spawn().unwrap())
}

#[track_caller]
fn object(world: &World, board: &str, args: &[&str]) -> Value {
    let ran = run(world, board, &[args, &["--json"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Four tasks: one done, one claimed, one ready, one that waits; and a mail that nobody has read.
fn check_board(world: &World, board: &str) -> Value {
    let add = |title: &str, more: &[&str]| {
        let added = object(world, board, &[&["tasks", "add", title], more].concat());
        added["id"].as_str().unwrap().to_owned()
    };
    let done = add("First", &[]);
    object(world, board, &["tasks", "claim", "--worker", "w1"]);
    object(world, board, &["tasks", "finish", &done, "--fence", "1"]);
    let claimed = add("Second", &[]);
    object(world, board, &["tasks", "claim", "--worker", "w2", "--lease", "600"]);
    add("Third", &[]);
    add("Fourth", &["--depends-on", &claimed]);
    object(world, board, &["mail", "send", "--force", "--to", "writer", "hello"]);
    let seen = object(world, board, &["cluster", "status"]);
    assert_eq!(
        seen["tasks"],
        json!({"pending": 2, "ready": 1, "in_progress": 1, "done": 1, "failed": 0, "parked": 0, "cancelled": 0})
    );
    assert_eq!(seen["finished"], json!({"last_minute": 1, "last_5_minutes": 1}));
    let worker = &seen["workers"][0];
    assert_eq!((&worker["worker"], &worker["task"]), (&json!("w2"), &json!(claimed)));
    assert_eq!((&worker["fence"], &worker["title"]), (&json!(2), &json!("Second")));
    let lease = worker["lease_until"].as_u64().unwrap() - worker["heartbeat_ms"].as_u64().unwrap();
    assert_eq!(lease, 600_000);
    assert_eq!(seen["workers"].as_array().unwrap().len(), 1);
    let mail = &seen["mail"][0];
    assert_eq!(
        (&mail["to"], &mail["unread"], &mail["delivered"]),
        (&json!("writer"), &json!(1), &json!(0))
    );
    let text = run(world, board, &["cluster", "status"]).stdout;
    for line in
        ["2 pending (1 ready), 1 in progress, 1 done", "mail to writer", "attempt 1, fence 2"]
    {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
    seen
}

#[test]
fn the_status_of_a_board_in_a_file() {
    let world = world();
    let seen = check_board(&world, "mine.db");
    assert_eq!(seen["server"], Value::Null);
    assert!(seen["board"].as_str().unwrap().ends_with("mine.db"));
}

#[test]
fn the_status_of_a_board_on_a_server() {
    let options = ["--requirepass", SECRET, "--appendonly", "yes", "--appendfsync", "always"];
    let Some(server) = RedisServer::start(&options) else { return };
    let world = world();
    let url = format!("redis://:{SECRET}@127.0.0.1:{}?board=b", server.port);
    let seen = check_board(&world, &url);
    assert_eq!(seen["board"], format!("redis://127.0.0.1:{}?board=b", server.port));
    let server_state = &seen["server"];
    assert_eq!(
        (&server_state["role"], &server_state["aof"], &server_state["aof_sync"]),
        (&json!("master"), &json!(true), &json!("always"))
    );
    assert!(server_state["version"].as_str().unwrap().contains('.'), "{server_state}");
    let text = run(&world, &url, &["cluster", "status"]).stdout;
    assert!(text.contains("primary with 0 replicas"), "{text}");
    assert!(text.contains("AOF on (sync: always), last write ok"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
    // A user who may not ask for the state of the server still sees that of the board.
    let mut connection = redis_command(&server, &["AUTH", SECRET]);
    connection(&[
        "ACL",
        "SETUSER",
        "plain",
        "on",
        ">plain",
        "~ostler:*",
        "&ostler:*",
        "+@read",
        "+@write",
        "+@scripting",
        "+publish",
        "+subscribe",
        "+time",
        "+ping",
        "+auth",
        "+select",
        "+asking",
    ]);
    let plain = url.replace(&format!(":{SECRET}@"), "plain:plain@");
    let limited = object(&world, &plain, &["cluster", "status"]);
    assert_eq!(limited["server"]["version"], Value::Null, "{limited}");
    assert_eq!(limited["tasks"], seen["tasks"]);
    let text = run(&world, &plain, &["cluster", "status"]).stdout;
    assert!(text.contains("+info is missing"), "{text}");
}

/// Sends words to the server, one command at a time.
fn redis_command(server: &RedisServer, first: &[&str]) -> impl FnMut(&[&str]) + use<> {
    use std::io::{BufRead, BufReader, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut send = move |words: &[&str]| {
        let mut text = format!("*{}\r\n", words.len());
        words.iter().for_each(|word| text += &format!("${}\r\n{word}\r\n", word.len()));
        stream.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("+OK"), "{line}");
    };
    send(first);
    send
}

#[test]
fn a_watched_status_shows_changes_of_others() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let world = world();
    let url = format!("redis://127.0.0.1:{}?board=b", server.port);
    let args = ["cluster", "status", "--watch", "--json", "--board", &url];
    let mut watching = world.command(&args).spawn().unwrap();
    read_until(&mut watching, r#""pending":0"#);
    object(&world, &url, &["tasks", "add", "New"]);
    read_until(&mut watching, r#""pending":1"#);
    object(&world, &url, &["tasks", "claim", "--worker", "me"]);
    assert!(read_until(&mut watching, r#""in_progress":1"#).contains(r#""worker":"me""#));
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let ran = run(&world(), "redis://127.0.0.1:1", &["cluster", "status"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    assert!(ran.stderr.contains("connection refused"), "{ran:?}");
}
