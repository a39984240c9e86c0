use super::*;
use ostler_core::ids::{CallId, ModelId};
use ostler_core::message::{Block, Message};
use serde_json::{Value, json};

fn line(seq: u64, entry: &Entry) -> Vec<u8> {
    let mut out = Vec::new();
    encode(seq, entry, &mut out).unwrap();
    out
}

fn nested(levels: usize) -> Entry {
    let input = (0..levels).fold(json!("}]\\\""), |inner, n| {
        if n % 2 == 0 { json!([inner]) } else { json!({"k": inner}) }
    });
    let call = Block::ToolUse { id: CallId::new("c"), name: "t".into(), input, via: None };
    Entry::Answer { message: Message::assistant(&ModelId::new("m"), vec![call]), stop: None }
}

#[test]
fn the_form_is_fixed() {
    let entry = Entry::CallStarted { id: CallId::new("c1") };
    let bytes = line(7, &entry);
    assert_eq!(
        String::from_utf8(bytes.clone()).unwrap(),
        "7 a5cf25df {\"fact\":\"call_started\",\"id\":\"c1\"}\n"
    );
    let record = decode(bytes.strip_suffix(b"\n").unwrap()).unwrap();
    assert_eq!((record.seq, parse(record.json).unwrap()), (7, entry));
}

#[test]
fn only_one_spelling_is_a_record() {
    let good = "7 a5cf25df {\"fact\":\"call_started\",\"id\":\"c1\"}";
    assert!(decode(good.as_bytes()).is_some());
    let others = [
        good.to_uppercase(),
        good.replace("a5cf25df", "A5CF25DF"),
        good.replacen('7', "07", 1),
        good.replacen('7', "+7", 1),
        good.replacen('7', "8", 1),
        format!(" {good}"),
        format!("{good} "),
        format!("{good}\r"),
        good.replacen(' ', "  ", 1),
        good.replacen(' ', "\t", 1),
        good.replace("c1", "c2"),
        good.chars().take(good.len() - 1).collect(),
        String::new(),
        "7".into(),
        "7 ".into(),
        "7 a5cf25d".into(),
        "7 a5cf25df".into(),
        "7 a5cf25df ".into(),
        "é é é".into(),
    ];
    for other in others {
        assert_eq!(decode(other.as_bytes()), None, "{other:?}");
    }
}

#[test]
fn numbers_go_to_the_end_of_their_type() {
    let entry = Entry::CallStarted { id: CallId::new("c1") };
    for seq in [1, 9, 10, 123_456_789, u64::MAX] {
        let bytes = line(seq, &entry);
        assert_eq!(decode(bytes.strip_suffix(b"\n").unwrap()).unwrap().seq, seq);
    }
}

/// Providers' answers may nest to 128; with the envelope around them the usual reader would refuse its own line.
#[test]
fn what_can_be_written_can_be_read() {
    for levels in [0, 1, 100, 120, 127, 128, 200, MAX_DEPTH - 4] {
        let entry = nested(levels);
        let bytes = line(1, &entry);
        let record = decode(bytes.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!(parse(record.json).unwrap(), entry, "{levels}");
    }
    let mut out = b"before".to_vec();
    let refused = encode(1, &nested(MAX_DEPTH - 3), &mut out);
    assert!(matches!(refused, Err(Unwritable::TooDeep(257))), "{refused:?}");
    assert_eq!(out, b"before");
}

#[test]
fn depth_is_not_fooled_by_strings() {
    for (json, wanted) in
        [("1", 0), ("[]", 1), ("[[],{\"a\":[1]}]", 3), (r#"["[[[\"[["]"#, 1), (r#"["\\",[[]]]"#, 3)]
    {
        assert_eq!(depth(json.as_bytes()), wanted, "{json}");
        assert!(serde_json::from_str::<Value>(json).is_ok());
    }
}

#[test]
fn a_log_is_told_by_its_beginning() {
    for yes in [
        "",
        "1",
        "1 ",
        "1 0a1",
        "1 0a1b2c3d",
        "1 0a1b2c3d {\"fa",
        "1 0a1b2c3d {\"fact\":\"opened\",\"for",
        "\0\0\0",
    ] {
        assert!(may_begin_a_log(yes.as_bytes()), "{yes:?}");
    }
    for no in
        ["2 ", "hello", "1 xyz", "{\"a\":1}", "1 0a1b2c3d [", "1 0A1B2C3D", "\0x", "#!/bin/sh"]
    {
        assert!(!may_begin_a_log(no.as_bytes()), "{no:?}");
    }
}

#[test]
fn the_kind_shows_in_the_beginning_of_a_line() {
    let bytes = line(12, &Entry::CallStarted { id: CallId::new("c1") });
    assert_eq!(fact(&bytes), Some(&b"call_started"[..]));
    assert_eq!(fact(b"12 a5cf25df {\"id\":1}"), None);
    assert_eq!(fact(b"12 a5cf"), None);
}
