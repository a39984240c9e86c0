//! Rewind: files, conversation or both as they were before a turn.

use super::interruption::{Readiness, ready};
use super::keep::KeepPaths;
use super::note::Note;
use super::{ChangingCall, Desk, Review, UndoChoice, Undone};
use crate::error::Error;
use crate::system::SystemClock;
use ostler_core::ids::SessionId;
use ostler_core::ports::{SessionStore, StoreError};
use ostler_core::session::{Entry, SessionRecord, TurnStarts};
use ostler_core::time::Clock;

/// What is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewinding {
    pub files: bool,
    pub conversation: bool,
}

/// Goes back to before the prompt of a turn, counted from 1. Gives the session and what was done to files, if any were
/// changed since.
///
/// # Errors
/// If there is no such turn, a path to keep is not part of it, a command runs, or the session is open elsewhere and its
/// conversation is to be rewound.
pub fn rewind(
    choice: &UndoChoice,
    turn: u32,
    what: Rewinding,
    review: Review<'_>,
) -> Result<(SessionId, Option<Undone>), Error> {
    rewind_open(choice, turn, what, review, |desk| {
        let log = desk.store.open(&desk.session)?.log;
        Ok(Box::new(move || {
            log.append(&Entry::Rewound { turn, at: SystemClock.now() })?;
            log.sync()
        }))
    })
}

/// Writes down that the conversation goes back.
pub(crate) type WriteRewound<'a> = Box<dyn FnOnce() -> Result<(), StoreError> + 'a>;

/// The same for a log that somebody has open. `open` comes first: if the log cannot be written, nothing is done at all.
pub(crate) fn rewind_open<'a>(
    choice: &UndoChoice,
    turn: u32,
    what: Rewinding,
    review: Review<'_>,
    open: impl FnOnce(&Desk) -> Result<WriteRewound<'a>, Error>,
) -> Result<(SessionId, Option<Undone>), Error> {
    let rewound = what.conversation.then_some(turn);
    let Readiness { desk, finished, notices } = ready(choice, rewound)?;
    let session = SessionRecord::fold(desk.entries.iter().cloned());
    let turns = session.turns;
    if turn == 0 || turn > turns {
        return Err(Error::NoSuchTurn { turn, turns });
    }
    if what.conversation && !session.can_rewind(turn) {
        return Err(Error::SummedUp { turn });
    }
    let calls = if what.files { since(&desk, turn) } else { Vec::new() };
    // Where no file would change, a path to keep is a mistake as well.
    if calls.is_empty() && finished.is_none() {
        KeepPaths::new(&choice.cwd, &choice.keep).spare(&mut [])?;
    }
    let log = match what.conversation && !choice.dry_run {
        true => Some(open(&desk)?),
        false => None,
    };
    let is_finished = finished.as_ref().is_some_and(|finished| finished.note.rewound == rewound);
    let mut undone = finished.map(|finished| finished.undone.with(notices));
    if !calls.is_empty() {
        let rest = desk.undo(choice, calls, rewound, review)?;
        undone = Some(match undone {
            Some(first) => rest.after(first),
            None => rest,
        });
    } else if log.is_some() && !is_finished {
        // For a redo, which brings the conversation back.
        let before = desk.snapshots.take("before a rewind")?.id;
        let note = Note { rewound, before, after: before, ..desk.note_of(&[], false) };
        desk.write_down(choice, &note, &mut Vec::new())?;
    }
    let refused = undone.as_ref().is_some_and(|undone| !undone.done);
    if let Some(write) = log.filter(|_| !refused) {
        write()?;
    }
    Ok((desk.session.clone(), undone))
}

/// The calls made since a turn began.
fn since(desk: &Desk, turn: u32) -> Vec<ChangingCall> {
    let begun = TurnStarts::of(&desk.entries).start(turn).unwrap_or(0);
    let after = desk.entries.get(begun..).unwrap_or_default();
    let ids: std::collections::HashSet<_> = after
        .iter()
        .filter_map(|entry| match entry {
            Entry::Checkpoint { call, .. } | Entry::Snapshot { call, .. } => Some(call),
            Entry::CallStarted { id } => Some(id),
            _ => None,
        })
        .collect();
    desk.calls().into_iter().filter(|call| ids.contains(call.top())).collect()
}
