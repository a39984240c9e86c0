//! The engine against doubles, one module per behaviour. `Rig::turn` and its kin check the laws after every run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budget;
mod context;
mod determinism;
mod dropped;
mod durability;
mod faults;
mod gate;
mod hooks;
mod interrupt;
mod ledger;
mod overlap;
mod reasons;
mod resume;
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

/// Lets everything that can go on without the reader go on.
async fn let_run() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}
