//! Each situation of the observed behaviour tables and of the fault corpus, written as a script
//! file and looked at on the wire.

use ostler_model_server::{ModelServer, Script};
use serde_json::json;

use crate::client::{Answer, Client, End, hello, plain, serve, with};

fn scripted(steps: &str) -> ModelServer {
    let source = format!("steps:\n{steps}\n");
    serve(Script::from_yaml(&source).unwrap_or_else(|error| panic!("{error}\n{source}")))
}

fn first(steps: &str) -> Answer {
    let server = scripted(steps);
    Client::to(&server).ask(&hello())
}

/// What a client would call the answer: status, blocks, stop reason, end.
fn summary(answer: &Answer) -> String {
    if answer.status != 200 {
        return format!("{} {:?}", answer.status, answer.end);
    }
    let mut out = Vec::new();
    for (name, data) in answer.events() {
        match name.as_str() {
            "content_block_start" => {
                out.push(data["content_block"]["type"].as_str().unwrap().to_owned())
            }
            "message_delta" => out.push(format!("stop={}", data["delta"]["stop_reason"])),
            "error" => out.push(format!("error={}", data["error"]["type"].as_str().unwrap())),
            _ => {}
        }
    }
    format!("{} {:?}", out.join(","), answer.end)
}

#[test]
fn tools_and_stop_reasons() {
    let table = [
        (
            "  - {say: T, calls: [{tool: Bash, input: {command: ls}}]}",
            "text,tool_use,stop=\"tool_use\" Complete",
        ),
        (
            "  - calls: [{tool: Bash, times: 3}]",
            "tool_use,tool_use,tool_use,stop=\"tool_use\" Complete",
        ),
        (
            "  - blocks: [{text: T}, {tool: Bash}, {text: T}]",
            "text,tool_use,text,stop=\"tool_use\" Complete",
        ),
        ("  - {calls: [{tool: Bash}], stop: end_turn}", "tool_use,stop=\"end_turn\" Complete"),
        ("  - {say: T, stop: tool_use}", "text,stop=\"tool_use\" Complete"),
        (
            "  - {calls: [{tool: Bash, id: x}, {tool: Bash, id: x}]}",
            "tool_use,tool_use,stop=\"tool_use\" Complete",
        ),
        (
            "  - {calls: [{tool: Bash, input_raw: '{\"comm'}], stop: max_tokens}",
            "tool_use,stop=\"max_tokens\" Complete",
        ),
        ("  - {say: T, stop: max_tokens, forever: true}", "text,stop=\"max_tokens\" Complete"),
        ("  - {stop: refusal}", "stop=\"refusal\" Complete"),
        (
            "  - {say: T, stop: refusal, stop_details: {category: x}}",
            "text,stop=\"refusal\" Complete",
        ),
        ("  - {say: T, stop: pause_turn}", "text,stop=\"pause_turn\" Complete"),
        (
            "  - {say: T, stop: stop_sequence, stop_sequence: END}",
            "text,stop=\"stop_sequence\" Complete",
        ),
        ("  - {say: T, stop: something_new}", "text,stop=\"something_new\" Complete"),
        ("  - {say: T, stop: null}", "text,stop=null Complete"),
        (
            "  - {say: T, stop: model_context_window_exceeded}",
            "text,stop=\"model_context_window_exceeded\" Complete",
        ),
        ("  - blocks: []", "stop=\"end_turn\" Complete"),
        ("  - say: ''", "text,stop=\"end_turn\" Complete"),
        ("  - think: only thinking", "thinking,stop=\"end_turn\" Complete"),
        (
            "  - {think: {text: t, signature: s, redacted: r}, say: T}",
            "thinking,redacted_thinking,text,stop=\"end_turn\" Complete",
        ),
        (
            "  - {say: T, usage: {input_tokens: 175000, output_tokens: 9}}",
            "text,stop=\"end_turn\" Complete",
        ),
    ];
    for (steps, wanted) in table {
        assert_eq!(summary(&first(steps)), wanted, "{steps}");
    }
}

#[test]
fn http_errors() {
    let table = [
        ("  - status: 400", 400),
        (
            "  - {status: 400, error: {message: 'prompt is too long: 210000 tokens > 200000 maximum'}}",
            400,
        ),
        ("  - {status: 401, times: 2}", 401),
        ("  - status: 403", 403),
        ("  - status: 404", 404),
        ("  - status: 408", 408),
        ("  - status: 409", 409),
        ("  - status: 413", 413),
        ("  - status: 422", 422),
        ("  - {status: 429, headers: {retry-after: '2'}}", 429),
        ("  - {status: 429, headers: {x-should-retry: 'false'}}", 429),
        ("  - {status: 500, forever: true}", 500),
        ("  - status: 502", 502),
        ("  - status: 503", 503),
        ("  - status: 504", 504),
        ("  - status: 529", 529),
        ("  - {redirect: {status: 307, to: 'http://127.0.0.1:1/'}}", 307),
        ("  - {redirect: {status: 301, to: 'http://127.0.0.1:1/'}}", 301),
        ("  - {status: 503, body: '<html>', content_type: text/html}", 503),
        ("  - status: 204", 204),
    ];
    for (steps, wanted) in table {
        let answer = first(steps);
        assert_eq!((answer.status, answer.end), (wanted, End::Complete), "{steps}");
    }
    let json = first("  - {json: {type: error, error: {type: api_error, message: no}}}");
    assert_eq!(
        (json.status, json.error().1.as_str()),
        (200, "no"),
        "a JSON body in place of a stream"
    );
    let html = first("  - {body: '<html>', content_type: text/html}");
    assert_eq!((html.status, html.header("content-type")), (200, Some("text/html")));
    assert_eq!(first("  - {body: ''}").body, b"");
}

#[test]
fn broken_streams() {
    let table = [
        ("  - cut: {after: request, how: reset}", "0 Reset"),
        ("  - cut: {after: request, how: close}", "0 Closed"),
        ("  - cut: {after: message_start, how: reset}", " Reset"),
        ("  - cut: {after: content_block_start, how: reset}", "text Reset"),
        ("  - {say: some text, cut: {after: content_block_delta, how: close}}", "text Closed"),
        (
            "  - {think: hm, say: T, cut: {after: content_block_delta, nth: 1, how: reset}}",
            "thinking Reset",
        ),
        (
            "  - {think: hm, say: T, cut: {after: content_block_start, nth: 2, how: reset}}",
            "thinking,text Reset",
        ),
        (
            "  - {say: T, calls: [{tool: A}], cut: {after: content_block_stop, how: reset}}",
            "text Reset",
        ),
        (
            "  - {say: T, calls: [{tool: A}], cut: {after: content_block_stop, nth: 2, how: reset}}",
            "text,tool_use Reset",
        ),
        ("  - cut: {after: headers, how: end}", " Complete"),
        ("  - {say: T, cut: {after: content_block_stop, how: end}}", "text Complete"),
        ("  - {say: T, cut: {after: message_delta, how: end}}", "text,stop=\"end_turn\" Complete"),
        ("  - error_event: {type: overloaded_error}", "error=overloaded_error Complete"),
        (
            "  - error_event: {type: overloaded_error, after: message_start}",
            "error=overloaded_error Complete",
        ),
        (
            "  - {say: T, error_event: {type: api_error, after: content_block_stop}}",
            "text,error=api_error Complete",
        ),
        (
            "  - {calls: [{tool: A}], error_event: {type: api_error, after: content_block_stop}}",
            "tool_use,error=api_error Complete",
        ),
    ];
    for (steps, wanted) in table {
        assert_eq!(summary(&first(steps)), wanted, "{steps}");
    }
}

#[test]
fn odd_streams() {
    let table = [
        (
            "  - {say: T, insert: [{after: content_block_start, raw: \"event: x\\ndata: {broken\\n\\n\"}]}",
            "text,stop=\"end_turn\" Complete",
        ),
        (
            "  - {say: T, insert: [{after: headers, event: new_event, data: {a: 1}}, {after: ping, comment: hi}]}",
            "text,stop=\"end_turn\" Complete",
        ),
        (
            "  - {say: T, insert: [{after: content_block_start, event: content_block_delta, data: {index: 0, delta: {type: new_delta}}}]}",
            "text,stop=\"end_turn\" Complete",
        ),
        (
            "  - blocks: [{block: {type: new_block}, deltas: [{type: x}]}]",
            "new_block,stop=\"end_turn\" Complete",
        ),
        (
            "  - {say: T, insert: [{after: content_block_start, event: content_block_start, data: {index: 0, content_block: {type: text, text: ''}}}]}",
            "text,text,stop=\"end_turn\" Complete",
        ),
        (
            "  - events: [{event: content_block_stop, data: {index: 0}}, {event: message_start}, {event: message_delta}]",
            "stop=\"end_turn\" Complete",
        ),
        (
            "  - {say: T, insert: [{after: content_block_stop, event: content_block_delta, data: {index: 7, delta: {type: text_delta, text: x}}}]}",
            "text,stop=\"end_turn\" Complete",
        ),
        (
            "  - {blocks: [{ping: 3, every_ms: 1}, {text: T}, {pause_ms: 1}, {text: T}]}",
            "text,text,stop=\"end_turn\" Complete",
        ),
        ("  - raw: \"HTTP/1.1 200 OK\\r\\ncontent-length: 9\\r\\n\\r\\nhalf\"", " Closed"),
    ];
    for (steps, wanted) in table {
        assert_eq!(summary(&first(steps)), wanted, "{steps}");
    }
}

#[test]
fn silence() {
    for (steps, last) in [
        ("  - cut: {after: request, how: stall}", ""),
        ("  - cut: {after: headers, how: stall}", "\r\n\r\n"),
        (
            "  - {calls: [{tool: A}], cut: {after: content_block_stop, how: stall}}",
            "\"content_block_stop\",\"index\":0}\n\n\r\n",
        ),
    ] {
        let server = scripted(steps);
        let mut client = Client::to(&server);
        client.send(&hello());
        client.until(last);
        assert!(client.is_quiet(), "{steps}");
    }
    let server = scripted("  - cut: {after: headers, how: ping, every_ms: 1}");
    let mut client = Client::to(&server);
    client.send(&hello());
    for _ in 0..10 {
        client.until("event: ping");
    }
}

#[test]
fn odd_framing_reads_the_same() {
    for framing in [
        "{newline: crlf}",
        "{newline: cr}",
        "{space: false}",
        "{split_data: true}",
        "{extra_fields: true, bom: true}",
    ] {
        let answer = first(&format!("  - {{say: 'grüße 😀', chunk: 1, framing: {framing}}}"));
        assert_eq!(answer.said(), "grüße 😀", "{framing}");
    }
}

#[test]
fn huge_things() {
    let answer = first("  - blocks: [{flood: {bytes: 2000000, as: text}}]");
    assert_eq!(answer.said().len(), 2_000_000);
    let line = first("  - events: [{flood: {bytes: 2000000, as: line}}]");
    assert_eq!((line.body.len(), line.end), (2_000_006, End::Complete));
    let calls = first("  - calls: [{tool: Bash, input: {command: 'true'}, times: 500}]");
    assert_eq!(summary(&calls).matches("tool_use").count(), 501);
}

#[test]
fn two_hundred_megabytes_in_one_event_pass_through() {
    let server = scripted("  - blocks: [{flood: {bytes: 200000000, as: text}}]");
    let mut client = Client::to(&server);
    client.send(&hello());
    client.until("\"text_delta\",\"text\":\"");
    let mut count = 0;
    while count < 20_000_000 {
        count += client.exactly(1 << 20).len();
    }
    // Hanging up in the middle ends it; nothing waits for the rest.
}

#[test]
fn a_fallback_chain() {
    let server = scripted(
        "  - {when: {model: one}, status: 529, forever: true}\n  - {when: {model: two}, status: 529, forever: true}\n  - {when: {model: three}, say: fine}",
    );
    let mut client = Client::to(&server);
    let mut ask = |model: &str| client.ask(&with(hello(), "model", json!(model))).status;
    assert_eq!(
        ["one", "one", "two", "two", "three", "three"].map(&mut ask),
        [529, 529, 529, 529, 200, 400]
    );
}

#[test]
fn a_broken_stream_then_a_plain_request() {
    let server = scripted(
        "  - cut: {after: message_start, how: reset}\n  - {when: {stream: false}, say: whole}",
    );
    assert_eq!(Client::to(&server).ask(&hello()).end, End::Reset);
    let answer = Client::to(&server).ask(&plain(hello()));
    assert_eq!(answer.json()["content"][0]["text"], "whole");
}

#[test]
fn bytes_that_are_no_text() {
    let answer = first("  - {say: T, insert: [{after: ping, raw_hex: 'ff fe 0a 0a'}]}");
    let at = answer.body.windows(4).position(|window| window == b"\xff\xfe\n\n");
    assert!(at.is_some());
}
