//! `ostler tasks` and `ostler mail` with a board on a server.

use crate::redis_server::{RedisServer, free_port};
use crate::support::{Ran, World, finish, read_until};
use crate::tasks::world;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

const SECRET: &str = "gehe1m";

fn run(world: &World, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    finish(world.command(args).envs(variables.iter().copied()).spawn().unwrap())
}

#[track_caller]
fn object(ran: &Ran) -> Value {
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(!ran.stdout.contains(SECRET), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_board_on_a_server_is_shared_by_all_who_name_it() {
    let Some(server) = RedisServer::start(&["--requirepass", SECRET]) else { return };
    let (world, other) = (world(), world());
    let url = format!("redis://:{SECRET}@127.0.0.1:{}?board=shared", server.port);
    let named = ["tasks", "--json", "--board", &url];
    let added = object(&run(&world, &[], &[&named[..], &["add", "Port the parser"]].concat()));
    let id = added["id"].as_str().unwrap();
    // Each of these names the same board, on any machine.
    let board = ("OSTLER_BOARD", url.as_str());
    let claimed = object(&run(&other, &[board], &["tasks", "claim", "--worker", "me", "--json"]));
    assert_eq!((&claimed["id"], &claimed["fence"]), (&json!(id), &json!(1)));
    let redis = [("OSTLER_BOARD", "redis"), ("REDIS_URL", url.as_str())];
    let done = run(&world, &redis, &["tasks", "finish", id, "--fence", "1", "--json"]);
    assert_eq!(object(&done)["status"], "done");
    let late = run(&world, &redis, &["tasks", "renew", id, "--fence", "1"]);
    assert_eq!((late.code, late.stderr.lines().count()), (Some(1), 1), "{late:?}");
    let nothing = run(&world, &redis, &["tasks", "claim", "--worker", "me"]);
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    // The variable of other programs means nothing by itself.
    let own = run(&world, &redis[1..], &["tasks", "list", "--json"]);
    assert_eq!(object(&own)["total"], 0);
    // As a flag, the word means the same as in the variable.
    let flagged = run(&world, &redis[1..], &["tasks", "list", "--board", "redis", "--json"]);
    assert_eq!(object(&flagged)["total"], 1);
    // The flag counts before the variable.
    let file = run(&world, &redis, &["tasks", "list", "--board", "mine.db", "--json"]);
    assert_eq!(object(&file)["total"], 0);
    let sent =
        run(&world, &[board], &["mail", "send", "--force", "--to", "writer", "hello", "--json"]);
    assert_eq!(object(&sent)["seq"], 1);
    let peeked = object(&run(&other, &[board], &["mail", "peek", "writer", "--json"]));
    assert_eq!(peeked["mail"][0]["text"], "hello");
    for ran in [
        run(&world, &[("OSTLER_BOARD", &url.replace(SECRET, "wr0ng"))], &["tasks", "list"]),
        run(&world, &[("OSTLER_BOARD", &url.replace(SECRET, ""))], &["mail", "list"]),
    ] {
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
        assert!(!ran.stderr.contains("wr0ng") && !ran.stderr.contains(SECRET), "{ran:?}");
    }
}

/// A certificate that only those accept who are told of it.
fn certificate(folder: &Path) -> bool {
    let mut make = Command::new("openssl");
    make.args([
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]);
    make.args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "own.pem"]);
    make.args(["-addext", "basicConstraints=critical,CA:FALSE"]).current_dir(folder);
    make.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn tls_is_spoken_with_servers_whose_certificate_is_known() {
    let world = world();
    let folder = world.project();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (port, own, key) = (free_port().to_string(), path("own.pem"), path("key.pem"));
    let options = ["--tls-port", &port, "--tls-cert-file", &own, "--tls-key-file", &key];
    let options =
        [&options[..], &["--tls-ca-cert-file", &own, "--tls-auth-clients", "no"]].concat();
    let server = match certificate(&folder) {
        true => std::panic::catch_unwind(|| RedisServer::start(&options)).ok().flatten(),
        false => None,
    };
    if server.is_none() {
        eprintln!("SKIPPED: boards in Redis over TLS (no openssl, or a redis-server without TLS)");
        return;
    }
    let url = format!("rediss://127.0.0.1:{port}?board=b");
    let args = ["tasks", "add", "Over TLS", "--json", "--board", &url];
    let stranger = run(&world, &[], &args);
    assert_eq!((stranger.code, stranger.stderr.lines().count()), (Some(1), 1), "{stranger:?}");
    assert!(stranger.stderr.contains("SSL_CERT_FILE"), "{stranger:?}");
    assert_eq!(object(&run(&world, &[("SSL_CERT_FILE", &own)], &args))["status"], "pending");
}

#[test]
fn a_board_has_the_name_of_the_project_and_can_be_watched() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let (world, url) = (world(), server.url());
    let board = [("OSTLER_BOARD", url.as_str())];
    let mut watching =
        world.command(&["tasks", "list", "--watch", "--json"]).envs(board).spawn().unwrap();
    read_until(&mut watching, r#""tasks":[]"#);
    let added = object(&run(&world, &board, &["tasks", "add", "New", "--json"]));
    assert!(read_until(&mut watching, "pending").contains(added["id"].as_str().unwrap()));
    watching.kill().unwrap();
    watching.wait().unwrap();
    let project = world.project();
    let name = project.file_name().unwrap().to_str().unwrap();
    let named = format!("{url}?board={name}");
    assert_eq!(
        object(&run(&world, &[], &["tasks", "list", "--json", "--board", &named]))["total"],
        1
    );
    let other = format!("{url}?board=other");
    assert_eq!(
        object(&run(&world, &[], &["tasks", "list", "--json", "--board", &other]))["total"],
        0
    );
}
