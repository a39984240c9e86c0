//! The rules of the real API, in the order a request meets them. The first broken one is reported,
//! in the API's manner: the path of the offending element, then what is wrong with it.

mod blocks;
mod headers;
mod markers;
mod messages;
mod pairing;
mod settings;
mod thinking;
mod tools;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::record::{Headers, Route};
use crate::script::ServerRules;
use crate::sent_thinking::SentThinking;

pub(crate) use headers::check as check_headers;

/// A refusal as it goes to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValidationError {
    pub status: u16,
    pub kind: &'static str,
    pub message: String,
}

type ValidationRule = Result<(), ValidationError>;

pub(crate) fn invalid(message: impl Into<String>) -> ValidationError {
    ValidationError { status: 400, kind: "invalid_request_error", message: message.into() }
}

/// What the checks learned on the way.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub tool_ids: HashSet<String>,
    /// Messages that continue the one before in the same role.
    pub merged_roles: u64,
    /// Thinking blocks sent although thinking is disabled.
    pub idle_thinking: u64,
}

pub(crate) fn parse(body: &[u8]) -> Result<Value, ValidationError> {
    serde_json::from_slice(body)
        .map_err(|error| invalid(format!("The request body is not valid JSON: {error}")))
}

/// Checks the body of a request; `sent` is what this server answered before.
pub(crate) fn check_body(
    body: &Value,
    headers: &Headers,
    route: Route,
    rules: &ServerRules,
    sent: &SentThinking,
) -> Result<Learned, ValidationError> {
    let Some(fields) = body.as_object() else {
        return Err(invalid("Input should be a valid dictionary"));
    };
    settings::check(fields, headers, route, rules)?;
    tools::check(fields)?;
    blocks::system(fields)?;
    let turns = messages::turns(fields, rules)?;
    let mut learned = Learned { merged_roles: turns.merged, ..Learned::default() };
    markers::check(fields)?;
    learned.tool_ids = pairing::check(&turns.list)?;
    learned.idle_thinking = thinking::check(fields, &turns.list, rules, sent)?;
    Ok(learned)
}

/// A field that must be there.
fn required<'a>(
    fields: &'a Map<String, Value>,
    path: &str,
    key: &str,
) -> Result<&'a Value, ValidationError> {
    fields.get(key).ok_or_else(|| invalid(format!("{path}{key}: Field required")))
}

fn string<'a>(
    fields: &'a Map<String, Value>,
    path: &str,
    key: &str,
) -> Result<&'a str, ValidationError> {
    required(fields, path, key)?
        .as_str()
        .ok_or_else(|| invalid(format!("{path}{key}: Input should be a valid string")))
}

/// Refuses keys that are not in the list.
fn only(fields: &Map<String, Value>, path: &str, known: &[&str]) -> ValidationRule {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(invalid(format!("{path}{key}: Extra inputs are not permitted"))),
        None => Ok(()),
    }
}

/// Letters, digits, `_` and `-`, of a bounded length.
fn is_name(text: &str, most: usize) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.len() <= most && text.chars().all(allowed)
}
