//! What must not be lost when a conversation is summarized. It is stored as data next to the summary, grows from
//! boundary to boundary, and comes from the messages and from the summary itself.

use super::extract::{cut, first_text, subject};
use super::story::is_prompt;
use crate::ids::CallId;
use crate::message::{Block, Message};
use crate::tool_facts::KnownTools;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

const GOAL: usize = 1_000;
const REQUEST: usize = 500;
const LINE: usize = 240;
/// Maximum number of entries per list; older ones are dropped.
const REQUESTS: usize = 20;
const DECISIONS: usize = 30;
const FILES: usize = 60;
const FAILED: usize = 15;
const OPEN: usize = 15;
/// Calls with a changed input that are remembered.
const RAN_ON: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CarryOver {
    /// What the first prompt asked for.
    pub goal: String,
    /// What the user said since, newest last.
    pub requests: Vec<String>,
    pub decisions: Vec<String>,
    pub files: Vec<String>,
    pub failed: Vec<String>,
    pub open: Vec<String>,
    /// The newest undo outside of the conversation that the model knows of.
    #[serde(skip_serializing_if = "is_zero")]
    pub undo_told: u64,
    /// Calls whose input a person changed, with the files that they really changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ran_on: Vec<(CallId, Vec<String>)>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A call as it was made: its line for the summary, its whole input, and the files that it changes.
struct CarriedCall<'a> {
    name: &'a str,
    subject: String,
    whole: String,
    files: Vec<String>,
}

/// A summary split into its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    pub carry: CarryOver,
    /// What is not one of the lists.
    pub rest: String,
}

impl CarryOver {
    /// What the messages themselves say.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message>, tools: &KnownTools) -> Self {
        CarryOver::default().and_of(messages, tools)
    }

    /// With what later messages say.
    #[must_use]
    pub fn and_of<'a>(
        self,
        messages: impl IntoIterator<Item = &'a Message>,
        tools: &KnownTools,
    ) -> Self {
        let later = self.later(messages, tools);
        self.and(later)
    }

    /// A call ran on other files than the model had named.
    pub fn ran_on(&mut self, call: CallId, files: Vec<String>) {
        self.ran_on.retain(|(other, _)| *other != call);
        self.ran_on.push((call, files));
        let surplus = self.ran_on.len().saturating_sub(RAN_ON);
        self.ran_on.drain(..surplus);
    }

    /// The files of a call are those that the model named, unless a person changed them.
    fn files_of<'a>(&self, call: &CallId, named: impl Iterator<Item = &'a str>) -> Vec<String> {
        match self.ran_on.iter().find(|(other, _)| other == call) {
            Some((_, files)) => files.clone(),
            None => named.map(str::to_owned).collect(),
        }
    }

    fn later<'a>(
        &self,
        messages: impl IntoIterator<Item = &'a Message>,
        tools: &KnownTools,
    ) -> Self {
        let mut carry = CarryOver::default();
        let mut calls: HashMap<&CallId, CarriedCall<'_>> = HashMap::new();
        let mut failed: Vec<(String, String)> = Vec::new();
        for message in messages {
            if is_prompt(message) {
                // Piped text is not a request, unless there is nothing else.
                let own: String = message.own_words().collect();
                let said = if own.trim().is_empty() { message.text() } else { own };
                if carry.goal.is_empty() {
                    carry.goal = cut(&said, GOAL);
                } else {
                    carry.requests.push(cut(&said, REQUEST));
                }
            }
            for block in message.blocks() {
                match block {
                    Block::ToolUse { id, name, input, .. } => {
                        let facts = tools.facts(name);
                        let files = self.files_of(id, facts.changed(input));
                        let subject = subject(name, input, tools);
                        let whole = format!("{name} {input}");
                        calls.insert(id, CarriedCall { name, subject, whole, files });
                    }
                    Block::ToolResult { id, content, is_error } => {
                        let Some(CarriedCall { name, subject, whole, files }) = calls.get(id)
                        else {
                            continue;
                        };
                        if *is_error {
                            let why = first_text(content);
                            let line = cut(&format!("{name} {subject}: {why}"), LINE);
                            failed.push((whole.clone(), line));
                            continue;
                        }
                        // A call that succeeded later is not a failed attempt.
                        failed.retain(|(other, _)| other != whole);
                        carry.files.extend(files.iter().map(|file| cut(file, LINE)));
                    }
                    _ => {}
                }
            }
        }
        carry.failed = failed.into_iter().map(|(_, line)| line).collect();
        carry.bounded()
    }

    /// With what came later.
    #[must_use]
    pub fn and(mut self, later: CarryOver) -> Self {
        if self.goal.is_empty() {
            self.goal = later.goal;
        } else if !later.goal.is_empty() && later.goal != self.goal {
            self.requests.push(later.goal);
        }
        self.requests.extend(later.requests);
        self.decisions.extend(later.decisions);
        self.files.extend(later.files);
        self.failed.extend(later.failed);
        self.undo_told = self.undo_told.max(later.undo_told);
        // Open questions are taken from the newest summary only.
        if !later.open.is_empty() {
            self.open = later.open;
        }
        self.bounded()
    }

    fn bounded(mut self) -> Self {
        for (list, most) in [
            (&mut self.requests, REQUESTS),
            (&mut self.decisions, DECISIONS),
            (&mut self.files, FILES),
            (&mut self.failed, FAILED),
            (&mut self.open, OPEN),
        ] {
            newest(list, most);
        }
        self
    }

    /// As text of at most this many bytes: the oldest entries of the longest list are dropped first.
    pub fn words(&self, bytes: usize) -> String {
        let mut shown = self.clone();
        loop {
            let words = shown.all_words();
            if words.len() <= bytes {
                return words;
            }
            let lists = [
                &mut shown.requests,
                &mut shown.decisions,
                &mut shown.files,
                &mut shown.failed,
                &mut shown.open,
            ];
            let size = |list: &&mut Vec<String>| list.iter().map(String::len).sum::<usize>();
            match lists.into_iter().max_by_key(size) {
                Some(list) if !list.is_empty() => drop(list.remove(0)),
                _ => return cut(&shown.goal, bytes / 4),
            }
        }
    }

    fn all_words(&self) -> String {
        let mut out = Vec::new();
        if !self.goal.is_empty() {
            out.push(format!("Goal: {}", self.goal));
        }
        for (title, list) in [
            ("Said by the user since", &self.requests),
            ("Decisions", &self.decisions),
            ("Files changed", &self.files),
            ("Failed attempts", &self.failed),
            ("Open questions", &self.open),
        ] {
            if !list.is_empty() {
                out.push(format!("{title}:\n- {}", list.join("\n- ")));
            }
        }
        out.join("\n")
    }

    /// Takes a summary apart: what is under the requested headings goes to the lists.
    pub fn stated(summary: &str) -> Stated {
        let mut stated = Stated::default();
        let mut section = "";
        for line in summary.lines() {
            if let Some(title) = line.trim().strip_prefix('#') {
                section = list_name(title.trim_matches(['#', ' ', ':', '*']));
                if section.is_empty() {
                    stated.rest.push_str(line);
                    stated.rest.push('\n');
                }
                continue;
            }
            let item = line.trim().trim_start_matches(['-', '*', '•', ' ']);
            let list = match section {
                "decisions" => &mut stated.carry.decisions,
                "failed attempts" => &mut stated.carry.failed,
                "open questions" => &mut stated.carry.open,
                _ => {
                    stated.rest.push_str(line);
                    stated.rest.push('\n');
                    continue;
                }
            };
            if !item.is_empty() && !item.eq_ignore_ascii_case("none") {
                list.push(cut(item, LINE));
            }
        }
        stated.carry = stated.carry.bounded();
        stated.rest = stated.rest.trim().to_owned();
        stated
    }
}

fn list_name(title: &str) -> &'static str {
    let lists = ["decisions", "failed attempts", "open questions"];
    lists.into_iter().find(|list| title.eq_ignore_ascii_case(list)).unwrap_or_default()
}

/// Each entry once, where it came last, and only so many.
fn newest(list: &mut Vec<String>, most: usize) {
    let mut kept: Vec<String> = Vec::new();
    for entry in std::mem::take(list).into_iter().rev() {
        if kept.len() < most && !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    kept.reverse();
    *list = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ModelId;
    use serde_json::json;

    fn exchange(id: &str, name: &str, path: &str, error: Option<&str>) -> [Message; 2] {
        let input = json!({ "file_path": path });
        let call = Block::ToolUse { id: id.into(), name: name.into(), input, via: None };
        let result = Block::ToolResult {
            id: id.into(),
            content: vec![crate::message::ResultPart::text(error.unwrap_or("ok"))],
            is_error: error.is_some(),
        };
        [
            Message::assistant(&ModelId::new("m"), vec![call]),
            Message::User { content: vec![result] },
        ]
    }

    #[test]
    fn goal_files_and_failures_come_from_the_messages() {
        let mut messages = vec![Message::user("Fix the parser"), Message::meta("a note")];
        messages.extend(exchange("1", "Edit", "a.rs", None));
        messages.extend(exchange("2", "Edit", "b.rs", Some("no such file")));
        messages.extend(exchange("3", "Read", "c.rs", None));
        messages.push(Message::user("Also the lexer"));
        let carry = CarryOver::of(&messages, &crate::test_tools::tools());
        assert_eq!(carry.goal, "Fix the parser");
        assert_eq!(carry.requests, ["Also the lexer"]);
        assert_eq!(carry.files, ["a.rs"]);
        assert_eq!(carry.failed, ["Edit b.rs: no such file"]);
    }

    #[test]
    fn lists_grow_and_stay_bounded() {
        let mut carry = CarryOver::default();
        for n in 0..200 {
            let files = vec![format!("f{n}"), "again".to_owned()];
            carry =
                carry.and(CarryOver { goal: format!("goal {n}"), files, ..CarryOver::default() });
        }
        assert_eq!(carry.goal, "goal 0");
        assert_eq!((carry.files.len(), carry.requests.len()), (FILES, REQUESTS));
        assert_eq!(carry.files.last().map(String::as_str), Some("again"));
        for bytes in [0, 100, 1_000, 100_000] {
            assert!(carry.words(bytes).len() <= bytes.max(50), "{bytes}");
        }
        assert!(carry.words(100_000).contains("goal 0"));
    }

    #[test]
    fn a_summary_is_taken_apart_at_its_headings() {
        let stated = CarryOver::stated(
            "## Summary\nWe did x.\n## Decisions\n- use y\n* not z\n## Failed attempts\nnone\n## Open questions\n- why?\n",
        );
        assert_eq!(stated.rest, "## Summary\nWe did x.");
        assert_eq!(stated.carry.decisions, ["use y", "not z"]);
        assert_eq!(stated.carry.failed, [] as [&str; 0]);
        assert_eq!(stated.carry.open, ["why?"]);
        assert_eq!(CarryOver::stated("plain words").rest, "plain words");
    }
}
