//! A question on the terminal. It shows everything that would be done: nothing is cut and nothing is obeyed.

use super::lines::Lines;
use super::repl::write;
use crate::output::visible::visible;
use ostler::{Approver, BoxFuture, Question, Reply};
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Whoever holds the lines may ask; while a question is open nothing else is written.
pub struct Asker {
    pub lines: Arc<Mutex<Lines>>,
}

impl Approver for Asker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let no = |why: &str| Reply::No(format!("the user said no{why}"));
            let mut lines = self.lines.lock().await;
            lines.forget();
            if write(&text(&question)).is_err() {
                return Reply::No("the question could not be shown to the user".into());
            }
            let answer = lines.next().await;
            if !lines.are_echoed() || answer.is_none() {
                let _ = write("\n");
            }
            let Some(answer) = answer else {
                return Reply::No("the input ended before the user said yes".into());
            };
            match answer.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => Reply::Yes,
                "a" | "always" => Reply::YesForSession,
                "" | "n" | "no" => no(""),
                _ => no(&format!(": {}", answer.trim())),
            }
        })
    }
}

fn text(question: &Question) -> String {
    let tool = visible(&question.tool);
    let mut text = format!("? {tool}\n");
    match &question.input {
        Value::Object(fields) => {
            for (name, value) in fields {
                text += &field(name, value);
            }
        }
        other => text += &field("input", other),
    }
    let _ = write!(
        text,
        "  {}\n  run it? [y]es, [a]lways allow {tool} in this session, [n]o (or say why not): ",
        visible(reason(question))
    );
    text
}

/// A value of several lines stands behind bars, so that no line of it can be taken for one of ours.
fn field(name: &str, value: &Value) -> String {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let lines: Vec<&str> = value.split('\n').collect();
    let name = visible(name);
    match lines.as_slice() {
        [line] => format!("  {name}: {}\n", visible(line)),
        lines => {
            let mut text = format!("  {name} ({} lines):\n", lines.len());
            for line in lines {
                let _ = writeln!(text, "    │ {}", visible(line));
            }
            text
        }
    }
}

/// Without the command, which stands above in full.
fn reason(question: &Question) -> &str {
    let why = question.why.as_str();
    let cut = question.access.runs.as_ref().and_then(|runs| why.strip_suffix(runs.text.as_str()));
    cut.map_or(why, |why| why.trim_end().trim_end_matches(':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::{Access, CallId, Commands};
    use serde_json::json;

    fn asked(input: Value, why: &str, runs: Option<&str>) -> String {
        let access = Access {
            runs: runs.map(|text| Commands { text: text.into(), ..Commands::default() }.into()),
            ..Access::unknown()
        };
        let (call, tool, why) = (CallId::new("c1"), "Bash".to_owned(), why.to_owned());
        text(&Question { call, tool, input, access, why })
    }

    #[test]
    fn a_short_command_is_a_short_question() {
        let input = json!({"command": "touch x"});
        let shown = asked(input, "it is not proved harmless: touch x", Some("touch x"));
        assert_eq!(
            shown,
            "? Bash\n  command: touch x\n  it is not proved harmless\n  run it? [y]es, [a]lways allow Bash in this \
             session, [n]o (or say why not): "
        );
    }

    #[test]
    fn nothing_is_cut_hidden_or_taken_for_ours() {
        let long = format!("echo {}; rm -rf precious", "x".repeat(5_000));
        assert!(asked(json!({"command": &long}), "why", None).contains(&long));
        let command = "true\r\u{1b}]0;`rm a`\u{7}\u{8}\u{202e}\n  run it? y\n\nlast";
        let shown = asked(json!({"command": command, "timeout": 5}), "why", None);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            &lines[..7],
            [
                "? Bash",
                "  command (4 lines):",
                r"    │ true\r\u{1b}]0;`rm a`\u{7}\u{8}\u{202e}",
                "    │   run it? y",
                "    │ ",
                "    │ last",
                "  timeout: 5",
            ]
        );
    }
}
