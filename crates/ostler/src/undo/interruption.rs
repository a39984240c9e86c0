//! An undo that was killed is finished by the next one. What it was about to do is written down beside the snapshots before
//! the first file is touched; the rest follows from the snapshots themselves.

use super::{ChangingCall, Desk, Note, UndoChoice, Undone, calls};
use crate::error::Error;
use ostler_core::ids::CallId;
use ostler_snapshots::{Unit, Wanted};
use serde_json::{Value, json};

/// What an undo is about to do.
#[derive(Clone, Debug)]
pub(super) struct Intent {
    pub session: String,
    /// Newest first.
    pub calls: Vec<CallId>,
    /// The snapshot of the state before it.
    pub before: u64,
    /// The undo that is undone itself, by the snapshots around it.
    pub redoes: Option<(u64, u64)>,
    /// How many changing calls the session had. Once there are more, somebody went on from where it stopped.
    pub known: usize,
}

impl Intent {
    pub(super) fn to_text(&self) -> String {
        let calls: Vec<&str> = self.calls.iter().map(CallId::as_str).collect();
        let Intent { session, before, redoes, known, .. } = self;
        json!({"intent": true, "session": session, "calls": calls, "before": before, "redoes": redoes, "known": known})
            .to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        value.get("intent")?.as_bool().filter(|intent| *intent)?;
        let calls = value.get("calls")?.as_array()?.iter();
        Some(Intent {
            session: value.get("session")?.as_str()?.to_owned(),
            calls: calls.filter_map(|call| call.as_str().map(CallId::from)).collect(),
            before: value.get("before")?.as_u64()?,
            redoes: serde_json::from_value(value.get("redoes")?.clone()).ok()?,
            known: usize::try_from(value.get("known")?.as_u64()?).ok()?,
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

pub(super) struct Finished {
    pub redo: bool,
    pub undone: Undone,
}

/// Finishes what was killed.
pub(super) fn ready(choice: &UndoChoice) -> Result<Readiness, Error> {
    let mut desk = Desk::open(choice)?;
    let (mut finished, mut notices) = (None, Vec::new());
    let Some(intent) = desk.pending.take() else {
        return Ok(Readiness { desk, finished, notices });
    };
    let what = if intent.redoes.is_some() { "redo" } else { "undo" };
    if choice.dry_run {
        notices.push(format!(
            "The last {what} was interrupted; the next undo, redo or rewind finishes it first."
        ));
        return Ok(Readiness { desk, finished, notices });
    }
    let is_own = intent.session == desk.session.as_str();
    let done = if is_own {
        desk.finish(&intent)
    } else {
        // Only one of them can be alone in the store.
        drop(desk);
        let whose = UndoChoice { session: Some(intent.session.clone()), ..choice.clone() };
        let done = Desk::open(&whose).and_then(|other| other.finish(&intent));
        desk = Desk::open(choice)?;
        done
    };
    match done {
        Ok(None) => {}
        Ok(Some(undone)) => {
            notices.push(format!("Finished the {what} that was interrupted."));
            let redo = intent.redoes.is_some();
            finished = is_own.then_some(Finished { redo, undone });
        }
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
        calls: Vec<CallId>,
        before: u64,
        redoes: Option<(u64, u64)>,
    ) -> Intent {
        let (session, known) = (self.session.to_string(), calls::changing(&self.entries).len());
        Intent { session, calls, before, redoes, known }
    }

    /// The changing calls of these names, in this order.
    pub(super) fn named(&self, ids: &[CallId]) -> Vec<ChangingCall> {
        let all = calls::changing(&self.entries);
        ids.iter().filter_map(|id| all.iter().find(|call| call.id == *id).cloned()).collect()
    }

    /// What an undo did, between the snapshots around it.
    pub(super) fn unit_of_undo(&self, (from, to): (u64, u64)) -> Result<Unit, Error> {
        let changes = self.snapshots.diff(from, to)?;
        Ok(Unit { wanted: changes.into_iter().map(Wanted::from).collect(), ..Unit::default() })
    }

    /// None if the session went on from where it stopped.
    fn finish(&self, intent: &Intent) -> Result<Option<Undone>, Error> {
        if calls::changing(&self.entries).len() != intent.known {
            return Ok(None);
        }
        let (calls, before) = (self.named(&intent.calls), intent.before);
        let now = self.snapshots.take("before the rest of an undo")?.id;
        let mut notices = Vec::new();
        let units: Vec<Unit> = match intent.redoes {
            Some(redoes) => vec![self.unit_of_undo(redoes)?],
            None => calls
                .iter()
                .map(|call| self.unit(call, before, &mut notices))
                .collect::<Result<_, Error>>()?,
        };
        let plan = self.snapshots.plan_again(&units, before, now)?;
        let (outcomes, after) = self.follow(&plan, intent.clone())?;
        let (session, not_undone) = (self.session.clone(), Vec::new());
        Ok(Some(Undone { session, calls, not_undone, outcomes, before, after, notices }))
    }
}
