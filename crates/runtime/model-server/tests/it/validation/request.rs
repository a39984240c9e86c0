//! Head, settings, tools.

use ostler_model_server::{Script, ServerRules, text};
use serde_json::{Value, json};

use super::{check, check_with, user, without};
use crate::client::{Client, HEADERS, asking, hello, post, serve, with};

#[test]
fn top_level_fields() {
    check(vec![
        (without(hello(), "model"), "model: Field required"),
        (with(hello(), "model", json!("")), "model: String should have at least 1 character"),
        (with(hello(), "model", json!(5)), "model: Input should be a valid string"),
        (without(hello(), "max_tokens"), "max_tokens: Field required"),
        (with(hello(), "max_tokens", json!("9")), "max_tokens: Input should be a valid integer"),
        (
            with(hello(), "max_tokens", json!(0)),
            "max_tokens: Input should be greater than or equal to 1",
        ),
        (without(hello(), "messages"), "messages: Field required"),
        (asking(json!({})), "messages: Input should be a valid list"),
        (asking(json!([])), "messages: at least one message is required"),
        (with(hello(), "stream", json!("yes")), "stream: Input should be a valid boolean"),
        (with(hello(), "zzz", json!(1)), "zzz: Extra inputs are not permitted"),
        (
            with(hello(), "context_management", json!({})),
            "context_management: Extra inputs are not permitted",
        ),
        (with(hello(), "metadata", json!({"user_id": "u"})), ""),
        (
            with(hello(), "metadata", json!({"x": "u"})),
            "metadata.x: Extra inputs are not permitted",
        ),
        (
            with(hello(), "metadata", json!({"user_id": {}})),
            "metadata.user_id: Input should be a valid string",
        ),
        (with(hello(), "metadata", json!([])), "metadata: Input should be a valid dictionary"),
        (with(hello(), "temperature", json!(0.5)), ""),
        (with(hello(), "temperature", json!(1.5)), "temperature: range: 0..1"),
        (with(hello(), "temperature", json!("hot")), "temperature: Input should be a valid number"),
        (with(hello(), "stop_sequences", json!(["END"])), ""),
        (
            with(hello(), "stop_sequences", json!([1])),
            "stop_sequences.0: Input should be a valid string",
        ),
        (
            with(hello(), "stop_sequences", json!([" "])),
            "stop_sequences: each stop sequence must contain non-whitespace",
        ),
        (with(hello(), "output_config", json!({"effort": "high"})), ""),
        (json!([]), "Input should be a valid dictionary"),
    ]);
}

#[test]
fn tools_and_the_choice_among_them() {
    let tools = |tools: Value| with(hello(), "tools", tools);
    let schema = json!({"type": "object", "properties": {}});
    let good = json!({"name": "Bash", "description": "d", "input_schema": schema});
    let choice = |choice: Value| with(tools(json!([good])), "tool_choice", choice);
    check(vec![
        (tools(json!([good, {"type": "web_search_20250305", "name": "web_search"}])), ""),
        (tools(json!({})), "tools: Input should be a valid list"),
        (tools(json!([5])), "tools.0: Input should be a valid dictionary"),
        (tools(json!([{"input_schema": schema}])), "tools.0.custom.name: Field required"),
        (
            tools(json!([{"name": "a b", "input_schema": schema}])),
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (
            tools(json!([{"name": "", "input_schema": schema}])),
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (tools(json!([{"name": "A"}])), "tools.0.custom.input_schema: Field required"),
        (
            tools(json!([{"name": "A", "input_schema": "x"}])),
            "tools.0.custom.input_schema: Input should be a valid dictionary",
        ),
        (
            tools(json!([{"name": "A", "input_schema": {}}])),
            "tools.0.custom.input_schema.type: Field required",
        ),
        (
            tools(json!([{"name": "A", "input_schema": {"type": "string"}}])),
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        (
            tools(json!([{"name": "A", "input_schema": schema, "permission": 1}])),
            "tools.0.custom.permission: Extra inputs are not permitted",
        ),
        (tools(json!([good, good])), "tools: Tool names must be unique."),
        (choice(json!({"type": "auto"})), ""),
        (choice(json!({"type": "tool", "name": "Bash"})), ""),
        (
            choice(json!({"type": "tool", "name": "Nope"})),
            "Tool 'Nope' not found in provided tools",
        ),
        (
            choice(json!({"type": "maybe"})),
            "tool_choice: Input tag 'maybe' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'",
        ),
        (
            with(hello(), "tool_choice", json!({"type": "auto"})),
            "tool_choice: may only be specified while providing `tools`",
        ),
    ]);
}

#[test]
fn thinking_settings() {
    let thinking =
        |thinking: Value| with(with(hello(), "max_tokens", json!(4000)), "thinking", thinking);
    let budget = |tokens: u64| thinking(json!({"type": "enabled", "budget_tokens": tokens}));
    let forced = with(
        with(
            thinking(json!({"type": "adaptive"})),
            "tools",
            json!([{"name": "A", "input_schema": {"type": "object"}}]),
        ),
        "tool_choice",
        json!({"type": "any"}),
    );
    check(vec![
        (budget(1024), ""),
        (budget(3999), ""),
        (
            budget(1023),
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        (budget(4000), "`max_tokens` must be greater than `thinking.budget_tokens`."),
        (thinking(json!({"type": "enabled"})), "thinking.enabled.budget_tokens: Field required"),
        (thinking(json!({"type": "adaptive"})), ""),
        (
            thinking(json!({"type": "adaptive", "budget_tokens": 2000})),
            "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
        ),
        (thinking(json!({"type": "disabled"})), ""),
        (
            thinking(json!({"type": "deep"})),
            "thinking: Input tag 'deep' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
        ),
        (forced, "Thinking may not be enabled when tool_choice forces tool use."),
        (
            with(budget(2000), "temperature", json!(0.2)),
            "`temperature` may only be set to 1 when thinking is enabled.",
        ),
        (with(budget(2000), "temperature", json!(1)), ""),
    ]);
}

#[test]
fn headers() {
    let key = ("x-api-key", "k");
    let version = ("anthropic-version", "2023-06-01");
    let json = ("content-type", "application/json");
    type Case<'a> = (Vec<(&'a str, &'a str)>, u16, &'a str);
    let table: Vec<Case<'_>> = vec![
        (vec![key, version, json], 200, ""),
        (vec![("authorization", "Bearer t"), version, json], 200, ""),
        (vec![key, version, ("content-type", "application/json; charset=utf-8")], 200, ""),
        (vec![version, json], 401, "x-api-key header is required"),
        (vec![("x-api-key", ""), version, json], 401, "x-api-key header is required"),
        (vec![("authorization", "Basic t"), version, json], 401, "x-api-key header is required"),
        (vec![key, json], 400, "anthropic-version: header is required"),
        (vec![key, version], 400, "content-type: must be application/json, found \"\""),
        (
            vec![key, version, ("content-type", "text/plain")],
            400,
            "content-type: must be application/json, found \"text/plain\"",
        ),
    ];
    let server = serve(Script::new().answer(text("ok")).forever());
    let mut client = Client::to(&server);
    for (headers, status, message) in table {
        client.write(post("/v1/messages", &headers, &hello().to_string()));
        let answer = client.read();
        assert_eq!(answer.status, status, "{headers:?}");
        if status != 200 {
            let kind = if status == 401 { "authentication_error" } else { "invalid_request_error" };
            assert_eq!(answer.error(), (kind.into(), message.into()), "{headers:?}");
        }
    }
    client.write(post("/v1/messages", HEADERS, "{\"model\": "));
    let (_, message) = client.read().error();
    assert!(message.starts_with("The request body is not valid JSON: EOF"), "{message}");

    let open = |rules: &mut ServerRules| (rules.auth, rules.version) = (false, false);
    let server = serve(Script::new().answer(text("ok")).rules(open));
    let mut client = Client::to(&server);
    client.write(post("/v1/messages", &[json], &hello().to_string()));
    assert_eq!(client.read().status, 200);
}

#[test]
fn a_script_can_refuse_and_allow() {
    let rules = |rules: &mut ServerRules| {
        rules.refuse_fields = vec!["context_management".into()];
        rules.refuse_betas = vec!["old-beta".into()];
        rules.allow_fields = vec!["brand_new".into()];
    };
    let server = serve(Script::new().answer(text("ok")).forever().rules(rules));
    let ask = |body: Value, beta: &str| {
        let headers = [HEADERS, &[("anthropic-beta", beta)]].concat();
        let mut client = Client::to(&server);
        client.write(post("/v1/messages", &headers, &body.to_string()));
        let answer = client.read();
        if answer.status == 200 { String::new() } else { answer.error().1 }
    };
    assert_eq!(ask(with(hello(), "brand_new", json!(1)), "a"), "");
    assert_eq!(
        ask(hello(), "new-beta, old-beta"),
        "Unexpected value(s) `old-beta` for the `anthropic-beta` header. Please consult our documentation or try again without the header."
    );
    let managed = with(hello(), "context_management", json!({"edits": []}));
    let refused = "context_management: Extra inputs are not permitted";
    assert_eq!(ask(managed.clone(), "context-management-2025-06-27"), refused);

    let server = serve(Script::new().answer(text("ok")));
    let headers = [HEADERS, &[("anthropic-beta", "x,context-management-2025-06-27")]].concat();
    let mut client = Client::to(&server);
    client.write(post("/v1/messages", &headers, &managed.to_string()));
    assert_eq!(client.read().status, 200, "with its beta the field is known");
}

#[test]
fn the_context_window() {
    let long =
        |bytes: usize, most: u64| with(user(json!("x".repeat(bytes))), "max_tokens", json!(most));
    check_with(
        vec![
            (long(4000, 1000), ""),
            (long(8004, 100), "prompt is too long: 2004 tokens > 2003 maximum"),
            (
                long(4000, 1001),
                "input length and `max_tokens` exceed context limit: 1003 + 1001 > 2003, decrease input length or `max_tokens` and try again",
            ),
        ],
        |rules| rules.window = Some(2003),
    );
}
