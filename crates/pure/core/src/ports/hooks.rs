//! Who is told before and after things happen, and may object.

use super::BoxFuture;
use crate::hook::{EventName, HookEvent, HookOutcome};

pub trait Hooks: Send + Sync {
    /// Somebody wants to hear of it. Cheap: where nobody listens, nothing is made that could be told. `matched` is what
    /// matchers are compared with, the tool's name as a rule.
    fn listens(&self, event: EventName, matched: Option<&str>) -> bool;

    /// Tells everybody who listens and waits for those who may object. Dropping the future ends what it started.
    fn fire(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome>;
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn listens(&self, _event: EventName, _matched: Option<&str>) -> bool {
        false
    }

    fn fire(&self, _event: HookEvent) -> BoxFuture<'_, HookOutcome> {
        Box::pin(async { HookOutcome::default() })
    }
}

/// A hook inside the program that embeds the engine.
pub trait Hook: Send + Sync {
    /// How messages call it.
    fn name(&self) -> &str;

    fn listens(&self, event: EventName, matched: Option<&str>) -> bool;

    /// A panic counts as a hook that did not run.
    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome>;
}
