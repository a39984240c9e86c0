//! A validator for JSON Schema, for the keywords that describe data. Nothing is fetched, and work and depth are bounded.
//!
//! `format` and unknown keywords are annotations. `$ref` leads into the schema itself only.

use regex::Regex;
use serde_json::{Map, Value};

/// How deep values, schemas and references may be nested.
const DEEPEST: usize = 64;
/// Comparisons of a value with a schema before the check is given up.
const MOST_STEPS: usize = 200_000;

/// Whether the schema can be used as the input of a tool.
///
/// # Errors
/// In words.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    let Some(fields) = schema.as_object() else {
        return Err("the schema is not a JSON object".into());
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("object") => {}
        Some(other) => {
            return Err(format!("the schema describes \"{other}\"; its type must be \"object\""));
        }
        None => return Err("the schema has no \"type\": \"object\"".into()),
    }
    references(schema, schema, 0)
}

fn references(root: &Value, schema: &Value, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("the schema is nested more than {DEEPEST} levels deep"));
    }
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref")
                && resolve(root, target).is_none()
            {
                return Err(format!("the schema refers to \"{target}\", which is not in it"));
            }
            if let Some(Value::String(pattern)) = fields.get("pattern") {
                Regex::new(pattern)
                    .map_err(|_| format!("the pattern \"{pattern}\" is not understood"))?;
            }
            fields.values().try_for_each(|part| references(root, part, depth + 1))
        }
        Value::Array(parts) => parts.iter().try_for_each(|part| references(root, part, depth + 1)),
        _ => Ok(()),
    }
}

fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    match target.strip_prefix('#')? {
        "" => Some(root),
        pointer => root.pointer(pointer),
    }
}

/// # Errors
/// What does not fit first, and where.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Validation { root: schema, steps: 0 }.check(schema, value, &Place::root())
}

struct Validation<'a> {
    root: &'a Value,
    steps: usize,
}

/// Where in the value.
struct Place {
    path: String,
    depth: usize,
}

impl Place {
    fn root() -> Self {
        Place { path: String::new(), depth: 0 }
    }

    fn below(&self, name: &dyn std::fmt::Display) -> Self {
        Place { path: format!("{}/{name}", self.path), depth: self.depth + 1 }
    }

    fn deeper(&self) -> Self {
        Place { path: self.path.clone(), depth: self.depth + 1 }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> String {
        let path = if self.path.is_empty() { "root" } else { &self.path };
        format!("{path}: {what}")
    }
}

impl<'a> Validation<'a> {
    fn check(&mut self, schema: &'a Value, value: &Value, at: &Place) -> Result<(), String> {
        self.steps += 1;
        if at.depth > DEEPEST || self.steps > MOST_STEPS {
            return Err(at.wrong("too deep or too large to be checked"));
        }
        let fields = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(fields) => fields,
            _ => return Err(at.wrong("nothing is allowed here")),
        };
        if let Some(Value::String(target)) = fields.get("$ref") {
            let Some(meant) = resolve(self.root, target) else {
                return Err(at.wrong(format!("unknown reference {target}")));
            };
            self.check(meant, value, &at.deeper())?;
        }
        plain(fields, value, at)?;
        self.combined(fields, value, at)?;
        match value {
            Value::Object(object) => self.object(fields, object, at),
            Value::Array(items) => self.array(fields, items, at),
            _ => Ok(()),
        }
    }

    fn combined(
        &mut self,
        fields: &'a Map<String, Value>,
        value: &Value,
        at: &Place,
    ) -> Result<(), String> {
        let at = &at.deeper();
        for part in list(fields, "allOf") {
            self.check(part, value, at)?;
        }
        if let Some(Value::Array(parts)) = fields.get("anyOf") {
            let fits = parts.iter().any(|part| self.check(part, value, at).is_ok());
            if !fits {
                return Err(at.wrong("must match one of the schemas in anyOf"));
            }
        }
        if let Some(Value::Array(parts)) = fields.get("oneOf") {
            let fits = parts.iter().filter(|part| self.check(part, value, at).is_ok()).count();
            if fits != 1 {
                return Err(at.wrong("must match exactly one of the schemas in oneOf"));
            }
        }
        match fields.get("not") {
            Some(part) if self.check(part, value, at).is_ok() => {
                Err(at.wrong("must not match the schema in not"))
            }
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        fields: &'a Map<String, Value>,
        object: &Map<String, Value>,
        at: &Place,
    ) -> Result<(), String> {
        for name in list(fields, "required").filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return Err(at.wrong(format!("must have required property '{name}'")));
            }
        }
        within(fields, ("minProperties", "maxProperties"), object.len(), "properties", at)?;
        let known = fields.get("properties").and_then(Value::as_object);
        let patterns = fields.get("patternProperties").and_then(Value::as_object);
        for (name, value) in object {
            let below = at.below(name);
            let mut found = false;
            if let Some(part) = known.and_then(|known| known.get(name)) {
                found = true;
                self.check(part, value, &below)?;
            }
            for (pattern, part) in patterns.into_iter().flatten() {
                if Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(name)) {
                    found = true;
                    self.check(part, value, &below)?;
                }
            }
            match fields.get("additionalProperties") {
                Some(Value::Bool(false)) if !found => {
                    return Err(at.wrong(format!("must not have the property '{name}'")));
                }
                Some(part) if !found => self.check(part, value, &below)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        fields: &'a Map<String, Value>,
        items: &[Value],
        at: &Place,
    ) -> Result<(), String> {
        within(fields, ("minItems", "maxItems"), items.len(), "items", at)?;
        let is_unique = fields.get("uniqueItems") == Some(&Value::Bool(true));
        if is_unique
            && items.iter().enumerate().any(|(n, item)| items.iter().take(n).any(|had| had == item))
        {
            return Err(at.wrong("must not have equal items"));
        }
        let first: Vec<&'a Value> = list(fields, "prefixItems").collect();
        for (n, item) in items.iter().enumerate() {
            let part = first.get(n).copied().or_else(|| fields.get("items"));
            if let Some(part) = part {
                self.check(part, item, &at.below(&n))?;
            }
        }
        Ok(())
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    fields.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// What needs no other schema.
fn plain(fields: &Map<String, Value>, value: &Value, at: &Place) -> Result<(), String> {
    let is = |name: &Value| name.as_str().is_some_and(|name| is_of(value, name));
    match fields.get("type") {
        Some(Value::Array(names)) if !names.iter().any(is) => {
            return Err(at.wrong("must be of one of the listed types"));
        }
        Some(name @ Value::String(text)) if !is(name) => {
            return Err(at.wrong(format!("must be {text}")));
        }
        _ => {}
    }
    if let Some(Value::Array(values)) = fields.get("enum")
        && !values.contains(value)
    {
        return Err(at.wrong("must be equal to one of the allowed values"));
    }
    match fields.get("const") {
        Some(only) if only != value => return Err(at.wrong(format!("must be equal to {only}"))),
        _ => {}
    }
    match value {
        Value::String(text) => string(fields, text, at),
        Value::Number(number) => numeric(fields, number.as_f64().unwrap_or(f64::NAN), at),
        _ => Ok(()),
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}

fn string(fields: &Map<String, Value>, text: &str, at: &Place) -> Result<(), String> {
    within(fields, ("minLength", "maxLength"), text.chars().count(), "characters", at)?;
    match fields.get("pattern").and_then(Value::as_str) {
        Some(pattern) if !Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)) => {
            Err(at.wrong(format!("must match the pattern \"{pattern}\"")))
        }
        _ => Ok(()),
    }
}

fn numeric(fields: &Map<String, Value>, number: f64, at: &Place) -> Result<(), String> {
    let limit = |name: &str| fields.get(name).and_then(Value::as_f64);
    let within = |name: &str, sign: &str, fits: &dyn Fn(f64) -> bool| match limit(name) {
        Some(limit) if !fits(limit) => Err(at.wrong(format!("must be {sign} {limit}"))),
        _ => Ok(()),
    };
    within("minimum", ">=", &|limit| number >= limit)?;
    within("maximum", "<=", &|limit| number <= limit)?;
    within("exclusiveMinimum", ">", &|limit| number > limit)?;
    within("exclusiveMaximum", "<", &|limit| number < limit)?;
    match limit("multipleOf") {
        Some(part) if part > 0.0 && !is_whole(number / part) => {
            Err(at.wrong(format!("must be a multiple of {part}")))
        }
        _ => Ok(()),
    }
}

/// As far as binary fractions can tell.
fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() <= 1e-9 * number.abs().max(1.0)
}

fn within(
    fields: &Map<String, Value>,
    (least, most): (&str, &str),
    count: usize,
    what: &str,
    at: &Place,
) -> Result<(), String> {
    let limit = |name: &str| fields.get(name).and_then(Value::as_u64);
    let count = count as u64;
    if let Some(least) = limit(least).filter(|least| count < *least) {
        return Err(at.wrong(format!("must have at least {least} {what}")));
    }
    match limit(most).filter(|most| count > *most) {
        Some(most) => Err(at.wrong(format!("must have at most {most} {what}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "json_schema_tests.rs"]
mod tests;
