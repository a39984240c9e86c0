//! Workers of the product instead of ours: `ostler worker`, with a scripted model that writes one file for each task.

use crate::facts::{Fact, FactFile};
use crate::plan::Plan;
use crate::repository;
use ostler_model_server::{ModelServer, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Answers every request: first with the file of the task, then with a word.
pub fn model() -> Result<ModelServer, String> {
    let script = Script::new().by(|request| answer(request.json())).forever();
    ModelServer::start(script).map_err(|why| format!("cannot start the model server: {why}"))
}

fn answer(request: &Value) -> Reply {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has_answered = messages.iter().any(|message| message["role"] == "assistant");
    let prompt = messages.first().map(Value::to_string).unwrap_or_default();
    // The prompt comes last: <board-task id="t00012" …>. What comes before it may quote other tasks.
    let id = prompt.rsplit_once("<board-task id=\\\"").map(|(_, rest)| {
        rest.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect::<String>()
    });
    match id {
        Some(id) if !has_answered => {
            let file = repository::file(&id);
            calls([("Write", json!({"file_path": file, "content": "done\n"}))])
        }
        _ => text("Done."),
    }
}

/// `plan.real` is the program, `plan.model` the address of the model.
pub fn start(plan: &Plan, directory: &Path, name: &str) -> Result<Child, String> {
    let lease = plan.lease_ms.div_ceil(1_000).to_string();
    let board = match plan.address.is_empty() {
        true => directory.join("board.db").display().to_string(),
        false => format!("{}?board=chaos", plan.address),
    };
    let home = directory.join("home");
    std::fs::create_dir_all(&home).map_err(|why| format!("cannot make {home:?}: {why}"))?;
    let mut command = Command::new(&plan.real);
    command.args(["worker", "--json", "--permission-mode", "bypassPermissions"]);
    command.args(["--name", name, "--lease", &lease, "--board", &board]);
    command.current_dir(repository::path(directory));
    command.env("HOME", &home).env("OSTLER_HOME", home.join(".ostler"));
    command.env("ANTHROPIC_BASE_URL", &plan.model).env("ANTHROPIC_API_KEY", "none");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|why| format!("cannot start {}: {why}", plan.real))?;
    let mut facts = FactFile::append_to(directory, name)?;
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || record(output, &mut facts));
    }
    Ok(child)
}

/// What a worker prints, as facts.
fn record(output: ChildStdout, facts: &mut FactFile) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        for fact in facts_of(&event) {
            if facts.record(&fact).is_err() {
                return;
            }
        }
    }
}

fn facts_of(event: &Value) -> Vec<Fact> {
    let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let (task, fence) = (word("task"), event["fence"].as_u64().unwrap_or_default());
    match event["event"].as_str().unwrap_or_default() {
        "claimed" => vec![Fact::Claimed { task, fence }],
        "finished" => {
            let committed = Fact::Committed { task: task.clone(), fence, branch: word("branch") };
            vec![committed, Fact::FinishAccepted { task, fence }]
        }
        "lost" => vec![Fact::FinishRefused { task, fence, why: word("reason") }],
        "failed" => vec![Fact::Trouble { why: word("error") }],
        "setback" => vec![Fact::Trouble { why: word("reason") }],
        _ => Vec::new(),
    }
}

/// The branch that a worker of the product names in its result.
pub fn branch_of(result: &str) -> Option<&str> {
    result.lines().find_map(|line| line.strip_prefix("Branch: "))
}
