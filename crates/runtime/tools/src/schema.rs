//! The schema the model sees: what `schemars` derives, without what a model has no use for.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// An object schema with its properties in the order of their declaration and nothing else allowed.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let raw = settings.for_deserialize().into_generator().into_root_schema_for::<T>().to_value();
    Value::Object(object(&raw))
}

fn object(raw: &Value) -> Map<String, Value> {
    let mut properties = Map::new();
    for (name, property) in raw.get("properties").and_then(Value::as_object).into_iter().flatten() {
        properties.insert(name.clone(), clean(property));
    }
    let required = raw.get("required").cloned().unwrap_or_else(|| json!([]));
    Map::from_iter([
        ("type".into(), json!("object")),
        ("properties".into(), Value::Object(properties)),
        ("required".into(), required),
        ("additionalProperties".into(), json!(false)),
    ])
}

/// Only the words a model reads. "Or null" goes: an optional property is simply left out.
fn clean(property: &Value) -> Value {
    let is_null = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("null");
    let alternatives = property.get("anyOf").and_then(Value::as_array);
    let inner =
        alternatives.and_then(|any| any.iter().find(|schema| !is_null(schema))).unwrap_or(property);
    let has_fields = inner.get("properties").is_some();
    let mut out = if has_fields { object(inner) } else { Map::new() };
    if let Some(items) = inner.get("items") {
        out.insert("type".into(), json!("array"));
        out.insert("items".into(), clean(items));
    }
    if let Some(kind) = inner.get("type") {
        let first = kind
            .as_array()
            .and_then(|kinds| kinds.iter().find(|kind| kind.as_str() != Some("null")));
        out.insert("type".into(), first.unwrap_or(kind).clone());
    }
    if let Some(values) = inner.get("enum").and_then(Value::as_array) {
        out.insert(
            "enum".into(),
            values.iter().filter(|value| !value.is_null()).cloned().collect(),
        );
    }
    if let Some(minimum) = inner.get("minimum") {
        out.insert("minimum".into(), minimum.clone());
    }
    if let Some(description) = property.get("description").or_else(|| inner.get("description")) {
        out.insert("description".into(), description.clone());
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Input {
        /// Which one.
        zebra: String,
        #[schemars(rename = "-n")]
        number: Option<u64>,
        /// How.
        mode: Option<Mode>,
        apple: bool,
        list: Option<Vec<Part>>,
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Part {
        /// What.
        name: String,
        much: Option<serde_json::Map<String, Value>>,
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    #[schemars(rename_all = "snake_case")]
    enum Mode {
        FastOne,
        Slow,
    }

    #[test]
    fn schemas_are_clean_and_in_order() {
        let expected = r#"{"type":"object","properties":{"zebra":{"type":"string","description":"Which one."},"-n":{"type":"integer","minimum":0},"mode":{"type":"string","enum":["fast_one","slow"],"description":"How."},"apple":{"type":"boolean"},"list":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","description":"What."},"much":{"type":"object"}},"required":["name"],"additionalProperties":false}}},"required":["zebra","apple"],"additionalProperties":false}"#;
        assert_eq!(of::<Input>().to_string(), expected);
    }
}
