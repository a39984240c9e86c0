//! Each keyword with a value that fits and one that does not.

use super::*;
use serde_json::json;

#[test]
fn every_keyword_refuses_what_does_not_fit() {
    let table = [
        (json!({"type": "integer"}), json!(3.0), json!(3.5)),
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (json!({"enum": ["a", 1]}), json!(1), json!("b")),
        (json!({"const": {"a": 1}}), json!({"a": 1}), json!({"a": 2})),
        (json!({"minLength": 2, "maxLength": 3}), json!("äö"), json!("a")),
        (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
        (json!({"minimum": 1, "exclusiveMaximum": 5}), json!(1), json!(5)),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
        (json!({"minItems": 1, "uniqueItems": true}), json!([1, 2]), json!([1, 1])),
        (json!({"items": {"type": "string"}}), json!(["a"]), json!(["a", 1])),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
            json!(["a", 1]),
            json!([1, 1]),
        ),
        (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
        (
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            json!({"a": 1}),
            json!({"b": 1}),
        ),
        (
            json!({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false}),
            json!({"x1": 1}),
            json!({"x1": "a"}),
        ),
        (json!({"maxProperties": 1}), json!({"a": 1}), json!({"a": 1, "b": 2})),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(2), json!(3)),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 3}]}), json!("a"), json!(2)),
        (json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}), json!(9), json!(3)),
        (json!({"not": {"type": "null"}}), json!(1), json!(null)),
        (json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}), json!(1), json!("a")),
        (json!(true), json!(1), json!(1)),
    ];
    for (schema, fits, wrong) in table {
        assert_eq!(check(&schema, &fits), Ok(()), "{schema}");
        if schema != json!(true) {
            assert!(check(&schema, &wrong).is_err(), "{schema}: {wrong}");
        }
    }
}

#[test]
fn an_error_says_where() {
    let schema = json!({"properties": {"list": {"items": {"required": ["id"]}}}});
    let wrong = check(&schema, &json!({"list": [{"id": 1}, {}]})).unwrap_err();
    assert_eq!(wrong, "/list/1: must have required property 'id'");
}

#[test]
fn hostile_schemas_and_values_end() {
    let endless = json!({"type": "object", "$ref": "#"});
    assert!(check_schema(&endless).is_ok());
    assert!(check(&endless, &json!({})).is_err());
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let nested = json!({"$ref": "#/$defs/l", "$defs": {"l": {"items": {"$ref": "#/$defs/l"}}}});
    assert!(check(&nested, &deep).is_err());
    let bomb = json!({"type": "object", "$defs": {"b": {"anyOf": vec![json!({"$ref": "#/$defs/b"}); 8]}}, "$ref": "#/$defs/b"});
    assert!(check(&bomb, &json!({})).is_err());
}

#[test]
fn a_schema_that_cannot_be_a_tools_input_is_refused() {
    for (schema, part) in [
        (json!([]), "not a JSON object"),
        (json!({"type": "array"}), "array"),
        (json!({}), "no \"type\""),
        (json!({"type": "object", "properties": {"a": {"$ref": "https://x/y"}}}), "https://x/y"),
        (json!({"type": "object", "properties": {"a": {"pattern": "("}}}), "pattern"),
    ] {
        let wrong = check_schema(&schema).unwrap_err();
        assert!(wrong.contains(part), "{wrong}");
    }
}
