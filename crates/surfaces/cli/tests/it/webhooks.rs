//! Webhooks against a real receiver: in order, at least once, signed, also when it or the program was down.

use crate::hooks::{hook, last_result, settings, write_call};
use crate::support::{World, finish, signal, until};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const SECRET: &str = "hush";

#[derive(Clone, Debug)]
struct Got {
    headers: BTreeMap<String, String>,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn id(&self) -> &str {
        &self.headers["x-ostler-delivery"]
    }

    fn assert_signed(&self) {
        let signed =
            ostler::signature(SECRET, &self.headers["x-ostler-timestamp"], self.body.as_bytes());
        assert_eq!(self.headers["x-ostler-signature"], signed);
        assert_eq!(self.headers["x-ostler-event"], self.json()["hook_event_name"]);
    }
}

/// An HTTP server that remembers what it got, on an address that stays when it goes.
struct Receiver {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    closing: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Receiver {
    /// A free address at which nobody listens.
    fn nowhere() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    /// Answers the n-th request with what `answer` says.
    fn at(address: SocketAddr, answer: impl Fn(usize) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let (got, closing) = (Arc::<Mutex<Vec<Got>>>::default(), Arc::<AtomicBool>::default());
        let (seen, closed) = (got.clone(), closing.clone());
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let mut n = 0;
            for stream in listener.incoming() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                if let Some((stream, request)) = read(stream.unwrap()) {
                    let (status, body) = answer(n);
                    n += 1;
                    // Whoever asks to see it sees it only after it was taken.
                    seen.lock().unwrap().push(request);
                    reply(stream, status, &body);
                }
            }
        });
        Receiver { address, got, closing, thread: Some(thread) }
    }

    fn fine(address: SocketAddr) -> Self {
        Receiver::at(address, |_| (200, String::new()))
    }

    fn url(&self) -> String {
        url(self.address)
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/events")
}

fn read(stream: TcpStream) -> Option<(TcpStream, Got)> {
    let mut reader = BufReader::new(stream);
    let (mut headers, mut line) = (BTreeMap::new(), String::new());
    reader.read_line(&mut line).ok()?;
    assert!(line.starts_with("POST /events ") || line.is_empty(), "{line}");
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((reader.into_inner(), Got { headers, body: String::from_utf8(body).unwrap() }))
}

fn reply(mut stream: TcpStream, status: u16, body: &str) {
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(text.as_bytes());
}

/// Tells the address of everything; `S` holds the secret.
fn watched(world: &World, address: SocketAddr) {
    let webhook = json!({"type": "http", "url": url(address), "secretEnv": "S", "blocking": false});
    let names =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"];
    let hooks: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!([{ "hooks": [webhook] }]))).collect();
    settings(world, &json!({ "hooks": hooks }));
}

const GO: [&str; 4] = ["-p", "go", "--permission-mode", "bypassPermissions"];
const ALL: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"];

fn run(world: &World, args: &[&str]) -> crate::support::Ran {
    finish(world.command(args).env("S", SECRET).spawn().unwrap())
}

fn names(got: &[Got]) -> Vec<String> {
    got.iter().map(|got| got.headers["x-ostler-event"].clone()).collect()
}

#[test]
fn events_reach_a_receiver_in_order_and_signed() {
    let world = World::new(write_call("made"));
    let receiver = Receiver::fine(Receiver::nowhere());
    watched(&world, receiver.address);
    let ran = run(&world, &GO);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let got = receiver.got();
    assert_eq!(names(&got), ALL);
    got.iter().for_each(Got::assert_signed);
    assert_eq!(got[2].json()["tool_input"]["file_path"], "made");
    // The secret is nowhere on disk.
    for path in crate::support::walk(&world.home()) {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", path.display());
    }
}

/// The receiver is down, the program is killed in the middle, and another one runs; then it is back.
#[test]
fn a_receiver_that_was_down_gets_everything_once_it_is_back() {
    let script = Script::new()
        .answer(calls([("Write", json!({"file_path": "made", "content": "x"}))]))
        .answer(text("never read").due_at("hold"))
        .answer(text("second run"));
    let world = World::new(script);
    let address = Receiver::nowhere();
    watched(&world, address);
    let mut killed = world.command(&GO).env("S", SECRET).spawn().unwrap();
    crate::support::wait(world.server.gate("hold").reached()).unwrap();
    signal(&killed, rustix::process::Signal::KILL);
    killed.wait().unwrap();
    world.server.gate("hold").release();

    let ran = run(&world, &GO);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let down = run(&world, &["events", "deliver"]);
    assert_eq!(down.code, Some(1), "{}", down.stdout);
    assert!(down.stdout.contains("0 sent, 8 waiting"), "{}", down.stdout);

    let receiver = Receiver::fine(address);
    let up = run(&world, &["events", "deliver"]);
    assert_eq!(up.code, Some(0), "{}", up.stdout);
    assert!(up.stdout.contains("8 sent, 0 waiting"), "{}", up.stdout);
    let got = receiver.got();
    let expected = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse", // the one that was killed
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
    ];
    assert_eq!(names(&got), expected);
    got.iter().for_each(Got::assert_signed);
    let sessions: Vec<Value> = got.iter().map(|got| got.json()["session_id"].clone()).collect();
    assert!(sessions[0] == sessions[3] && sessions[3] != sessions[4] && sessions[4] == sessions[7]);
    let mut ids: Vec<&str> = got.iter().map(Got::id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 8);

    // Again, from one on: the same events under the same ids.
    let from = got[5].id().to_owned();
    let again = run(&world, &["events", "replay", "--from", &from, "--endpoint", &receiver.url()]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let all = receiver.got();
    assert_eq!(all.len(), 11);
    for (old, new) in got[5..].iter().zip(&all[8..]) {
        assert_eq!((old.id(), &old.body), (new.id(), &new.body));
        new.assert_signed();
    }
    assert_eq!(run(&world, &["events", "replay", "--from", "nothing"]).code, Some(2));
    assert_eq!(
        run(&world, &["events", "replay", "--endpoint", "https://x.example/"]).code,
        Some(2)
    );
}

/// A later session delivers what an earlier one left behind, before its own.
#[test]
fn a_later_session_delivers_what_waits() {
    let world = World::new(Script::new().answer(text("one")).answer(text("two").due_at("hold")));
    let address = Receiver::nowhere();
    watched(&world, address);
    run(&world, &GO);
    let receiver = Receiver::fine(address);
    let second = world.command(&GO).env("S", SECRET).spawn().unwrap();
    // While the model is still thinking: nothing waits for the end.
    until("six events arrived", || receiver.got().len() == 6);
    world.server.gate("hold").release();
    assert_eq!(finish(second).code, Some(0));
    let got = receiver.got();
    let once = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
    assert_eq!(names(&got), [once, once].concat());
}

/// Several programs share one queue: each event arrives once, those of a session in order.
#[test]
fn programs_at_the_same_time_do_not_get_in_each_others_way() {
    let script = (0..4).fold(Script::new(), |script, _| script.answer(text("hi")));
    let world = World::new(script);
    let receiver = Receiver::fine(Receiver::nowhere());
    watched(&world, receiver.address);
    let start = |_| world.command(&GO).env("S", SECRET).spawn().unwrap();
    let children: Vec<_> = (0..4).map(start).collect();
    for child in children {
        assert_eq!(finish(child).code, Some(0));
    }
    let rest = run(&world, &["events", "deliver"]);
    assert_eq!(rest.code, Some(0), "{}", rest.stdout);
    let got = receiver.got();
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in &got {
        let session = event.json()["session_id"].as_str().unwrap().to_owned();
        sessions.entry(session).or_default().push(event.headers["x-ostler-event"].clone());
    }
    assert_eq!(sessions.len(), 4);
    for names in sessions.values() {
        assert_eq!(names, &["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]);
    }
}

/// A receiver that fails is asked again for the same event; one that will never take it does not hold up the others.
#[test]
fn failures_are_repeated_in_order() {
    let world = World::new(Script::new().answer(text("one")));
    let address = Receiver::nowhere();
    watched(&world, address);
    run(&world, &GO);
    let receiver = Receiver::at(address, |n| (if n < 2 { 503 } else { 200 }, String::new()));
    let up = run(&world, &["events", "deliver"]);
    assert_eq!(up.code, Some(0), "{}", up.stdout);
    let got = receiver.got();
    assert_eq!(
        names(&got),
        ["SessionStart", "SessionStart", "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    );
    assert!(got[0].id() == got[1].id() && got[1].id() == got[2].id());
    drop(receiver);

    let world = World::new(Script::new().answer(text("one")));
    watched(&world, address);
    run(&world, &GO);
    let receiver = Receiver::at(address, |n| (if n < 3 { 422 } else { 200 }, String::new()));
    run(&world, &["events", "deliver"]);
    assert_eq!(
        names(&receiver.got())[2..],
        ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    );
}

#[test]
fn a_webhook_that_answers_decides() {
    let no = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "closed"}});
    let page =
        "<!doctype html><html><head><title>Sign in</title></head><body>Welcome</body></html>";
    for (status, body, made, said) in [
        (200, no.to_string(), false, "closed"),
        (200, format!("\u{feff}[{no}]"), false, "closed"),
        (200, json!({"continue": true}).to_string(), true, ""),
        (200, json!({"decision": "approve"}).to_string(), true, ""),
        (200, String::new(), false, "it answered without a verdict"),
        (204, String::new(), false, "it answered without a verdict"),
        (200, page.to_owned(), false, "it answered without a verdict"),
        (200, "ok".to_owned(), false, "it answered without a verdict"),
        (200, "{}".to_owned(), false, "contains no verdict"),
        (200, json!({"ok": true}).to_string(), false, "contains no verdict"),
        (500, String::new(), false, "it answered with status 500"),
        (302, String::new(), false, "it answered with status 302"),
        (200, "{oops".to_owned(), false, "its output is not exactly one JSON object"),
    ] {
        let world = World::new(write_call("made"));
        let receiver = Receiver::at(Receiver::nowhere(), move |_| (status, body.clone()));
        let webhook =
            json!({"type": "http", "url": receiver.url(), "secret": SECRET, "timeout": 20});
        settings(&world, &json!({ "hooks": hook("PreToolUse", "Write", webhook) }));
        let ran = world.go();
        assert_eq!(world.project().join("made").exists(), made, "{status}: {}", ran.stdout);
        assert!(made || last_result(&world).contains(said), "{}", last_result(&world));
        receiver.got()[0].assert_signed();
    }
}

#[test]
fn a_secret_that_is_not_there_is_a_mistake() {
    let world = World::new(Script::new());
    watched(&world, Receiver::nowhere());
    let ran = world.run(&GO);
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.stderr.contains("settings.json:1) signs with the variable S")
            || ran.stderr.contains("signs with the variable S"),
        "{}",
        ran.stderr
    );
}
