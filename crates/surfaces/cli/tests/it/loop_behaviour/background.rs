//! Commands and agents in the background when the prompt has been answered.

use super::row::{Requests, Row};
use crate::support::{Ran, World, finish, read_until, unique_sleep};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::json;
use std::process::Command;
use std::sync::LazyLock;

/// What does not end by itself.
static LASTING: LazyLock<String> = LazyLock::new(unique_sleep);

pub fn rows() -> Vec<Row> {
    let background = |command: String| {
        calls([("Bash", json!({ "command": command, "run_in_background": true }))])
    };
    let waits = "while [ ! -e go ]; do sleep 0.01; done".to_owned();
    vec![
        Row::new(
            "t_bash_bg",
            "a command in the background that ends soon after the answer",
            Script::new().answer(background(waits)).answer(text("started")).answer(text("noted")),
        )
        .acting(ends_after_the_result)
        .look(results_and_notices)
        .claude(3, "2 results, 1 task notification", 0),
        Row::new(
            "bg_forever",
            "a command in the background that does not end",
            Script::new().answer(background(format!("sleep {}", *LASTING))).answer(text("started")),
        )
        .look(|world, ran| {
            assert!(!lasts(), "it ends with the program");
            results_and_notices(world, ran)
        })
        .claude(2, "1 result, 0 task notifications", 0),
        Row::new(
            "agent_bg",
            "an agent in the background that ends soon after the answer",
            Script::new().by(with_an_agent).forever(),
        )
        .acting(ends_after_the_result)
        .look(results_and_notices)
        .claude(Requests::Unsaid, "2 results, 1 task notification", 0),
    ]
}

/// Two that talk to the model at the same time.
fn with_an_agent(request: &Recorded) -> Reply {
    let messages = request.json()["messages"].to_string();
    let has = |word: &str| messages.contains(word);
    if request.messages()[0].to_string().contains("look around") {
        let waits = json!({ "command": "while [ ! -e go ]; do sleep 0.01; done" });
        return if has("tool_result") { text("found") } else { calls([("Bash", waits)]) };
    }
    let agent = json!({
        "description": "look", "prompt": "look around", "subagent_type": "general", "run_in_background": true
    });
    match (has("<task-notification>"), has("tool_result")) {
        (true, _) => text("noted"),
        (false, true) => text("started"),
        (false, false) => calls([("Agent", agent)]),
    }
}

fn ends_after_the_result(world: &World, mut command: Command) -> Ran {
    let mut child = command.spawn().unwrap();
    let seen = read_until(&mut child, "\"type\":\"result\"");
    std::fs::write(world.project().join("go"), "").unwrap();
    let mut ran = finish(child);
    ran.stdout.insert_str(0, &seen);
    ran
}

fn results_and_notices(world: &World, ran: &Ran) -> String {
    let results = ran.stdout.matches("\"type\":\"result\"").count();
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    let notices = told.matches("<task-notification>").count();
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    format!("{}, {}", counted(results, "result"), counted(notices, "task notification"))
}

fn lasts() -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(LASTING.as_str()))
}
