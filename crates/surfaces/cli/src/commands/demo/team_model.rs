//! What the scripted model says in the story of a team: to the lead, its teammates and the workers.

use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::time::Duration;

pub const LEAD: &str = "0193d0e5-0000-7000-8000-000000000001";
pub const COMMANDS: [&str; 6] = ["add", "show", "drop", "find", "sort_by", "count"];
/// Both also change README.md.
const DESCRIBED: [&str; 2] = ["sort_by", "count"];

const EXPLORE: &str = "Which commands in lib/ do not check their arguments?";
const FOUND: &str = "None of the six commands in lib/ checks its arguments.";
const WRITE: &str =
    "Write docs/arguments.md: what a command does with a wrong number of arguments.";
const WRITTEN: &str = "docs/arguments.md says when a command ends with 64.";
const CHANGES: &str = "Write CHANGES.md";

pub fn script(paced: bool) -> Script {
    let script = Script::new().by(move |request| {
        let reply = reply(request);
        if paced { reply.pace(Duration::from_millis(12)).delta(9) } else { reply }
    });
    script.forever()
}

fn reply(request: &Recorded) -> Reply {
    let messages = request.messages();
    let task = messages.first().map(ToString::to_string).unwrap_or_default();
    let answers = messages.iter().filter(|message| message["role"] == "assistant").count();
    let command = COMMANDS.into_iter().find(|name| task.contains(&title(name)));
    match command {
        Some(name) => worker(name, answers),
        None if task.contains(EXPLORE) => explorer(answers),
        None if task.contains(WRITE) => writer(answers),
        None if task.contains(CHANGES) => changes(answers),
        None => lead(messages),
    }
}

fn title(command: &str) -> String {
    format!("Check the arguments of {command} in lib/{command}.sh")
}

/// By what it knows, since reports come when they come.
fn lead(messages: &[Value]) -> Reply {
    let all = Value::from(messages.to_vec()).to_string();
    let called = |tool: &str| all.matches(&format!("\"name\":\"{tool}\"")).count();
    match (called("Delegate"), called("BoardAdd")) {
        (0, _) => text("The explorer finds out what there is to do.")
            .call("Delegate", json!({ "to": "explorer", "task": EXPLORE })),
        _ if !all.contains(FOUND) => text("I wait for the explorer."),
        (_, 0) => calls(COMMANDS.map(|name| {
            let what = "Return 64 unless there is exactly one argument.";
            ("BoardAdd", json!({ "title": title(name), "description": what }))
        })),
        (_, 6) => {
            let before: Vec<String> = ids(messages);
            text("One more task waits for these six. The writer describes the result meanwhile.")
                .call("BoardAdd", json!({ "title": CHANGES, "description": "Say what was changed.", "depends_on": before }))
                .call("Delegate", json!({ "to": "writer", "task": WRITE }))
        }
        _ if !all.contains(WRITTEN) => {
            text("Seven tasks are on the board. The writer is still at work.")
        }
        _ => text(
            "Seven tasks are on the board, and the writer has written docs/arguments.md on a branch of its own.",
        ),
    }
}

/// Of the tasks, from the results of the calls that added them.
fn ids(messages: &[Value]) -> Vec<String> {
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result").map(ToString::to_string);
    let id = |result: String| {
        let (before, _) = result.split_once(" is on the board.")?;
        before.rsplit_once("Task ").map(|(_, id)| id.to_owned())
    };
    results.filter_map(id).collect()
}

fn explorer(answers: usize) -> Reply {
    match answers {
        0 => calls([("Grep", json!({ "pattern": "return 64", "path": "lib" }))]),
        _ => text(FOUND),
    }
}

fn writer(answers: usize) -> Reply {
    match answers {
        0 => calls([(
            "Write",
            json!({
                "file_path": "docs/arguments.md",
                "content": "# Arguments\n\nA command that does not get exactly one argument ends with 64.\n",
            }),
        )]),
        _ => text(WRITTEN),
    }
}

fn worker(name: &str, answers: usize) -> Reply {
    let (file, is_described) = (format!("lib/{name}.sh"), DESCRIBED.contains(&name));
    let head = format!("{name}() {{");
    let row = format!("| {name} | prints");
    let mut work = match answers {
        0 => vec![("Read", json!({ "file_path": file }))],
        1 => vec![(
            "Edit",
            json!({
                "file_path": file, "old_string": head,
                "new_string": format!("{head}\n    [ $# -eq 1 ] || return 64"),
            }),
        )],
        _ => return text(format!("{name} returns 64 unless it gets exactly one argument.")),
    };
    if is_described {
        work.push(match answers {
            0 => ("Read", json!({ "file_path": "README.md" })),
            _ => (
                "Edit",
                json!({
                    "file_path": "README.md", "old_string": row,
                    "new_string": format!("| {name} | checks its argument and prints"),
                }),
            ),
        });
    }
    calls(work)
}

fn changes(answers: usize) -> Reply {
    match answers {
        0 => calls([(
            "Write",
            json!({
                "file_path": "CHANGES.md",
                "content": "# Changes\n\n- All six commands check their arguments.\n",
            }),
        )]),
        _ => text("CHANGES.md says what was changed."),
    }
}
