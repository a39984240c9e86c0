//! The tools offered, and the choice among them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{ValidationRule, invalid, is_name, only, required, string};

const LONGEST_NAME: usize = 128;
const CUSTOM: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "defer_loading",
    "input_examples",
    "allowed_callers",
    "eager_input_streaming",
];

pub(super) fn check(fields: &Map<String, Value>) -> ValidationRule {
    let tools = match fields.get("tools") {
        None => &[][..],
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(invalid("tools: Input should be a valid list")),
    };
    let mut names = HashSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let Some(tool) = tool.as_object() else {
            return Err(invalid(format!("tools.{at}: Input should be a valid dictionary")));
        };
        if !names.insert(name(at, tool)?) {
            return Err(invalid("tools: Tool names must be unique."));
        }
    }
    choice(fields, &names)
}

fn name(at: usize, tool: &Map<String, Value>) -> Result<&str, super::ValidationError> {
    // A tool the server itself runs or defines has a dated type and no schema of its own.
    let own = tool.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "custom");
    let path = if own { format!("tools.{at}.") } else { format!("tools.{at}.custom.") };
    let name = string(tool, &path, "name")?;
    if !is_name(name, LONGEST_NAME) {
        return Err(invalid(format!(
            "{path}name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )));
    }
    if own {
        return Ok(name);
    }
    only(tool, &path, CUSTOM)?;
    if tool.get("description").is_some_and(|text| !text.is_string()) {
        return Err(invalid(format!("{path}description: Input should be a valid string")));
    }
    let Some(schema) = required(tool, &path, "input_schema")?.as_object() else {
        return Err(invalid(format!("{path}input_schema: Input should be a valid dictionary")));
    };
    match required(schema, &format!("{path}input_schema."), "type")?.as_str() {
        Some("object") => Ok(name),
        _ => Err(invalid(format!("{path}input_schema.type: Input should be 'object'"))),
    }
}

fn choice(fields: &Map<String, Value>, names: &HashSet<&str>) -> ValidationRule {
    let Some(choice) = fields.get("tool_choice") else { return Ok(()) };
    let Some(choice) = choice.as_object() else {
        return Err(invalid("tool_choice: Input should be a valid dictionary"));
    };
    if names.is_empty() {
        return Err(invalid("tool_choice: may only be specified while providing `tools`"));
    }
    match string(choice, "tool_choice.", "type")? {
        "auto" | "any" | "none" => Ok(()),
        "tool" => {
            let name = string(choice, "tool_choice.tool.", "name")?;
            if names.contains(name) {
                return Ok(());
            }
            Err(invalid(format!("Tool '{name}' not found in provided tools")))
        }
        other => Err(invalid(format!(
            "tool_choice: Input tag '{other}' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'"
        ))),
    }
}
