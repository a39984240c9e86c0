//! Redo: the last undo is taken back, with the conversation where a rewind took that, too.

use super::interruption::{Readiness, ready};
use super::note::Note;
use super::{Desk, Review, UndoChoice, Undone};
use crate::error::Error;
use crate::system::SystemClock;
use ostler_core::ports::{SessionStore, StoreError};
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::time::Clock;

/// Undoes the last undo or rewind.
///
/// # Errors
/// If nothing was undone, a command runs, or the session whose conversation would continue is open elsewhere.
pub fn redo(choice: &UndoChoice, review: Review<'_>) -> Result<Undone, Error> {
    redo_open(choice, review, Desk::conversation_writer)
}

/// Writes down that the conversation continues.
pub(crate) type WriteGoesOn<'a> = Box<dyn Fn() -> Result<(), StoreError> + 'a>;

/// The same for a log that somebody has open. `open` comes first: if the log cannot be written, nothing is done at all.
pub(crate) fn redo_open<'a>(
    choice: &UndoChoice,
    review: Review<'_>,
    open: impl FnOnce(&Desk) -> Result<WriteGoesOn<'a>, Error>,
) -> Result<Undone, Error> {
    let Readiness { desk, finished, mut notices } = ready(choice, None)?;
    if let Some(finished) = finished.filter(|finished| finished.note.redo) {
        return Ok(finished.undone.with(notices));
    }
    let Some(last) = desk.standing_here().pop().cloned() else { return Err(Error::NothingToRedo) };
    let before = desk.snapshots.take("before a redo")?.id;
    let redoes = (last.before, last.after);
    let calls = desk.named(&last.calls);
    let note = Note {
        before,
        rewound: last.rewound,
        calls: last.calls.clone(),
        ..desk.note_of(&calls, true)
    };
    let goes_on = desk.goes_on(&note);
    if last.rewound.is_some() && !goes_on {
        notices.push("The conversation has continued since the rewind and stays as it is.".into());
    }
    let log = match goes_on && !choice.dry_run {
        true => Some(open(&desk)?),
        false => None,
    };
    let units = vec![desk.unit_of_undo(redoes).map_err(not_kept)?];
    let planned = desk.nothing_yet(calls, before).with(notices);
    let intent = desk.intent(choice, note, Some(redoes));
    let mut undone = desk.carry_out(choice, units, planned, intent, log.as_ref(), review)?;
    undone.conversation = goes_on;
    Ok(undone)
}

fn not_kept(error: Error) -> Error {
    match error {
        Error::NotKept(why) => Error::RedoNotKept(why),
        other => other,
    }
}

impl Desk {
    /// This redo brings a conversation back: nothing was said since the rewind, and it is not done yet.
    fn goes_on(&self, redo: &Note) -> bool {
        let begun = redo.id / 1_000_000;
        let is_done = |entry: &Entry| matches!(entry, Entry::RewindUndone { at } if at.0 >= begun);
        redo.redo
            && redo.rewound.is_some()
            && !self.entries.iter().any(is_done)
            && SessionRecord::fold(self.entries.iter().cloned()).can_undo_rewind()
    }

    /// Where that is to be written down, if it is.
    pub(super) fn log_to_go_on(
        &self,
        choice: &UndoChoice,
        redo: &Note,
    ) -> Result<Option<WriteGoesOn<'static>>, Error> {
        match self.goes_on(redo) && !choice.dry_run {
            true => self.conversation_writer().map(Some),
            false => Ok(None),
        }
    }

    fn conversation_writer(&self) -> Result<WriteGoesOn<'static>, Error> {
        let log = self.store.open(&self.session)?.log;
        Ok(Box::new(move || {
            log.append(&Entry::RewindUndone { at: SystemClock.now() })?;
            log.sync()
        }))
    }
}
