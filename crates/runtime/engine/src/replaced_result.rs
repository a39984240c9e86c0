//! The result of a call, replaced by a hook that ran after it.

use ostler_core::message::ResultPart;
use ostler_core::tool::ToolOutput;
use serde_json::Value;

/// Characters of a replaced result.
const MOST: usize = 100_000;

/// What the model gets instead; none: the shape of the value is not known, so the result stays.
pub(crate) fn replaced(output: &ToolOutput, value: Value) -> Option<ToolOutput> {
    let text: String = text_of(&value)?.chars().take(MOST).collect();
    Some(ToolOutput {
        content: vec![ResultPart::Text { text }],
        shown: None,
        detail: value.is_object().then_some(value),
        ..output.clone()
    })
}

/// A text, blocks of text, what a command printed, the content of a file, or an object with one of these as its content.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| block.get("text")?.as_str());
            Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
        }
        Value::Object(fields) => {
            if let Some(printed) = fields.get("stdout").and_then(Value::as_str) {
                let errors = fields.get("stderr").and_then(Value::as_str).unwrap_or_default();
                let parts = [printed, errors].into_iter().filter(|part| !part.is_empty());
                return Some(parts.collect::<Vec<_>>().join("\n"));
            }
            let content = fields.get("content");
            text_of(content.or_else(|| fields.get("file")?.get("content"))?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shapes_of_results_are_understood_and_others_change_nothing() {
        let before = ToolOutput::text("before");
        let text = |value: Value| {
            let ToolOutput { content, .. } = replaced(&before, value)?;
            match content.as_slice() {
                [ResultPart::Text { text }] => Some(text.clone()),
                other => panic!("{other:?}"),
            }
        };
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        for (value, expected) in [
            (json!("plain"), Some("plain")),
            (json!({"stdout": "out", "stderr": ""}), Some("out")),
            (json!({"stdout": "out", "stderr": "err"}), Some("out\nerr")),
            (blocks.clone(), Some("a\nb")),
            (json!({"content": blocks}), Some("a\nb")),
            (json!({"content": "c"}), Some("c")),
            (json!({"type": "text", "file": {"content": "of a file"}}), Some("of a file")),
            (json!(7), None),
            (json!({"other": "x"}), None),
            (json!([{"type": "image"}]), None),
        ] {
            assert_eq!(text(value.clone()).as_deref(), expected, "{value}");
        }
        let long = "x".repeat(MOST + 1);
        assert_eq!(text(json!(long)).unwrap().len(), MOST);
    }
}
