//! From what a model sent to what a tool takes: coerced where the meaning is clear, refused with the remedy where not.

use ostler_core::tool::{ToolOutput, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// The largest whole number every reader of JSON agrees about.
const LARGEST: f64 = 9_007_199_254_740_992.0;

pub fn parse<T: DeserializeOwned>(spec: &ToolSpec, input: &Value) -> Result<T, ToolOutput> {
    let accepted = accept(&spec.input_schema, input);
    let typed = accepted
        .and_then(|input| serde_json::from_value(input).map_err(|error| vec![error.to_string()]));
    typed.map_err(|problems| {
        let expected = expected(&spec.input_schema);
        ToolOutput::misuse(format!(
            "The input of {} is not valid: {}. Expected: {expected}.",
            spec.name,
            problems.join("; ")
        ))
    })
}

/// The input with scalars brought to the types of the schema, or everything that is wrong with it.
pub fn accept(schema: &Value, input: &Value) -> Result<Value, Vec<String>> {
    let Some(given) = input.as_object() else {
        return Err(vec![format!("it must be an object, not {}", describe(input))]);
    };
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut problems = Vec::new();
    let mut out = Map::new();
    for (name, value) in given {
        match properties.get(name) {
            None => problems.push(format!("there is no property `{name}`")),
            Some(_) if value.is_null() && !required.contains(&name.as_str()) => {}
            Some(property) => match coerce(property, value) {
                Ok(value) => drop(out.insert(name.clone(), value)),
                Err(problem) => problems.push(format!("`{name}` {problem}")),
            },
        }
    }
    let missing = required.iter().filter(|name| !given.contains_key(**name));
    problems.extend(missing.map(|name| format!("the required property `{name}` is missing")));
    if problems.is_empty() { Ok(Value::Object(out)) } else { Err(problems) }
}

fn coerce(property: &Value, value: &Value) -> Result<Value, String> {
    let kind = property.get("type").and_then(Value::as_str).unwrap_or_default();
    let wrong = || format!("must be {}, not {}", article(kind), describe(value));
    let coerced = match kind {
        "string" => value.as_str().map(|_| value.clone()).ok_or_else(wrong)?,
        "integer" => Value::Number(whole(value).ok_or_else(wrong)?),
        "boolean" => match value {
            Value::Bool(_) => value.clone(),
            Value::String(text) => Value::Bool(text.trim().parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        },
        "array" => Value::Array(items(property, &unpacked(value)).unwrap_or_else(|| Err(wrong()))?),
        "object" => fields(property, &unpacked(value)).unwrap_or_else(|| Err(wrong()))?,
        _ => value.clone(),
    };
    if let Some(minimum) = property.get("minimum").and_then(Value::as_i64)
        && coerced.as_i64().is_some_and(|number| number < minimum)
    {
        return Err(format!("must be at least {minimum}, not {}", describe(value)));
    }
    match property.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.contains(&coerced) => {
            Err(format!("must be one of {}, not {}", list(allowed), describe(value)))
        }
        _ => Ok(coerced),
    }
}

/// A list or an object that came as the text of one.
fn unpacked(value: &Value) -> Value {
    let text = value.as_str().map(str::trim).filter(|text| text.starts_with(['[', '{']));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// None: no list came.
fn items(property: &Value, value: &Value) -> Option<Result<Vec<Value>, String>> {
    let given = value.as_array()?;
    let Some(schema) = property.get("items") else { return Some(Ok(given.clone())) };
    let one = |(at, item): (usize, &Value)| {
        coerce(schema, item).map_err(|problem| format!("[{at}] {problem}"))
    };
    Some(given.iter().enumerate().map(one).collect())
}

/// None: no object came.
fn fields(property: &Value, value: &Value) -> Option<Result<Value, String>> {
    value.as_object()?;
    match property.get("properties") {
        Some(_) => {
            let wrong = |problems: Vec<String>| format!("is not valid: {}", problems.join("; "));
            Some(accept(property, value).map_err(wrong))
        }
        None => Some(Ok(value.clone())),
    }
}

/// A whole number, also when it comes as `5.0` or `"5"`.
fn whole(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float =
                number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= LARGEST)?;
            Some(Number::from(float as i64))
        }
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => whole(&Value::Number(text.trim().parse().ok()?)),
        _ => None,
    }
}

/// `file_path (string), limit? (integer)`: short enough to stand at the end of each refusal.
fn expected(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    let one = |(name, property): (&String, &Value)| {
        let mark = if is_required(name) { "" } else { "?" };
        match property.get("enum").and_then(Value::as_array) {
            Some(allowed) => format!("{name}{mark} (one of {})", list(allowed)),
            None => {
                let kind = property.get("type").and_then(Value::as_str).unwrap_or("any");
                format!("{name}{mark} ({kind})")
            }
        }
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(one).collect::<Vec<_>>().join(", ")
}

fn list(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn article(kind: &str) -> String {
    match kind {
        "integer" => "a whole number".into(),
        "array" | "object" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}

/// What came, in few words.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => format!("the boolean {value}"),
        Value::Number(_) => format!("the number {value}"),
        Value::String(text) => {
            let short: String = text.chars().take(40).collect();
            let mark = if short.len() < text.len() { "…" } else { "" };
            format!("the string {short:?}{mark}")
        }
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
