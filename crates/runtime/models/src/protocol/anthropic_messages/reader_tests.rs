use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a stream may hold, error frames, noise and broken lines included.
fn piece() -> impl Strategy<Value = String> {
    let event = |data: Value| {
        let name = data["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {data}\n\n")
    };
    let index = 0u64..3;
    prop_oneof![
        6 => Just(event(json!({"type": "message_start", "message": {"id": "m"}}))),
        4 => index.clone().prop_map(move |index| event(
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        )),
        6 => (index.clone(), ".{0,12}").prop_map(move |(index, text)| event(
            json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        )),
        4 => index.prop_map(move |index| event(json!({"type": "content_block_stop", "index": index}))),
        1 => Just(event(json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}))),
        1 => Just(event(json!({"type": "message_stop"}))),
        2 => Just(event(json!({"type": "ping"}))),
        2 => "[:a-zé\n\r]{0,10}",
        1 => Just("data: {\r\n\r\n".to_owned()),
    ]
}

type Read = (Vec<String>, Option<ModelError>, bool, bool);

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let (mut reader, mut out) = (MessagesReader::new(true, None), Vec::new());
    let mut failed = None;
    for piece in pieces {
        failed = reader.push(piece, &mut out).err();
        if failed.is_some() {
            break;
        }
    }
    let events = out.iter().map(|event| format!("{event:?}")).collect();
    (events, failed, reader.is_started(), reader.is_ended())
}

proptest! {
    #[test]
    fn any_cut_of_the_bytes_gives_the_same_events(
        pieces in prop::collection::vec(piece(), 0..12), at in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = pieces.concat().into_bytes();
        let whole = read([&bytes[..]].into_iter());
        prop_assert_eq!(&read(bytes.chunks(1)), &whole);
        let mut cuts: Vec<usize> = at.iter().map(|at| at.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        prop_assert_eq!(&read(cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]])), &whole);
    }
}
