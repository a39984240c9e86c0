//! The window as a managed resource. Pure: a stage looks at the view and says what should change; the changes are
//! recorded as facts, and the fold applies them.
//!
//! Order, cheapest first: what lies before the boundary is gone already → [`budget`] → [`snip`] → [`microcompact`] →
//! [`collapse`] → a summary ([`cut`], [`summary`], [`boundary`]). Each may make the next unnecessary. No stage splits
//! a call from its result, touches thinking, or changes the last prompt.

pub mod boundary;
pub mod budget;
pub mod carry_over;
mod change;
pub mod collapse;
pub mod cut;
pub mod extract;
mod gauge;
pub mod microcompact;
pub mod report;
pub mod snip;
mod story;
pub mod summary;
pub mod weight;

pub use boundary::{Boundary, Made, Receipt, Trigger};
pub use carry_over::CarryOver;
pub use change::{Elision, Saved, StageName, Story, ViewChange, apply, apply_all};
pub use gauge::{Gauge, Pressure, WindowBounds};
pub use story::{is_prompt, last_prompt};

use crate::tool_facts::KnownTools;
use crate::view::View;

/// One stage of the pipeline.
pub trait Stage {
    fn name(&self) -> StageName;

    /// What should change. Empty when there is nothing to gain.
    fn plan(&self, view: &View, pressure: &Pressure, tools: &KnownTools) -> Vec<ViewChange>;
}

/// The stages that need no model, in their order.
pub fn stages() -> [&'static dyn Stage; 3] {
    [&snip::Snip, &microcompact::Micro, &collapse::Collapse]
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
