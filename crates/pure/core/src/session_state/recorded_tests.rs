//! The state at the end of every recorded stream (`fixtures/events`), and the law on each.

use super::scan_tests::scan;
use super::*;
use std::path::PathBuf;

fn recorded() -> Vec<(String, Vec<Envelope>)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/events"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(file).unwrap();
        (name, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    files.iter().map(read).collect()
}

#[test]
fn every_recorded_stream() {
    let streams = recorded();
    assert!(streams.len() >= 21, "{} streams", streams.len());
    for (name, envelopes) in streams {
        let mut state = SessionState::default();
        for (n, envelope) in envelopes.iter().enumerate() {
            state.apply(envelope);
            assert_eq!(state, scan(&envelopes[..=n]), "{name}, envelope {}", n + 1);
        }
        insta::assert_json_snapshot!(name, state);
    }
}

/// What a surface that joins in the middle of a turn finds.
#[test]
fn in_the_middle_of_a_turn() {
    let (_, envelopes) = recorded().into_iter().find(|(name, _)| name == "tools").unwrap();
    let is_tail = |one: &Envelope| matches!(one.event, Event::CallProgress { .. });
    let tail = envelopes.iter().position(is_tail).unwrap();
    let mut state = SessionState::default();
    envelopes[..=tail].iter().for_each(|envelope| state.apply(envelope));
    insta::assert_json_snapshot!("tools_while_a_command_runs", state);
}
