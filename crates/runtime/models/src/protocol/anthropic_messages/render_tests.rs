use super::*;
use ostler_core::ids::ModelId;
use ostler_core::tool_facts::ToolFacts;
use serde_json::json;

fn blocks(content: Vec<Block>) -> Rendered {
    message(&Message::assistant(&ModelId::new("m"), content))
}

fn as_json(rendered: &Rendered) -> Value {
    serde_json::from_str(&format!("[{}]", String::from_utf8_lossy(&rendered.bytes))).expect("JSON")
}

fn image() -> Image {
    Image { media: "image/png".into(), data: "aGk=".into(), blob: None }
}

#[test]
fn every_block_in_its_wire_form() {
    let result = |content, is_error| Block::ToolResult { id: "t1".into(), content, is_error };
    let table = [
        (Block::text("a\"b\n🦀"), json!({"type": "text", "text": "a\"b\n🦀"})),
        (
            Block::Thinking { text: "hm".into(), signature: Some("sig".into()) },
            json!({"type": "thinking", "thinking": "hm", "signature": "sig"}),
        ),
        (Block::Redacted { data: "xx".into() }, json!({"type": "redacted_thinking", "data": "xx"})),
        (
            Block::Image(image()),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        ),
        (
            Block::ToolUse {
                id: "t1".into(),
                name: "Read".into(),
                input: json!({"b": 1, "a": 2}),
                via: None,
            },
            json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"b": 1, "a": 2}}),
        ),
        (
            Block::ToolUse {
                id: "t1".into(),
                name: "Stamp".into(),
                input: json!({"a": 2}),
                via: Some("UseTool".into()),
            },
            json!({"type": "tool_use", "id": "t1", "name": "UseTool", "input": {"name": "Stamp", "input": {"a": 2}}}),
        ),
        (
            Block::ToolUse { id: "t1".into(), name: "".into(), input: Value::Null, via: None },
            json!({"type": "tool_use", "id": "t1", "name": "unnamed", "input": {}}),
        ),
        (
            Block::ToolUse {
                id: "t1".into(),
                name: "rm -rf/ü".into(),
                input: json!([]),
                via: None,
            },
            json!({"type": "tool_use", "id": "t1", "name": "rm_-rf__", "input": {}}),
        ),
        (
            result(vec![ResultPart::text("ok")], false),
            json!({"type": "tool_result", "tool_use_id": "t1", "content": "ok"}),
        ),
        (
            result(vec![ResultPart::text("no")], true),
            json!({"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": true}),
        ),
        (result(vec![], false), json!({"type": "tool_result", "tool_use_id": "t1", "content": ""})),
        (
            result(vec![ResultPart::text(" "), ResultPart::Image(image())], false),
            json!({"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]}),
        ),
    ];
    for (block, expected) in table {
        assert_eq!(as_json(&blocks(vec![block.clone()])), json!([expected]), "{block:?}");
    }
}

#[test]
fn the_order_of_keys_is_kept() {
    let rendered = blocks(vec![Block::ToolUse {
        id: "i".into(),
        name: "n".into(),
        input: json!({"z": 1, "a": 2}),
        via: None,
    }]);
    let text = String::from_utf8_lossy(&rendered.bytes).into_owned();
    assert_eq!(text, r#"{"type":"tool_use","id":"i","name":"n","input":{"z":1,"a":2}}"#);
}

#[test]
fn spans_are_the_blocks_and_know_what_may_carry_a_mark() {
    let rendered = blocks(vec![
        Block::Thinking { text: "never signed".into(), signature: None },
        Block::Thinking { text: "t".into(), signature: Some("s".into()) },
        Block::text("one"),
        Block::Redacted { data: "d".into() },
        Block::text("two"),
    ]);
    let marks: Vec<_> = rendered.blocks.iter().map(|s| (s.thinking, s.cacheable)).collect();
    assert_eq!(
        marks,
        [(true, false), (false, true), (true, false), (false, true)],
        "unsigned thinking is left out"
    );
    for span in &rendered.blocks {
        let text = std::str::from_utf8(&rendered.bytes[span.range.clone()]).expect("UTF-8");
        assert!(text.starts_with('{') && text.ends_with('}'), "{text}");
        assert!(serde_json::from_str::<Value>(text).is_ok());
    }
}

#[test]
fn a_long_image_does_not_weigh_by_its_bytes() {
    let big = Image { data: "A".repeat(700_000).into(), ..image() };
    let message_with = |content| message(&Message::User { content });
    let text_only = message_with(vec![Block::text("x".repeat(3_500))]);
    let with_images = message_with(vec![
        Block::text("x".repeat(3_500)),
        Block::Image(big.clone()),
        Block::ToolResult {
            id: "t".into(),
            content: vec![ResultPart::Image(big)],
            is_error: false,
        },
    ]);
    assert!(
        (1_000..1_050).contains(&text_only.weight.tokens(3.5)),
        "{}",
        text_only.weight.tokens(3.5)
    );
    assert!(
        (4_200..4_500).contains(&with_images.weight.tokens(3.5)),
        "{}",
        with_images.weight.tokens(3.5)
    );
}

#[test]
fn system_and_tools() {
    assert_eq!(
        system(&["a".into(), " ".into(), "b".into()]),
        r#"{"type":"text","text":"a"},{"type":"text","text":"b"}"#
    );
    assert_eq!(system(&[]), "");
    let spec = ToolSpec {
        name: "T".into(),
        description: "d".into(),
        input_schema: json!({"type": "object"}),
        ..ToolSpec::default()
    };
    assert_eq!(
        tools(&[spec]),
        r#"{"name":"T","description":"d","input_schema":{"type":"object"}}"#
    );
}

#[test]
fn the_providers_own_search_has_a_type_and_no_schema() {
    let search = ToolSpec {
        name: "web_search".into(),
        input_schema: json!({"max_uses": 8, "allowed_domains": ["docs.rs"]}),
        facts: ToolFacts { kind: ToolKind::Provided, ..ToolFacts::UNDECLARED },
        ..ToolSpec::default()
    };
    assert_eq!(
        tools(&[search]),
        r#"{"type":"web_search_20250305","name":"web_search","max_uses":8,"allowed_domains":["docs.rs"]}"#
    );
}
