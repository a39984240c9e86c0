//! What observers that never read cost: no more than their session's ring, however much happens.

use crate::case_process::{CaseProcess, Part, case, finished};
use crate::figures::memory;
use futures_util::future::join_all;
use ostler::{
    Access, BoxFuture, Host, Init, Observed, Terminal, Tool, ToolContext, ToolFacts, ToolOutput,
    ToolSpec,
};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::sync::Arc;

const RESULT: usize = 50_000;
/// Together they are more than twice as large as the ring.
const RESULTS: usize = 12;
const RING_KB: u64 = 256;
/// The observers themselves, what lists of envelopes take, and by how much two processes that do the same differ: without
/// a bound it would still be too much.
const CONSTANT_KB: u64 = 192;

/// Gives a large result.
struct Large(ToolSpec);

impl Large {
    fn new() -> Self {
        let input_schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        Large(ToolSpec {
            name: "Large".into(),
            description: "Gives much.".into(),
            input_schema,
            facts: ToolFacts::UNDECLARED,
        })
    }
}

impl Tool for Large {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _: &Value) -> Result<Access, ToolOutput> {
        Ok(Access::nothing())
    }

    fn run(&self, input: Value, _: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let line = format!("{} of many lines\n", input["n"]);
        Box::pin(async move { ToolOutput::text(line.repeat(RESULT / line.len())) })
    }
}

fn answer(request: &Recorded) -> Reply {
    match request.tool_results().len() {
        0 => calls((0..RESULTS).map(|n| ("Large", json!({ "n": n })))),
        _ => text("word ".repeat(400)).delta(5),
    }
}

/// How much the memory of a process grows, in KB.
fn grown(sessions: usize, observers: usize) -> u64 {
    let mut script = Script::new().by(answer).forever();
    script.limits.connections = 2 * sessions;
    let server = ModelServer::start(script).unwrap();
    let (_folder, inside) = case(&server, Part::RingMemory { observers }, sessions);
    let output = inside.command().output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    said.trim().parse().unwrap()
}

pub fn observers_that_never_read(sessions: usize) {
    let (alone, watched) = (grown(sessions, 0), grown(sessions, 10));
    let each = watched.saturating_sub(alone) / sessions as u64;
    println!(
        "ring memory: {sessions} sessions with {RESULTS} results of {RESULT} bytes and raw events grow by {alone} KB; \
         with 10 observers each that never read by {watched} KB, {each} KB more each"
    );
    assert!(each < RING_KB + CONSTANT_KB, "{each} KB");
}

pub fn inside(init: &Init, told: &CaseProcess, observers: usize) {
    ostler::raise_open_file_limit().unwrap();
    let mut options = told.options();
    options.session.more_tools = vec![Arc::new(Large::new())];
    options.session.settings.raw_events = true;
    // So that nothing is summed up.
    options.session.settings.context.window = Some(1_000_000);
    ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let open = |_| host.session(options.session.clone()).unwrap();
        let sessions: Vec<_> = (0..told.sessions).map(open).collect();
        let watching = sessions.iter().flat_map(|session| {
            (0..observers).map(|_| session.observe(&session.state().1)).collect::<Vec<_>>()
        });
        let watching: Vec<_> = watching.collect();
        let before = memory();
        let ends = join_all(sessions.iter().map(|one| finished(one.ask("go").unwrap()))).await;
        println!("{}", memory() - before);
        for end in ends {
            assert_eq!((end.terminal, end.calls_run), (Terminal::Completed, RESULTS as u32));
        }
        for mut observer in watching {
            let first = observer.next().await;
            assert!(matches!(first, Some(Observed::Lagged { .. })), "the ring was full: {first:?}");
        }
    })
    .unwrap();
}
