//! Hooks, the pure part: what happens that a hook may hear of, what it may answer, and how many answers become one.
//!
//! Invariants
//! - **A hook tightens, never loosens**: the merged outcome is at least as strict as each part of it.
//! - **A hook that was to decide and did not run decides no.** Where nothing can be stopped any more it is a notice.
//! - **What a hook rewrites is a set of fields**, so that two hooks can change different ones; who disagree block.

mod answer;
mod event;
mod matcher;
mod outcome;
mod output;
mod sample;
mod spec;

pub use answer::{HookAnswer, answered, cut};
pub use event::{EventName, HookEvent, OTHER_EVENTS};
pub use matcher::{HookMatcher, MatcherError};
pub use outcome::{HookOutcome, HookReason, Stand, merge};
pub use sample::canary;
pub use spec::{HookAction, HookSecret, HookSpec, check_url};
