use super::*;
use crate::sse::Decoder;
use ostler_core::message::Block;
use proptest::prelude::*;
use serde_json::json;

/// Events as lines, so that a test reads as a list.
fn show(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Started { message_id, request_id, usage } => {
            format!(
                "started {message_id} {} {}",
                request_id.as_deref().unwrap_or("-"),
                usage_line(usage)
            )
        }
        ModelEvent::Text(text) => format!("text {text}"),
        ModelEvent::Thinking(text) => format!("thinking {text}"),
        ModelEvent::Block(Block::Text { text, .. }) => format!("block text {text}"),
        ModelEvent::Block(Block::Thinking { text, signature }) => {
            format!("block thinking {text} {signature:?}")
        }
        ModelEvent::Block(Block::Redacted { data }) => format!("block redacted {data}"),
        ModelEvent::Block(Block::ToolUse { id, name, input, .. }) => {
            format!("block call {id} {name} {input}")
        }
        ModelEvent::Cut { id, name, raw } => format!("cut {id} {name} {raw}"),
        ModelEvent::Ended { stop, usage } => format!("ended {stop:?} {}", usage_line(usage)),
        ModelEvent::Raw(raw) => format!("raw {raw}"),
        other => format!("{other:?}"),
    }
}

fn usage_line(u: &ostler_core::ledger::Usage) -> String {
    format!(
        "in {} out {} write {} (1h {}) read {}",
        u.input, u.output, u.cache_write, u.cache_write_1h, u.cache_read
    )
}

fn named(event: &str, data: impl Into<String>) -> SseFrame {
    SseFrame { event: event.into(), data: data.into(), lossy: false }
}

fn frame(data: Value) -> SseFrame {
    named(data["type"].as_str().unwrap_or_default(), data.to_string())
}

fn feed(parser: &mut Parser, frames: &[SseFrame]) -> (Vec<String>, Option<ModelError>) {
    let mut out = Vec::new();
    let failed = frames.iter().find_map(|frame| parser.push(frame, &mut out).err());
    (out.iter().map(show).collect(), failed)
}

fn run(events: &[Value]) -> (Vec<String>, Option<ModelError>) {
    let frames: Vec<_> = events.iter().cloned().map(frame).collect();
    feed(&mut Parser::new(false, None), &frames)
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 5, "output_tokens": 1}}})
}
fn open(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}
fn text_block() -> Value {
    json!({"type": "text", "text": ""})
}
fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}
fn say(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}
fn piece(index: u64, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}
fn close(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}
fn stopping(reason: Value) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}})
}
fn stop() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn a_whole_answer() {
    let start = json!({"type": "message_start", "message": {"id": "m1", "usage": {
        "input_tokens": 5, "output_tokens": 1, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 40,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}}}});
    let events = [
        start,
        json!({"type": "ping"}),
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "h"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        close(0),
        open(1, json!({"type": "redacted_thinking", "data": "xyz"})),
        close(1),
        open(2, text_block()),
        say(2, "Hel"),
        say(2, ""),
        say(2, "lo 🦀"),
        close(2),
        open(3, json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}})),
        piece(3, ""),
        piece(3, "{\"a\""),
        piece(3, ":1}"),
        close(3),
        stopping(json!("tool_use")),
        stop(),
    ];
    let (lines, failed) = run(&events);
    assert_eq!(failed, None);
    assert_eq!(
        lines,
        [
            "started m1 - in 5 out 1 write 30 (1h 20) read 40",
            "thinking h",
            "thinking m",
            "block thinking hm Some(\"sig\")",
            "block redacted xyz",
            "text Hel",
            "text lo 🦀",
            "block text Hello 🦀",
            "block call t1 Read {\"a\":1}",
            "ended ToolUse in 5 out 9 write 30 (1h 20) read 40",
        ]
    );
}

#[test]
fn calls_complete_cut_and_odd() {
    let call = |block: Value, pieces: &[&str]| {
        let mut events = vec![start(), open(0, block)];
        events.extend(pieces.iter().map(|p| piece(0, p)));
        events.push(close(0));
        run(&events).0.last().cloned().unwrap_or_default()
    };
    let read = || json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}});
    assert_eq!(call(read(), &[]), "block call t Read {}");
    assert_eq!(call(read(), &["", " "]), "block call t Read {}");
    assert_eq!(call(read(), &["{\"a\":"]), "cut t Read {\"a\":");
    assert_eq!(call(read(), &["[1]"]), "cut t Read [1]", "not an object");
    assert_eq!(call(read(), &["{} {}"]), "cut t Read {} {}");
    assert_eq!(
        call(json!({"type": "tool_use", "id": "t", "name": "R", "input": {"x": 1}}), &[]),
        "block call t R {\"x\":1}"
    );
    assert_eq!(
        call(
            json!({"type": "tool_use", "id": "t", "name": "R", "input": {"x": 1}}),
            &["{\"y\":2}"]
        ),
        "block call t R {\"y\":2}"
    );
    assert_eq!(
        call(json!({"type": "tool_use", "id": "t", "name": ""}), &["{}"]),
        "block call t  {}"
    );
    assert_eq!(
        call(json!({"type": "tool_use", "id": null}), &["{}"]),
        "block call   {}",
        "passed on with what it has"
    );
}

#[test]
fn stop_reasons() {
    let table = [
        (json!("end_turn"), "EndTurn"),
        (json!("max_tokens"), "MaxTokens"),
        (json!("stop_sequence"), "StopSequence"),
        (json!("pause_turn"), "PauseTurn"),
        (json!("model_context_window_exceeded"), "WindowExceeded"),
        (json!("refusal"), "Refusal { category: None, explanation: None }"),
        (json!("brand_new"), "Other(\"brand_new\")"),
        (json!(null), "Other(\"\")"),
    ];
    for (reason, expected) in table {
        let (lines, failed) = run(&[start(), stopping(reason.clone()), stop()]);
        assert_eq!(failed, None);
        assert_eq!(
            lines[1],
            format!("ended {expected} in 5 out 9 write 0 (1h 0) read 0"),
            "{reason}"
        );
    }
    let refusal = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no"}}});
    let (lines, _) = run(&[start(), refusal, stop()]);
    assert!(lines[1].contains("category: Some(\"cyber\"), explanation: Some(\"no\")"), "{lines:?}");
}

#[test]
fn a_later_event_corrects_the_usage() {
    let last = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
        "input_tokens": 7, "output_tokens": 11, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3}});
    let (lines, _) = run(&[start(), last, stop()]);
    assert_eq!(lines[1], "ended EndTurn in 7 out 11 write 2 (1h 0) read 3");
}

#[test]
fn what_is_out_of_order_is_named() {
    let table: &[(&str, Vec<Value>, &str)] = &[
        ("block before the message", vec![open(0, text_block())], "content_block_start"),
        ("stop before start", vec![stop()], "message_stop"),
        ("delta before the message", vec![stopping(json!("end_turn"))], "message_delta"),
        ("two messages", vec![start(), start()], "message_start"),
        (
            "one index twice",
            vec![start(), open(0, text_block()), close(0), open(0, text_block())],
            "content_block_start",
        ),
        (
            "a lower index",
            vec![start(), open(1, text_block()), close(1), open(0, text_block())],
            "content_block_start",
        ),
        (
            "two open blocks",
            vec![start(), open(0, text_block()), open(1, text_block())],
            "content_block_start",
        ),
        (
            "delta for an unknown block",
            vec![start(), open(0, text_block()), say(1, "x")],
            "content_block_delta",
        ),
        ("delta without a block", vec![start(), say(0, "x")], "content_block_delta"),
        (
            "delta after the block's stop",
            vec![start(), open(0, text_block()), close(0), say(0, "x")],
            "content_block_delta",
        ),
        (
            "stop of another block",
            vec![start(), open(0, text_block()), close(1)],
            "content_block_stop",
        ),
        ("stop without a block", vec![start(), close(0)], "content_block_stop"),
        (
            "message ends with an open block",
            vec![start(), open(0, text_block()), stop()],
            "message_stop",
        ),
        (
            "message_delta with an open block",
            vec![start(), open(0, text_block()), stopping(json!("end_turn"))],
            "message_delta",
        ),
        (
            "block after the stop reason",
            vec![start(), stopping(json!("end_turn")), open(0, text_block())],
            "content_block_start",
        ),
        (
            "a delta of another kind",
            vec![start(), open(0, text_block()), piece(0, "{}")],
            "content_block_delta",
        ),
    ];
    for (name, events, named) in table {
        let (_, failed) = run(events);
        let error = failed.unwrap_or_else(|| panic!("{name}: no error"));
        assert_eq!(error.kind, ModelErrorKind::Protocol, "{name}");
        assert!(error.message.contains(&format!("`{named}`")), "{name}: {}", error.message);
    }
}

#[test]
fn what_is_unknown_is_skipped() {
    let events = [
        json!({"type": "new_event", "index": 0}),
        start(),
        open(
            0,
            json!({"type": "server_tool_use", "id": 7, "name": ["web_search"], "text": {}, "data": 1}),
        ),
        piece(0, "{\"q\":"),
        say(0, "even this"),
        close(0),
        open(1, text_block()),
        delta(1, json!({"type": "new_delta", "text": ["no"], "signature": 1})),
        delta(1, json!({"type": "citations_delta", "citation": {}})),
        say(1, "yes"),
        close(1),
        json!({"type": "new_event"}),
        stopping(json!("end_turn")),
        stop(),
        json!({"type": "message_start"}),
    ];
    let (lines, failed) = run(&events);
    assert_eq!(failed, None);
    assert_eq!(lines[1..3], ["text yes", "block text yes"]);
    assert_eq!(lines.len(), 4);
    let odd = [
        named("new_event", "not json"),
        named("data", start().to_string()),
        named("", open(0, text_block()).to_string()),
    ];
    let (lines, failed) = feed(&mut Parser::default(), &odd);
    assert_eq!(
        (lines.len(), failed),
        (1, None),
        "the data's own type counts when the frame's name is not known"
    );
}

#[test]
fn malformed_events_are_named() {
    for name in ["content_block_delta", "content_block_start", "message_delta"] {
        let frames = [frame(start()), named(name, "{\"type\":")];
        let (lines, failed) = feed(&mut Parser::default(), &frames);
        let error = failed.expect("an error");
        assert_eq!(
            (error.kind, lines.len()),
            (ModelErrorKind::Protocol, 1),
            "what came before is kept"
        );
        assert!(error.message.contains(&format!("`{name}`")), "{}", error.message);
    }
    let (_, failed) = feed(&mut Parser::default(), &[named("", "<html>")]);
    assert_eq!(failed.map(|e| e.kind), Some(ModelErrorKind::Protocol));
}

#[test]
fn error_events_by_kind() {
    let error = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let table = [
        (error("overloaded_error", "Overloaded"), ModelErrorKind::Overloaded),
        (error("rate_limit_error", "slow"), ModelErrorKind::RateLimited),
        (error("api_error", "Internal\nserver error"), ModelErrorKind::Unavailable),
        (error("invalid_request_error", "bad"), ModelErrorKind::BadRequest),
        (json!({"type": "error"}), ModelErrorKind::Unavailable),
    ];
    for (event, kind) in table {
        for before in [vec![], vec![start()], vec![start(), open(0, text_block()), say(0, "x")]] {
            let events: Vec<_> = before.into_iter().chain([event.clone()]).collect();
            let failed = run(&events).1.expect("an error");
            assert_eq!(failed.kind, kind);
            assert!(!failed.message.contains('\n'));
        }
    }
}

#[test]
fn an_end_before_the_end_is_an_error() {
    let whole = [
        start(),
        open(0, text_block()),
        say(0, "x"),
        close(0),
        stopping(json!("end_turn")),
        stop(),
    ];
    for n in 0..=whole.len() {
        let mut parser = Parser::default();
        let frames: Vec<_> = whole[..n].iter().cloned().map(frame).collect();
        feed(&mut parser, &frames);
        assert_eq!(parser.end().is_ok(), n == whole.len(), "after {n} events");
        assert_eq!(parser.is_started(), n > 0);
        if let Err(error) = parser.end() {
            assert_eq!(error.kind, ModelErrorKind::Unavailable);
        }
    }
}

#[test]
fn raw_events_come_first_and_only_from_the_start_on() {
    let pretty = start().to_string().replace(",\"", ",\n\"");
    let frames = [
        frame(json!({"type": "ping"})),
        named("message_start", pretty),
        frame(json!({"type": "ping"})),
        frame(json!({"type": "new_event"})),
        frame(stop()),
    ];
    let (lines, _) = feed(&mut Parser::new(true, Some("req".into())), &frames);
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert!(lines[0].starts_with("raw {") && !lines[0].contains('\n'), "{}", lines[0]);
    assert!(lines[1].starts_with("started m1 req "));
    assert_eq!(
        lines[2..5],
        [
            "raw {\"type\":\"ping\"}",
            "raw {\"type\":\"new_event\"}",
            "raw {\"type\":\"message_stop\"}"
        ]
    );
    assert!(lines[5].starts_with("ended"));
}

#[test]
fn an_answer_is_bounded() {
    let bounded = || Parser::default().within(ParserBounds { bytes: 10_000, blocks: 20 });
    let many: Vec<_> = std::iter::once(start())
        .chain((0..30).flat_map(|n| [open(n, text_block()), close(n)]))
        .map(frame)
        .collect();
    let (lines, failed) = feed(&mut bounded(), &many);
    assert_eq!(lines.len(), 1 + 20);
    assert!(
        failed
            .is_some_and(|e| e.kind == ModelErrorKind::Protocol && e.message.contains("20 blocks"))
    );

    let long = |event: &dyn Fn(u64) -> Value| {
        let frames: Vec<_> = [start(), open(0, text_block())]
            .into_iter()
            .chain((1..100).map(event))
            .map(frame)
            .collect();
        feed(&mut bounded(), &frames).1.map(|e| e.message)
    };
    let too_large = Some("the answer is larger than 10000 bytes".to_owned());
    assert_eq!(long(&|_| say(0, &"x".repeat(1_000))), too_large);
    assert_eq!(
        long(&|_| json!({"type": "unknown", "x": "x".repeat(1_000)})),
        too_large,
        "skipped events count too"
    );
    assert_eq!(long(&|_| json!({"type": "ping"})), None);
    let default = ParserBounds::default();
    assert_eq!((default.bytes, default.blocks), (64 << 20, 10_000));
}

#[test]
fn many_calls_in_one_answer() {
    let mut events = vec![start()];
    for n in 0..500 {
        events.extend([
            open(n, json!({"type": "tool_use", "id": format!("t{n}"), "name": "R"})),
            piece(n, "{}"),
            close(n),
        ]);
    }
    events.extend([stopping(json!("tool_use")), stop()]);
    let (lines, failed) = run(&events);
    assert_eq!((lines.len(), failed), (502, None));
}

fn any_event() -> impl Strategy<Value = SseFrame> {
    let index = 0u64..4;
    let block = prop_oneof![
        Just(text_block()),
        Just(json!({"type": "tool_use", "id": "t", "name": "n"})),
        Just(json!({"type": "thinking"})),
        Just(json!({"type": "odd"})),
        Just(json!({})),
    ];
    prop_oneof![
        Just(frame(start())),
        (index.clone(), block).prop_map(|(i, b)| frame(open(i, b))),
        (index.clone(), "[a-z{}\"\\\\]{0,6}").prop_map(|(i, t)| frame(say(i, &t))),
        (index.clone(), "[a-z{}\"]{0,6}").prop_map(|(i, t)| frame(piece(i, &t))),
        index.prop_map(|i| frame(close(i))),
        Just(frame(stopping(json!("end_turn")))),
        Just(frame(stop())),
        (prop::sample::select(KNOWN.to_vec()), ".{0,20}").prop_map(|(e, data)| named(e, data)),
        (".{0,8}", ".{0,20}").prop_map(|(event, data)| named(&event, data)),
    ]
}

proptest! {
    #[test]
    fn no_frames_make_it_panic_and_an_end_comes_last(frames in prop::collection::vec(any_event(), 0..30), raw in prop::bool::ANY) {
        let mut parser = Parser::new(raw, None);
        let (lines, failed) = feed(&mut parser, &frames);
        let ended = lines.iter().position(|line| line.starts_with("ended"));
        prop_assert!(ended.is_none_or(|at| at + 1 == lines.len()));
        prop_assert_eq!(parser.end().is_ok(), ended.is_some());
        if ended.is_some() {
            prop_assert_eq!(failed, None);
        }
    }

    #[test]
    fn any_cut_of_the_bytes_gives_the_same_events(texts in prop::collection::vec(".{0,10}", 0..4), cut in 1usize..40, crlf in prop::bool::ANY) {
        let mut events = vec![start()];
        for (n, text) in texts.iter().enumerate() {
            events.extend([open(n as u64, text_block()), say(n as u64, text), close(n as u64)]);
        }
        events.extend([stopping(json!("end_turn")), stop()]);
        let end = if crlf { "\r\n" } else { "\n" };
        let bytes: String = events.iter().map(|e| format!("event: {}{end}data: {e}{end}{end}", e["type"].as_str().unwrap_or_default())).collect();
        let read = |size: usize| {
            let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
            bytes.as_bytes().chunks(size).for_each(|chunk| decoder.push(chunk, &mut frames).expect("small events"));
            feed(&mut Parser::default(), &frames)
        };
        prop_assert_eq!(read(cut), read(bytes.len()));
        prop_assert_eq!(read(1).1, None);
    }
}
