//! Messages and their blocks.

use ostler_model_server::{Script, text};
use serde_json::{Value, json};

use super::{call, check, check_with, content, result, turns, user};
use crate::client::{Client, asking, hello, serve, with};

#[test]
fn roles_and_their_order() {
    check(vec![
        (
            asking(json!([{"role": "assistant", "content": "hi"}])),
            "messages: first message must use the \"user\" role",
        ),
        (asking(json!(["hi"])), "messages.0: Input should be a valid dictionary"),
        (asking(json!([{"content": "hi"}])), "messages.0.role: Field required"),
        (
            asking(json!([{"role": "tool", "content": "hi"}])),
            "messages.0.role: Input should be 'user' or 'assistant'",
        ),
        (
            asking(json!([{"role": "user", "content": "hi", "id": 1}])),
            "messages.0.id: Extra inputs are not permitted",
        ),
        (
            content("system", json!("note")),
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.",
        ),
        (content("user", json!("more")), ""),
        (content("assistant", json!("so")), ""),
    ]);
    let note = |after: &str| {
        asking(json!([
            {"role": "user", "content": "go"},
            {"role": after, "content": "so"},
            {"role": "system", "content": "note"},
        ]))
    };
    check_with(
        vec![
            (note("user"), ""),
            (content("system", json!([{"type": "text", "text": "note"}])), ""),
            (
                note("assistant"),
                "messages.2: a \"system\" message must come right after a \"user\" message",
            ),
            (
                note("system"),
                "messages.2: a \"system\" message must come right after a \"user\" message",
            ),
            (
                asking(json!([{"role": "system", "content": "x"}])),
                "messages: first message must use the \"user\" role",
            ),
        ],
        |rules| rules.mid_system = true,
    );
    check_with(
        vec![(
            content("user", json!("more")),
            "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row",
        )],
        |rules| rules.alternate = true,
    );
}

#[test]
fn merged_roles_are_counted() {
    let server = serve(Script::new().answer(text("ok")).forever());
    let mut client = Client::to(&server);
    client.ask(&hello());
    assert_eq!(server.merged_roles(), 0);
    client.ask(&asking(json!([
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
        {"role": "assistant", "content": "d"},
        {"role": "user", "content": "e"},
    ])));
    assert_eq!(server.merged_roles(), 2);
}

#[test]
fn contents() {
    let empty = "messages.0: all messages must have non-empty content except for the optional final assistant message";
    check(vec![
        (asking(json!([{"role": "user"}])), "messages.0.content: Field required"),
        (user(json!(5)), "messages.0.content: Input should be a valid list"),
        (user(json!("")), empty),
        (user(json!([])), empty),
        (content("assistant", json!([])), ""),
        (content("assistant", json!("")), ""),
        (
            user(json!([{"type": "text", "text": ""}])),
            "messages: text content blocks must be non-empty",
        ),
        (
            user(json!([{"type": "text", "text": " \n"}])),
            "messages: text content blocks must contain non-whitespace text",
        ),
        (
            content("assistant", json!(" \n")),
            "messages: text content blocks must contain non-whitespace text",
        ),
        (
            content("assistant", json!("so ")),
            "messages: final assistant content cannot end with trailing whitespace",
        ),
        (
            content("assistant", json!([{"type": "text", "text": "so\n"}])),
            "messages: final assistant content cannot end with trailing whitespace",
        ),
        (turns(json!("so "), json!("and")), ""),
        (user(json!([{"type": "text"}])), "messages.0.content.0.text.text: Field required"),
        (user(json!([{"text": "x"}])), "messages.0.content.0.type: Field required"),
        (user(json!(["x"])), "messages.0.content.0: Input should be a valid dictionary"),
        (
            user(json!([{"type": "text", "text": "x", "meta": 1}])),
            "messages.0.content.0.text.meta: Extra inputs are not permitted",
        ),
        (
            user(json!([{"type": "mystery"}])),
            "messages.0.content.0: Input tag 'mystery' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use'",
        ),
        (
            user(json!([call("a")])),
            "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
        ),
        (
            content("assistant", json!([result("a")])),
            "messages.1.content.0: `tool_result` blocks can only be in `user` messages",
        ),
    ]);
}

#[test]
fn system_prompts() {
    check(vec![
        (with(hello(), "system", json!("be kind")), ""),
        (with(hello(), "system", json!([{"type": "text", "text": "be kind"}])), ""),
        (
            with(hello(), "system", json!([{"type": "text", "text": ""}])),
            "system: text content blocks must be non-empty",
        ),
        (
            with(hello(), "system", json!([{"type": "image"}])),
            "system.0.type: Input should be 'text'",
        ),
        (
            with(hello(), "system", json!([{"type": "text", "text": "x", "y": 1}])),
            "system.0.y: Extra inputs are not permitted",
        ),
        (with(hello(), "system", json!(5)), "system: Input should be a valid list"),
    ]);
}

#[test]
fn cache_markers() {
    let mark = json!({"type": "ephemeral"});
    let text = |control: Value| json!({"type": "text", "text": "x", "cache_control": control});
    let tool = json!({"name": "A", "input_schema": {"type": "object"}, "cache_control": mark});
    let many = |messages: usize| {
        let blocks: Vec<Value> = (0..messages).map(|_| text(mark.clone())).collect();
        let body = with(user(json!(blocks)), "system", json!([text(mark.clone())]));
        with(body, "tools", json!([tool]))
    };
    let nested =
        json!({"type": "tool_result", "tool_use_id": "a", "content": [text(mark.clone())]});
    let mut five = turns(json!([call("a")]), json!([nested, text(mark.clone())]));
    five["system"] = json!([text(mark.clone()), text(mark.clone())]);
    five["cache_control"] = mark.clone();
    let late = "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: tools, system, messages.";
    check(vec![
        (many(2), ""),
        (many(3), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (five, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (
            user(json!([
                text(json!({"type": "ephemeral", "ttl": "1h"})),
                text(json!({"type": "ephemeral", "ttl": "5m"}))
            ])),
            "",
        ),
        (user(json!([text(mark.clone()), text(json!({"type": "ephemeral", "ttl": "1h"}))])), late),
        (
            user(json!([text(json!({"type": "ephemeral", "ttl": "2h"}))])),
            "messages.0.content.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
        (
            user(json!([text(json!({"type": "persistent"}))])),
            "messages.0.content.0.cache_control: Input tag 'persistent' found using 'type' does not match any of the expected tags: 'ephemeral'",
        ),
        (user(json!([text(json!({}))])), "messages.0.content.0.cache_control.type: Field required"),
        (
            user(json!([text(json!("ephemeral"))])),
            "messages.0.content.0.cache_control: Input should be a valid dictionary",
        ),
        (user(json!([text(json!(null))])), ""),
    ]);
}

#[test]
fn cache_markers_where_none_may_be() {
    let mark = json!({"type": "ephemeral"});
    check(vec![
        (
            user(json!([{"type": "text", "text": "", "cache_control": mark}])),
            "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
        ),
        (
            content(
                "assistant",
                json!([{"type": "thinking", "thinking": "t", "signature": "s", "cache_control": mark}]),
            ),
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            content(
                "assistant",
                json!([{"type": "redacted_thinking", "data": "d", "cache_control": mark}]),
            ),
            "messages.1.content.0.redacted_thinking.cache_control: Extra inputs are not permitted",
        ),
    ]);
}

#[test]
fn images() {
    let image = |media: &str, data: String| {
        user(
            json!([{"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}]),
        )
    };
    let base = "messages.0.content.0.image.source";
    let limit = 5 << 20;
    let large =
        format!("{base}.base64: image exceeds 5 MB maximum: {} bytes > {limit} bytes", limit + 4);
    let table = vec![
        (image("image/png", "iVBORw0KGgo=".into()), String::new()),
        (image("image/png", "iVBORw0KGgoA".repeat(limit / 12)), String::new()),
        (image("image/png", "A".repeat(limit + 4)), large),
        (
            image("image/bmp", "AAAA".into()),
            format!(
                "{base}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            ),
        ),
        (image("image/png", String::new()), format!("{base}.base64: image cannot be empty")),
        (
            image("image/png", "not base64!".into()),
            format!("{base}.base64.data: Invalid base64 data"),
        ),
        (image("image/png", "AAA".into()), format!("{base}.base64.data: Invalid base64 data")),
        (
            image("image/png", "/9j/4AAQSkZJRg==".into()),
            format!(
                "{base}.base64.data: The image was specified using the image/png media type, but the image appears to be a image/jpeg image"
            ),
        ),
        (
            user(json!([{"type": "image", "source": {"type": "disk"}}])),
            format!(
                "{base}: Input tag 'disk' found using 'type' does not match any of the expected tags: 'base64', 'file', 'url'"
            ),
        ),
        (user(json!([{"type": "image"}])), format!("{base}: Field required")),
    ];
    check(table.iter().map(|(body, wanted)| (body.clone(), wanted.as_str())).collect());
}
