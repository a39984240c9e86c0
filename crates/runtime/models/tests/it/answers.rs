//! Answers that arrive, in every way they may be written down.

use crate::support::{go, hear, model, request, serve};
use futures_util::StreamExt;
use ostler_core::ids::ModelId;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::model::{ModelEvent, Thinking};
use ostler_core::ports::Model;
use ostler_core::view::View;
use ostler_model_server::{Framing, Newline, Part, Script, after, calls, sse, text, think};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn text_thinking_and_calls() {
    let script = Script::new().answer(
        think("let me see")
            .say("I will read.")
            .call_as("t1", "Read", json!({"path": "a"}))
            .call("Bash", json!({})),
    );
    let server = serve(script);
    let heard = hear(&model(&server.url()), go()).await;
    assert_eq!(heard.text(), "I will read.");
    assert_eq!(
        heard.starting_with("block"),
        ["block other", "block text", "block call", "block call"]
    );
    assert_eq!(
        heard.blocks[2],
        Block::ToolUse {
            id: "t1".into(),
            name: "Read".into(),
            input: json!({"path": "a"}),
            via: None
        }
    );
    assert_eq!(heard.lines.last().unwrap(), "ended ToolUse");
    assert!(heard.usage.prompt() > 0 && heard.usage.output > 0);
    assert!(server.rejected().is_empty(), "{:?}", server.rejected());
}

/// A22–A25, A27: the same answer, however it is written and cut.
#[tokio::test]
async fn every_framing_gives_the_same_answer() {
    let answer =
        || think("hm, ünd").say("Grüße, 🦀!\nbye").call_as("t1", "Read", json!({"path": "ä🦀"}));
    let mut framings = vec![Framing::default()];
    for newline in [Newline::Lf, Newline::Crlf, Newline::Cr] {
        for (space, split_data, extra_fields, bom) in [
            (false, false, false, false),
            (true, true, false, true),
            (true, false, true, false),
            (false, true, true, true),
        ] {
            framings.push(Framing { newline, space, split_data, extra_fields, bom });
        }
    }
    let mut expected = None;
    for (framing, chunk) in
        framings.into_iter().zip([None, Some(1), Some(3), Some(7)].into_iter().cycle())
    {
        let mut reply = answer();
        reply.delivery.framing = framing;
        reply.delivery.chunk = chunk;
        let server = serve(Script::new().answer(reply));
        let heard = hear(&model(&server.url()), go()).await;
        assert_eq!(heard.error, None, "{framing:?} {chunk:?}");
        assert_eq!(heard.text(), "Grüße, 🦀!\nbye");
        let blocks = heard.blocks;
        assert_eq!(
            *expected.get_or_insert_with(|| blocks.clone()),
            blocks,
            "{framing:?} {chunk:?}"
        );
    }
}

/// A26: what is new is skipped.
#[tokio::test]
async fn unknown_events_blocks_and_deltas_are_skipped() {
    let odd = Part::Block {
        block: json!({"type": "hologram", "data": 1}),
        deltas: vec![json!({"type": "hologram_delta", "x": 1})],
    };
    let reply = text("yes")
        .part(odd)
        .say("and no")
        .insert(after("message_start"), Part::event("new_event", json!({"type": "new_event"})))
        .insert(after("message_start"), Part::usual("ping"));
    let server = serve(Script::new().answer(reply));
    let heard = hear(&model(&server.url()), go()).await;
    assert_eq!((heard.text().as_str(), heard.blocks.len()), ("yesand no", 2));
}

/// A30, A39, A41, A42 as far as the wire goes.
#[tokio::test]
async fn cut_calls_stop_reasons_and_many_calls() {
    let script = Script::new()
        .answer(text("x").call_raw("Read", "{\"path\": \"a").stop("max_tokens"))
        .answer(
            text("x").stop("refusal").stop_details(json!({"type": "refusal", "category": "cyber"})),
        )
        .answer(text("x").stop("brand_new"))
        .answer(text("x").stop_null())
        .answer(text("x").stop("tool_use"))
        .answer(calls((0..500).map(|n| ("Read", json!({"n": n})))));
    let server = serve(script);
    let model = model(&server.url());
    let cut = hear(&model, go()).await;
    assert!(cut.lines.contains(&"cut Read {\"path\": \"a".to_owned()), "{:?}", cut.lines);
    assert_eq!(cut.lines.last().unwrap(), "ended MaxTokens");
    let ends = [
        "ended Refusal { category: Some(\"cyber\"), explanation: None }",
        "ended Other(\"brand_new\")",
        "ended Other(\"\")",
        "ended ToolUse",
    ];
    for end in ends {
        assert_eq!(hear(&model, go()).await.lines.last().unwrap(), end);
    }
    assert_eq!(hear(&model, go()).await.blocks.len(), 500);
}

#[tokio::test]
async fn raw_events_are_passed_through() {
    let server = serve(Script::new().answer(text("hi")));
    let mut asked = go();
    asked.raw_events = true;
    let heard = hear(&model(&server.url()), asked).await;
    assert_eq!(heard.lines[..2], ["raw", "started"]);
    assert_eq!(heard.lines[heard.lines.len() - 2..], ["raw", "ended EndTurn"]);
}

/// What was thought is sent back to its author, and to nobody else.
#[tokio::test]
async fn a_replayed_history_is_valid() {
    let script = Script::new()
        .answer(think("hm").call_as("t1", "Read", json!({})))
        .answer(text("done"))
        .answer(text("done"));
    let server = serve(script.rules(|rules| rules.signatures_per_model = true));
    let model = model(&server.url());
    let mut view = View::from_messages([Message::user("go")]);
    let first = hear(&model, request(&view)).await;
    view.push(Message::assistant(&ModelId::new("scripted"), first.blocks));
    let result = Block::ToolResult {
        id: "t1".into(),
        content: vec![ResultPart::text("content")],
        is_error: false,
    };
    view.push(Message::User { content: vec![result] });
    assert_eq!(hear(&model, request(&view)).await.text(), "done");
    let mut other = request(&view);
    other.model = ModelId::new("scripted-other");
    assert_eq!(hear(&model, other).await.text(), "done");
    let has_thinking: Vec<_> = server
        .requests()
        .iter()
        .map(|r| r.json()["messages"].to_string().contains("thinking"))
        .collect();
    assert_eq!(has_thinking, [false, true, false]);
    assert!(server.rejected().is_empty(), "{:?}", server.rejected());
}

#[tokio::test]
async fn thinking_switched_off_is_neither_asked_for_nor_replayed() {
    let server = serve(Script::new().answer(text("ok")));
    let author = ModelId::new("claude-opus-4-8");
    let thought = Block::Thinking { text: "t".into(), signature: Some("s".into()) };
    let view = View::from_messages([
        Message::user("go"),
        Message::assistant(&author, vec![thought, Block::text("a")]),
        Message::user("more"),
    ]);
    let mut asked = request(&view);
    (asked.model, asked.thinking) = (author, Thinking::Disabled);
    hear(&model(&server.url()), asked).await;
    assert_eq!(server.requests()[0].json()["thinking"], json!({"type": "disabled"}));
    assert_eq!(server.idle_thinking(), 0);
}

/// Deadlines are for the sender: data that waits for a slow reader is never late.
#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let server = serve(Script::new().answer(text("one two three four").delta(4)));
    let mut limits = crate::support::quick();
    limits.silence = Duration::from_millis(100);
    let model = crate::support::hasty(&server.url(), limits);
    let mut stream = model.stream(go());
    let mut said = String::new();
    while let Some(item) = stream.next().await {
        if let ModelEvent::Text(piece) = item.unwrap() {
            said.push_str(&piece);
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
    assert_eq!(said, "one two three four");
}

/// Events that follow the end are not waited for.
#[tokio::test]
async fn a_server_that_does_not_close_the_body_delays_nobody() {
    let parts = [
        Part::usual("message_start"),
        Part::usual("message_delta"),
        Part::usual("message_stop"),
        Part::gate("never"),
    ];
    let server = serve(Script::new().answer(sse(parts)));
    let before = std::time::Instant::now();
    let heard = hear(&model(&server.url()), go()).await;
    assert!(heard.lines.last().unwrap().starts_with("ended"));
    assert!(before.elapsed() < Duration::from_secs(10));
}
