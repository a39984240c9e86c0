//! Connections that are not made, do not answer, or fall silent.

use super::Row;
use ostler_model_server::{Part, Script, after, status, text};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

fn never_asked() -> Row {
    Row::new(Script::new())
}

/// A port on which nobody listens.
fn dead_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Speaks, but not TLS.
fn deaf_to_tls() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    addr
}

#[test]
fn a15_no_connection() {
    let refused = dead_port();
    let tls = deaf_to_tls();
    for (url, names) in [
        (format!("http://127.0.0.1:{refused}"), format!("127.0.0.1:{refused}")),
        (format!("https://{tls}"), tls.to_string()),
    ] {
        let told = never_asked().env("ANTHROPIC_BASE_URL", &url).fails("model_error");
        told.asked(0).says(&["cannot connect to", &names, "gave up after 3 attempts"]);
        assert_eq!(told.waits().len(), 2, "{url}");
    }
    // A name that does not exist will not exist after ten retries either. Where no resolver can say so, two must do.
    let row = never_asked().env("ANTHROPIC_BASE_URL", "http://no-such-host.invalid");
    let told = row.env("OSTLER_MAX_RETRIES", 10).fails("model_error");
    told.asked(0).says(&["cannot connect to", "no-such-host.invalid:80"]);
    assert!(told.waits().len() <= 2, "{:?}", told.waits());
}

/// Its queue of waiting connections is full, so that the kernel drops whoever comes next.
fn full_house() -> (TcpListener, Vec<TcpStream>) {
    let house = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&house, 0).unwrap();
    let (addr, mut guests) = (house.local_addr().unwrap(), Vec::new());
    while let Ok(guest) = TcpStream::connect_timeout(&addr, Duration::from_millis(100)) {
        guests.push(guest);
        assert!(guests.len() < 1_000, "it takes everybody");
    }
    (house, guests)
}

#[test]
fn a16_connect_hangs() {
    let (house, _guests) = full_house();
    let port = house.local_addr().unwrap().port();
    let row = never_asked()
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"))
        .env("OSTLER_CONNECT_TIMEOUT_MS", 200);
    let told = row.fails("model_error");
    told.says(&[
        "cannot connect to",
        &port.to_string(),
        "did not answer in time",
        "gave up after 3 attempts",
    ]);
}

#[test]
fn a17_silence_after_the_headers() {
    let mute = text("one two three").cut(after("headers").stall());
    let row =
        Row::new(Script::new().answer(mute).forever()).env("OSTLER_FIRST_BYTE_TIMEOUT_MS", 200);
    row.fails("model_error").asked(3).says(&["did not begin to answer within 200 ms"]);

    let faltering =
        || text("one two three").delta(4).cut(after("content_block_delta").nth(2).stall());
    let row =
        Row::new(Script::new().answer(faltering()).forever()).env("OSTLER_IDLE_TIMEOUT_MS", 200);
    let told = row.fails("model_error");
    told.asked(4).went(&["stream_retry"; 3]).says(&["sent no event for 200 ms"]);
    assert_eq!(
        told.last_answer,
        ("one two ".to_owned(), false),
        "the partial text is kept, as partial"
    );

    // Not 200 ms: a slow machine must not make the good answer late, too.
    let row = Row::new(Script::new().answer(faltering()).answer(text("done")))
        .env("OSTLER_IDLE_TIMEOUT_MS", 1_500);
    row.survives().asked(2).went(&["stream_retry"]).answered("done");
}

/// The rule: before the answer begins pings do not count; once it has begun each ping is a sign of life. All waiting
/// for one answer together is bounded as well (30 minutes, tested where time can be simulated).
#[test]
fn a18_nothing_but_pings() {
    let only_pings = text("x").cut(after("headers").ping(Duration::from_millis(40)));
    let row = Row::new(Script::new().answer(only_pings).forever())
        .env("OSTLER_FIRST_BYTE_TIMEOUT_MS", 300);
    row.fails("model_error").asked(3).says(&["did not begin to answer within 300 ms"]);

    let alive = (0..12).fold(text("one"), |reply, _| {
        reply.pause(Duration::from_millis(250)).part(Part::usual("ping"))
    });
    let row =
        Row::new(Script::new().answer(alive.say(" two"))).env("OSTLER_IDLE_TIMEOUT_MS", 2_000);
    row.survives().asked(1).went(&[]);
}

/// No clock can be turned back here. What can be shown: the code that waits cannot see the wall clock.
#[test]
fn a44_the_clock_jumps() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for name in ["pure/core", "pure/policy", "runtime/engine", "runtime/models"] {
        for file in sources(&crates.join(name).join("src")) {
            let source = std::fs::read_to_string(&file).unwrap();
            for clock in
                ["SystemTime", "Timestamp::now", "Zoned::now", "UNIX_EPOCH", "std::thread::sleep"]
            {
                assert!(!source.contains(clock), "{} uses {clock}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} sources were looked at");
    let row =
        Row::new(Script::new().answer(status(429).header("retry-after", "1")).answer(text("ok")));
    let told = row.survives();
    let arrived: Vec<_> =
        told.world.server.requests().iter().map(|request| request.arrived).collect();
    assert!(
        arrived[1].duration_since(arrived[0]).as_millis() >= 1_000,
        "the wait, by a clock that only goes forward"
    );
}

fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| sources(folder));
    files
        .into_iter()
        .chain(below)
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

#[test]
fn a47_a_dead_proxy() {
    let port = dead_port();
    let row = never_asked().env("HTTP_PROXY", format!("http://127.0.0.1:{port}"));
    let told = row.fails("model_error");
    told.asked(0)
        .says(&[&format!("through the proxy 127.0.0.1:{port}"), "gave up after 3 attempts"]);
    let direct = Row::new(Script::new().answer(text("ok")))
        .env("HTTP_PROXY", format!("http://127.0.0.1:{port}"));
    direct.env("NO_PROXY", "127.0.0.1").survives().asked(1).answered("ok");
}
