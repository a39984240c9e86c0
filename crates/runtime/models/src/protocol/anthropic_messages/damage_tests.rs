//! Answers whose numbers or bytes are wrong: what can be kept is kept, and what was wrong is said.

use super::*;
use crate::sse::Decoder;
use ostler_core::ledger::Usage;
use ostler_core::message::Block;

fn parsed(stream: &[u8]) -> Vec<ModelEvent> {
    let (mut decoder, mut frames, mut out) = (Decoder::default(), Vec::new(), Vec::new());
    decoder.push(stream, &mut frames).unwrap();
    let mut parser = Parser::new(false, None);
    for frame in &frames {
        parser.push(frame, &mut out).unwrap();
    }
    parser.end().unwrap();
    out
}

fn answer(start: &str, end: &str, text: &[u8]) -> Vec<u8> {
    let mut stream = format!(
        "data: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\",\"usage\":{start}}}}}\n\n\
         data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"Write\",\"input\":{{}}}}}}\n\n\
         data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{{\\\"content\\\":\\\""
    )
    .into_bytes();
    stream.extend_from_slice(text);
    stream.extend_from_slice(
        format!(
            "\\\"}}\"}}}}\n\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"tool_use\"}},\"usage\":{end}}}\n\n\
             data: {{\"type\":\"message_stop\"}}\n\n"
        )
        .as_bytes(),
    );
    stream
}

fn notes(events: &[ModelEvent]) -> Vec<&str> {
    fn note(event: &ModelEvent) -> Option<&str> {
        match event {
            ModelEvent::Note(text) => Some(text),
            _ => None,
        }
    }
    events.iter().filter_map(note).collect()
}

fn usage(events: &[ModelEvent]) -> Usage {
    match events.last() {
        Some(ModelEvent::Ended { usage, .. }) => *usage,
        other => panic!("{other:?}"),
    }
}

fn call(events: &[ModelEvent]) -> &Value {
    fn input(event: &ModelEvent) -> Option<&Value> {
        match event {
            ModelEvent::Block(Block::ToolUse { input, .. }) => Some(input),
            _ => None,
        }
    }
    events.iter().find_map(input).unwrap()
}

#[test]
fn odd_counts_cost_no_answer() {
    for odd in ["-3", "1e30", "18446744073709551616", "\"many\"", "[]"] {
        let events = parsed(&answer(
            &format!("{{\"input_tokens\":{odd}}}"),
            &format!("{{\"output_tokens\":{odd}}}"),
            b"x",
        ));
        assert_eq!(call(&events)["content"], "x", "{odd}");
        assert_eq!(usage(&events), Usage::default(), "{odd}");
        assert_eq!(notes(&events).len(), 1, "{odd}");
        assert!(notes(&events)[0].contains("input_tokens is "), "{:?}", notes(&events));
    }
    let events = parsed(&answer("{\"input_tokens\":9.5}", "{\"output_tokens\":0.5}", b"x"));
    assert_eq!((usage(&events).input, usage(&events).output), (10, 1));
    let events = parsed(&answer("null", "null", b"x"));
    assert_eq!((usage(&events), notes(&events).len()), (Usage::default(), 0));
}

#[test]
fn replaced_bytes_are_reported_with_the_call() {
    let good = "{\"input_tokens\":1,\"output_tokens\":1}";
    let events = parsed(&answer(good, good, b"caf\xe9 \xff"));
    assert_eq!(call(&events)["content"], "caf\u{fffd} \u{fffd}");
    assert_eq!(notes(&events).len(), 1);
    assert!(notes(&events)[0].starts_with("the input of the call Write"), "{:?}", notes(&events));
    // A character that the model wrote itself is no damage.
    let events = parsed(&answer(good, good, "caf\u{fffd}".as_bytes()));
    assert_eq!(notes(&events), [""; 0]);
}
