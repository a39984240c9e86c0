//! Redo: the last undo is taken back, with the conversation where a rewind took that, too.

use super::note::Note;
use super::{ChangingCall, Desk, Review, UndoChoice, Undone, calls};
use crate::error::Error;
use crate::system::SystemClock;
use ostler_core::ports::SessionStore;
use ostler_core::session::{Entry, Session};
use ostler_core::time::Clock;
use ostler_snapshots::{Unit, Wanted};

/// Undoes the last undo or rewind.
///
/// # Errors
/// If nothing was undone, a command runs, or the session whose conversation would go on is open elsewhere.
pub fn redo(choice: &UndoChoice, review: Review<'_>) -> Result<Undone, Error> {
    let desk = Desk::open(choice)?;
    let Some(last) = desk.standing().pop().cloned() else { return Err(Error::NothingToRedo) };
    let mut notices = Vec::new();
    let goes_on = last.rewound.is_some() && can_go_on(&desk);
    if last.rewound.is_some() && !goes_on {
        notices
            .push("The conversation went on since it was taken back, and stays as it is.".into());
    }
    // Opened first: if somebody else writes it, nothing is done at all.
    let log = match goes_on && !choice.dry_run {
        true => Some(desk.store.open(&desk.session)?.log),
        false => None,
    };
    let calls: Vec<ChangingCall> = calls::changing(&desk.entries)
        .into_iter()
        .filter(|call| last.calls.contains(&call.id))
        .collect();
    let before = desk.snapshots.take("before a redo")?.id;
    let changes = match last.before == last.after {
        true => Vec::new(),
        false => desk.snapshots.diff(last.before, last.after)?,
    };
    let wanted = changes.into_iter().map(Wanted::from).collect();
    let unit = Unit { wanted, ..Unit::default() };
    let note = Note {
        before,
        rewound: last.rewound,
        calls: last.calls.clone(),
        ..desk.note_of(&calls, true)
    };
    let mut undone = desk.carry_out(choice, &mut [unit], calls, notices, note, review)?;
    if let Some(log) = log.filter(|_| undone.done) {
        log.append(&Entry::RewindUndone { at: SystemClock.now() })?;
        log.sync()?;
    }
    undone.conversation = goes_on;
    Ok(undone)
}

/// Nothing was said since the rewind.
fn can_go_on(desk: &Desk) -> bool {
    Session::fold(desk.entries.iter().cloned()).can_undo_rewind()
}
