//! Roles and contents, and the turns they merge into.

use serde_json::{Map, Value};

use super::blocks::{self, BlockPlace};
use super::{ValidationError, ValidationRule, invalid, only, string};
use crate::script::ServerRules;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    System,
}

/// Consecutive messages of one role.
#[derive(Debug)]
pub(super) struct MessageTurn<'a> {
    pub role: Role,
    pub blocks: Vec<PlacedBlock<'a>>,
}

/// A block and where it stands. A string is shown as itself, with the kind `text`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedBlock<'a> {
    pub message: usize,
    pub index: usize,
    pub kind: &'a str,
    pub value: &'a Value,
}

impl PlacedBlock<'_> {
    pub fn path(&self) -> String {
        format!("messages.{}.content.{}", self.message, self.index)
    }

    pub fn field(&self, name: &str) -> &str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

#[derive(Debug)]
pub(super) struct Turns<'a> {
    pub list: Vec<MessageTurn<'a>>,
    pub merged: u64,
}

pub(super) fn turns<'a>(
    fields: &'a Map<String, Value>,
    rules: &ServerRules,
) -> Result<Turns<'a>, ValidationError> {
    let Some(messages) = fields.get("messages").and_then(Value::as_array) else {
        return Err(invalid("messages: Input should be a valid list"));
    };
    if messages.is_empty() {
        return Err(invalid("messages: at least one message is required"));
    }
    let mut turns = Turns { list: Vec::<MessageTurn<'a>>::new(), merged: 0 };
    for (at, message) in messages.iter().enumerate() {
        let role = role(at, message, turns.list.last().map(|turn| turn.role), rules)?;
        let last = at + 1 == messages.len();
        let found = content(at, message, role, last)?;
        match turns.list.last_mut() {
            Some(turn) if turn.role == role => {
                if rules.alternate {
                    return Err(alternation(role));
                }
                turns.merged += 1;
                turn.blocks.extend(found);
            }
            _ => turns.list.push(MessageTurn { role, blocks: found }),
        }
    }
    ending(turns.list.last())?;
    Ok(turns)
}

/// An answer to be continued must not end in blanks: the model could not continue from there.
fn ending(last: Option<&MessageTurn<'_>>) -> ValidationRule {
    let last = last.filter(|turn| turn.role == Role::Assistant);
    let block = last.and_then(|turn| turn.blocks.last()).filter(|block| block.kind == "text");
    let text = block.map(|block| block.value.as_str().unwrap_or_else(|| block.field("text")));
    match text {
        Some(text) if text.ends_with(char::is_whitespace) => {
            Err(invalid("messages: final assistant content cannot end with trailing whitespace"))
        }
        _ => Ok(()),
    }
}

fn role(
    at: usize,
    message: &Value,
    before: Option<Role>,
    rules: &ServerRules,
) -> Result<Role, ValidationError> {
    let path = format!("messages.{at}.");
    let Some(fields) = message.as_object() else {
        return Err(invalid(format!("messages.{at}: Input should be a valid dictionary")));
    };
    only(fields, &path, &["role", "content"])?;
    match (string(fields, &path, "role")?, before) {
        ("user", _) => Ok(Role::User),
        ("assistant" | "system", None) => {
            Err(invalid("messages: first message must use the \"user\" role"))
        }
        ("assistant", Some(_)) => Ok(Role::Assistant),
        ("system", Some(Role::User)) if rules.mid_system => Ok(Role::System),
        ("system", Some(_)) if rules.mid_system => Err(invalid(format!(
            "messages.{at}: a \"system\" message must come right after a \"user\" message"
        ))),
        ("system", _) => Err(invalid(
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.",
        )),
        _ => Err(invalid(format!("{path}role: Input should be 'user' or 'assistant'"))),
    }
}

fn alternation(role: Role) -> ValidationError {
    let name = if role == Role::User { "user" } else { "assistant" };
    invalid(format!(
        "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{name}\" roles in a row"
    ))
}

fn content(
    at: usize,
    message: &Value,
    role: Role,
    last: bool,
) -> Result<Vec<PlacedBlock<'_>>, ValidationError> {
    let empty = match message.get("content") {
        None => return Err(invalid(format!("messages.{at}.content: Field required"))),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(blocks)) => blocks.is_empty(),
        Some(_) => {
            return Err(invalid(format!("messages.{at}.content: Input should be a valid list")));
        }
    };
    // The one place where nothing is something: an answer to be continued.
    if empty && last && role == Role::Assistant {
        return Ok(Vec::new());
    }
    if empty {
        return Err(invalid(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )));
    }
    match message.get("content") {
        Some(Value::Array(list)) => {
            let place = |index| BlockPlace { message: at, index, role };
            (0..).zip(list).map(|(index, block)| blocks::check(place(index), block)).collect()
        }
        Some(value) => {
            blocks::text(value.as_str().unwrap_or_default())?;
            Ok(vec![PlacedBlock { message: at, index: 0, kind: "text", value }])
        }
        None => Ok(Vec::new()),
    }
}
