//! The port for hooks, which are called before and after events and can object.

use super::BoxFuture;
use crate::hook::{EventName, HookEvent, HookOutcome};

pub trait Hooks: Send + Sync {
    /// Whether a hook wants this event. Cheap, so that no event is built if nobody listens. `matched` is what matchers
    /// are compared with, the tool's name as a rule.
    fn listens(&self, event: EventName, matched: Option<&str>) -> bool;

    /// Sends the event to all listeners and waits for those that can object. Dropping the future ends what it started.
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

    /// The same with everything that a configured hook would read, as a JSON object. None: it is too large.
    fn call_with<'a>(
        &'a self,
        event: &'a HookEvent,
        _payload: Option<&'a str>,
    ) -> BoxFuture<'a, HookOutcome> {
        self.call(event)
    }
}
