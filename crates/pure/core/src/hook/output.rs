//! Finds verdicts in what a hook printed, whatever surrounds them.
//!
//! Other programs print here, too: a login shell prints a greeting, a library logs, a proxy answers with its own page.
//! A deny counts wherever it is found. Anything else counts only if it is all the hook printed.

use super::event::EventName;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// JSON that keeps a name that occurs twice, so that `{"decision": "block", "decision": "approve"}` is not an approval.
pub(super) enum Json {
    Object(Vec<(String, Json)>),
    List(Vec<Json>),
    Leaf(Value),
}

/// Fields whose content belongs to someone else: a deny in there is not the hook's.
const QUOTED: [&str; 6] = [
    "updatedInput",
    "updatedToolOutput",
    "updatedMCPToolOutput",
    "tool_input",
    "tool_response",
    "prompt",
];
/// Where an object that denies says why.
const REASONS: [&str; 4] = ["reason", "permissionDecisionReason", "message", "stopReason"];
/// Fields of an answer. An object with none of them says nothing about the event.
const KNOWN: [&str; 8] = [
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "decision",
    "reason",
    "hookSpecificOutput",
    "async",
];
/// What a verdict is recognised by in text that is not JSON.
const MARKS: [&str; 8] = [
    "\"continue",
    "\"decision",
    "\"permissionDecision",
    "\"hookSpecificOutput",
    "\"behavior",
    "\"stopReason",
    "'decision",
    "'permissionDecision",
];
/// Bytes read in search of JSON that turns out not to be any, over all attempts.
const MOST_WASTED: usize = 64 << 20;

/// What the hook printed, without what editors and Windows put in front of it.
pub(super) fn trimmed(output: &str) -> &str {
    output.trim().trim_start_matches('\u{feff}').trim()
}

/// No text of an answer on this event is meant for anybody, so brackets in it are an answer that went wrong.
pub(super) fn must_be_exact(event: EventName) -> bool {
    matches!(event, EventName::PreToolUse | EventName::PermissionRequest | EventName::PreCompact)
}

/// It has the look of JSON. Colours of a terminal have brackets, too, and do not.
pub(super) fn has_brackets(text: &str) -> bool {
    let mut before = ' ';
    text.chars().any(|c| {
        let colour = c == '[' && before == '\u{1b}';
        before = c;
        !colour && matches!(c, '{' | '}' | '[' | ']')
    })
}

/// Text that somebody may have meant as a verdict.
pub(super) fn resembles_verdict(text: &str) -> bool {
    let opens = |line: &str| {
        let line = line.trim_start();
        line.starts_with('{')
            || line.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'))
    };
    has_mark(text) || text.lines().any(opens)
}

/// The name of a field that decides, in quotes.
pub(super) fn has_mark(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// The reason of the first deny in the text, if there is one.
///
/// # Errors
/// In words, if the search was given up.
pub(super) fn deny_in_text(text: &str) -> Result<Option<String>, String> {
    let mut attempts = (MOST_WASTED / text.len().max(1)).max(16);
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = rest.get(at..).unwrap_or_default();
        // Most braces in text open something else.
        let inside = rest.get(1..).unwrap_or_default().trim_start();
        let mut taken = 1;
        if inside.starts_with('"') {
            let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
            if let Some(Ok(found)) = documents.next() {
                if let Some(why) = found.deny() {
                    return Ok(Some(why));
                }
                taken = documents.byte_offset();
            } else if attempts == 0 {
                return Err("its output has too many braces to search for a verdict".into());
            } else {
                attempts -= 1;
            }
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(None)
}

impl Json {
    /// The text is one JSON document and nothing else.
    pub(super) fn whole(text: &str) -> Result<Json, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The reason of the first deny in it, at any depth.
    pub(super) fn deny(&self) -> Option<String> {
        match self {
            Json::Leaf(_) => None,
            Json::List(items) => items.iter().find_map(Json::deny),
            Json::Object(fields) => {
                if fields.iter().any(denies) {
                    let said = REASONS.iter().find_map(|name| text_of(fields, name));
                    return Some(said.unwrap_or("it gave no reason").to_owned());
                }
                let own = fields.iter().filter(|(name, _)| !QUOTED.contains(&name.as_str()));
                own.map(|(_, value)| value).find_map(Json::deny)
            }
        }
    }

    /// The fields of an object.
    ///
    /// # Errors
    /// In words, if a name occurs twice.
    pub(super) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Json::Leaf(value) => value,
            Json::List(items) => {
                let items: Result<_, _> = items.into_iter().map(Json::into_value).collect();
                Value::Array(items?)
            }
            Json::Object(fields) => {
                let mut map = Map::new();
                for (name, value) in fields {
                    if map.contains_key(&name) {
                        return Err(format!("its output has \"{}\" twice", super::cut(&name)));
                    }
                    map.insert(name, value.into_value()?);
                }
                Value::Object(map)
            }
        })
    }
}

/// It says something, or is the event itself, handed back by a hook that only keeps a log.
pub(super) fn says_something(fields: &Map<String, Value>) -> bool {
    fields.contains_key("hook_event_name") || KNOWN.iter().any(|name| fields.contains_key(*name))
}

fn denies((name, value): &(String, Json)) -> bool {
    let Json::Leaf(value) = value else { return false };
    match name.as_str() {
        "decision" => matches!(value.as_str(), Some("block" | "deny")),
        "permissionDecision" | "behavior" => value.as_str() == Some("deny"),
        "continue" => *value == Value::Bool(false),
        _ => false,
    }
}

fn text_of<'a>(fields: &'a [(String, Json)], wanted: &str) -> Option<&'a str> {
    fields.iter().find_map(|(name, value)| match value {
        Json::Leaf(Value::String(text)) if name == wanted => Some(text.as_str()),
        _ => None,
    })
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VerdictReader)
    }
}

struct VerdictReader;

impl<'de> Visitor<'de> for VerdictReader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Leaf(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Leaf(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Leaf(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Leaf(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Leaf(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Leaf(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(field) = fields.next_entry()? {
            list.push(field);
        }
        Ok(Json::Object(list))
    }
}
