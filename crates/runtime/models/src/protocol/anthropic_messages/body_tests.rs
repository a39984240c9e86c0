use super::*;
use crate::capabilities::{CacheSetting, Capabilities, Effort};
use crate::catalog::family;
use crate::protocol::RefusedFeatures;
use ostler_core::message::{Block, ProviderPart, ResultPart};
use ostler_core::model::Thinking;
use proptest::prelude::*;
use serde_json::{Value, json};

fn options(
    model: &str,
    thinking: Thinking,
    cache: CacheSetting,
    effort: Option<Effort>,
) -> BodyOptions {
    let capabilities = Capabilities { cache, effort, ..family(model).capabilities(model) };
    BodyOptions::decide(32_000, thinking, &capabilities, &RefusedFeatures::default())
}

fn prefix() -> BodyPrefix {
    let spec = |name: &str| ostler_core::tool::ToolSpec {
        name: name.into(),
        description: "d}".into(),
        input_schema: json!({"type": "object"}),
        ..Default::default()
    };
    BodyPrefix {
        tools: render::tools(&[spec("A"), spec("B")]),
        system: render::system(&["stable".into(), "less stable".into()]),
    }
}

fn bytes(body: &Body) -> String {
    assert_eq!(body.length, body.slices.iter().map(|s| s.len() as u64).sum::<u64>());
    String::from_utf8(body.slices.concat()).expect("UTF-8")
}

fn send(model: &str, view: &View, options: &BodyOptions) -> String {
    bytes(&assemble(model, &ModelId::new(model), &prefix(), view, options))
}

fn call(id: &str) -> Block {
    Block::ToolUse { id: id.into(), name: "A".into(), input: json!({}), via: None }
}

fn result(id: &str) -> Block {
    Block::ToolResult { id: id.into(), content: vec![ResultPart::text("ok")], is_error: false }
}

fn thought(text: &str) -> Block {
    Block::Thinking { text: text.into(), signature: Some("sig".into()) }
}

fn answer(model: &str, content: Vec<Block>) -> Message {
    Message::assistant(&ModelId::new(model), content)
}

fn user(content: Vec<Block>) -> Message {
    Message::User { content }
}

#[test]
fn a_whole_request() {
    let view = View::from_messages([
        Message::user("go"),
        answer("claude-haiku-4-5", vec![thought("hm"), Block::text("yes"), call("1")]),
        user(vec![result("1"), Block::text("and")]),
    ]);
    let options = options("claude-haiku-4-5", Thinking::Auto, CacheSetting::FiveMinutes, None);
    let text = send("claude-haiku-4-5", &view, &options);
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "claude-haiku-4-5", "stream": true,
        "tools": [
            {"name": "A", "description": "d}", "input_schema": {"type": "object"}},
            {"name": "B", "description": "d}", "input_schema": {"type": "object"}}],
        "system": [
            {"type": "text", "text": "stable"},
            {"type": "text", "text": "less stable", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": mark}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "yes"},
                {"type": "tool_use", "id": "1", "name": "A", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
                {"type": "text", "text": "and", "cache_control": mark}]}],
        "max_tokens": 48000,
        "thinking": {"type": "enabled", "budget_tokens": 16000},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    });
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(found, expected);
    let keys: Vec<_> = found.as_object().expect("object").keys().collect();
    let order = [
        "model",
        "stream",
        "tools",
        "system",
        "messages",
        "max_tokens",
        "thinking",
        "context_management",
    ];
    assert_eq!(keys, order);
}

#[test]
fn marks_off_and_an_hour_and_without_system() {
    let view = View::from_messages([Message::user("go")]);
    let with = |cache, prefix: &BodyPrefix| {
        let options = options("scripted", Thinking::Auto, cache, Some(Effort::High));
        bytes(&assemble("scripted", &ModelId::new("scripted"), prefix, &view, &options))
    };
    assert!(!with(CacheSetting::Off, &prefix()).contains("cache_control"));
    let hour = with(CacheSetting::OneHour, &prefix());
    assert_eq!(hour.matches(r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#).count(), 2);
    assert!(!hour.contains("output_config"), "a family without effort");
    let tools_only =
        with(CacheSetting::FiveMinutes, &BodyPrefix { system: Bytes::new(), ..prefix() });
    let found: Value = serde_json::from_str(&tools_only).expect("JSON");
    assert_eq!(found["tools"][1]["cache_control"]["type"], "ephemeral");
    assert!(found.get("system").is_none());
    let bare: Value =
        serde_json::from_str(&with(CacheSetting::FiveMinutes, &BodyPrefix::default()))
            .expect("JSON");
    assert_eq!(bare["messages"][0]["content"][0]["text"], "go");
    assert!(bare.get("tools").is_none());
}

#[test]
fn effort_is_sent_where_it_is_known() {
    let view = View::from_messages([Message::user("go")]);
    let options = options("claude-opus-4-8", Thinking::Auto, CacheSetting::Off, Some(Effort::Low));
    let found: Value =
        serde_json::from_str(&send("claude-opus-4-8", &view, &options)).expect("JSON");
    assert_eq!(found["output_config"], json!({"effort": "low"}));
    assert_eq!(found["thinking"], json!({"type": "adaptive"}));
}

#[test]
fn thinking_of_another_model_is_left_out_and_roles_still_alternate() {
    let view = View::from_messages([
        Message::user("one"),
        answer(
            "other",
            vec![thought("a"), Block::text("b"), Block::Redacted { data: "c".into() }, call("1")],
        ),
        user(vec![result("1")]),
        answer(
            "other",
            vec![thought("only"), Block::Redacted { data: "x".into() }, Block::text("z")],
        ),
        Message::user("two"),
    ]);
    let mine = options("claude-opus-4-8", Thinking::Auto, CacheSetting::Off, None);
    let text = send("claude-opus-4-8", &view, &mine);
    assert!(!text.contains("thinking\":\"") && !text.contains("redacted"), "{text}");
    let same = send("other", &view, &options("other", Thinking::Auto, CacheSetting::Off, None));
    assert_eq!(same.matches("redacted_thinking").count(), 2);
    let off = send("other", &view, &options("other", Thinking::Disabled, CacheSetting::Off, None));
    assert!(!off.contains("redacted"), "{off}");
}

#[test]
fn neighbours_of_one_role_become_one_message() {
    let view = View::from_messages([
        Message::user("one"),
        Message::user("two"),
        answer("m", vec![Block::text("a")]),
        answer("m", vec![Block::text("b")]),
        Message::user("three"),
    ]);
    let options = options("m", Thinking::Auto, CacheSetting::FiveMinutes, None);
    let found: Value = serde_json::from_str(&send("m", &view, &options)).expect("JSON");
    let shape: Vec<_> = found["messages"]
        .as_array()
        .expect("list")
        .iter()
        .map(|m| {
            (
                m["role"].as_str().unwrap_or_default().to_owned(),
                m["content"].as_array().map_or(0, Vec::len),
            )
        })
        .collect();
    assert_eq!(shape, [("user".into(), 2), ("assistant".into(), 2), ("user".into(), 1)]);
    assert_eq!(
        found["messages"][1]["content"][0]["cache_control"]["type"], "ephemeral",
        "the paused answer's end"
    );
}

/// A view holds no answer of thinking alone, but unsigned thinking is not rendered, so an answer may become empty.
#[test]
fn an_answer_of_which_nothing_is_left_is_skipped() {
    let empty = Rendered { assistant: true, ..Rendered::default() };
    let one = |assistant| {
        let message =
            if assistant { answer("m", vec![Block::text("a")]) } else { Message::user("u") };
        Arc::new(render::message(&message))
    };
    let story = |messages: Vec<Arc<Rendered>>| {
        let placed = |message: Arc<Rendered>| {
            (0..message.blocks.len())
                .map(move |index| PlacedMark { message: message.clone(), index })
        };
        let story = BodyStory { blocks: messages.into_iter().flat_map(placed).collect(), asked: 0 };
        let mut body = Body::default();
        story.write(&mut body, &[], "");
        serde_json::from_str::<Value>(&format!("[{}]", bytes(&body))).expect("JSON")
    };
    let found = story(vec![one(false), Arc::new(empty), one(false), one(true)]);
    assert_eq!(found.as_array().map(Vec::len), Some(2));
    assert_eq!(found[0]["content"].as_array().map(Vec::len), Some(2), "roles still alternate");
    assert_eq!(story(vec![]), json!([]));
}

#[test]
fn nothing_is_rendered_or_copied_twice() {
    let view = View::from_messages([
        Message::user("a".repeat(10_000)),
        answer("m", vec![Block::text("b".repeat(10_000))]),
    ]);
    let options = options("m", Thinking::Auto, CacheSetting::FiveMinutes, None);
    let prefix = prefix();
    let first = assemble("m", &ModelId::new("m"), &prefix, &view, &options);
    let mut longer = view.clone();
    longer.push(Message::user("more"));
    let second = assemble("m", &ModelId::new("m"), &prefix, &longer, &options);
    for item in view.items() {
        let rendered = rendered(item);
        let inside = |body: &Body| {
            body.slices
                .iter()
                .any(|s| s.len() > 9_000 && rendered.bytes.as_ptr_range().contains(&s.as_ptr()))
        };
        assert!(inside(&first) && inside(&second));
    }
    let tools = |body: &Body| body.slices.iter().any(|s| s.as_ptr() == prefix.tools.as_ptr());
    assert!(tools(&first) && tools(&second));
}

/// The request without its marks, up to the end of its last block.
fn stable_part(text: &str) -> String {
    let text = text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let end = text.rfind(r#"]}],"max_tokens""#).expect("the end of the messages");
    text[..end].to_owned()
}

/// A model of the same name at another provider is another author.
#[test]
fn thinking_reaches_only_the_provider_that_wrote_it() {
    let name = "claude-opus-4-8";
    let part = ProviderPart { author: "another".into(), data: json!({"sealed": "hm3"}) };
    let view = View::from_messages([
        Message::user("go"),
        answer(name, vec![thought("hm1"), Block::Provider(part), Block::text("a")]),
        Message::user("go"),
        answer("gateway/claude-opus-4-8", vec![thought("hm2"), Block::text("b")]),
        Message::user("go"),
    ]);
    let options = options(name, Thinking::Auto, CacheSetting::Off, None);
    let sent =
        |model: &str| bytes(&assemble(name, &ModelId::new(model), &prefix(), &view, &options));
    for (model, own, foreign) in [(name, "hm1", "hm2"), ("gateway/claude-opus-4-8", "hm2", "hm1")] {
        let text = sent(model);
        assert!(text.contains(own) && !text.contains(foreign), "{model}: {text}");
        assert!(text.contains(r#"{"model":"claude-opus-4-8","#), "the wire name is the provider's");
        assert!(!text.contains("hm3"), "nobody else reads what a protocol sealed");
    }
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[a-z}{\"\\\\é]{0,8}".prop_map(Block::text),
        "[a-z]{1,4}".prop_map(|t| thought(&t)),
        Just(Block::Redacted { data: "r".into() }),
        "[a-e]".prop_map(|id| call(&id)),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let answers = prop::collection::vec(any_block(), 0..6);
    prop_oneof![
        (answers, prop::bool::weighted(0.8)).prop_map(|(content, mine)| answer(
            if mine { "claude-opus-4-8" } else { "other" },
            unique(content)
        )),
        prop::collection::vec("[a-z}{\"\\\\é]{0,8}".prop_map(Block::text), 0..4).prop_map(user),
    ]
}

fn unique(content: Vec<Block>) -> Vec<Block> {
    let mut seen = std::collections::BTreeSet::new();
    content
        .into_iter()
        .filter(|b| !matches!(b, Block::ToolUse { id, .. } if !seen.insert(id.clone())))
        .collect()
}

proptest! {
    #[test]
    fn each_request_extends_the_one_before(messages in prop::collection::vec(any_message(), 1..14), replay in prop::bool::ANY) {
        let thinking = if replay { Thinking::Auto } else { Thinking::Disabled };
        let options = options("claude-opus-4-8", thinking, CacheSetting::FiveMinutes, None);
        let mut view = View::from_messages([Message::user("start")]);
        let mut before = String::new();
        for message in messages {
            view.push(message);
            let text = send("claude-opus-4-8", &view, &options);
            let parsed: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert!(text.matches("cache_control").count() <= 4);
            let roles: Vec<_> = parsed["messages"].as_array().expect("list").iter().map(|m| m["role"].clone()).collect();
            prop_assert!(roles.windows(2).all(|w| w[0] != w[1]), "roles alternate: {:?}", roles);
            prop_assert!(parsed["messages"].as_array().expect("list").iter().all(|m| m["content"].as_array().is_some_and(|c| !c.is_empty())));
            let now = stable_part(&text);
            prop_assert!(now.starts_with(&before), "\n{before}\n{now}");
            before = now;
        }
    }
}
