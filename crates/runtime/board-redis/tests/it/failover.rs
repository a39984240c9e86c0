//! E13: a replica becomes the primary while workers are busy. Nothing is ever half done there.

use crate::board_cases::touching;
use crate::broken_line::Line;
use crate::redis_place::setup;
use crate::redis_server::RedisServer;
use ostler_board::{Board, BoardError, NewTask, Status, TaskAction, TaskEvent, TaskQuery};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use redis::cmd;
use std::collections::HashSet;
use std::sync::mpsc;
use std::time::Duration;

const TASKS: usize = 120;
/// Longer than any test may take: what does not come back hangs.
const LEASE: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(600);

/// Claims and finishes until everything is done. A claim that the new primary has never heard of is refused; a finish that
/// it has never heard of is made good when the lease has ended.
fn work(url: &str, name: &str, told: &mpsc::Sender<()>) {
    let address = Address::parse(url, "b").unwrap();
    let mut board = RedisBoard::open(&address, RedisSetup { patience: LONG, ..setup() }).unwrap();
    loop {
        match board.claim(None, name, LEASE).unwrap() {
            Some(claimed) => {
                let done = TaskAction::Finish { fence: claimed.fence, result: None };
                match board.act(claimed.id.as_str(), &done) {
                    Ok(_) => told.send(()).unwrap(),
                    Err(BoardError::Refused(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            None => {
                let done = TaskQuery { statuses: vec![Status::Done], limit: 0 };
                if board.list(&done).unwrap().total == TASKS as u64 {
                    return;
                }
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn a_promoted_replica_has_no_half_made_claim() {
    let Some(first) = RedisServer::start(&[]) else { return };
    let of = format!("127.0.0.1 {}", first.port);
    let Some(second) = RedisServer::start(&["--replicaof", &of]) else { return };
    let line = Line::to(first.port);
    let url = format!("redis://127.0.0.1:{}", line.port);
    let tasks: Vec<NewTask> =
        (0..TASKS).map(|n| touching(&format!("t{n}"), &[format!("f{}", n % 7).as_str()])).collect();
    let address = Address::parse(&url, "b").unwrap();
    RedisBoard::open(&address, setup()).unwrap().add(&tasks).unwrap();
    // The replica has everything so far.
    let replicas: u64 = cmd("WAIT").arg(1).arg(0).query(&mut first.connection()).unwrap();
    assert_eq!(replicas, 1);
    // Valkey counts a replica that is still reading its first copy.
    let mut connection = second.connection();
    let is_whole = |info: String| info.contains("master_link_status:up");
    while !is_whole(cmd("INFO").arg("replication").query(&mut connection).unwrap()) {
        std::thread::yield_now();
    }
    let (told, progress) = mpsc::channel();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (told, url) = (told.clone(), &url);
            scope.spawn(move || work(url, &format!("w{n}"), &told));
        }
        drop(told);
        assert_eq!(progress.iter().take(TASKS / 3).count(), TASKS / 3);
        // The old primary serves its clients as a replica of the new one from now on, and refuses their changes.
        cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut second.connection()).unwrap();
        line.lead_to(second.port);
        let mut demote = cmd("REPLICAOF");
        demote.arg("127.0.0.1").arg(second.port).exec(&mut first.connection()).unwrap();
        progress.iter().for_each(drop);
    });
    let mut board = RedisBoard::open(&address, setup()).unwrap();
    let query = TaskQuery { statuses: vec![], limit: TASKS };
    let (mut fences, mut lost) = (HashSet::new(), 0);
    for task in board.list(&query).unwrap().tasks {
        let history = board.show(task.id.as_str()).unwrap().history;
        let count = |is: fn(&TaskEvent) -> bool| history.iter().filter(|e| is(&e.event)).count();
        let claims = count(|event| matches!(event, TaskEvent::Claimed { .. }));
        let finishes = count(|event| matches!(event, TaskEvent::Finished { .. }));
        let losses = count(|event| matches!(event, TaskEvent::LeaseExpired { .. }));
        assert_eq!((task.status, finishes, claims), (Status::Done, 1, losses + 1), "{history:?}");
        assert!(fences.insert(task.fence), "{task:?}");
        lost += losses;
    }
    // What the indexes say is what the tasks say.
    let mut connection = second.connection();
    let mut size = |key: &str| {
        let command = if key == "held" { "HLEN" } else { "ZCARD" };
        cmd(command).arg(format!("ostler:{{b}}:{key}")).query::<usize>(&mut connection).unwrap()
    };
    let sizes = ["s:0", "s:1", "s:2", "ready", "leases", "held"].map(&mut size);
    assert_eq!(sizes, [0, 0, TASKS, 0, 0, 0]);
    println!("failover: {TASKS} tasks done once, {lost} claims made good");
}
