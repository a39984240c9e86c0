//! Refusals: each status and body becomes one kind and one line, and is repeated only where that helps.

use crate::support::{SECRET, go, hear, model, serve};
use ostler_core::model::ModelErrorKind::{self, *};
use ostler_model_server::{Reply, Script, redirect, status};

/// A01–A06, A09, A10: (reply, kind, part of the line, whether it is repeated).
#[tokio::test]
async fn statuses() {
    let html = || {
        Reply::http(502, "text/html", "<html><title>502 Bad Gateway</title><body>x</body></html>")
    };
    let invalid = |message: &str| status(400).error("invalid_request_error", message);
    let table: Vec<(&str, Reply, ModelErrorKind, &str, bool)> = vec![
        ("A01", invalid("messages: nope"), BadRequest, "answered 400: messages: nope", false),
        (
            "A02",
            status(401).error("authentication_error", format!("bad {SECRET}")),
            Auth,
            "(credential: THE_KEY)",
            false,
        ),
        ("A02", status(403), Auth, "(credential: THE_KEY)", false),
        (
            "A03",
            status(404).error("not_found_error", "model: x"),
            ModelNotFound,
            "for the model `scripted`",
            false,
        ),
        ("A04", status(408), Unavailable, "408", true),
        ("A04", status(409), Unavailable, "409", true),
        ("A05", status(413), ContextOverflow, "413", false),
        ("A06", status(422), BadRequest, "422", false),
        ("A09", status(500), Unavailable, "500", true),
        ("A09", html(), Unavailable, "a web page titled \"502 Bad Gateway\"", true),
        ("A09", status(503), Unavailable, "503", true),
        ("A09", status(504), Unavailable, "504", true),
        ("A10", status(529), Overloaded, "529", true),
        (
            "A40",
            invalid("prompt is too long: 210000 tokens > 200000 maximum"),
            ContextOverflow,
            "too long",
            false,
        ),
        (
            "image",
            invalid("messages.0.content.0: image exceeds 5 MB maximum"),
            BadImage,
            "5 MB",
            false,
        ),
        (
            "thinking",
            invalid("messages.1.content.0: Invalid `signature` in `thinking` block"),
            BadThinking,
            "signature",
            false,
        ),
        ("429", status(429), RateLimited, "429", true),
    ];
    for (row, reply, kind, part, repeated) in table {
        let server = serve(Script::new().answer(reply).forever());
        let mut asked = go();
        asked.retries = 2;
        let heard = hear(&model(&server.url()), asked).await;
        let error = heard.error();
        assert_eq!(error.kind, kind, "{row}: {error}");
        assert!(error.message.contains(part), "{row}: {error}");
        assert!(
            error.message.contains(&server.addr().to_string()),
            "{row} names the host: {error}"
        );
        assert!(!error.message.contains('<'), "{row}: {error}");
        let tries = if repeated { 3 } else { 1 };
        assert_eq!(server.requests().len(), tries, "{row}");
        assert_eq!(heard.lines.len(), tries - 1, "{row}: every repeat is told, and nothing else");
    }
}

/// A13, A14: success in name only.
#[tokio::test]
async fn answers_that_are_no_event_stream() {
    let json = |body: &'static str| Reply::http(200, "application/json", body);
    let table: Vec<(Reply, ModelErrorKind, &str, usize)> = vec![
        (
            json(r#"{"type":"error","error":{"type":"api_error","message":"kaputt"}}"#),
            Unavailable,
            "kaputt",
            2,
        ),
        (
            json(r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#),
            Overloaded,
            "busy",
            2,
        ),
        (
            json(r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#),
            BadRequest,
            "bad",
            1,
        ),
        (
            json(r#"{"type":"message","content":[]}"#),
            Unavailable,
            "something other than an event stream",
            2,
        ),
        (
            Reply::http(200, "text/html; charset=utf-8", "<html><title>Log in</title>"),
            Unavailable,
            "titled \"Log in\"",
            2,
        ),
        (Reply::http(204, "", ""), Unavailable, "something other than an event stream", 2),
        (Reply::http(200, "text/event-stream", ""), Unavailable, "the answer was empty", 2),
        (
            Reply::http(200, "text/event-stream", "event: ping\ndata: {}\n\n"),
            Unavailable,
            "before the answer began",
            2,
        ),
        (Reply::http(200, "text/event-stream", "<html>\n\n"), Unavailable, "empty", 2),
    ];
    for (reply, kind, part, tries) in table {
        let server = serve(Script::new().answer(reply).forever());
        let mut asked = go();
        asked.retries = 1;
        let heard = hear(&model(&server.url()), asked).await;
        let error = heard.error();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(part), "{part}: {error}");
        assert_eq!(server.requests().len(), tries, "{error}");
    }
}

/// A11: whoever is redirected to gets nothing, least of all the key.
#[tokio::test]
async fn redirects_are_not_followed() {
    for code in [301, 302, 303, 307, 308] {
        let other = serve(Script::new());
        let target = format!("http://localhost:{}/v1/messages?from=here", other.addr().port());
        let server = serve(Script::new().answer(redirect(code, target)).forever());
        let mut asked = go();
        asked.retries = 3;
        let heard = hear(&model(&server.url()), asked).await;
        let error = heard.error();
        assert_eq!((error.kind, error.status), (BadRequest, Some(code)), "{error}");
        assert!(error.message.contains("a redirect to localhost,"), "{error}");
        assert!(!error.message.contains("from=here"));
        assert_eq!((server.traffic().len(), other.traffic().len()), (1, 0), "{code}");
    }
}
