//! The stream of what happened to tasks, as other programs read it.

use crate::board_cases::task;
use crate::place::LEASE;
use crate::redis_place::open;
use crate::redis_server::RedisServer;
use ostler_board::{Board, NewTask, TaskAction};
use redis::{Connection, Value, cmd};
use std::collections::HashMap;

const STREAM: &str = "ostler:{b}:events";

type Entry = (String, HashMap<String, String>);

/// What one reader of a group gets that nobody of the group has seen.
fn read(connection: &mut Connection, reader: &str, most: u32) -> Vec<Entry> {
    let mut ask = cmd("XREADGROUP");
    ask.arg("GROUP").arg("programs").arg(reader).arg("COUNT").arg(most);
    let answer: Value = ask.arg("STREAMS").arg(STREAM).arg(">").query(connection).unwrap();
    if answer == Value::Nil {
        return Vec::new();
    }
    let all: Vec<(String, Vec<Entry>)> = redis::from_redis_value(answer).unwrap();
    all.into_iter().flat_map(|(_, entries)| entries).collect()
}

fn words(entry: &Entry) -> String {
    let word = |name: &str| entry.1.get(name).map_or("", String::as_str).to_owned();
    ["event", "task", "fence", "worker"].map(word).join(" ")
}

#[test]
fn a_group_reads_every_event_once() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = open(&server.url(), "b");
    board.add(&[task("a"), task("b")]).unwrap();
    let mut connection = server.connection();
    let mut group = cmd("XGROUP");
    group.arg("CREATE").arg(STREAM).arg("programs").arg("0").exec(&mut connection).unwrap();
    let fence = board.claim(None, "w 1", LEASE).unwrap().unwrap().fence;
    board.act("a", &TaskAction::Renew { fence, lease: LEASE }).unwrap();
    board.act("a", &TaskAction::Finish { fence, result: None }).unwrap();
    board.act("a", &TaskAction::Finish { fence, result: None }).unwrap();
    let fence = board.claim(None, "w2", LEASE).unwrap().unwrap().fence;
    board.act("b", &TaskAction::Fail { fence, error: "no".into() }).unwrap();
    let first = read(&mut connection, "one", 4);
    let second = read(&mut connection, "two", 100);
    assert!(read(&mut connection, "one", 100).is_empty());
    let seen: Vec<String> = first.iter().chain(&second).map(words).collect();
    assert_eq!(
        seen,
        [
            "added a 0 ",
            "added b 0 ",
            "claimed a 1 w 1",
            "finished a 1 ",
            "claimed b 2 w2",
            "failed b 2 "
        ]
    );
    let task = board.show("a").unwrap();
    let at: u64 = first[3].0.split('-').next().unwrap().parse().unwrap();
    assert!((task.created_ms..=task.changed_ms).contains(&at), "{at} {task:?}");
}

#[test]
fn the_oldest_events_are_dropped() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = open(&server.url(), "b");
    for batch in 0..12 {
        let tasks: Vec<NewTask> = (0..1_000).map(|n| task(&format!("t{batch}-{n}"))).collect();
        board.add(&tasks).unwrap();
    }
    let length = || cmd("XLEN").arg(STREAM).query::<u64>(&mut server.connection()).unwrap();
    assert!((10_000..10_200).contains(&length()), "{}", length());
    for _ in 0..400 {
        board.claim(None, "w", LEASE).unwrap().unwrap();
    }
    assert!((10_000..10_300).contains(&length()), "{}", length());
}
