//! Servers that answer, but do not do what a board needs: each is named in one line, without the password.

use crate::board_cases::task;
use crate::place::mail;
use crate::redis_place::{open, redis, setup};
use crate::redis_server::RedisServer;
use ostler_board::{Board, BoardError, Limits, Mailbox, Outcome, Refusal};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use redis::cmd;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const SECRET: &str = "gehe1m";

#[track_caller]
fn why_not<T>(result: Result<T, BoardError>) -> String {
    let Err(error) = result else { panic!("it worked") };
    let line = error.to_string();
    assert!(matches!(error, BoardError::Server { .. }), "{line}");
    assert!(!line.contains(SECRET) && !line.contains('\n') && line.contains("127.0.0.1"), "{line}");
    line
}

fn opened(url: &str) -> Result<RedisBoard, BoardError> {
    let setup = RedisSetup { patience: Duration::from_millis(1), ..setup() };
    RedisBoard::open(&Address::parse(url, "b").unwrap(), setup)
}

/// A server that gives every request the same answer.
fn server_that_says(answer: &'static str) -> String {
    server_that_answers(move |_| answer)
}

/// A server that knows how many requests came before.
fn server_that_answers(answer: impl Fn(u32) -> &'static str + Send + Sync + 'static) -> String {
    let (answer, count) = (Arc::new(answer), Arc::new(AtomicU32::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (answer, count) = (answer.clone(), count.clone());
            std::thread::spawn(move || {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                // One request begins with the number of its words.
                for _ in lines.map_while(Result::ok).filter(|line| line.starts_with('*')) {
                    let answer = answer(count.fetch_add(1, Ordering::SeqCst));
                    if stream.write_all(format!("{answer}\r\n").as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    format!("redis://127.0.0.1:{port}")
}

/// E12.
#[test]
fn every_answer_that_is_an_error_is_named() {
    for (answer, expected) in [
        ("-OOM command not allowed when used memory > 'maxmemory'.", "no memory left (OOM)"),
        ("-READONLY You can't write against a read only replica.", "read-only replica (READONLY)"),
        ("-LOADING Redis is loading the dataset in memory", "still loading its data (LOADING)"),
        ("-MISCONF Redis is configured to save RDB snapshots", "save them to its disk (MISCONF)"),
        ("-NOAUTH Authentication required.", "wants a password (NOAUTH)"),
        ("-WRONGPASS invalid username-password pair", "(WRONGPASS)"),
        ("-NOPERM this user has no permissions", "(NOPERM)"),
        ("-CLUSTERDOWN The cluster is down", "(CLUSTERDOWN)"),
        ("-BUSY Redis is busy running a script.", "(BUSY)"),
        ("-WRONGTYPE Operation against a key holding the wrong kind of value", "(WRONGTYPE)"),
        ("-ERR something new script: 12, on @user_script:3.", "something new"),
        ("+PONG", "damaged or written by another program"),
        ("HTTP/1.1 400 Bad Request", "127.0.0.1"),
    ] {
        let why = why_not(opened(&server_that_says(answer)));
        assert!(why.contains(expected), "{answer}: {why}");
        assert!(!why.contains("@user_script"), "{why}");
    }
}

/// E12: a server that will be ready soon is waited for, others are not.
#[test]
fn a_server_that_is_loading_is_waited_for() {
    const BOARD: &str = "*2\r\n$1\r\ne\r\n$1\r\n1";
    let opened_after = |refusal: &'static str| {
        let url = server_that_answers(move |before| if before < 3 { refusal } else { BOARD });
        let patience = Duration::from_secs(600);
        let address = Address::parse(&url, "b").unwrap();
        RedisBoard::open(&address, RedisSetup { patience, ..setup() })
    };
    for soon in ["-LOADING Redis is loading", "-BUSY Redis is busy", "-CLUSTERDOWN Hash slot"] {
        assert!(opened_after(soon).is_ok(), "{soon}");
    }
    for never in ["-OOM command not allowed", "-MISCONF disk", "-NOAUTH", "-WRONGPASS invalid"] {
        assert!(opened_after(never).is_err(), "{never}");
    }
}

#[test]
fn real_servers_refuse_in_the_same_words() {
    let Some(server) = RedisServer::start(&["--requirepass", SECRET]) else { return };
    let host = format!("127.0.0.1:{}", server.port);
    assert!(why_not(opened(&format!("redis://{host}"))).contains("(NOAUTH)"));
    assert!(why_not(opened(&format!("redis://{host}/3"))).contains("(NOAUTH)"));
    let wrong = why_not(opened(&format!("redis://:{SECRET}x@{host}")));
    assert!(wrong.contains("(WRONGPASS)"), "{wrong}");
    let nobody = why_not(opened(&format!("redis://nobody:{SECRET}@{host}")));
    assert!(nobody.contains("(WRONGPASS)"), "{nobody}");
    opened(&format!("redis://:{SECRET}@{host}/3")).unwrap().add(&[task("a")]).unwrap();
    opened(&format!("redis://default:{SECRET}@{host}")).unwrap();
    let database = why_not(opened(&format!("redis://:{SECRET}@{host}/99")));
    assert!(database.contains("DB index is out of range"), "{database}");
}

/// What answers does not speak TLS.
#[test]
fn a_server_without_tls_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"-ERR unknown command\r\n");
        }
    });
    let why = why_not(opened(&format!("rediss://:{SECRET}@127.0.0.1:{port}")));
    assert!(why.starts_with("cannot use the task board rediss://127.0.0.1"), "{why}");
}

#[test]
fn a_full_server_changes_nothing() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = open(&server.url(), "b");
    board.add(&[task("a")]).unwrap();
    let mut connection = server.connection();
    let mut limit = |bytes: &str| {
        cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(&mut connection).unwrap();
    };
    limit("1");
    let lease = Duration::from_secs(60);
    assert!(why_not(board.add(&[task("b")])).contains("(OOM)"));
    assert!(why_not(board.send(&mail("ann", "eve", "x"))).contains("(OOM)"));
    assert!(why_not(board.claim(None, "w", lease)).contains("(OOM)"));
    assert_eq!(board.show("a").unwrap().attempt, 0, "reading still works");
    limit("0");
    assert_eq!(board.claim(None, "w", lease).unwrap().unwrap().fence, 1, "no half-made claim");
    board.add(&[task("b")]).unwrap();
}

/// E12, with a real server: it cannot write its snapshot, because a directory has its name.
#[test]
fn a_server_that_cannot_save_changes_nothing() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = open(&server.url(), "b");
    board.add(&[task("a")]).unwrap();
    let mut connection = server.connection();
    let (_, folder): (String, String) =
        cmd("CONFIG").arg("GET").arg("dir").query(&mut connection).unwrap();
    let blocked = std::path::Path::new(&folder).join("dump.rdb");
    std::fs::create_dir(&blocked).unwrap();
    cmd("CONFIG").arg("SET").arg("save").arg("3600 1").exec(&mut connection).unwrap();
    cmd("BGSAVE").exec(&mut connection).unwrap();
    let mut save_state = |expected: &str| {
        let mut state = || cmd("INFO").arg("persistence").query::<String>(&mut connection).unwrap();
        while !state().contains(expected) {
            std::thread::yield_now();
        }
    };
    save_state("rdb_last_bgsave_status:err");
    assert!(why_not(board.add(&[task("b")])).contains("(MISCONF)"));
    assert!(why_not(board.claim(None, "w", Duration::from_secs(60))).contains("(MISCONF)"));
    assert_eq!(board.show("a").unwrap().attempt, 0, "reading still works");
    std::fs::remove_dir(&blocked).unwrap();
    cmd("BGSAVE").exec(&mut server.connection()).unwrap();
    save_state("rdb_last_bgsave_status:ok");
    assert_eq!(board.claim(None, "w", Duration::from_secs(60)).unwrap().unwrap().fence, 1);
}

/// E08, with a small limit (`default_limits.rs` has the usual one): what does not fit is refused by name, and the server keeps nothing of it.
#[test]
fn a_mailbox_that_nobody_reads_does_not_grow() {
    const MOST: u64 = 50;
    let Some(server) = RedisServer::start(&[]) else { return };
    let limits = Limits { unread: MOST, archive: 10, ..Limits::default() };
    let address = Address::parse(&server.url(), "b").unwrap();
    let mut board = RedisBoard::open(&address, RedisSetup { limits, ..setup() }).unwrap();
    let send = |board: &mut RedisBoard| board.send(&mail("ann", "eve", "x"));
    (0..MOST).for_each(|_| drop(send(&mut board).unwrap()));
    let keys = |server: &RedisServer| cmd("DBSIZE").query::<u64>(&mut server.connection()).unwrap();
    let before = keys(&server);
    for _ in 0..MOST {
        let why = send(&mut board).unwrap_err();
        assert!(matches!(why, BoardError::Refused(Refusal::MailboxFull { unread: MOST, .. })));
    }
    assert_eq!(keys(&server), before);
    // Reading makes room, and the archive keeps only the newest.
    for _ in 0..4 * MOST {
        let delivery = board.receive("eve", Duration::from_secs(60)).unwrap().unwrap();
        board.settle(&delivery, &Outcome::Handled).unwrap();
        send(&mut board).unwrap();
    }
    assert!(keys(&server) <= before + 20, "{before} {}", keys(&server));
}

#[test]
fn the_default_limits_hold_on_a_server() {
    if let Some(place) = redis() {
        crate::default_limits::of_mail(&place);
    }
}

#[test]
fn a_replica_is_no_place_for_a_board() {
    let Some(primary) = RedisServer::start(&[]) else { return };
    let of = format!("127.0.0.1 {}", primary.port);
    let Some(replica) = RedisServer::start(&["--replicaof", &of]) else { return };
    assert!(why_not(opened(&replica.url())).contains("(READONLY)"));
}

#[test]
fn keys_of_another_program_or_version_are_left_alone() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut connection = server.connection();
    cmd("SET").arg("ostler:{b}:meta").arg("mine").exec(&mut connection).unwrap();
    assert!(why_not(opened(&server.url())).contains("(WRONGTYPE)"));
    let kept: String = cmd("GET").arg("ostler:{b}:meta").query(&mut connection).unwrap();
    assert_eq!(kept, "mine");
    drop(open(&server.url(), "newer"));
    cmd("HSET").arg("ostler:{newer}:meta").arg("format").arg(7).exec(&mut connection).unwrap();
    let newer = Address::parse(&server.url(), "newer").unwrap();
    let why = why_not(RedisBoard::open(&newer, setup()));
    assert!(why.contains("newer version of Ostler wrote it (format 7)"), "{why}");
}
