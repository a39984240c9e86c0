//! The bytes of a stream may be cut and written in many ways; the events stay the same.

use ostler_model_server::{Framing, Newline, Reply, Script, text};
use proptest::prelude::*;

use crate::client::{Client, hello, once, serve};

fn framed(reply: Reply, framing: Framing) -> Reply {
    let mut reply = reply;
    reply.delivery.framing = framing;
    reply
}

#[test]
fn one_byte_per_chunk_splits_every_character() {
    let said = "aß€😀";
    let answer = once(Script::new().answer(text(said).chunk(1)), &hello());
    assert!(answer.chunks.iter().all(|chunk| chunk.len() == 1));
    assert_eq!(answer.chunks.len(), answer.body.len());
    assert_eq!(answer.said(), said);
}

#[test]
fn nothing_asked_means_few_writes() {
    let answer = once(Script::new().answer(text("x".repeat(1000))), &hello());
    assert_eq!(answer.chunks.len(), 1);
    let paced = text("hello world").pace(std::time::Duration::from_millis(1));
    let answer = once(Script::new().answer(paced), &hello());
    assert_eq!(answer.chunks.len(), answer.names().len(), "with timing each event has its write");
}

#[test]
fn line_ends_and_blanks() {
    let plain = Framing::default();
    let table = [
        (Framing { newline: Newline::Crlf, ..plain }, "event: message_start\r\ndata: {"),
        (Framing { newline: Newline::Cr, ..plain }, "event: message_start\rdata: {"),
        (Framing { space: false, ..plain }, "event:message_start\ndata:{"),
        (Framing { bom: true, ..plain }, "\u{feff}event: message_start\n"),
        (
            Framing { extra_fields: true, ..plain },
            "event: message_start\nid: 7\nretry: 3000\nx-unknown: message_start\ndata: {",
        ),
        (
            Framing { split_data: true, ..plain },
            "event: message_start\ndata: {\ndata:   \"type\": \"message_start\",\n",
        ),
    ];
    let usual = once(Script::new().answer(text("hello")), &hello()).events();
    for (framing, start) in table {
        let answer = once(Script::new().answer(framed(text("hello"), framing)), &hello());
        assert!(answer.text().starts_with(start), "{framing:?}: {}", &answer.text()[..80]);
        assert_eq!(answer.events(), usual, "{framing:?}");
    }
}

fn any_framing() -> impl Strategy<Value = Framing> {
    let newline = prop_oneof![Just(Newline::Lf), Just(Newline::Crlf), Just(Newline::Cr)];
    (newline, any::<[bool; 4]>()).prop_map(|(newline, [space, split_data, extra_fields, bom])| {
        Framing { newline, space, split_data, extra_fields, bom }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text_arrives_whole_however_it_is_cut(
        said in "\\PC{0,60}|[\\n\\r\\t\"\\\\ äß😀]{1,20}",
        framing in any_framing(),
        chunk in 1_usize..50,
        delta in 1_usize..20,
    ) {
        let reply = framed(text(&said).chunk(chunk).delta(delta), framing);
        let server = serve(Script::new().answer(reply));
        let answer = Client::to(&server).ask(&hello());
        prop_assert!(answer.chunks.iter().all(|piece| piece.len() <= chunk));
        prop_assert_eq!(answer.said(), said);
    }
}
