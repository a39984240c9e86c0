//! An undo that was killed is finished by the next one. What it was about to do is written down beside the snapshots before
//! the first file is touched; the rest follows from the snapshots themselves.

use super::keep::KeepPaths;
use super::note::Note;
use super::{ChangingCall, Desk, UndoChoice, Undone};
use crate::error::Error;
use ostler_core::ids::CallId;
use ostler_snapshots::{UndoUnit, WantedState};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What an undo is about to do.
#[derive(Clone, Debug)]
pub(super) struct Intent {
    /// As it will be written down; what it came to is not known yet.
    pub note: Note,
    /// The undo that is undone itself, by the snapshots around it.
    pub redoes: Option<(u64, u64)>,
    /// How many changing calls the session had. Once there are more, somebody continued from where it stopped.
    known: usize,
    /// What was to stay as it is, and from where it was named.
    keep: Vec<String>,
    cwd: PathBuf,
}

impl Intent {
    pub(super) fn to_text(&self) -> String {
        let Intent { note, redoes, known, keep, cwd } = self;
        json!({"intent": note.to_json(), "redoes": redoes, "known": known, "keep": keep, "cwd": cwd})
            .to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(Intent {
            note: Note::from_json(value.get("intent")?)?,
            redoes: serde_json::from_value(value.get("redoes")?.clone()).ok()?,
            known: usize::try_from(value.get("known")?.as_u64()?).ok()?,
            keep: serde_json::from_value(value.get("keep")?.clone()).ok()?,
            cwd: serde_json::from_value(value.get("cwd")?.clone()).ok()?,
        })
    }
}

/// The last thing that was to be done, if nothing says that it was.
pub(super) fn pending(notes: &[String]) -> Option<Intent> {
    notes.iter().fold(None, |pending, text| match Intent::parse(text) {
        Some(intent) => Some(intent),
        None => pending.filter(|_| Note::parse(text).is_none()),
    })
}

/// Nothing is left half done.
pub(super) struct Readiness {
    pub desk: Desk,
    /// What was killed and is finished now, if it was of the same session.
    pub finished: Option<Finished>,
    pub notices: Vec<String>,
}

/// The undo that was killed was of the session that is asked for, or of another one.
enum Whose {
    Own,
    Other,
}

pub(super) struct Finished {
    pub note: Note,
    pub undone: Undone,
}

/// Finishes what was killed. `rewinding` is the turn to which the conversation goes back now.
pub(super) fn ready(choice: &UndoChoice, rewinding: Option<u32>) -> Result<Readiness, Error> {
    let mut desk = Desk::open(choice)?;
    let (mut finished, mut notices) = (None, Vec::new());
    let Some(mut intent) = desk.pending.take() else {
        return Ok(Readiness { desk, finished, notices });
    };
    let what = if intent.redoes.is_some() { "redo" } else { "undo" };
    if choice.dry_run {
        notices.push(format!(
            "The last {what} was interrupted; the next undo, redo or rewind finishes it first."
        ));
        return Ok(Readiness { desk, finished, notices });
    }
    let is_own = intent.note.session == desk.session.as_str();
    // A rewind that was killed has left the conversation as it was.
    let goes_on = is_own && intent.note.rewound == rewinding;
    if !intent.note.redo && !goes_on {
        intent.note.rewound = None;
    }
    let done = if is_own {
        desk.finish(choice, &intent, Whose::Own)
    } else {
        // Only one of them can be alone in the store.
        drop(desk);
        let whose = UndoChoice { session: Some(intent.note.session.clone()), ..choice.clone() };
        let done = Desk::open(&whose).and_then(|other| other.finish(&whose, &intent, Whose::Other));
        desk = Desk::open(choice)?;
        done
    };
    match done {
        Ok(None) => {}
        Ok(Some(undone)) => {
            notices.push(format!("Finished the {what} that was interrupted."));
            finished = is_own.then_some(Finished { note: intent.note, undone });
        }
        // It can be tried again.
        Err(error @ (Error::Snapshots(_) | Error::KeepsNothing(_))) => return Err(error),
        Err(error @ Error::Store(_)) if is_own => return Err(error),
        Err(error) => notices.push(format!("An interrupted {what} could not be finished: {error}")),
    }
    if finished.is_some() {
        desk.read_notes()?;
    }
    Ok(Readiness { desk, finished, notices })
}

impl Desk {
    pub(super) fn intent(
        &self,
        choice: &UndoChoice,
        note: Note,
        redoes: Option<(u64, u64)>,
    ) -> Intent {
        let known = self.changing().len();
        let (keep, cwd) = (choice.keep.clone(), choice.cwd.clone());
        Intent { note, redoes, known, keep, cwd }
    }

    /// The changing calls of these names, in this order.
    pub(super) fn named(&self, ids: &[CallId]) -> Vec<ChangingCall> {
        let all = self.changing();
        ids.iter().filter_map(|id| all.iter().find(|call| call.key() == *id).cloned()).collect()
    }

    /// What an undo did, between the snapshots around it.
    pub(super) fn unit_of_undo(&self, (from, to): (u64, u64)) -> Result<UndoUnit, Error> {
        let changes = if from == to { Vec::new() } else { self.snapshots.diff(from, to)? };
        Ok(UndoUnit {
            wanted: changes.into_iter().map(WantedState::from).collect(),
            ..UndoUnit::default()
        })
    }

    /// None if the session continued from where it stopped.
    fn finish(
        &self,
        choice: &UndoChoice,
        intent: &Intent,
        whose: Whose,
    ) -> Result<Option<Undone>, Error> {
        if self.changing().len() != intent.known {
            return Ok(None);
        }
        let note = intent.note.clone();
        let mut undone = self.nothing_yet(self.named(&note.calls), note.before);
        let now = self.snapshots.take("before the rest of an undo")?.id;
        let mut units: Vec<UndoUnit> = match intent.redoes {
            Some(redoes) => vec![self.unit_of_undo(redoes)?],
            None => undone
                .calls
                .iter()
                .map(|call| self.unit(call, note.before, &mut undone.notices))
                .collect::<Result<_, Error>>()?,
        };
        KeepPaths::new(&intent.cwd, &intent.keep).spare_any(&mut units);
        let keep = KeepPaths::new(&choice.cwd, &choice.keep);
        match whose {
            Whose::Own => keep.spare(&mut units)?,
            Whose::Other => keep.spare_any(&mut units),
        }
        let plan = self.snapshots.plan_again(&units, note.before, now)?;
        let log = self.log_to_go_on(choice, &note)?;
        self.follow(choice, &plan, undone, note, log.as_ref()).map(Some)
    }
}
