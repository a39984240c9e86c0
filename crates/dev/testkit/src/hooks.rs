//! Hooks that answer as they were told to, and remember what they heard.

use crate::locked;
use ostler_core::hook::{EventName, HookEvent, HookMatcher, HookOutcome, merge};
use ostler_core::ports::{BoxFuture, Hooks};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

type ScriptedOutcome = Box<dyn Fn(&HookEvent) -> HookOutcome + Send + Sync>;

#[derive(Default)]
pub struct ScriptedHooks {
    hooks: Vec<(EventName, HookMatcher, ScriptedOutcome)>,
    heard: Mutex<Vec<HookEvent>>,
    /// Answers wait until they are let go.
    held: Option<Arc<Semaphore>>,
}

impl ScriptedHooks {
    pub fn new() -> Self {
        ScriptedHooks::default()
    }

    pub fn on(
        mut self,
        event: EventName,
        matcher: &str,
        answer: impl Fn(&HookEvent) -> HookOutcome + Send + Sync + 'static,
    ) -> Self {
        let matcher = HookMatcher::parse(matcher).unwrap_or_else(|error| panic!("{error}"));
        self.hooks.push((event, matcher, Box::new(answer)));
        self
    }

    /// One answer per permit of the semaphore.
    pub fn held(mut self, by: &Arc<Semaphore>) -> Self {
        self.held = Some(by.clone());
        self
    }

    pub fn heard(&self) -> Vec<HookEvent> {
        locked(&self.heard).clone()
    }

    /// The names of what was heard, in order.
    pub fn names(&self) -> Vec<&'static str> {
        locked(&self.heard).iter().map(|event| event.name().name()).collect()
    }
}

impl Hooks for ScriptedHooks {
    fn listens(&self, event: EventName, matched: Option<&str>) -> bool {
        self.hooks.iter().any(|(on, matcher, _)| *on == event && matcher.matches(matched))
    }

    fn fire(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome> {
        Box::pin(async move {
            locked(&self.heard).push(event.clone());
            if let Some(held) = &self.held {
                match held.acquire().await {
                    Ok(permit) => permit.forget(),
                    Err(error) => panic!("{error}"),
                }
            }
            let for_it = self
                .hooks
                .iter()
                .filter(|(on, matcher, _)| *on == event.name() && matcher.matches(event.matched()));
            merge(for_it.map(|(_, _, answer)| answer(&event)))
        })
    }
}
