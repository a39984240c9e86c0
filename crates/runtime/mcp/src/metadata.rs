//! Names, texts and schemas of servers: checked and bounded before anything else sees them.

use crate::configuration::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

pub(crate) const LONGEST_DESCRIPTION: usize = 2_048;
/// Characters of a name that a server gives; longer ones are cut and told apart by a hash.
const LONGEST_NAME: usize = 56;
/// A name that is longer than this is no name.
const LONGEST_GIVEN: usize = 1_000;
/// Bytes of a schema: what can be declared to a model.
const LARGEST_SCHEMA: usize = 16_000;
const DEEPEST_SCHEMA: usize = 32;
/// Lines that are kept about what was left out.
const MOST_FAULTS: usize = 20;

/// The name of a server in the names of its tools.
///
/// # Errors
/// In words, if it cannot be one.
pub(crate) fn server_name(name: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let is_legal = !name.is_empty() && name.len() <= 64 && name.chars().all(legal);
    let shown: String =
        name.chars().map(|c| if matches!(c, '.' | ' ') { '_' } else { c }).collect();
    let is_clear = !shown.contains("__") && !shown.starts_with('_') && !shown.ends_with('_');
    match is_legal && is_clear && !shown.trim().is_empty() {
        true => Ok(shown),
        false => Err(
            "a server's name has 1 to 64 letters, digits, -, . or single _, and begins and ends with a letter or digit".into(),
        ),
    }
}

/// What a model can call a tool. A name that is cut ends with a hash, so that two long ones stay apart.
pub(crate) fn tool_name(name: &str) -> Result<String, String> {
    if name.is_empty() || name.len() > LONGEST_GIVEN || name.chars().any(is_hidden) {
        let shown: String = name.escape_debug().take(60).collect();
        return Err(format!("the tool \"{shown}\" is left out: its name is not usable"));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut shown: String = name.chars().map(|c| if legal(c) { c } else { '_' }).collect();
    if shown.len() > LONGEST_NAME {
        let digest = hex(&Sha256::digest(name.as_bytes()));
        shown.truncate(LONGEST_NAME - 9);
        shown = format!("{shown}_{}", &digest[..8]);
    }
    Ok(shown)
}

/// Characters that change how text is shown, or are not shown at all.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Text without characters that are not shown, with at most so many characters.
pub(crate) fn text(text: &str, most: usize) -> String {
    let shown = text.chars().filter(|c| !is_hidden(*c) || matches!(c, '\n' | '\t'));
    let mut cut: String = shown.take(most + 1).collect();
    if cut.chars().count() > most {
        cut.pop();
        cut.push('…');
    }
    cut.trim().to_owned()
}

/// Each line once, and not too many.
pub(crate) fn few(mut lines: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    let more = lines.len().saturating_sub(MOST_FAULTS);
    lines.truncate(MOST_FAULTS);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// What is wrong with the schema of an input.
pub(crate) fn check_schema(schema: &Value) -> Result<(), String> {
    let depth = check_part(schema, 0)?;
    debug_assert!(depth <= DEEPEST_SCHEMA);
    let bytes = schema.to_string().len();
    match bytes > LARGEST_SCHEMA {
        true => Err(format!("its input schema has {bytes} bytes, more than {LARGEST_SCHEMA}")),
        false => Ok(()),
    }
}

fn check_part(value: &Value, depth: usize) -> Result<usize, String> {
    if depth > DEEPEST_SCHEMA {
        return Err(format!("its input schema is nested deeper than {DEEPEST_SCHEMA} levels"));
    }
    let mut deepest = depth;
    let mut inner = |value: &Value| -> Result<(), String> {
        deepest = deepest.max(check_part(value, depth + 1)?);
        Ok(())
    };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let leads_away = |text: &str| !text.starts_with('#');
                let is_reference = matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef");
                if is_reference && value.as_str().is_some_and(leads_away) {
                    return Err("its input schema refers to another document".into());
                }
                inner(value)?;
            }
        }
        Value::Array(items) => items.iter().try_for_each(inner)?,
        _ => {}
    }
    Ok(deepest)
}

/// What every model's API accepts: an object at the top.
pub(crate) fn object_schema(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return Value::Object(Map::new()) };
    if fields.get("type").and_then(Value::as_str) != Some("object") {
        fields.insert("type".into(), "object".into());
    }
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".into(), Value::Object(Map::new()));
    }
    fields.remove("$schema");
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_servers_fit_into_names_of_tools() {
        for (name, expected) in [
            ("files", Some("files")),
            ("my.db", Some("my_db")),
            ("My DB-2", Some("My_DB-2")),
            ("a_b", Some("a_b")),
            ("", None),
            (" ", None),
            ("a__b", None),
            ("a._b", None),
            ("_a", None),
            ("a_", None),
            ("../a", None),
            ("a/b", None),
            ("a\u{1b}b", None),
            ("ä", None),
        ] {
            assert_eq!(server_name(name).ok().as_deref(), expected, "{name:?}");
        }
        assert!(server_name(&"x".repeat(64)).is_ok() && server_name(&"x".repeat(65)).is_err());
    }

    #[test]
    fn names_of_tools_are_what_a_model_can_say() {
        for (name, expected) in [
            ("read_file", Some("read_file")),
            ("a b/c.d", Some("a_b_c_d")),
            ("zählen", Some("z_hlen")),
            ("", None),
            ("a\nb", None),
            ("a\u{1b}[2J", None),
            ("a\u{202e}b", None),
            ("a\u{200b}b", None),
            ("a\u{e0041}b", None),
        ] {
            assert_eq!(tool_name(name).ok().as_deref(), expected, "{name:?}");
        }
        let long = |end: &str| tool_name(&("n".repeat(300) + end)).unwrap();
        assert_eq!(long("a").len(), LONGEST_NAME);
        assert_ne!(long("a"), long("b"), "told apart by a hash");
        assert!(tool_name(&"n".repeat(LONGEST_GIVEN + 1)).is_err());
        let refused = tool_name("evil\u{1b}[2J").unwrap_err();
        assert!(!refused.contains('\u{1b}'), "{refused}");
    }

    #[test]
    fn texts_are_bounded_and_hide_nothing() {
        assert_eq!(text(" a\u{202e}b\u{0}\n\tc ", 10), "ab\n\tc");
        assert_eq!(text("äöü", 3), "äöü");
        assert_eq!(text("äöüx", 3), "äöü…");
        let lines = ["a", "b", "a"].map(str::to_owned).to_vec();
        assert_eq!(few(lines), ["a", "b"]);
        let many = (0..30).map(|n| n.to_string()).collect();
        assert_eq!(few(many).last().unwrap(), "and 10 more");
    }

    #[test]
    fn schemas_that_are_bombs_or_lead_away_are_refused() {
        let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"x": inner}));
        for (schema, wrong) in [
            (json!({"type": "object"}), None),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}), None),
            // A property may be called so.
            (json!({"properties": {"$ref": {"type": "string"}}}), None),
            (nested(DEEPEST_SCHEMA), None),
            (nested(DEEPEST_SCHEMA + 1), Some("nested deeper")),
            (json!({"allOf": [{"$ref": "http://127.0.0.1/x"}]}), Some("another document")),
            (json!({"$ref": "other.json"}), Some("another document")),
            (json!({"$dynamicRef": "https://x/#a"}), Some("another document")),
            (json!({"description": "x".repeat(LARGEST_SCHEMA)}), Some("more than")),
        ] {
            match (check_schema(&schema), wrong) {
                (Ok(()), None) => {}
                (Err(why), Some(part)) => assert!(why.contains(part), "{why}"),
                (found, _) => panic!("{schema}: {found:?}"),
            }
        }
    }

    #[test]
    fn every_schema_is_one_of_an_object() {
        for (schema, expected) in [
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!([]), json!({})),
            (
                json!({"$schema": "x", "type": "string", "properties": [], "required": ["a"]}),
                json!({"type": "object", "properties": {}, "required": ["a"]}),
            ),
        ] {
            assert_eq!(object_schema(schema.clone()), expected, "{schema}");
        }
    }
}
