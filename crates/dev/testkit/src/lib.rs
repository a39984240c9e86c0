//! Test doubles behind the ports of `ostler-core`, an agent made of them, and the laws every run must keep.
//!
//! Invariants
//! - **Everything that happens is on one [`Timeline`]**: entries, syncs, requests, questions and tools, in order, so
//!   that "on disk before it ran" is a comparison and not a guess.
//! - **No clock**: overlap is proved by barriers, waiting by channels. A turn that hangs fails its test at once when
//!   time is paused.
//! - **[`Rig::turn`] checks the laws after every run**, whatever the test itself is about.
//!
//! Deliberately absent: files, network, processes, and a session store (the `store` crate has one in memory).

// A double that is used wrongly must fail the test that did it.
#![allow(clippy::panic)]

mod agent;
mod approver;
mod blobs;
mod hooks;
mod laws;
mod log;
mod model;
mod render;
mod rig;
mod script;
mod timeline;
mod tools;
mod trace;

pub use agent::{PRICE, ROOT, TestAgent};
pub use approver::FakeApprover;
pub use blobs::TestBlobs;
pub use hooks::ScriptedHooks;
pub use log::{LogFault, StalledDisk, TestLog};
pub use model::ScriptedModel;
pub use rig::Rig;
pub use script::{Pusher, Script, calls, fails, hangs, live, says};
pub use timeline::{Timeline, TimelineMoment};
pub use tools::FakeTool;
pub use trace::{collect, conversation, finished, trace, until, until_all};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panicking tool must not hide what the others saw.
fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
