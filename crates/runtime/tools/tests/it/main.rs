#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod change;
mod children;
mod faults;
mod glob;
mod grep;
mod read;
mod registry;
mod revert;
#[path = "../support/mod.rs"]
mod support;

use ostler_exec::{Executor, SupervisorProgram};
use support::Desk;

/// File tools start no command.
fn desk() -> Desk {
    Desk::new(
        Executor::new(SupervisorProgram { program: "/nonexistent".into(), args: vec![] }),
        vec![],
    )
}
