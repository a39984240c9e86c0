//! Which calls may start: pure, so that every order can be tested.

use ostler_core::permission::Access;

/// How far a call is, as far as starting others depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    Running,
    Done,
}

/// What the rule of starting knows of a call.
pub(crate) struct Slot<'a> {
    pub(crate) access: &'a Access,
    /// It does not run while its answer may be thrown away: somebody must say yes, or hooks are told of it.
    pub(crate) asks: bool,
    /// Hooks have not said yet what it will be.
    pub(crate) hooks_pending: bool,
    pub(crate) stage: Stage,
}

/// Which waiting calls may start, at most `room` of them.
///
/// Until the answer is sealed it may still be thrown away, so only calls that change nothing may run, and none that
/// would ask. A call waits for every earlier one it conflicts with, and for the hooks of all earlier ones, which may
/// make others of them. Hooks of several calls may be asked at once.
pub(crate) fn startable(slots: &[Slot<'_>], sealed: bool, room: usize) -> Vec<usize> {
    let mut start = Vec::new();
    for (i, slot) in slots.iter().enumerate() {
        if start.len() == room {
            break;
        }
        let early = slot.access.may_begin_early() && !slot.asks;
        let earlier = slots.get(..i).unwrap_or_default();
        let free =
            || earlier.iter().all(|e| e.stage == Stage::Done || !e.access.conflicts(slot.access));
        let known = || slot.hooks_pending || !earlier.iter().any(|e| e.hooks_pending);
        if slot.stage == Stage::Waiting && (sealed || early) && known() && free() {
            start.push(i);
        }
    }
    start
}

#[cfg(test)]
#[path = "start_rule_tests.rs"]
mod tests;
