//! Every kind of break, at every boundary, as the wire shows it.

use std::time::Duration;

use ostler_model_server::{
    Cut, How, Part, Point, Reply, Script, ServedOutcome, after, calls, raw, sse, status, text,
    think,
};
use serde_json::json;

use crate::client::{Client, End, hello, once, plain, serve};

const LIMIT: Duration = Duration::from_secs(20);

/// An answer with every kind of event, and the name and count of each.
fn rich() -> Reply {
    think("I think a little.").say("Then I speak.").call("Bash", json!({"command": "ls -l"}))
}

fn boundaries() -> Vec<(String, u32)> {
    let names = once(Script::new().answer(rich()), &hello()).names();
    let mut seen = Vec::<(String, u32)>::new();
    for name in names {
        let nth = seen.iter().filter(|(other, _)| *other == name).count() as u32 + 1;
        seen.push((name, nth));
    }
    seen
}

#[test]
fn breaks_after_every_event_in_every_way() {
    let boundaries = boundaries();
    assert!(boundaries.len() > 15, "{boundaries:?}");
    for (how, wanted) in
        [(How::End, End::Complete), (How::Close, End::Closed), (How::Reset, End::Reset)]
    {
        for (at, (name, nth)) in boundaries.iter().enumerate() {
            let cut = Cut { after: Point::from(name.as_str()), nth: *nth, bytes: 0, how };
            let answer = once(Script::new().answer(rich().cut(cut)), &hello());
            assert_eq!(answer.end, wanted, "{how:?} after {name} {nth}");
            let names: Vec<_> = boundaries[..=at].iter().map(|(name, _)| name.clone()).collect();
            assert_eq!(answer.names(), names, "{how:?} after {name} {nth}");
        }
    }
}

#[test]
fn breaks_inside_an_event() {
    let whole = once(Script::new().answer(text("hello world")), &hello()).text();
    let start = whole.find("event: content_block_delta").unwrap();
    for bytes in [1, 10, 40] {
        let cut = after("ping").and_bytes(bytes).close();
        let answer = once(Script::new().answer(text("hello world").cut(cut)), &hello());
        assert_eq!(answer.text(), whole[..start + bytes]);
    }
    // More bytes than one event has: the cut falls into a later one.
    let cut = after("message_start").and_bytes(200).reset();
    let answer = once(Script::new().answer(text("hello world").cut(cut)), &hello());
    assert_eq!(
        (answer.body.len(), answer.end),
        (whole.find("event: content_block_start").unwrap() + 200, End::Reset)
    );
}

#[test]
fn breaks_before_and_right_after_the_head() {
    for (how, wanted) in [(How::Close, End::Closed), (How::Reset, End::Reset)] {
        for (point, status) in [(Point::Request, 0), (Point::Headers, 200)] {
            let cut = Cut { after: point.clone(), nth: 1, bytes: 0, how };
            let answer = once(Script::new().answer(text("x").cut(cut)), &hello());
            assert_eq!((answer.status, answer.end), (status, wanted), "{how:?} after {point}");
            assert!(answer.body.is_empty());
        }
    }
    let empty = once(Script::new().answer(text("x").cut(after("headers").end())), &hello());
    assert_eq!((empty.status, empty.body.len(), empty.end), (200, 0, End::Complete));
}

#[test]
fn a_proper_end_leaves_the_connection_whole() {
    let early = text("hello").cut(after("content_block_stop").end());
    let error = text("hello").error_event(after("headers"), "overloaded_error", "Overloaded");
    let server = serve(Script::new().answer(early).answer(error).answer(text("next")));
    let mut client = Client::to(&server);
    assert_eq!(client.ask(&hello()).names().last().unwrap(), "content_block_stop");
    assert_eq!(client.ask(&hello()).names(), ["error"]);
    assert_eq!(client.ask(&hello()).said(), "next");
}

#[test]
fn breaks_after_a_whole_response() {
    let script = Script::new().answer(text("whole").cut(after("end").reset()));
    let server = serve(script);
    let mut client = Client::to(&server);
    let answer = client.ask(&hello());
    assert_eq!((answer.said().as_str(), answer.end), ("whole", End::Complete));
    assert_eq!(client.read().end, End::Reset, "a client that reuses the connection finds it dead");
}

#[tokio::test]
async fn stalls_until_the_client_leaves() {
    for (point, last) in [
        ("request", ""),
        ("headers", "\r\n\r\n"),
        ("content_block_delta", "\"text\":\"hell\"}}\n\n\r\n"),
    ] {
        let server = serve(Script::new().answer(text("hello").cut(after(point).stall())));
        let mut client = Client::to(&server);
        client.send(&hello());
        server.wait_for_requests(1, LIMIT).await.unwrap();
        client.until(last);
        assert!(client.is_quiet(), "{point}");
        drop(client);
        assert_eq!(server.outcome(0, LIMIT).await.unwrap(), ServedOutcome::ClientGone, "{point}");
    }
}

#[tokio::test]
async fn a_stall_ends_at_the_limit_of_the_server() {
    let mut script = Script::new().answer(text("hello").cut(after("message_start").stall()));
    script.limits.hold = Duration::from_millis(50);
    let server = serve(script);
    let answer = Client::to(&server).ask(&hello());
    assert_eq!(answer.end, End::Closed);
    assert_eq!(server.outcome(0, LIMIT).await.unwrap(), ServedOutcome::GaveUp);
}

#[tokio::test]
async fn pings_without_end() {
    let cut = after("content_block_start").ping(Duration::from_millis(2));
    let server = serve(Script::new().answer(text("hello").cut(cut)));
    let mut client = Client::to(&server);
    client.send(&hello());
    client.until("content_block_start\"");
    for _ in 0..20 {
        client.until("event: ping\ndata: {\"type\":\"ping\"}\n\n");
    }
    drop(client);
    assert_eq!(server.outcome(0, LIMIT).await.unwrap(), ServedOutcome::ClientGone);
}

#[test]
fn an_error_event_ends_the_stream_anywhere() {
    let table = [
        ("headers", 1, vec!["error"]),
        ("message_start", 1, vec!["message_start", "error"]),
        (
            "content_block_stop",
            2,
            vec![
                "message_start",
                "content_block_start",
                "ping",
                "content_block_delta",
                "content_block_stop",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "error",
            ],
        ),
    ];
    for (point, nth, wanted) in table {
        let reply = text("one").say("two").error_event(
            after(point).nth(nth),
            "overloaded_error",
            "Overloaded",
        );
        let server = serve(Script::new().answer(reply).times(2));
        let mut client = Client::to(&server);
        let answer = client.ask(&hello());
        assert_eq!(
            (answer.names(), answer.end),
            (wanted.iter().map(|n| n.to_string()).collect(), End::Complete)
        );
        let (_, data) = answer.events().pop().unwrap();
        assert_eq!(
            data,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        );
        let plain = Client::to(&server).ask(&plain(hello()));
        assert_eq!(plain.status, 529, "without a stream it is an HTTP error");
    }
}

#[test]
fn inserts_parts_at_points() {
    let reply = text("hello world")
        .insert(after("headers"), Part::Comment("first".into()))
        .insert(after("content_block_delta").nth(2), Part::event("brand_new", json!({})))
        .insert(after("content_block_delta").nth(2), Part::usual("ping"))
        .insert(after("message_stop"), Part::event("late", json!({})));
    let answer = once(Script::new().answer(reply), &hello());
    assert!(answer.text().starts_with(": first\n\nevent: message_start\n"));
    let names = answer.names();
    let second = names.iter().enumerate().filter(|(_, name)| *name == "content_block_delta").nth(1);
    let at = second.unwrap().0;
    assert_eq!(names[at + 1..at + 3], ["brand_new", "ping"]);
    assert_eq!(names.last().unwrap(), "late");
}

#[test]
fn other_bodies_break_too() {
    let html = || Reply::http(200, "text/html", "<html></html>");
    let half =
        once(Script::new().answer(html().cut(after("headers").and_bytes(6).close())), &hello());
    assert_eq!((half.text().as_str(), half.end), ("<html>", End::Closed));
    let reset = once(Script::new().answer(status(529).cut(after("headers").reset())), &hello());
    assert_eq!((reset.status, reset.end), (529, End::Reset));
    let short =
        once(Script::new().answer(html().cut(after("headers").and_bytes(6).end())), &hello());
    assert_eq!((short.text().as_str(), short.end), ("<html>", End::Complete));
}

#[test]
fn a_message_without_stream_breaks_in_the_middle() {
    let reply = || text("hello world").cut(after("content_block_delta").close());
    let answer = once(Script::new().answer(reply()), &plain(hello()));
    let declared: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!((answer.body.len(), answer.end), (declared / 2, End::Closed));
}

#[test]
fn raw_bytes_are_the_whole_response() {
    let bytes = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    let answer = once(Script::new().answer(raw(bytes)), &hello());
    assert_eq!((answer.status, answer.text().as_str(), answer.end), (200, "half", End::Closed));
    let reset = once(Script::new().answer(raw(bytes).cut(after("end").reset())), &hello());
    assert_eq!((reset.text().as_str(), reset.end), ("half", End::Reset));
}

#[test]
fn a_stream_may_lack_its_end() {
    let parts = [Part::usual("message_start"), Part::Text("hi".into())];
    let answer = once(Script::new().answer(sse(parts)), &hello());
    assert_eq!(answer.names().last().unwrap(), "content_block_stop");
    assert_eq!(answer.end, End::Complete);
}

#[test]
fn breaks_that_cannot_happen_are_refused_at_the_start() {
    let table: Vec<(Reply, &str)> = vec![
        (
            text("hi").cut(after("content_block_delta").nth(2).reset()),
            "the reply has 1 events `content_block_delta`, so there is no number 2",
        ),
        (
            text("hi").cut(after("nothing").reset()),
            "the reply has 0 events `nothing`, so there is no number 1",
        ),
        (
            text("hi").cut(after("request").end()),
            "cut after `request`: before the head there is no body",
        ),
        (text("hi").cut(after("end").end()), "cut after `end`: the body has already ended"),
        (status(500).cut(after("ping").close()), "this reply has no event `ping` to cut after"),
        (
            status(500).insert(after("ping"), Part::usual("ping")),
            "this reply has no event `ping` to insert after",
        ),
        (
            text("hi").insert(after("ping"), Part::Text("no".into())),
            "only events, comments, raw bytes, waits and lines can be inserted",
        ),
        (text("hi").header("x", "a\r\nb"), "header `x` cannot be sent; use `raw` for broken heads"),
        (text("hi").chunk(0), "`chunk` and `delta` must be at least 1"),
        (status(99), "status 99 cannot end a request; use 200 to 599"),
    ];
    for (reply, wanted) in table {
        let error = ostler_model_server::ModelServer::start(Script::new().answer(reply)).err();
        assert_eq!(error.unwrap().to_string(), format!("script: step 1: {wanted}"));
    }
}

#[test]
fn the_calls_before_a_cut_are_complete() {
    let reply = calls([("Bash", json!({"command": "ls"})), ("Read", json!({"file_path": "a"}))]);
    let cut = after("content_block_stop").nth(1).reset();
    let answer = once(Script::new().answer(reply.cut(cut)), &hello());
    assert_eq!(answer.names().last().unwrap(), "content_block_stop");
    assert_eq!(answer.end, End::Reset);
}
