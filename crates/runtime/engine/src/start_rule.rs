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
    /// It does not run while its answer may be discarded: somebody must say yes, or hooks get to know of it.
    pub(crate) asks: bool,
    /// Hooks have not said yet what it will be.
    pub(crate) hooks_pending: bool,
    pub(crate) stage: Stage,
    /// It runs, and as if no other command that changes something did.
    pub(crate) alone: bool,
}

/// Which waiting calls may start, at most `room` of them.
///
/// Until the answer is sealed it may still be discarded, so only calls that change nothing may run, and none that
/// would ask. A call waits for every earlier one it conflicts with, for later ones that run already (its input may have
/// been changed since they started), and for the hooks of all earlier ones, which may change them. Hooks of several calls
/// may be asked at once.
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
        let undisturbed = || !slots.iter().any(|other| is_disturbed_by(other, slot));
        let known = || slot.hooks_pending || !earlier.iter().any(|e| e.hooks_pending);
        if slot.stage == Stage::Waiting && (sealed || early) && known() && free() && undisturbed() {
            start.push(i);
        }
    }
    start
}

/// A call that runs does not expect this one beside it.
fn is_disturbed_by(running: &Slot<'_>, slot: &Slot<'_>) -> bool {
    let both_change = is_changing_command(running.access) && is_changing_command(slot.access);
    let clash = running.access.conflicts(slot.access) || (running.alone && both_change);
    running.stage == Stage::Running && clash
}

fn is_changing_command(access: &Access) -> bool {
    access.runs.is_some() && !access.is_harmless()
}

/// Whether a command may have to share its time with another one of the same answer: one that changes something as well,
/// is not over, and does not have to wait for this one or the other way round.
pub(crate) fn runs_beside_others(slots: &[Slot<'_>], index: usize) -> bool {
    let Some(this) = slots.get(index) else { return false };
    let mut others = slots.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, slot)| slot);
    is_changing_command(this.access)
        && others.any(|other| {
            let is_over = other.stage == Stage::Done;
            !is_over && is_changing_command(other.access) && !other.access.conflicts(this.access)
        })
}

#[cfg(test)]
#[path = "start_rule_tests.rs"]
mod tests;
