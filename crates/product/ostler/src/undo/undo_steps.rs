//! What could be undone: which calls really changed something, in this session and in the others of the directory.

use super::calls::{ChangingCall, Did};
use super::location::sessions_here;
use super::turns::files;
use super::{Desk, UndoChoice};
use crate::error::Error;
use ostler_core::ids::SessionId;
use std::path::Path;

/// Sessions that are looked at, newest first.
const SESSIONS: usize = 50;

/// What could be undone of one session, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoSteps {
    pub session: SessionId,
    pub steps: Vec<UndoStep>,
}

/// One step of an undo: a call of the session, with the calls of agents that it started. Newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoStep {
    pub calls: Vec<ChangingCall>,
    /// The files that they changed; none if that is no longer known.
    pub files: Option<usize>,
}

/// What could be undone in the directory: of the chosen session, or of all its sessions, the newest first. Sessions
/// without anything to undo are left out.
///
/// # Errors
/// If there is no such session, or it cannot be read.
pub fn undo_steps(choice: &UndoChoice) -> Result<Vec<UndoSteps>, Error> {
    if choice.session.is_some() {
        let steps = Desk::look(choice)?.steps();
        return Ok(Some(steps).filter(|found| !found.steps.is_empty()).into_iter().collect());
    }
    let found = sessions_here(choice)?.into_iter().take(SESSIONS);
    let desks = found.filter_map(|session| of_session(choice, &session));
    Ok(desks.map(|desk| desk.steps()).filter(|found| !found.steps.is_empty()).collect())
}

fn of_session(choice: &UndoChoice, session: &SessionId) -> Option<Desk> {
    let choice = UndoChoice { session: Some(session.to_string()), ..choice.clone() };
    Desk::look(&choice).ok()
}

impl Desk {
    fn steps(&self) -> UndoSteps {
        let mut groups: Vec<Vec<ChangingCall>> = Vec::new();
        for call in self.calls() {
            match groups.iter_mut().find(|group| group.iter().any(|had| had.top() == call.top())) {
                Some(group) => group.push(call),
                None => groups.push(vec![call]),
            }
        }
        let step = |calls: Vec<ChangingCall>| {
            let files = files(self, &calls.iter().collect::<Vec<_>>());
            UndoStep { calls, files }
        };
        UndoSteps { session: self.session.clone(), steps: groups.into_iter().map(step).collect() }
    }

    /// A call that left every file as it was is not a step. One whose snapshots are gone may have changed something.
    pub(super) fn skip_unchanging(&self, calls: &mut Vec<ChangingCall>) {
        let ended = |call: &ChangingCall| match call.did {
            Did::Command { before, after: Some(after), .. } => Some((before, after)),
            _ => None,
        };
        let pairs: Vec<(u64, u64)> = calls.iter().filter_map(ended).collect();
        if pairs.is_empty() {
            return;
        }
        let Ok(diffs) = self.snapshots.diffs(&pairs) else { return };
        let mut diffs = diffs.into_iter();
        calls.retain(|call| {
            let Did::Command { after: Some(_), only, .. } = &call.did else { return true };
            let is_own = |path: &Path| only.is_empty() || only.iter().any(|file| file == path);
            match diffs.next() {
                Some(Ok(changes)) => changes.iter().any(|change| is_own(&change.path)),
                Some(Err(_)) | None => true,
            }
        });
    }

    /// Nothing in this session; where nobody chose it, another one may have something.
    pub(super) fn nothing_to_undo(&self, choice: &UndoChoice) -> Error {
        if choice.session.is_some() {
            return self.nothing_at_all();
        }
        let others = sessions_here(choice).unwrap_or_default().into_iter();
        let others = others.filter(|session| *session != self.session).take(SESSIONS);
        let mut desks = others.filter_map(|session| of_session(choice, &session));
        let other = desks.find_map(|desk| Some((desk.calls().into_iter().next()?, desk)));
        match other {
            Some((call, desk)) => Error::UndoableElsewhere {
                newest: self.session.clone(),
                session: desk.session.clone(),
                call: call.name(),
            },
            None => self.nothing_at_all(),
        }
    }

    /// A command may have changed something that nobody looks at.
    fn nothing_at_all(&self) -> Error {
        let undone = self.undone();
        let is_open = |call: &ChangingCall| call.is_command() && !undone.contains(&call.key());
        match !self.snapshots.not_followed().is_empty() && self.changing().iter().any(is_open) {
            true => Error::NothingCovered(self.not_covered()),
            false => Error::NothingToUndo,
        }
    }
}
