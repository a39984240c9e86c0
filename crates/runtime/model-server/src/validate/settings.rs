//! The top-level fields: which exist, and what values they take.

use serde_json::{Map, Value};

use super::headers::betas;
use super::{ValidationRule, invalid, only, required, string};
use crate::record::{Headers, Route};
use crate::script::ServerRules;

const COMMON: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "cache_control",
    "output_config",
];
const GENERATION: &[&str] = &[
    "max_tokens",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "service_tier",
    "container",
    "inference_geo",
];
/// Fields that exist only together with a beta of that prefix.
const BETA: &[(&str, &str)] = &[
    ("context_management", "context-management-"),
    ("mcp_servers", "mcp-client-"),
    ("speed", "fast-mode-"),
];

pub(super) fn check(
    fields: &Map<String, Value>,
    headers: &Headers,
    route: Route,
    rules: &ServerRules,
) -> ValidationRule {
    known(fields, headers, route, rules)?;
    if string(fields, "", "model")?.is_empty() {
        return Err(invalid("model: String should have at least 1 character"));
    }
    if route == Route::Messages {
        required(fields, "", "max_tokens")?;
    }
    required(fields, "", "messages")?;
    match fields.get("max_tokens").map(Value::as_i64) {
        Some(None) => return Err(invalid("max_tokens: Input should be a valid integer")),
        Some(Some(tokens)) if tokens < 1 => {
            return Err(invalid("max_tokens: Input should be greater than or equal to 1"));
        }
        _ => {}
    }
    if fields.get("stream").is_some_and(|stream| !stream.is_boolean()) {
        return Err(invalid("stream: Input should be a valid boolean"));
    }
    metadata(fields)?;
    stop_sequences(fields)?;
    thinking(fields)?;
    temperature(fields)
}

fn known(
    fields: &Map<String, Value>,
    headers: &Headers,
    route: Route,
    rules: &ServerRules,
) -> ValidationRule {
    for key in fields.keys() {
        let key = key.as_str();
        let listed = COMMON.contains(&key)
            || (route == Route::Messages && GENERATION.contains(&key))
            || rules.allow_fields.iter().any(|allowed| allowed == key)
            || BETA.iter().any(|(field, prefix)| {
                *field == key && betas(headers).any(|beta| beta.starts_with(prefix))
            });
        if !listed || rules.refuse_fields.iter().any(|refused| refused == key) {
            return Err(invalid(format!("{key}: Extra inputs are not permitted")));
        }
    }
    Ok(())
}

fn metadata(fields: &Map<String, Value>) -> ValidationRule {
    match fields.get("metadata") {
        None => Ok(()),
        Some(Value::Object(metadata)) => {
            only(metadata, "metadata.", &["user_id"])?;
            match metadata.get("user_id") {
                None | Some(Value::String(_) | Value::Null) => Ok(()),
                Some(_) => Err(invalid("metadata.user_id: Input should be a valid string")),
            }
        }
        Some(_) => Err(invalid("metadata: Input should be a valid dictionary")),
    }
}

fn stop_sequences(fields: &Map<String, Value>) -> ValidationRule {
    let Some(value) = fields.get("stop_sequences") else { return Ok(()) };
    let Some(list) = value.as_array() else {
        return Err(invalid("stop_sequences: Input should be a valid list"));
    };
    for (at, item) in list.iter().enumerate() {
        match item.as_str() {
            None => {
                return Err(invalid(format!(
                    "stop_sequences.{at}: Input should be a valid string"
                )));
            }
            Some(text) if text.trim().is_empty() => {
                return Err(invalid(
                    "stop_sequences: each stop sequence must contain non-whitespace",
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn thinking(fields: &Map<String, Value>) -> ValidationRule {
    let Some(value) = fields.get("thinking") else { return Ok(()) };
    let Some(thinking) = value.as_object() else {
        return Err(invalid("thinking: Input should be a valid dictionary"));
    };
    match string(thinking, "thinking.", "type")? {
        "enabled" => {
            only(thinking, "thinking.enabled.", &["type", "budget_tokens", "display"])?;
            let budget = required(thinking, "thinking.enabled.", "budget_tokens")?.as_i64();
            let Some(budget) = budget else {
                return Err(invalid(
                    "thinking.enabled.budget_tokens: Input should be a valid integer",
                ));
            };
            if budget < 1024 {
                return Err(invalid(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
                ));
            }
            let most = fields.get("max_tokens").and_then(Value::as_i64).unwrap_or(i64::MAX);
            if budget >= most {
                return Err(invalid("`max_tokens` must be greater than `thinking.budget_tokens`."));
            }
        }
        "adaptive" => only(thinking, "thinking.adaptive.", &["type", "display"])?,
        "disabled" => only(thinking, "thinking.disabled.", &["type"])?,
        other => {
            return Err(invalid(format!(
                "thinking: Input tag '{other}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'"
            )));
        }
    }
    let choice = fields.get("tool_choice").and_then(|choice| choice.get("type"));
    if is_thinking(fields) && matches!(choice.and_then(Value::as_str), Some("any" | "tool")) {
        return Err(invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(())
}

/// Whether the model is asked to think.
pub(super) fn is_thinking(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("thinking").and_then(|thinking| thinking.get("type"));
    matches!(kind.and_then(Value::as_str), Some("enabled" | "adaptive"))
}

fn temperature(fields: &Map<String, Value>) -> ValidationRule {
    let Some(value) = fields.get("temperature") else { return Ok(()) };
    let Some(temperature) = value.as_f64() else {
        return Err(invalid("temperature: Input should be a valid number"));
    };
    if !(0.0..=1.0).contains(&temperature) {
        return Err(invalid("temperature: range: 0..1"));
    }
    if is_thinking(fields) && temperature < 1.0 {
        return Err(invalid("`temperature` may only be set to 1 when thinking is enabled."));
    }
    Ok(())
}
