//! How events are written down: rightly in unusual ways, and wrongly.

use super::{Row, Told};
use crate::support::{World, finish};
use ostler_model_server::{
    FloodKind, Framing, Newline, Part, Reply, Script, after, calls, sse, text,
};
use serde_json::{Value, json};

const ODD: &str = "grüße 🐎 „日本“ ﷽";

/// Text with characters of every length, and a call whose input holds them, too.
fn odd_answer() -> Reply {
    text(ODD).call("Bash", json!({ "command": format!("echo '{ODD}'") }))
}

fn in_pieces(size: usize) -> Reply {
    odd_answer().chunk(size)
}

fn framed(framing: Framing) -> Reply {
    let mut reply = odd_answer();
    reply.delivery.framing = framing;
    reply
}

/// Whatever the delivery, the model meant this.
fn means_the_same(reply: Reply) {
    let told = Row::new(Script::new().answer(reply).answer(text(ODD))).survives();
    told.asked(2).went(&["next_turn"]).answered(ODD);
    let request = told.world.server.requests().pop().unwrap();
    assert_eq!(request.messages()[1]["content"][0]["text"], ODD);
    assert_eq!(request.tool_results()[0]["content"], ODD, "the command was understood");
    assert!(!told.ran.stdout.contains('\u{fffd}'));
}

#[test]
fn a22_one_byte_at_a_time() {
    means_the_same(odd_answer());
    means_the_same(in_pieces(1));
}

/// Pieces of every small size put a cut at every offset of every character.
#[test]
fn a23_characters_cut_in_pieces() {
    for size in [2, 3, 4, 5, 7] {
        means_the_same(in_pieces(size));
        means_the_same(in_pieces(size).delta(1));
    }
}

#[test]
fn a24_line_ends_of_every_kind() {
    for newline in [Newline::Lf, Newline::Crlf, Newline::Cr] {
        for space in [true, false] {
            let framing = Framing { newline, space, ..Framing::default() };
            means_the_same(framed(framing));
            means_the_same(framed(framing).chunk(1));
        }
    }
}

#[test]
fn a25_comments_ids_unknown_fields_and_a_mark_at_the_start() {
    let framing = Framing { extra_fields: true, bom: true, ..Framing::default() };
    let comment = || Part::Comment("still there?".into());
    let chatty = |reply: Reply| {
        let reply = reply.insert(after("message_start"), comment());
        reply
            .insert(after("content_block_delta"), comment())
            .insert(after("message_delta"), comment())
    };
    means_the_same(framed(framing));
    means_the_same(chatty(framed(framing)));
    means_the_same(chatty(framed(framing)).chunk(3));
}

#[test]
fn a26_types_of_the_future() {
    let event =
        || Part::event("brand_new", json!({"type": "brand_new", "content": [{"odd": true}]}));
    let block = Part::Block {
        block: json!({"type": "hologram", "pixels": 5}),
        deltas: vec![json!({"type": "hologram_delta", "pixels": [1, 2]})],
    };
    let known_block = Part::Block {
        block: json!({"type": "text", "text": ""}),
        deltas: vec![
            json!({"type": "sparkle_delta", "x": 1}),
            json!({"type": "text_delta", "text": "known"}),
        ],
    };
    let reply = Reply::default().part(event()).part(block).part(event()).part(known_block);
    let reply = reply.insert(after("message_delta"), event());
    Row::new(Script::new().answer(reply)).survives().asked(1).went(&[]).answered("known");
}

#[test]
fn a27_several_data_lines() {
    let framing = Framing { split_data: true, ..Framing::default() };
    means_the_same(framed(framing));
    means_the_same(framed(Framing { newline: Newline::Crlf, ..framing }).chunk(1));
}

/// Broken each time: asked again a bounded number of times, then one line, with what had come.
fn is_misread(reply: Reply, words: &[&str]) -> Told {
    let told = Row::new(Script::new().answer(reply.clone()).forever()).fails("model_error");
    told.asked(4).went(&["stream_retry"; 3]).says(words);
    let once = Row::new(Script::new().answer(reply).answer(text("done"))).survives();
    once.asked(2).went(&["stream_retry"]).answered("done");
    told
}

#[test]
fn a29_malformed_json_in_one_event() {
    let broken =
        Part::raw("event: content_block_delta\ndata: {\"type\": \"content_block_delta\", oops\n\n");
    let reply = text("one two three").delta(4).insert(after("content_block_delta").nth(2), broken);
    let told = is_misread(reply, &["`content_block_delta`", "cannot be read"]);
    assert_eq!(
        told.last_answer,
        ("one two ".to_owned(), false),
        "the partial text is kept, as partial"
    );
}

fn start(index: u64) -> Part {
    let block = json!({"type": "text", "text": ""});
    Part::event(
        "content_block_start",
        json!({"type": "content_block_start", "index": index, "content_block": block}),
    )
}

fn delta(index: u64, text: &str) -> Part {
    let delta = json!({"type": "text_delta", "text": text});
    Part::event(
        "content_block_delta",
        json!({"type": "content_block_delta", "index": index, "delta": delta}),
    )
}

fn stop(index: u64) -> Part {
    Part::event("content_block_stop", json!({"type": "content_block_stop", "index": index}))
}

fn message(parts: impl IntoIterator<Item = Part>) -> Reply {
    let end = [Part::usual("message_delta"), Part::usual("message_stop")];
    sse([Part::usual("message_start")].into_iter().chain(parts).chain(end))
}

#[test]
fn a32_blocks_that_get_mixed_up() {
    let table = [
        (
            "the same index twice",
            vec![start(0), delta(0, "a"), stop(0), start(0)],
            "content_block_start",
        ),
        ("a second start inside", vec![start(0), delta(0, "a"), start(1)], "content_block_start"),
        (
            "a delta of an unknown block",
            vec![start(0), delta(0, "a"), delta(7, "b")],
            "content_block_delta",
        ),
        (
            "a delta after the stop",
            vec![start(0), delta(0, "a"), stop(0), delta(0, "b")],
            "content_block_delta",
        ),
    ];
    for (name, parts, event) in table {
        let told = is_misread(message(parts), &[event, "out of order"]);
        assert_eq!(told.last_answer, ("a".to_owned(), false), "{name}: nothing is mixed in");
    }
}

#[test]
fn a33_events_out_of_order() {
    let end = || [Part::usual("message_delta"), Part::usual("message_stop")];
    is_misread(message([stop(0)]), &["content_block_stop", "out of order"]);
    is_misread(message([delta(0, "a")]), &["content_block_delta", "out of order"]);
    is_misread(message([Part::usual("message_start")]), &["message_start", "out of order"]);
    is_misread(message([start(0), Part::usual("message_stop")]), &["message_stop", "out of order"]);
    // Before the answer begins it is the request that is repeated.
    let headless = sse([start(0), delta(0, "a"), stop(0)].into_iter().chain(end()));
    let told = Row::new(Script::new().answer(headless).forever()).fails("model_error");
    told.asked(3).went(&[]).says(&[
        "content_block_start",
        "out of order",
        "gave up after 3 attempts",
    ]);
}

/// Peak memory in kB, as long as the process is there to be asked.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn a36_an_event_without_end() {
    const MOST: u64 = 160 << 10;
    for (name, kind) in
        [("one event of 200 MB", FloodKind::Text), ("a line without end", FloodKind::Line)]
    {
        let flood = Reply::default().part(Part::Flood { bytes: 200 << 20, kind });
        let row = Row::new(Script::new().answer(flood).forever());
        let world = World::new(row.script.clone());
        let child = row.command(&world, &super::STREAM).spawn().unwrap();
        let pid = child.id();
        let watched = std::thread::spawn(move || {
            let mut most = 0;
            while let Some(now) = peak(pid) {
                most = most.max(now);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            most
        });
        let ran = finish(child);
        let most = watched.join().unwrap();
        assert_eq!(
            (ran.code, ran.terminal().as_str()),
            (Some(1), "model_error"),
            "{name}: {ran:?}"
        );
        let line = ran.result()["result"].to_string();
        assert!(line.contains("larger than 16777216 bytes"), "{name}: {line}");
        assert_eq!(world.server.requests().len(), 4);
        assert!((1..MOST).contains(&most), "{name}: {most} kB");
        println!("{name}: peak memory {} MB", most >> 10);
        super::sound(&world, &ran);
    }
}

#[test]
fn a38_an_error_event_in_the_stream() {
    let at = |point| after(point).nth(2);
    let overloaded = || {
        text("one two three").delta(4).error_event(
            at("content_block_delta"),
            "overloaded_error",
            "busy now",
        )
    };
    let told = Row::new(Script::new().answer(overloaded()).forever()).fails("model_error");
    told.asked(4).went(&["stream_retry"; 3]).says(&["busy now", "Wait a while"]);
    assert_eq!(
        told.last_answer,
        ("one two ".to_owned(), false),
        "the partial text is kept, as partial"
    );
    Row::new(Script::new().answer(overloaded()).answer(text("done")))
        .survives()
        .asked(2)
        .answered("done");

    // Before the answer begins it is a failed request, repeated by its kind.
    let first = |kind| text("x").error_event(after("headers"), kind, "first thing");
    let told =
        Row::new(Script::new().answer(first("overloaded_error")).forever()).fails("model_error");
    told.asked(3).went(&[]).says(&["first thing", "gave up after 3 attempts"]);
    let told = Row::new(Script::new().answer(first("invalid_request_error")).forever())
        .fails("model_error");
    told.asked(1).went(&[]).says(&["first thing"]);

    // A call of the broken answer does not run, neither then nor on the second try.
    let call = calls([("Bash", json!({"command": "touch never"}))]).error_event(
        after("message_delta"),
        "api_error",
        "x",
    );
    let told = Row::new(Script::new().answer(call).answer(text("done"))).survives();
    told.asked(2).went(&["stream_retry"]).answered("done");
    let results: Vec<Value> =
        told.world.entries().into_iter().filter(|fact| fact["fact"] == "call_finished").collect();
    assert_eq!(results, Vec::<Value>::new());
}
