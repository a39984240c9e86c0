use super::*;
use proptest::prelude::*;

fn decode(pieces: &[&[u8]], limit: usize) -> (Vec<(String, String)>, bool) {
    decode_within(pieces, limit, MAX_NOISE_BYTES)
}

fn decode_within(pieces: &[&[u8]], limit: usize, noise: usize) -> (Vec<(String, String)>, bool) {
    let mut decoder = Decoder::with_limits(limit, noise);
    let mut out = Vec::new();
    let failed = pieces.iter().any(|piece| decoder.push(piece, &mut out).is_err());
    (out.into_iter().map(|f| (f.event, f.data)).collect(), failed)
}

fn frames(text: &str) -> Vec<(String, String)> {
    decode(&[text.as_bytes()], MAX_EVENT_BYTES).0
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn each_rule_of_the_format() {
    type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);
    let table: &[Row] = &[
        ("line feed", "event: a\ndata: 1\n\n", &[("a", "1")]),
        ("carriage return and line feed", "event: a\r\ndata: 1\r\n\r\n", &[("a", "1")]),
        ("lone carriage return", "event: a\rdata: 1\r\r", &[("a", "1")]),
        ("mixed ends", "event: a\rdata: 1\n\r\ndata: 2\r\r\n", &[("a", "1"), ("", "2")]),
        ("no blank after the colon", "event:a\ndata:1\n\n", &[("a", "1")]),
        ("only one blank is taken", "data:  1 \n\n", &[("", " 1 ")]),
        ("several data lines", "data: 1\ndata\ndata: 3\n\n", &[("", "1\n\n3")]),
        ("empty data is an event", "event: a\ndata:\n\n", &[("a", "")]),
        ("an event without data is none", "event: a\n\ndata: 1\n\n", &[("", "1")]),
        (
            "comments, id, retry, unknown",
            ": hi\nid: 7\nretry: 1\nfoo: bar\ndata: 1\n\n",
            &[("", "1")],
        ),
        ("byte order mark", "\u{feff}data: 1\n\n", &[("", "1")]),
        ("mark in the middle is text", "data: \u{feff}1\n\n", &[("", "\u{feff}1")]),
        ("blank lines between", "\n\n\ndata: 1\n\n\n\n", &[("", "1")]),
        ("the last event name counts", "event: a\nevent: b\ndata: 1\n\n", &[("b", "1")]),
        ("an unfinished event is none", "data: 1\n\ndata: 2\n", &[("", "1")]),
        ("colons in the value", "data: {\"a\":1}\n\n", &[("", "{\"a\":1}")]),
    ];
    for (name, input, expected) in table {
        assert_eq!(frames(input), pairs(expected), "{name}");
    }
}

#[test]
fn the_limit_counts_an_event_not_the_stream() {
    let event = "data: 0123456789\n\n";
    let many = event.repeat(100);
    assert_eq!(decode(&[many.as_bytes()], 20).0.len(), 100);
    let (before, failed) = decode(&[event.as_bytes(), b"data: ", &[b'x'; 40], b"\n\n"], 20);
    assert!(failed);
    assert_eq!(before.len(), 1, "what came before the failure is kept");
    assert!(decode(&[b"data: 12345678\ndata: 12345678\ndata: 12345678\n\n"], 20).1, "lines add up");
    assert!(decode(&[&[b':'; 21]], 20).1, "a comment without end is bounded too");
}

#[test]
fn after_a_failure_nothing_is_decoded() {
    let mut decoder = Decoder::with_limits(4, MAX_NOISE_BYTES);
    let mut out = Vec::new();
    assert!(decoder.push(b"data: too long\n\n", &mut out).is_err());
    assert!(decoder.push(b"\n\na:\n\n", &mut out).is_err());
    assert!(out.is_empty());
}

#[test]
fn noise_is_counted_from_the_last_part_of_an_event() {
    let noise = |text: &str| decode_within(&[text.as_bytes()], 100, 10).1;
    assert!(!noise(": 3456789\n") && noise(": 34567890\n"));
    assert!(!noise(": 345678\ndata: 1\n\n: 34567\n"), "an event begins a new count");
    assert!(noise("data: 1\n\n: 3456789\n"));
    assert!(noise(":\n:\n:\n:\n:\n:\n") && noise(&"\n".repeat(11)), "lines add up");
    let mut decoder = Decoder::with_limits(100, 10);
    for (piece, alive) in [("da", false), ("ta: 1\n", true), ("\n", false), (": hi\n", false)] {
        decoder.push(piece.as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(decoder.is_alive(), alive, "{piece:?}");
    }
}

fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    at.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for to in at {
        pieces.push(&bytes[from..to]);
        from = to;
    }
    pieces.push(&bytes[from..]);
    pieces
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just("data: ".to_owned()),
        Just("event:".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\n\n".to_owned()),
        Just(":".to_owned()),
        Just("\u{feff}".to_owned()),
        "[a-zäß🦀 :]{0,12}",
    ];
    prop_oneof![
        prop::collection::vec(token, 0..40).prop_map(|parts| parts.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..200),
    ]
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_frames(bytes in stream(), cuts in prop::collection::vec(any::<usize>(), 0..12), limit in 1usize..64, noise in 1usize..64) {
        let whole = decode_within(&[&bytes], limit, noise);
        prop_assert_eq!(decode_within(&cut(&bytes, &cuts), limit, noise), whole.clone());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(decode_within(&single, limit, noise), whole);
    }
}
