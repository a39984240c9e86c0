//! What of a recording is the same on every machine and in every run.

use super::{BEGAN, SESSION};
use crate::support::World;
use ostler::Envelope;
use serde_json::{Value, json};

/// With its fields in the order in which a session writes them.
pub fn written(envelope: Value) -> String {
    let envelope: Envelope = serde_json::from_value(envelope).unwrap();
    serde_json::to_string(&envelope).unwrap()
}

/// The same on every machine and in every run.
pub fn normalised(world: &World, envelope: &Envelope) -> String {
    let mut envelope = serde_json::to_value(envelope).unwrap();
    let seq = envelope["seq"].as_u64().unwrap();
    envelope["at"] = json!(BEGAN + seq * 10);
    fix(&mut envelope);
    let mut line = written(envelope);
    let root = world.root().canonicalize().unwrap();
    for (from, to) in [
        (root.to_str().unwrap(), "/world"),
        (world.root().to_str().unwrap(), "/world"),
        (world.server.url().as_str(), "http://model"),
        (world.server.addr().to_string().as_str(), "model"),
    ] {
        line = line.replace(from, to);
    }
    line
}

/// What follows is how long a call ran.
const STOPPED: &str = "Stopped by the user after ";

fn fix(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "id" | "session" if is_uuid(value) && *value != SESSION => {
                        *value = json!("0000-id")
                    }
                    "ids" => *value = json!(["0000-id"]),
                    "deadline" if value.is_u64() => *value = json!(BEGAN + 86_400_000),
                    "took_ms" | "api_time_ms" | "wait_ms" | "ms" if value.is_u64() => {
                        *value = json!(20)
                    }
                    "seconds" => *value = json!(6),
                    _ => fix(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fix),
        Value::String(text) => {
            let told = text.strip_prefix(STOPPED).and_then(|rest| rest.split_once(" s. "));
            if let Some((_, rest)) = told {
                *text = format!("{STOPPED}0.0 s. {rest}");
            }
        }
        _ => {}
    }
}

fn is_uuid(value: &Value) -> bool {
    value.as_str().is_some_and(ostler::is_uuid)
}

/// Every event with everything in it, in order, without the pieces of streams. Calls that run side by side begin and end
/// in any order: of a stretch with several of them, each call has its own events together.
pub fn whole(lines: &[String]) -> Vec<String> {
    let event = |line: &String| {
        let mut envelope: Value = serde_json::from_str(line).unwrap();
        let fields = envelope.as_object_mut().unwrap();
        fields.retain(|name, _| name != "seq" && name != "at");
        blank(&mut envelope["event"]);
        let kind = envelope["event"]["type"].as_str().unwrap();
        let is_piece = kind.ends_with("_delta") || kind == "call_progress";
        (!is_piece).then_some(envelope)
    };
    let mut events: Vec<Value> = lines.iter().filter_map(event).collect();
    let both_of_calls = |one: &Value, next: &Value| of_call(one) && of_call(next);
    for stretch in events.chunk_by_mut(both_of_calls) {
        if stretch.iter().filter(|one| one["event"]["type"] == "call_started").count() > 1 {
            stretch.sort_by_key(|one| one["event"]["id"].to_string());
        }
    }
    events.iter().map(Value::to_string).collect()
}

/// The beginning or the end of a call that ran.
fn of_call(envelope: &Value) -> bool {
    let kind = envelope["event"]["type"].as_str();
    matches!(kind, Some("call_started" | "call_finished"))
}

/// Without the sizes and prices that follow from the length of our prompts.
fn blank(event: &mut Value) {
    for field in ["usage", "per_model", "cost", "cache_saved"] {
        if !event[field].is_null() {
            event[field] = json!("some");
        }
    }
    let receipt = &mut event["receipt"];
    for field in ["before", "after"] {
        if receipt[field].is_number() {
            receipt[field] = json!("some");
        }
    }
    // The same numbers in words.
    if let Some(text) = event["text"].as_str().filter(|text| text.contains(" tokens before, ")) {
        let words = text.split(' ').filter(|word| !word.chars().all(|c| c.is_ascii_digit()));
        event["text"] = json!(words.collect::<Vec<_>>().join(" "));
    }
}
