//! Tools that arrive after the first request of a session.
//!
//! The tool list precedes everything else in a request, so a changed list loses the whole cache. It stays as it was: a
//! message announces what came and what went, and one fixed tool calls what is not in the list.
//!
//! What the model knows is read from the conversation that it is sent. So nothing is announced twice after a restart, and
//! what a rewind or a summary took away is announced again.

use crate::ids::CallId;
use crate::message::{Block, Message, ResultPart};
use crate::prompt_texts;
use crate::text::{enclosed, fill, head};
use crate::tool::ToolSpec;
use crate::tool_facts::{Subject, ToolFacts};
use crate::view::View;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The fixed tool that calls others.
pub const USE_TOOL: &str = "UseTool";

/// Characters of a name.
const LONGEST_NAME: usize = 128;
/// Characters of a description; the rest is cut off.
const LONGEST_DESCRIPTION: usize = 4_000;
/// Bytes of a schema.
const LARGEST_SCHEMA: usize = 16_000;

const ADDED: &str = "<tools-added>";
const REMOVED: &str = "<tools-removed>";
const DEFERRED: &str = "<tools-deferred>";
/// Characters of all names of tools that are not described.
const MOST_OF_NAMES: usize = 4_800;
/// The prefix of a name in the list of removed tools.
const BULLET: &str = "- ";

/// Why a tool was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolRefusal {
    #[error("a name has 1 to {LONGEST_NAME} letters, digits, `_` or `-`")]
    BadName,
    #[error("there is a tool of that name already")]
    NameTaken,
    #[error("the input schema is not an object, or has more than {LARGEST_SCHEMA} bytes")]
    BadSchema,
    #[error("a rule denies it, or it is not among the tools that the session offers")]
    NotOffered,
    #[error("the added tools together are too large")]
    TooMany,
    #[error("the tool list is fixed after the first request, and the session has no late tools")]
    ListIsFixed,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot add the tool {name:?}: {why}")]
pub struct ToolRefused {
    pub name: String,
    pub why: ToolRefusal,
}

/// The description of the fixed tool.
pub fn use_tool_spec() -> ToolSpec {
    ToolSpec {
        name: USE_TOOL.to_owned(),
        description: prompt_texts::USE_TOOL.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The name of the tool to call"},
                "input": {"type": "object", "description": "The input of that tool"},
            },
            "required": ["name", "input"],
            "additionalProperties": false,
        }),
        facts: ToolFacts { subject: Subject::Inputs(&["name"]), ..ToolFacts::UNDECLARED },
    }
}

pub fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(legal)
}

/// The declaration as it goes to the model: bounded, and without control characters.
///
/// # Errors
/// If the tool cannot be declared to a model.
pub fn presentable(spec: &ToolSpec) -> Result<ToolSpec, ToolRefusal> {
    if !is_name(&spec.name) {
        return Err(ToolRefusal::BadName);
    }
    let schema = &spec.input_schema;
    if !schema.is_object() || schema.to_string().len() > LARGEST_SCHEMA {
        return Err(ToolRefusal::BadSchema);
    }
    let is_shown = |c: &char| !c.is_control() || *c == '\n';
    let clean: String = spec.description.chars().filter(is_shown).collect();
    let (shown, is_all) = head(&clean, LONGEST_DESCRIPTION);
    let description = if is_all { clean } else { format!("{shown}…") };
    Ok(ToolSpec { description, ..spec.clone() })
}

/// A call through the fixed tool becomes the call it stands for. A call that is none of these, or that names no tool,
/// stays as it is.
pub fn unwrapped(id: CallId, name: String, input: Value, via: Option<String>) -> Block {
    match inner_call(&name, &input) {
        Some((inner, input)) if via.is_none() => {
            Block::ToolUse { id, name: inner, input, via: Some(name) }
        }
        _ => Block::ToolUse { id, name, input, via },
    }
}

/// The call that a call of the fixed tool stands for.
pub fn inner_call(name: &str, input: &Value) -> Option<(String, Value)> {
    let given = input.as_object().filter(|_| name == USE_TOOL)?;
    let is_all = given.keys().all(|key| key == "name" || key == "input");
    let inner = given.get("name")?.as_str().filter(|inner| is_all && is_name(inner))?;
    let input = given.get("input").cloned().unwrap_or_else(|| json!({}));
    input.is_object().then(|| (inner.to_owned(), input))
}

/// A call as the model made it, which is how it goes back to the model.
pub fn as_said<'a>(
    name: &'a str,
    input: &'a Value,
    via: Option<&'a str>,
) -> (&'a str, Cow<'a, Value>) {
    match via {
        Some(via) => (via, Cow::Owned(json!({ "name": name, "input": input }))),
        None => (name, Cow::Borrowed(input)),
    }
}

/// What a session offers, as far as its model has to know.
pub struct ToolOffer<'a> {
    /// The list that is sent.
    pub listed: &'a [ToolSpec],
    /// Names in the list that an earlier process sent.
    pub earlier: &'a [String],
    /// Tools that can come and go, with what the model should know of each.
    pub added: Vec<&'a ToolSpec>,
    /// The names of those that can be found, and are not described before.
    pub deferred: Vec<&'a str>,
    /// Whether a call of this name would find a tool.
    pub is_callable: &'a dyn Fn(&str) -> bool,
}

/// What came and went since the last announcement, and the message that announces it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolNews {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub message: Message,
}

/// How the model knows a tool.
enum Known<'a> {
    /// By a list whose words are not known here.
    Earlier,
    Listed(&'a ToolSpec),
    /// By this line of an announcement.
    Announced(&'a str),
}

impl ToolOffer<'_> {
    /// None: the conversation and the list say all there is to say.
    pub fn news(&self, view: &View) -> Option<ToolNews> {
        let known = self.known(view);
        let is_news = |spec: &&ToolSpec| match known.get(spec.name.as_str()) {
            None => true,
            Some(Known::Earlier) => false,
            Some(Known::Listed(listed)) => !says_the_same(listed, spec),
            Some(Known::Announced(line)) => *line != line_of(spec),
        };
        let added: Vec<&ToolSpec> = self.added.iter().copied().filter(is_news).collect();
        let is_gone = |name: &&str| *name != USE_TOOL && !(self.is_callable)(name);
        let removed: Vec<&str> = known.keys().copied().filter(is_gone).collect();
        let mut content = Vec::new();
        if !removed.is_empty() {
            let lines = removed.iter().map(|name| format!("{BULLET}{name}"));
            content.push(note(prompt_texts::TOOLS_REMOVED, lines));
        }
        if !added.is_empty() {
            let lines = added.iter().map(|spec| line_of(spec));
            content.push(note(prompt_texts::TOOLS_ADDED, lines));
        }
        content.extend(self.deferred_note(view));
        (!content.is_empty()).then(|| ToolNews {
            added: added.iter().map(|spec| spec.name.clone()).collect(),
            removed: removed.into_iter().map(str::to_owned).collect(),
            message: Message::User { content },
        })
    }

    /// None: the newest note of this kind says the same.
    fn deferred_note(&self, view: &View) -> Option<Block> {
        let notes = view.messages().flat_map(Message::blocks).filter_map(|block| match block {
            Block::Text { text, meta: true } if text.starts_with(DEFERRED) => Some(text),
            _ => None,
        });
        let newest = notes.last();
        if self.deferred.is_empty() && newest.is_none() {
            return None;
        }
        let new = note(prompt_texts::TOOLS_DEFERRED, by_server(&self.deferred).into_iter());
        let is_said = matches!(&new, Block::Text { text, .. } if newest == Some(text));
        (!is_said).then_some(new)
    }

    fn known<'a>(&'a self, view: &'a View) -> BTreeMap<&'a str, Known<'a>> {
        let earlier = self.earlier.iter().map(|name| (name.as_str(), Known::Earlier));
        let listed = self.listed.iter().map(|spec| (spec.name.as_str(), Known::Listed(spec)));
        let mut known: BTreeMap<&str, Known<'_>> = earlier.chain(listed).collect();
        for block in view.messages().flat_map(Message::blocks) {
            if let Block::ToolResult { content, .. } = block {
                known.extend(content.iter().flat_map(result_lines).filter_map(announced));
            }
            let Block::Text { text, meta: true } = block else { continue };
            if text.starts_with(ADDED) {
                known.extend(text.lines().filter_map(announced));
            } else if text.starts_with(REMOVED) {
                for name in text.lines().filter_map(|line| line.strip_prefix(BULLET)) {
                    known.remove(name);
                }
            }
        }
        known
    }
}

fn result_lines(part: &ResultPart) -> std::str::Lines<'_> {
    match part {
        ResultPart::Text { text } => text.lines(),
        ResultPart::Image(_) => "".lines(),
    }
}

/// The tools that a conversation describes, in announcements and in results of searches.
pub fn described_in(view: &View) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for block in view.messages().flat_map(Message::blocks) {
        match block {
            Block::ToolResult { content, .. } => {
                let found = content.iter().flat_map(result_lines).filter_map(announced);
                names.extend(found.map(|(name, _)| name.to_owned()));
            }
            Block::Text { text, meta: true } if text.starts_with(ADDED) => {
                names.extend(text.lines().filter_map(announced).map(|(name, _)| name.to_owned()));
            }
            _ => {}
        }
    }
    names
}

/// The description of a tool for the model, on one line.
pub fn description_line(spec: &ToolSpec) -> String {
    line_of(spec)
}

/// One line for each server, with as many names as fit.
fn by_server(names: &[&str]) -> Vec<String> {
    let mut servers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let plain = name.strip_prefix("mcp__").unwrap_or(name);
        let (server, tool) = plain.split_once("__").unwrap_or(("", plain));
        servers.entry(server).or_default().push(tool);
    }
    let room = MOST_OF_NAMES / servers.len().max(1);
    let line = |(server, tools): (&str, Vec<&str>)| {
        let (mut shown, mut count) = (String::new(), 0);
        for tool in &tools {
            if shown.len() + tool.len() > room && count > 0 {
                break;
            }
            shown += if count == 0 { "" } else { ", " };
            shown += tool;
            count += 1;
        }
        let more = tools.len() - count;
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{BULLET}{server}: {shown}{more}")
    };
    servers.into_iter().map(line).collect()
}

/// A tool that a line of an announcement describes.
fn announced(line: &str) -> Option<(&str, Known<'_>)> {
    // The name is the first field, and nothing in it is escaped.
    let name = line.strip_prefix(LINE_START)?.split('"').next()?;
    is_name(name).then_some((name, Known::Announced(line)))
}

const LINE_START: &str = "{\"name\":\"";

/// One line, whatever the declaration holds.
fn line_of(spec: &ToolSpec) -> String {
    let ToolSpec { name, description, input_schema, .. } = spec;
    let description = Value::from(description.as_str());
    enclosed(&format!(
        "{LINE_START}{name}\",\"description\":{description},\"input_schema\":{input_schema}}}"
    ))
}

fn says_the_same(one: &ToolSpec, other: &ToolSpec) -> bool {
    one.description == other.description && one.input_schema == other.input_schema
}

fn note(form: &str, lines: impl Iterator<Item = String>) -> Block {
    let tools = lines.collect::<Vec<_>>().join("\n");
    Block::Text { text: fill(form, &[("tools", &tools)]), meta: true }
}

#[cfg(test)]
#[path = "late_tools_tests.rs"]
mod tests;
