//! Streams that break after the answer has begun: what came is kept, the failure is the last thing said, and
//! nothing is repeated here.

use crate::support::{Heard, go, hasty, hear, model, quick, serve};
use ostler_core::model::ModelErrorKind::{self, *};
use ostler_model_server::{FloodKind, ModelServer, Part, Reply, Script, after, sse, text, think};
use ostler_models::Deadlines;
use serde_json::json;
use std::time::{Duration, Instant};

const BOUNDARIES: [&str; 5] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
];

async fn once(reply: Reply) -> (Heard, ModelServer) {
    let server = serve(Script::new().answer(reply).forever());
    let mut asked = go();
    asked.retries = 5;
    let heard = hear(&model(&server.url()), asked).await;
    assert_eq!(server.requests().len(), 1, "not repeated: {:?}", heard.lines);
    (heard, server)
}

/// A19, A20.
#[tokio::test]
async fn broken_at_each_boundary() {
    for boundary in BOUNDARIES {
        let cuts = [
            after(boundary).end(),
            after(boundary).close(),
            after(boundary).reset(),
            after(boundary).and_bytes(9).close(),
        ];
        for cut in cuts {
            let reply = text("hello world")
                .call_as("t1", "Read", json!({"path": "a"}))
                .delta(4)
                .cut(cut.clone());
            let (heard, _server) = once(reply).await;
            assert_eq!(heard.error().kind, Unavailable, "{cut:?}: {}", heard.error());
            assert_eq!(heard.lines[0], "started", "{cut:?}");
            assert_eq!(heard.starting_with("ended").len(), 0, "{cut:?}");
            let calls = heard.starting_with("block call").len();
            assert_eq!(
                calls,
                usize::from(boundary == "message_delta"),
                "a call that is not complete is not passed on: {cut:?}"
            );
        }
    }
    let (heard, _server) = once(text("hello").cut(after("message_stop").reset())).await;
    assert_eq!(heard.error, None, "after message_stop the answer is complete");
}

#[tokio::test]
async fn partial_text_and_thinking_are_kept() {
    let (heard, _server) = once(
        think("hm").say("hello world").delta(5).cut(after("content_block_delta").nth(3).reset()),
    )
    .await;
    assert_eq!(heard.starting_with("thinking"), ["thinking hm"]);
    assert_eq!(heard.starting_with("block"), ["block other"]);
    assert!("hello world".starts_with(&heard.text()));
    assert!(heard.error().message.contains("broke"), "{}", heard.error());
}

/// A29, A32, A33, A38.
#[tokio::test]
async fn events_that_cannot_be_used() {
    let start = || Part::usual("message_start");
    let open = |index: u64| {
        Part::event(
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        )
    };
    let say = |index: u64| {
        Part::event(
            "content_block_delta",
            json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": "x"}}),
        )
    };
    let error = |kind: &str| {
        Part::event("error", json!({"type": "error", "error": {"type": kind, "message": "Oops"}}))
    };
    let table: Vec<(Vec<Part>, ModelErrorKind, &str)> = vec![
        (
            vec![
                start(),
                open(0),
                say(0),
                Part::raw("event: content_block_delta\ndata: {\"type\":\n\n"),
            ],
            Protocol,
            "`content_block_delta`",
        ),
        (vec![start(), open(0), open(0)], Protocol, "`content_block_start`"),
        (vec![start(), open(0), say(7)], Protocol, "`content_block_delta`"),
        (vec![start(), start()], Protocol, "`message_start`"),
        (vec![start(), open(0), error("overloaded_error")], Overloaded, "Oops"),
        (vec![start(), open(0), say(0), error("api_error")], Unavailable, "Oops"),
        (vec![start(), error("rate_limit_error")], RateLimited, "Oops"),
    ];
    for (parts, kind, part) in table {
        let (heard, _server) = once(sse(parts)).await;
        assert_eq!(heard.error().kind, kind, "{}", heard.error());
        assert!(heard.error().message.contains(part), "{}", heard.error());
    }
    let early = sse([Part::usual("content_block_stop")]);
    let server = serve(Script::new().answer(early).answer(text("ok")));
    let mut asked = go();
    asked.retries = 1;
    assert_eq!(
        hear(&model(&server.url()), asked).await.text(),
        "ok",
        "before the answer begins it is asked again"
    );
}

/// A36: memory does not follow what the other side sends.
#[tokio::test]
async fn an_event_without_end_is_given_up() {
    for kind in [FloodKind::Text, FloodKind::Line] {
        let reply = text("x").part(Part::Flood { bytes: 40 << 20, kind });
        let (heard, _server) = once(reply).await;
        assert_eq!(heard.error().kind, Protocol);
        assert!(heard.error().message.contains("larger than"), "{}", heard.error());
    }
}

/// A17: silence before the answer is repeated, silence in it ends it.
#[tokio::test]
async fn silence_has_a_limit() {
    let limits = Deadlines {
        first_event: Duration::from_millis(400),
        silence: Duration::from_millis(400),
        ..quick()
    };
    let server =
        serve(Script::new().answer(text("x").cut(after("headers").stall())).answer(text("ok")));
    let mut asked = go();
    asked.retries = 1;
    let heard = hear(&hasty(&server.url(), limits), asked.clone()).await;
    assert_eq!(heard.text(), "ok");
    assert_eq!(heard.starting_with("retrying").len(), 1);

    let server = serve(Script::new().answer(text("x").cut(after("request").stall())).forever());
    let heard = hear(&hasty(&server.url(), limits), go()).await;
    assert!(
        heard.error().message.contains("did not begin to answer within 400 ms"),
        "{}",
        heard.error()
    );

    let server = serve(
        Script::new().answer(text("hello").cut(after("content_block_delta").stall())).forever(),
    );
    let heard = hear(&hasty(&server.url(), limits), asked).await;
    assert!(heard.error().message.contains("sent no event for 400 ms"), "{}", heard.error());
    assert_eq!((heard.lines[0].as_str(), server.requests().len()), ("started", 1));
}

/// A18: pings are signs of life, but not an answer, and not forever.
#[tokio::test]
async fn pings_alone_do_not_keep_it_alive() {
    let every = Duration::from_millis(40);
    let limits = Deadlines {
        first_event: Duration::from_millis(500),
        silence: Duration::from_millis(400),
        answer: Duration::from_millis(1_200),
        ..quick()
    };
    let server = serve(Script::new().answer(text("x").cut(after("headers").ping(every))).forever());
    let heard = hear(&hasty(&server.url(), limits), go()).await;
    assert!(heard.error().message.contains("did not begin"), "{}", heard.error());

    let server =
        serve(Script::new().answer(text("x").cut(after("message_start").ping(every))).forever());
    let before = Instant::now();
    let heard = hear(&hasty(&server.url(), limits), go()).await;
    assert!(heard.error().message.contains("not complete after 1 s"), "{}", heard.error());
    assert!(before.elapsed() >= Duration::from_millis(1_000), "longer than the limit for silence");
}

/// A comment is no event: neither one now and then nor a flood of them keeps an answer alive.
#[tokio::test]
async fn comments_do_not_keep_it_alive() {
    let every = Duration::from_millis(20);
    let limits = Deadlines {
        first_event: Duration::from_millis(400),
        silence: Duration::from_millis(400),
        ..Deadlines::default()
    };
    for (point, said) in [
        ("headers", "did not begin to answer within 400 ms"),
        ("message_start", "sent no event for 400 ms"),
        ("content_block_delta", "sent no event for 400 ms"),
    ] {
        let reply = text("hello").cut(after(point).comment(every));
        let server = serve(Script::new().answer(reply).forever());
        let heard = hear(&hasty(&server.url(), limits), go()).await;
        assert!(heard.error().message.contains(said), "{point}: {}", heard.error());
    }
    // So many that nobody ever waits for the next one; the deadlines are those of every day.
    for (piece, times) in [(":\n", 2 << 20), (": x\n\n", 1 << 20), ("id: 1\n", 1 << 20)] {
        let reply = text("x").part(Part::raw(piece.repeat(times)));
        let (heard, _server) = once(reply).await;
        assert_eq!(heard.error().kind, Protocol);
        assert!(heard.error().message.contains("without an event"), "{}", heard.error());
    }
}
