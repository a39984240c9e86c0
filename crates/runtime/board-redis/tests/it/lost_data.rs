//! A server that comes back with older data has forgotten the last fences. None of them is given out again.

use crate::board_cases::task;
use crate::place::mail;
use crate::redis_place::setup;
use crate::redis_server::RedisServer;
use ostler_board::{Board, BoardError, Mailbox, Refusal, TaskAction};
use ostler_board_redis::{Address, RedisBoard, RedisSetup, Scripts};
use redis::cmd;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(600);

fn open(url: &str, scripts: &Scripts) -> RedisBoard {
    let setup = RedisSetup { scripts: scripts.clone(), patience: LEASE, ..setup() };
    RedisBoard::open(&Address::parse(url, "b").unwrap(), setup).unwrap()
}

/// The fences of a task that is claimed before each of several losses, and the tokens of a mail that is delivered before
/// each of them.
fn numbers(scripts: &Scripts) -> Option<(Vec<u64>, Vec<u64>)> {
    let server = RedisServer::start(&[])?;
    let mut board = open(&server.url(), scripts);
    board.add(&[task("before"), task("a")]).unwrap();
    board.send(&mail("ann", "eve", "x")).unwrap();
    let (mut fences, mut tokens) = (Vec::new(), Vec::new());
    fences.push(board.claim(Some("before"), "w", LEASE).unwrap().unwrap().fence);
    // What is saved from here on is lost each time.
    cmd("SAVE").exec(&mut server.connection()).unwrap();
    for _ in 0..4 {
        fences.push(board.claim(Some("a"), "w", LEASE).unwrap().unwrap().fence);
        tokens.push(board.receive("eve", LEASE).unwrap().unwrap().token);
        server.kill();
        server.start_again();
    }
    let last = fences[fences.len() - 1];
    let late = TaskAction::Finish { fence: last, result: None };
    let claimed = board.claim(Some("a"), "w2", LEASE).unwrap().unwrap();
    if claimed.fence != last {
        let refused = board.act("a", &late).unwrap_err();
        assert!(matches!(refused, BoardError::Refused(Refusal::Stale { .. })), "{refused}");
    }
    fences.push(claimed.fence);
    // The counter alone is lost.
    cmd("HDEL").arg("ostler:{b}:meta").arg("fence").exec(&mut server.connection()).unwrap();
    board.add(&[task("c")]).unwrap();
    fences.push(board.claim(Some("c"), "w", LEASE).unwrap().unwrap().fence);
    // Its history says the same.
    let shown = board.show("c").unwrap();
    let told = format!("{:?}", shown.history);
    assert!(told.contains(&format!("fence: {}", shown.fence.unwrap())), "{told}");
    let done = TaskAction::Finish { fence: fences[fences.len() - 1], result: None };
    board.act("c", &done).unwrap();
    Some((fences, tokens))
}

fn grows(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

#[test]
fn a_server_that_lost_data_gives_out_no_number_again() {
    let Some((fences, tokens)) = numbers(&Scripts::default()) else { return };
    assert!(grows(&fences) && grows(&tokens), "{fences:?} {tokens:?}");
    assert_eq!(fences[0], 1, "numbers are short as long as nothing happens");
    let forgetful = Scripts::default().with("BOARD[2] == ARGV[6]", "true").unwrap();
    let (fences, tokens) = numbers(&forgetful).unwrap();
    assert!(!grows(&fences) && !grows(&tokens), "{fences:?} {tokens:?}");
}

/// Whoever may not ask which server it is gets numbers from the time at once.
#[test]
fn a_user_without_info_gets_numbers_that_only_grow() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut command = cmd("ACL");
    let user = ["SETUSER", "plain", "on", ">secret", "~*", "&*", "+@all", "-info"];
    command.arg(&user).exec(&mut server.connection()).unwrap();
    let url = format!("redis://plain:secret@127.0.0.1:{}", server.port);
    let mut board = open(&url, &Scripts::default());
    board.add(&(0..20).map(|n| task(&format!("t{n}"))).collect::<Vec<_>>()).unwrap();
    let fence = |_| board.claim(None, "w", LEASE).unwrap().unwrap().fence;
    let fences: Vec<u64> = (0..20).map(fence).collect();
    assert!(grows(&fences) && fences[0] > 1_000_000_000_000_000, "{fences:?}");
}
