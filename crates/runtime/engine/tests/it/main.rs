//! The engine against doubles, one module per behaviour. `Rig::turn` and its kin check the laws after every run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budget;
mod changed_input;
mod context;
mod determinism;
mod dropped;
mod durability;
mod faults;
mod gate;
mod hooks;
mod inbox;
mod inbox_kills;
mod interrupt;
mod late_tools;
mod ledger;
mod overlap;
mod program_calls;
mod reasons;
mod resume;
mod stalled_disk;
mod streams;
mod turn;

use ostler_core::event::Event;
use ostler_testkit::trace;

/// The lines of a trace that begin with one of the words.
fn lines(events: &[Event], words: &[&str]) -> Vec<String> {
    let told = trace(events);
    let wanted = |line: &&str| words.iter().any(|word| line.starts_with(word));
    told.lines().filter(wanted).map(str::to_owned).collect()
}

/// Lets continue what needs neither the reader nor another thread, such as the one that makes a log durable.
async fn let_run() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Waits until this is so, while everything continues that does not need the reader.
async fn until_so(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}
