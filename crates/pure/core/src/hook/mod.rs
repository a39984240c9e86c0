//! The pure part of hooks: which events there are, what a hook can answer, and how several answers are merged.
//!
//! Invariants
//! - **A hook tightens, never loosens**: the merged outcome is at least as strict as each part of it.
//! - **A blocking hook that fails to run denies the action.** If nothing can be stopped any more, it is a notice.
//! - **What a hook rewrites is a set of fields**, so that two hooks can change different ones; conflicting changes
//!   block the call.

mod answer;
mod event;
mod matcher;
mod outcome;
mod output;
mod program;
mod sample;
mod spec;

pub use answer::{HookAnswer, answered, cut};
pub use event::{BackgroundTask, EventName, HookEvent, OTHER_EVENTS};
pub use matcher::{HookMatcher, MatcherError};
pub use outcome::{HookOutcome, HookReason, Stand, merge};
pub use program::{HookProgram, program_path};
pub use sample::canary;
pub use spec::{HookAction, HookSecret, HookSpec, check_url};
