//! A thousand sessions in one process that may open 1 024 files, each with a turn, some with a command.

use crate::case_process::{CaseProcess, Part, case, finished};
use crate::figures::{Peak, children, memory, threads_named};
use futures_util::future::join_all;
use ostler::{Host, Init, Terminal};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, calls, text};
use serde_json::json;
use std::process::Command;
use std::time::Instant;

/// The limit that the process is started with, and that its commands must have: too low for the sessions unless it is
/// raised.
fn soft_limit(sessions: usize) -> usize {
    sessions.min(1024)
}

const MOST_THREADS: usize = 32;
/// One in so many runs a command.
const WITH_COMMAND: usize = 10;

/// Repeats the prompt, or what the command it was asked for said.
fn answer(request: &Recorded) -> Reply {
    if let [result] = request.tool_results().as_slice() {
        return text(format!("limit {}", result["content"].as_str().unwrap_or_default().trim()));
    }
    let messages = request.json()["messages"].to_string();
    match messages.contains("run it") {
        true => calls([("Bash", json!({"command": "ulimit -Sn"}))]),
        false => text("nothing to run"),
    }
}

pub fn each_takes_a_turn(sessions: usize) {
    let mut script = Script::new().by(answer).forever();
    script.limits.connections = 2 * sessions;
    let server = ModelServer::start(script).unwrap();
    let (_folder, inside) = case(&server, Part::ManySessions, sessions);
    let inner = inside.command();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -Sn \"$0\" && exec \"$@\"", &soft_limit(sessions).to_string()]);
    limited.arg(inner.get_program()).args(inner.get_args());
    crate::case_process::succeeds(limited);
    let commands = sessions / WITH_COMMAND;
    assert_eq!(server.requests().len(), sessions + commands);
    assert_eq!(server.rejected(), Vec::<String>::new());
}

pub fn inside(init: &Init, told: &CaseProcess) {
    let soft = soft_limit(told.sessions);
    let most = ostler::raise_open_file_limit().unwrap();
    let options = told.options();
    let began = (memory(), Instant::now());
    let peak = Peak::watch();
    let ends = ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let open = |_| host.session(options.session.clone()).unwrap();
        let sessions: Vec<_> = (0..told.sessions).map(open).collect();
        let turns = sessions.iter().enumerate().map(|(n, session)| {
            let prompt = if n % WITH_COMMAND == 0 { "run it" } else { "say it" };
            finished(session.ask(prompt).unwrap())
        });
        let ends = join_all(turns).await;
        let grown = memory() - began.0;
        let shared = (children(), threads_named("ledger"));
        host.close().await;
        (ends, grown, shared)
    });
    let (ends, grown, shared) = ends.unwrap();
    assert_eq!(shared, (1, 1), "processes, all of them supervisors, and threads of the ledger");
    let (threads, descriptors) = peak.end();
    println!(
        "many sessions: {} turns at once, soft limit {soft} of {most:?} files: {threads} threads, {descriptors} descriptors at most, \
         1 supervisor, 1 ledger thread, {grown} KB more memory ({} KB each), {:.1?}",
        told.sessions,
        grown / told.sessions as u64,
        began.1.elapsed()
    );
    for (n, end) in ends.iter().enumerate() {
        assert_eq!(end.terminal, Terminal::Completed, "session {n}: {:?}", end.error);
        let expected = match n % WITH_COMMAND {
            0 => format!("limit {soft}"),
            _ => "nothing to run".into(),
        };
        assert_eq!(end.text, expected, "session {n}");
    }
    assert!(threads < MOST_THREADS, "{threads} threads");
    assert!(descriptors > soft, "the limit never had to be raised: {descriptors} descriptors");
}
