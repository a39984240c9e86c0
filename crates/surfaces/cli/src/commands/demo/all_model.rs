//! What the scripted model says in the story of everything. It decides by what a request contains, since a session that
//! was killed asks again.

use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const SESSION: &str = "0193d0e5-0000-7000-8000-000000000002";
/// The gates that never open: whoever waits there is killed.
pub const KILLS: [&str; 3] = ["kill-1", "kill-2", "kill-3"];
pub const TITLE: &str = "Make add check its arguments";
pub const WRITE: &str = "Write docs/arguments.md: what add does with a wrong number of arguments.";
pub const WRITTEN: &str = "docs/arguments.md says that add ends with 64.";
pub const NOTE: &str = "This project is tested with `bash test.sh`.";
pub const SUMMARISE: &str = "is about to be replaced by a summary that you write now";
const EXPLORE: &str = "Does add in lib/add.sh check its arguments?";
const FOUND: &str = "No: add in lib/add.sh does not check its arguments.";
const SUMMARY: &str = "The writer has described it; the change to lib/add.sh is still to be made.";
const COMMIT: &str = "bash test.sh && git -c user.name=demo -c user.email=demo@example.invalid \
    -c commit.gpgsign=false commit -q -a -m 'Make add check its arguments'";

#[derive(Default)]
pub struct AllModel {
    killed: [AtomicBool; 3],
}

impl AllModel {
    pub fn script(self, paced: bool) -> Script {
        let script = Script::new().by(move |request| {
            let reply = self.reply(request);
            if paced { reply.pace(Duration::from_millis(12)).delta(9) } else { reply }
        });
        script.forever()
    }

    fn reply(&self, request: &Recorded) -> Reply {
        let messages = request.messages();
        let first = messages.first().map(ToString::to_string).unwrap_or_default();
        let answers = messages.iter().filter(|message| message["role"] == "assistant").count();
        let all = Value::from(messages.to_vec()).to_string();
        match () {
            () if all.contains(SUMMARISE) => self.once(2, text(summary())),
            () if first.contains(EXPLORE) => explorer(answers),
            () if first.contains(WRITE) => match answers {
                0 => self.once(1, calls([("Write", described())])),
                _ => text(WRITTEN),
            },
            () if all.contains(SUMMARY) => after_the_summary(&all),
            () => self.before_the_summary(&all),
        }
    }

    /// The first time, the answer waits for ever.
    fn once(&self, kill: usize, reply: Reply) -> Reply {
        match self.killed[kill].swap(true, Ordering::Relaxed) {
            true => reply,
            false => reply.due_at(KILLS[kill]),
        }
    }

    fn before_the_summary(&self, all: &str) -> Reply {
        let called = |tool: &str| all.contains(&format!("\"name\":\"{tool}\""));
        match () {
            () if !called("Skill") => text("A plan first, and the skill for finding causes.")
                .call("TodoWrite", plan(["in_progress", "pending", "pending"]))
                .call("Skill", json!({ "skill": "debugging", "args": "add takes anything" })),
            () if !called("Agent") => text("The test runs in the background, and an explorer looks at the code.")
                .call("Bash", json!({ "command": "bash test.sh", "description": "Run the test", "run_in_background": true }))
                .call("Agent", json!({ "description": "Look at add", "subagent_type": "explorer", "prompt": EXPLORE })),
            () if !called("BoardAdd") => text("It does not. That becomes a task on the board.")
                .call("BoardAdd", json!({ "title": TITLE, "description": "It returns 64 unless it gets exactly one argument." })),
            () if !called("Delegate") => self.once(0, text("The writer describes it.")
                .call("Delegate", json!({ "to": "writer", "task": WRITE }))),
            () if !all.contains(WRITTEN) => calls([("Sleep", json!({ "seconds": 60 }))]),
            () => match all.matches("\"name\":\"Read\"").count() {
                0 => text("The description is done. I will read the journals before I change anything.")
                    .call("Read", journal(1)),
                read => calls([("Read", journal(read + 1))]),
            },
        }
    }
}

/// There are three, which is more than the window has room for.
fn journal(number: usize) -> Value {
    json!({ "file_path": format!("data/journal-q{}.txt", number.min(3)) })
}

fn explorer(answers: usize) -> Reply {
    match answers {
        0 => calls([("Read", json!({ "file_path": "lib/add.sh" }))]),
        _ => text(FOUND),
    }
}

fn after_the_summary(all: &str) -> Reply {
    let called = |tool: &str| all.contains(&format!("\"name\":\"{tool}\""));
    let id = || {
        let after =
            all.split_once("<board-task id=\\\"").map(|(_, after)| after).unwrap_or_default();
        after.chars().take_while(char::is_ascii_alphanumeric).collect::<String>()
    };
    let (head, checked) = ("add() {", "add() {\n    [ $# -eq 1 ] || return 64");
    match () {
        () if !called("Memory") => text("First a note, then the task.")
            .call("Memory", json!({ "action": "add", "text": NOTE, "kind": "how-to" }))
            .call("BoardNext", json!({}))
            .call("Read", json!({ "file_path": "lib/add.sh" })),
        () if !called("Edit") => calls([(
            "Edit",
            json!({ "file_path": "lib/add.sh", "old_string": head, "new_string": checked }),
        )]),
        () if !called("Bash") => calls([(
            "Bash",
            json!({ "command": COMMIT, "description": "Run the test and commit" }),
        )]),
        () if !called("BoardUpdate") => calls([
            ("BoardUpdate", json!({ "id": id(), "status": "done", "note": "add returns 64." })),
            ("TodoWrite", plan(["completed", "completed", "completed"])),
        ]),
        () => text(
            "add checks its arguments, the test passes, and the writer's text is on its branch.",
        ),
    }
}

fn plan(states: [&str; 3]) -> Value {
    let steps = [
        ("Look at add", "Looking at add"),
        ("Have it described", "Having it described"),
        ("Change and test it", "Changing it"),
    ];
    let todos = steps.into_iter().zip(states).map(|((content, active), status)| {
        json!({ "content": content, "activeForm": active, "status": status })
    });
    json!({ "todos": todos.collect::<Vec<_>>() })
}

fn described() -> Value {
    let content = "# Arguments\n\n`add` ends with 64 unless it gets exactly one argument.\n";
    json!({ "file_path": "docs/arguments.md", "content": content })
}

fn summary() -> String {
    format!(
        "# Summary\n{SUMMARY}\n\n# Decisions\n- add returns 64.\n\n# Failed attempts\nnone\n\n# Open questions\nnone\n"
    )
}
