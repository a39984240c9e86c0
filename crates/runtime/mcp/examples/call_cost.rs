//! What a call of a tool costs over the server's own time: the same request and answer by hand through two pipes.
//!
//! `cargo run --release -p ostler-mcp --example call_cost`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use ostler_core::ports::Progress;
use ostler_exec::{Executor, SupervisorProgram};
use ostler_mcp::{
    Connections, HttpAccess, LaunchServer, ServerCall, ServerConfig, ServerScope, ServerTransport,
};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SUPERVISOR: &str = "__supervisor";
const SERVER: &str = "__server";
const ROUNDS: usize = 2_000;
/// What a call may cost over the server's own time.
const LIMIT: Duration = Duration::from_millis(1);

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(SUPERVISOR) => ostler_exec::supervise(),
        Some(SERVER) => return serve(),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

/// A server with one tool, on the standard streams.
fn serve() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "went"}]}),
            _ => {
                let error = json!({"code": -32601, "message": "Method not found"});
                println!("{}", json!({"jsonrpc": "2.0", "id": id, "error": error}));
                continue;
            }
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
}

struct Unwatched;

impl Progress for Unwatched {
    fn tail(&self, _tail: &str) {}
}

async fn measure() {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let transport = ServerTransport::Stdio {
        command: program.clone(),
        args: vec![SERVER.to_owned()],
        env: Vec::new(),
        cwd: None,
    };
    let config = ServerConfig::new("bench", transport, ServerScope::User);
    let launch = LaunchServer {
        cwd: "/".into(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        prepare: Arc::new(|_, _| Ok(())),
    };
    let stack = Arc::new(|_: &str| Err("there is no network here".to_owned()));
    let executor = Executor::new(SupervisorProgram::this_binary([SUPERVISOR]));
    let connections = Connections::new(executor, None, HttpAccess { stack, authorizer: None });
    let server = connections.server(&config, &launch);
    server.fetch().await.unwrap();
    let lease = server.lease();
    let mut calls = Vec::new();
    for _ in 0..ROUNDS {
        let (tool, progress) = ("go".to_owned(), Arc::new(Unwatched));
        let began = Instant::now();
        let call = ServerCall { tool, input: Map::new(), progress, counterpart: None };
        server.call(call).await.unwrap();
        calls.push(began.elapsed());
    }
    lease.end().await;
    let by_hand = tokio::task::spawn_blocking(move || by_hand(&program)).await.unwrap();
    let (calls, by_hand) = (Quantiles::of(calls), Quantiles::of(by_hand));
    for (name, call, hand) in
        [("median", calls.median, by_hand.median), ("99 %", calls.most, by_hand.most)]
    {
        let over = call.saturating_sub(hand);
        println!("{name}: a call {call:?}, the server's own time {hand:?}, over it {over:?}");
    }
    let over = calls.median.saturating_sub(by_hand.median);
    let word = if over <= LIMIT { "kept" } else { "EXCEEDED" };
    println!("MCP call overhead: {over:?} (median of {ROUNDS} calls; limit {LIMIT:?}: {word})");
}

/// The same without a client: a line out, a line back.
fn by_hand(program: &str) -> Vec<Duration> {
    let mut command = Command::new(program);
    let command = command.arg(SERVER).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    let params = json!({"name": "go", "arguments": {}, "_meta": {"progressToken": 1}});
    let mut times = Vec::new();
    for id in 0..ROUNDS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let line = format!("{call}\n");
        let began = Instant::now();
        input.write_all(line.as_bytes()).unwrap();
        lines.next().unwrap().unwrap();
        times.push(began.elapsed());
    }
    drop(input);
    child.wait().unwrap();
    times
}

struct Quantiles {
    median: Duration,
    most: Duration,
}

impl Quantiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Quantiles { median: times[times.len() / 2], most: times[times.len() * 99 / 100] }
    }
}
