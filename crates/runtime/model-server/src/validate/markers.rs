//! Cache markers: how many, of which kind, in which order.

use serde_json::{Map, Value};

use super::{ValidationRule, invalid, only};

const MOST: usize = 4;

pub(super) fn check(fields: &Map<String, Value>) -> ValidationRule {
    let mut found = Vec::new();
    for (at, tool) in list(fields.get("tools")).enumerate() {
        found.extend(marker(format!("tools.{at}"), tool));
    }
    for (at, block) in list(fields.get("system")).enumerate() {
        found.extend(marker(format!("system.{at}"), block));
    }
    for (at, message) in list(fields.get("messages")).enumerate() {
        for (index, block) in list(message.get("content")).enumerate() {
            found.extend(marker(format!("messages.{at}.content.{index}"), block));
            for (inner, nested) in list(block.get("content")).enumerate() {
                let path = format!("messages.{at}.content.{index}.tool_result.content.{inner}");
                found.extend(marker(path, nested));
            }
        }
    }
    if let Some(control) = fields.get("cache_control").filter(|control| !control.is_null()) {
        found.push((String::new(), control));
    }
    let mut short = false;
    for (path, control) in &found {
        let dot = if path.is_empty() { "" } else { "." };
        let long = one(&format!("{path}{dot}cache_control"), control)?;
        if long && short {
            return Err(invalid(format!(
                "{path}{dot}cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: tools, system, messages."
            )));
        }
        short |= !long;
    }
    if found.len() > MOST {
        return Err(invalid(format!(
            "A maximum of {MOST} blocks with cache_control may be provided. Found {}.",
            found.len()
        )));
    }
    Ok(())
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// A null marker counts as none.
fn marker(path: String, block: &Value) -> Option<(String, &Value)> {
    let control = block.get("cache_control").filter(|control| !control.is_null())?;
    Some((path, control))
}

/// Whether the marker lives for an hour.
fn one(path: &str, control: &Value) -> Result<bool, super::ValidationError> {
    let Some(fields) = control.as_object() else {
        return Err(invalid(format!("{path}: Input should be a valid dictionary")));
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("ephemeral") => {}
        Some(other) => {
            return Err(invalid(format!(
                "{path}: Input tag '{other}' found using 'type' does not match any of the expected tags: 'ephemeral'"
            )));
        }
        None => return Err(invalid(format!("{path}.type: Field required"))),
    }
    only(fields, &format!("{path}.ephemeral."), &["type", "ttl", "scope"])?;
    match fields.get("ttl").map(Value::as_str) {
        None | Some(Some("5m")) => Ok(false),
        Some(Some("1h")) => Ok(true),
        _ => Err(invalid(format!("{path}.ephemeral.ttl: Input should be '5m' or '1h'"))),
    }
}
