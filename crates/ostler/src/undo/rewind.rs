//! Rewind: files, conversation or both as they were before a turn.

use super::interruption::{Readiness, ready};
use super::{Desk, UndoChoice, Undone};
use crate::error::Error;
use crate::system::SystemClock;
use ostler_core::ids::SessionId;
use ostler_core::ports::SessionStore;
use ostler_core::session::{Entry, Session};
use ostler_core::time::Clock;

/// What is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewinding {
    pub files: bool,
    pub conversation: bool,
}

/// Goes back to before the prompt of a turn, counted from 1. Gives the session, what was done to files, and whether the
/// conversation was rewound.
///
/// # Errors
/// If there is no such turn, or the session is open elsewhere and its conversation is to be rewound.
pub fn rewind(
    choice: &UndoChoice,
    turn: u32,
    what: Rewinding,
) -> Result<(SessionId, Option<Undone>), Error> {
    let Readiness { desk, finished, notices } = ready(choice)?;
    let session = Session::fold(desk.entries.iter().cloned());
    let turns = session.turns;
    if turn == 0 || turn > turns {
        return Err(Error::NoSuchTurn { turn, turns });
    }
    if what.conversation && !session.can_rewind(turn) {
        return Err(Error::SummedUp { turn });
    }
    // Opened first: if somebody else writes it, nothing is done at all.
    let log = match what.conversation && !choice.dry_run {
        true => Some(desk.store.open(&desk.session)?.log),
        false => None,
    };
    let mut undone = finished.map(|finished| finished.undone.with(notices));
    if what.files {
        let calls = since(&desk, turn);
        if !calls.is_empty() {
            let rest = desk.undo(calls, choice.dry_run)?;
            undone = Some(match undone {
                Some(first) => rest.after(first),
                None => rest,
            });
        }
    }
    if let Some(log) = log {
        log.append(&Entry::Rewound { turn, at: SystemClock.now() })?;
        log.sync()?;
    }
    Ok((desk.session.clone(), undone))
}

/// The calls made since the last time that a turn of this number began.
fn since(desk: &Desk, turn: u32) -> Vec<super::ChangingCall> {
    let (mut now, mut begun) = (0u32, 0);
    for (at, entry) in desk.entries.iter().enumerate() {
        match entry {
            Entry::Prompt { .. } => {
                now += 1;
                if now == turn {
                    begun = at;
                }
            }
            Entry::Rewound { turn, .. } => now = turn.saturating_sub(1),
            _ => {}
        }
    }
    let after = desk.entries.get(begun..).unwrap_or_default();
    let ids: std::collections::HashSet<_> = after
        .iter()
        .filter_map(|entry| match entry {
            Entry::Checkpoint { call, .. } | Entry::Snapshot { call, .. } => Some(call),
            _ => None,
        })
        .collect();
    desk.calls().into_iter().filter(|call| ids.contains(&call.id)).collect()
}
