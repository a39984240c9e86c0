use super::*;
use serde_json::json;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 0},
            "all": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "any": {"type": "object"},
            "list": {"type": "array", "items": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "s": {"type": "string", "enum": ["a"]}},
                "required": ["n"],
            }},
        },
        "required": ["file_path"],
        "additionalProperties": false,
    })
}

#[test]
fn accepted_inputs() {
    let cases = [
        (json!({"file_path": "a"}), json!({"file_path": "a"})),
        (json!({"file_path": "5000"}), json!({"file_path": "5000"})),
        (json!({"file_path": "a", "limit": 5000}), json!({"file_path": "a", "limit": 5000})),
        (json!({"file_path": "a", "limit": "5000"}), json!({"file_path": "a", "limit": 5000})),
        (json!({"file_path": "a", "limit": " 7 "}), json!({"file_path": "a", "limit": 7})),
        (json!({"file_path": "a", "limit": 5.0}), json!({"file_path": "a", "limit": 5})),
        (json!({"file_path": "a", "limit": "5.0"}), json!({"file_path": "a", "limit": 5})),
        (json!({"file_path": "a", "all": "true"}), json!({"file_path": "a", "all": true})),
        (json!({"file_path": "a", "all": "false"}), json!({"file_path": "a", "all": false})),
        (json!({"file_path": "a", "limit": null, "all": null}), json!({"file_path": "a"})),
        (json!({"file_path": "a", "mode": "b"}), json!({"file_path": "a", "mode": "b"})),
        (
            json!({"file_path": "a", "list": [{"n": "5", "s": null}, {"n": 1, "s": "a"}]}),
            json!({"file_path": "a", "list": [{"n": 5}, {"n": 1, "s": "a"}]}),
        ),
        (
            json!({"file_path": "a", "list": "[{\"n\": 1}]", "any": "{\"x\": []}"}),
            json!({"file_path": "a", "list": [{"n": 1}], "any": {"x": []}}),
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(accept(&schema(), &input), Ok(expected), "{input}");
    }
}

#[test]
fn refused_inputs_name_the_property_the_type_and_what_came() {
    let cases = [
        (json!(null), "it must be an object, not null"),
        (json!([1]), "it must be an object, not an array"),
        (json!("x"), "it must be an object, not the string \"x\""),
        (json!({}), "the required property `file_path` is missing"),
        (json!({"file_path": "a", "list": "x"}), "`list` must be an array, not the string \"x\""),
        (json!({"file_path": "a", "any": [1]}), "`any` must be an object, not an array"),
        (
            json!({"file_path": "a", "list": [{"n": 1}, {"s": "b", "x": 1}]}),
            "`list` [1] is not valid: `s` must be one of \"a\", not the string \"b\"; there is no property `x`; the required property `n` is missing",
        ),
        (json!({"file_path": null}), "`file_path` must be a string, not null"),
        (json!({"file_path": 42}), "`file_path` must be a string, not the number 42"),
        (json!({"file_path": true}), "`file_path` must be a string, not the boolean true"),
        (json!({"file_path": ["a"]}), "`file_path` must be a string, not an array"),
        (
            json!({"file_path": "a", "limit": "many"}),
            "`limit` must be a whole number, not the string \"many\"",
        ),
        (
            json!({"file_path": "a", "limit": 1.5}),
            "`limit` must be a whole number, not the number 1.5",
        ),
        (
            json!({"file_path": "a", "limit": 1e30}),
            "`limit` must be a whole number, not the number 1e+30",
        ),
        (
            json!({"file_path": "a", "limit": true}),
            "`limit` must be a whole number, not the boolean true",
        ),
        (
            json!({"file_path": "a", "limit": ""}),
            "`limit` must be a whole number, not the string \"\"",
        ),
        (json!({"file_path": "a", "limit": -1}), "`limit` must be at least 0, not the number -1"),
        (
            json!({"file_path": "a", "limit": "-1"}),
            "`limit` must be at least 0, not the string \"-1\"",
        ),
        (json!({"file_path": "a", "all": 1}), "`all` must be a boolean, not the number 1"),
        (
            json!({"file_path": "a", "all": "yes"}),
            "`all` must be a boolean, not the string \"yes\"",
        ),
        (
            json!({"file_path": "a", "mode": "c"}),
            "`mode` must be one of \"a\", \"b\", not the string \"c\"",
        ),
        (json!({"file_path": "a", "path": "b"}), "there is no property `path`"),
    ];
    for (input, expected) in cases {
        assert_eq!(accept(&schema(), &input), Err(vec![expected.to_owned()]), "{input}");
    }
}

#[test]
fn a_refusal_lists_every_problem_and_ends_with_what_is_expected() {
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)]
    struct Input {
        file_path: String,
    }
    let spec = ToolSpec { name: "Read".into(), input_schema: schema(), ..ToolSpec::default() };
    let output = parse::<Input>(&spec, &json!({"path": "a", "limit": []})).unwrap_err();
    let expected = "The input of Read is not valid: there is no property `path`; `limit` must be a whole number, not an \
                    array; the required property `file_path` is missing. Expected: file_path (string), limit? \
                    (integer), all? (boolean), mode? (one of \"a\", \"b\"), any? (object), list? (array).";
    assert_eq!(output, ToolOutput::misuse(expected));
    assert!(output.is_error);
}

proptest::proptest! {
    #[test]
    fn no_input_makes_it_panic(text in ".{0,60}", number in proptest::num::f64::ANY) {
        let _ = accept(&schema(), &json!({"file_path": number, "limit": text, "all": text, "mode": number}));
        let _ = accept(&schema(), &json!({"limit": number, text: 1}));
    }
}
