//! Calls and their results.

use serde_json::{Value, json};

use super::{call, check, check_with, content, result, turns, user};
use crate::client::asking;

#[test]
fn calls_and_results() {
    let bad_call = |key: &str, value: Value| {
        let mut call = call("a");
        call[key] = value;
        turns(json!([call]), json!([result("a")]))
    };
    check(vec![
        (turns(json!([call("a"), call("b")]), json!([result("b"), result("a")])), ""),
        (turns(json!([call("a")]), json!([result("a"), {"type": "text", "text": "and"}])), ""),
        (
            bad_call("id", json!("a b")),
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            bad_call("id", json!("")),
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            bad_call("name", json!("a.b")),
            "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (
            bad_call("name", json!("n".repeat(129))),
            "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (
            bad_call("input", json!("{}")),
            "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        ),
        (
            bad_call("raw", json!(1)),
            "messages.1.content.0.tool_use.raw: Extra inputs are not permitted",
        ),
    ]);
}

#[test]
fn calls_without_results_and_results_without_calls() {
    check(vec![
        (
            turns(json!([call("a"), call("a")]), json!([result("a")])),
            "messages.1.content.1: `tool_use` ids must be unique",
        ),
        (
            turns(json!([call("a"), call("b"), call("c")]), json!([result("b")])),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, c. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            content("assistant", json!([call("a")])),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            turns(json!([call("a")]), json!([{"type": "text", "text": "first"}, result("a")])),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            turns(json!([call("a")]), json!([result("a"), result("a")])),
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
        ),
        (
            turns(json!([call("a")]), json!([result("a"), result("x")])),
            "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: x. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
        (
            user(json!([result("a")])),
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
    ]);
}

#[test]
fn pairs_across_several_messages() {
    let talk = |tail: Value| {
        let mut messages = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call("a"), call("b")]},
            {"role": "user", "content": [result("a")]},
        ]);
        messages.as_array_mut().unwrap().extend(tail.as_array().unwrap().clone());
        asking(messages)
    };
    let second = json!({"role": "user", "content": [result("b")]});
    check(vec![
        (talk(json!([second])), ""),
        (
            talk(json!([{"role": "user", "content": "wait"}, second])),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            talk(
                json!([second, {"role": "assistant", "content": [call("a")]}, {"role": "user", "content": [result("a")]}]),
            ),
            "messages.4.content.0: `tool_use` ids must be unique",
        ),
        (
            talk(
                json!([second, {"role": "assistant", "content": "so"}, {"role": "user", "content": [result("b")]}]),
            ),
            "messages.5.content.0: unexpected `tool_use_id` found in `tool_result` blocks: b. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
    ]);
    check_with(vec![(talk(json!([second, {"role": "system", "content": "note"}])), "")], |rules| {
        rules.mid_system = true
    });
}

#[test]
fn results_and_their_parts() {
    let with_result = |key: &str, value: Value| {
        let mut result = result("a");
        result[key] = value;
        turns(json!([call("a")]), json!([result]))
    };
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    check(vec![
        (with_result("content", json!([{"type": "text", "text": "x"}, picture])), ""),
        (with_result("content", json!([])), ""),
        (with_result("content", json!("")), ""),
        (with_result("is_error", json!(true)), ""),
        (
            with_result("is_error", json!("no")),
            "messages.2.content.0.tool_result.is_error: Input should be a valid boolean",
        ),
        (
            with_result("content", json!({})),
            "messages.2.content.0.tool_result.content: Input should be a valid list",
        ),
        (
            with_result("content", json!([{"type": "text", "text": ""}])),
            "messages: text content blocks must be non-empty",
        ),
        (
            with_result("content", json!([{"type": "tool_use"}])),
            "messages.2.content.0.tool_result.content.0: Input tag 'tool_use' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use'",
        ),
        (
            with_result("duration", json!(1)),
            "messages.2.content.0.tool_result.duration: Extra inputs are not permitted",
        ),
        (
            with_result("tool_use_id", json!("a b")),
            "messages.2.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            turns(
                json!([call("a")]),
                json!([{"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [picture]}]),
            ),
            "messages.2.content.0.tool_result: all content must be type \"text\" if \"is_error\" is true",
        ),
    ]);
}
