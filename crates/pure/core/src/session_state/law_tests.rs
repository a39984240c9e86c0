//! Joining late is the same as listening from the start, and the state lacks nothing.

use super::scan_tests::scan;
use super::streams_tests::{every_kind, numbered, over, stream};
use super::*;
use crate::event::Notice;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

fn folded<'a>(envelopes: impl IntoIterator<Item = &'a Envelope>) -> SessionState {
    let mut state = SessionState::default();
    envelopes.into_iter().for_each(|envelope| state.apply(envelope));
    state
}

fn through_json(state: &SessionState) -> SessionState {
    serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap()
}

/// Whoever misses an envelope also has another number, which must not be what gives it away.
fn unnumbered(mut state: SessionState) -> SessionState {
    state.seq = 0;
    state.agents.values_mut().for_each(|agent| agent.seq = 0);
    state
}

const STREAMS: u32 = 96;

#[test]
fn joining_at_any_number_is_listening_from_the_start() {
    let joined_at = AtomicUsize::new(0);
    proptest!(ProptestConfig::with_cases(STREAMS), |(all in stream())| {
        let from_start = folded(&all);
        let mut state = SessionState::default();
        for n in 0..=all.len() {
            let mut joined = through_json(&state);
            prop_assert_eq!(&joined, &state, "changed by JSON after {}", n);
            all[n..].iter().for_each(|envelope| joined.apply(envelope));
            prop_assert_eq!(&joined, &from_start, "joined after {}", n);
            joined_at.fetch_add(1, Ordering::Relaxed);
            if let Some(next) = all.get(n) {
                state.apply(next);
            }
        }
    });
    let points = joined_at.into_inner();
    println!("state fold: joined at {points} points of {STREAMS} random streams");
    assert!(points > 1_000, "it proves little");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(STREAMS))]

    #[test]
    fn a_listener_that_keeps_everything_agrees(all in stream()) {
        let mut state = SessionState::default();
        for n in 1..=all.len() {
            state.apply(&all[n - 1]);
            prop_assert_eq!(&state, &scan(&all[..n]), "after {:?}", &all[n - 1]);
        }
    }

    /// One envelope is left out, wherever it was. At each later number at which that matters, the state differs.
    #[test]
    fn a_missing_envelope_shows(all in stream(), which in any::<prop::sample::Index>()) {
        prop_assume!(!all.is_empty());
        let missing = which.index(all.len());
        let kept = [&all[..missing], &all[missing + 1..]].concat();
        let mut mattered = false;
        for until in missing..all.len() {
            let (with, without) = (scan(&all[..=until]), scan(&kept[..until]));
            if unnumbered(with.clone()) != unnumbered(without) {
                mattered = true;
                prop_assert_ne!(unnumbered(folded(&kept[..until])), unnumbered(with));
            }
        }
        prop_assume!(mattered);
    }
}

fn kind(event: &Event) -> String {
    match event {
        Event::Raw(_) => "raw".into(),
        Event::Unknown(_) => "unknown".into(),
        event => serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned(),
    }
}

/// The kinds of the protocol, by the schema.
fn all_kinds() -> BTreeSet<String> {
    let schema = crate::event::schema();
    let kinds = schema["$defs"]["Event"]["anyOf"].as_array().unwrap();
    let name = |kind: &Value| kind["properties"]["type"]["const"].as_str().unwrap().to_owned();
    kinds.iter().map(name).chain(["raw".into(), "unknown".into()]).collect()
}

/// Each envelope of a stream with every kind is left out once. From some later number on the state must differ from that
/// of the listener who got it, or at once.
#[test]
fn every_kind_that_matters_is_missed() {
    let all = every_kind();
    let kinds: BTreeSet<String> = all.iter().map(|envelope| kind(&envelope.event)).collect();
    assert_eq!(kinds, all_kinds(), "every kind of event is in the stream");

    let mut unmissed = BTreeSet::new();
    for missing in 0..all.len() {
        let damaged = |until: usize| {
            let kept = all[..until].iter().enumerate().filter(|(n, _)| *n != missing);
            folded(kept.map(|(_, envelope)| envelope))
        };
        let differs = |until: usize| unnumbered(damaged(until)) != unnumbered(scan(&all[..until]));
        if !(missing + 1..=all.len()).any(differs) {
            unmissed.insert(kind(&all[missing].event));
        }
    }
    let expected = ["memory_changed", "message_added", "prompt_refused", "raw", "unknown"];
    assert_eq!(Vec::from_iter(unmissed), expected);
}

#[test]
fn the_size_is_bounded_by_one_answer() {
    let root = |event| (AgentPath::default(), event);
    let noisy = |n: u32| {
        let text = format!("notice {n}");
        [
            Event::TurnStarted { turn: n },
            Event::notice(Notice::Hook { text }),
            Event::TextDelta { text: "word ".repeat(1_000) },
            Event::BlockFinished { block: Block::text("word ".repeat(1_000)) },
            over("c1", &"x".repeat(50_000)),
        ]
    };
    let state = folded(&numbered((1..=200).flat_map(noisy).map(root)));
    assert_eq!(state.notices.len(), NOTICES);
    assert_eq!(state.notices[0].notice, Notice::Hook { text: "notice 151".into() });
    let CallStage::Finished { excerpt, .. } = &state.calls[0].stage else { panic!("not finished") };
    assert_eq!(excerpt.len(), EXCERPT);
    let size = serde_json::to_string(&state).unwrap().len();
    assert!(size < 16_000, "{size} bytes after 11 MB of events");
}

#[test]
fn nothing_is_counted_twice() {
    let all = every_kind();
    let sums: Vec<(String, f64)> = (1..=all.len())
        .filter(|n| all[n - 1].agent.is_root())
        .map(|n| (kind(&all[n - 1].event), folded(&all[..n]).spent_so_far().cost))
        .filter(|(kind, _)| ["answer_sealed", "finished"].contains(&kind.as_str()))
        .collect();
    // The turn's own sum includes the sealed answer, and the dropped one.
    assert_eq!(sums, [("answer_sealed".to_owned(), 0.5), ("finished".to_owned(), 1.5)]);
}

#[test]
fn questions_of_all_agents_are_found_at_the_root() {
    let all = every_kind();
    let open_at = |n: usize| -> Vec<String> {
        folded(&all[..n]).open_questions().map(|open| open.id.to_string()).collect()
    };
    let mut seen: Vec<Vec<String>> = (1..=all.len()).map(open_at).collect();
    seen.dedup();
    let expected: [&[&str]; 7] = [&[], &["q1"], &["q1", "q2"], &["q2"], &[], &["q9"], &[]];
    assert_eq!(seen, expected);
}
