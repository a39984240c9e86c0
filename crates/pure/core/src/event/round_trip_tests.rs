//! Every envelope reads back as what was written, and a reader gets past what it does not know.

use super::strategies::{event, notice};
use super::*;
use crate::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;

fn enveloped(event: Event) -> Envelope {
    Envelope {
        version: VERSION,
        seq: 7,
        at: Timestamp(1_700_000_000_000),
        session: "s".into(),
        agent: AgentPath::default().child("review").child("tests"),
        parent: Some("call".into()),
        event,
    }
}

proptest! {
    #[test]
    fn what_was_written_reads_back_as_the_same(event in event()) {
        let envelope = enveloped(event);
        let line = serde_json::to_string(&envelope).unwrap();
        let back: Envelope = serde_json::from_str(&line).unwrap();
        prop_assert!(!matches!(back.event, Event::Unknown(_)), "{}", line);
        prop_assert_eq!(format!("{back:?}"), format!("{envelope:?}"));
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), line);
    }

    #[test]
    fn a_notice_has_the_code_that_is_written(notice in notice()) {
        let written = serde_json::to_value(&notice).unwrap();
        prop_assert_eq!(&written["code"], notice.code());
        prop_assert!(!words::notice(&Notice::NotCompacted(NotCompacted::SwitchedOff)).is_empty());
    }
}

fn read(event: Value) -> Event {
    let mut envelope = serde_json::to_value(enveloped(Event::AnswerDropped)).unwrap();
    envelope["event"] = event;
    // Fields of a newer version are passed over.
    envelope["flavour"] = json!("new");
    serde_json::from_value::<Envelope>(envelope).unwrap().event
}

#[test]
fn a_reader_gets_past_what_a_newer_version_writes() {
    for unknown in [
        json!({ "type": "teleported", "to": [1, 2] }),
        json!({ "type": "notice", "level": "warning", "notice": { "code": "too_warm", "degrees": 40 } }),
        json!({ "type": "went", "reason": "sideways" }),
    ] {
        let Event::Unknown(kept) = read(unknown.clone()) else { panic!("{unknown} is known") };
        assert_eq!(kept, unknown);
        assert_eq!(
            serde_json::to_value(Event::Unknown(kept)).unwrap(),
            unknown,
            "passed on as it came"
        );
    }
    let more = json!({ "type": "text_delta", "text": "Hi", "language": "en" });
    assert!(matches!(read(more), Event::TextDelta { text } if text == "Hi"));
    let before_cache_saved =
        json!({ "type": "answer_sealed", "usage": {}, "cost": null, "stop": null });
    assert!(matches!(read(before_cache_saved), Event::AnswerSealed { cache_saved: None, .. }));
}

#[test]
fn the_root_agent_is_not_written() {
    let root =
        Envelope { agent: AgentPath::default(), parent: None, ..enveloped(Event::AnswerDropped) };
    assert_eq!(
        serde_json::to_value(&root).unwrap(),
        json!({
            "version": 1, "seq": 7, "at": 1_700_000_000_000_u64, "session": "s",
            "event": { "type": "answer_dropped" },
        })
    );
    assert_eq!(root.agent.to_string(), "/");
    assert_eq!(enveloped(Event::AnswerDropped).agent.to_string(), "/review/tests");
}

/// What a driver gets from the provider is none of an observer's business.
#[test]
fn raw_events_cannot_be_written() {
    let raw = RawValue::from_string("{}".into()).unwrap();
    assert!(serde_json::to_string(&enveloped(Event::Raw(raw))).is_err());
}
