//! Redo: the last undo is taken back, with the conversation where a rewind took that, too.

use super::interruption::{Finished, Readiness, ready};
use super::note::Note;
use super::{Desk, Review, UndoChoice, Undone};
use crate::error::Error;
use crate::system::SystemClock;
use ostler_core::ports::{SessionLog, SessionStore};
use ostler_core::session::{Entry, Session};
use ostler_core::time::Clock;

/// Undoes the last undo or rewind.
///
/// # Errors
/// If nothing was undone, a command runs, or the session whose conversation would go on is open elsewhere.
pub fn redo(choice: &UndoChoice, review: Review<'_>) -> Result<Undone, Error> {
    let Readiness { desk, finished, mut notices } = ready(choice, None)?;
    if let Some(Finished { note, undone }) = finished.filter(|finished| finished.note.redo) {
        let mut undone = undone.with(notices);
        undone.conversation = note.rewound.is_some() && can_go_on(&desk);
        if undone.conversation {
            go_on(desk.store.open(&desk.session)?.log.as_ref())?;
        }
        return Ok(undone);
    }
    let Some(last) = desk.standing().pop().cloned() else { return Err(Error::NothingToRedo) };
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
    let before = desk.snapshots.take("before a redo")?.id;
    let redoes = (last.before, last.after);
    let units = vec![desk.unit_of_undo(redoes)?];
    let calls = desk.named(&last.calls);
    let note = Note {
        before,
        rewound: last.rewound,
        calls: last.calls.clone(),
        ..desk.note_of(&calls, true)
    };
    let planned = desk.nothing_yet(calls, before).with(notices);
    let intent = desk.intent(choice, note, Some(redoes));
    let mut undone = desk.carry_out(choice, units, planned, intent, review)?;
    if let Some(log) = log.filter(|_| undone.done) {
        go_on(log.as_ref())?;
    }
    undone.conversation = goes_on;
    Ok(undone)
}

fn go_on(log: &dyn SessionLog) -> Result<(), Error> {
    log.append(&Entry::RewindUndone { at: SystemClock.now() })?;
    Ok(log.sync()?)
}

/// Nothing was said since the rewind.
fn can_go_on(desk: &Desk) -> bool {
    Session::fold(desk.entries.iter().cloned()).can_undo_rewind()
}
