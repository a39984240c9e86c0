//! Undo: back through the changing calls of a session, keeping what a person changed since.

mod calls;
mod interruption;
mod keeping;
mod location;
mod rewind;
mod snapshots;
mod worktrees;

pub use calls::ChangingCall;
pub(crate) use keeping::{keeping, levels, open_snapshots, remember};
pub use rewind::{Rewinding, rewind};
pub use snapshots::{
    SnapshotChange, SnapshotLine, diff_snapshots, list_snapshots, prune_snapshots,
};

use crate::error::Error;
use crate::session::find;
use calls::{Did, FileChange};
use interruption::{Intent, Readiness};
use location::{Location, newest_session};
use ostler_core::ids::{CallId, SessionId};
use ostler_core::ports::{Blobs, StoreError};
use ostler_core::session::Entry;
use ostler_snapshots::{Fate, Hash, Outcome, Plan, Snapshots, State, Unit, Wanted};
use ostler_store::FileStore;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use worktrees::OtherWorktrees;

/// Whose calls are undone.
#[derive(Clone, Debug)]
pub struct UndoChoice {
    pub home: PathBuf,
    pub cwd: PathBuf,
    /// (The beginning of) an id; none: the newest session of the folder.
    pub session: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What an undo did, or would do.
#[derive(Clone, Debug)]
pub struct Undone {
    pub session: SessionId,
    /// Newest first.
    pub calls: Vec<ChangingCall>,
    /// Calls that cannot be undone, and why. They count as not undone.
    pub not_undone: Vec<(ChangingCall, String)>,
    pub outcomes: Vec<Outcome>,
    /// The snapshot of the state before the undo; going back to it is `redo`.
    pub before: u64,
    pub after: u64,
    /// What a reader should know: what cannot be undone, or is uncertain.
    pub notices: Vec<String>,
}

impl Undone {
    /// Everything is as it was before; nothing was kept or lost.
    pub fn is_complete(&self) -> bool {
        let done = |fate: &Fate| matches!(fate, Fate::Restored | Fate::Removed | Fate::Merged);
        self.not_undone.is_empty() && self.outcomes.iter().all(|outcome| done(&outcome.fate))
    }

    /// Both in one.
    fn after(mut self, mut first: Undone) -> Self {
        first.outcomes.retain(|old| self.outcomes.iter().all(|new| new.path != old.path));
        self.calls.append(&mut first.calls);
        self.outcomes.append(&mut first.outcomes);
        self.with(first.notices)
    }

    fn with(mut self, notices: Vec<String>) -> Self {
        self.notices.splice(0..0, notices);
        self
    }
}

/// A session, its store of snapshots, and what was undone of it already.
pub(crate) struct Desk {
    pub(crate) store: FileStore,
    pub(crate) session: SessionId,
    pub(crate) entries: Vec<Entry>,
    snapshots: Snapshots,
    notes: Vec<Note>,
    /// An undo that was killed.
    pending: Option<Intent>,
    others: OtherWorktrees,
    /// The calls that count; none: all of them were made in one directory.
    location: Option<Location>,
}

/// One undo, as it is written down beside the snapshots.
struct Note {
    session: String,
    calls: Vec<CallId>,
    before: u64,
    after: u64,
    /// It was undone itself.
    redo: bool,
}

impl Note {
    fn to_text(&self) -> String {
        let calls: Vec<&str> = self.calls.iter().map(CallId::as_str).collect();
        let Note { session, before, after, redo, .. } = self;
        json!({"session": session, "calls": calls, "before": before, "after": after, "redo": redo})
            .to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let calls = value.get("calls")?.as_array()?.iter();
        Some(Note {
            session: value.get("session")?.as_str()?.to_owned(),
            calls: calls.filter_map(|call| call.as_str().map(CallId::from)).collect(),
            before: value.get("before")?.as_u64()?,
            after: value.get("after")?.as_u64()?,
            redo: value.get("redo")?.as_bool()?,
        })
    }
}

impl Desk {
    pub(crate) fn open(choice: &UndoChoice) -> Result<Self, Error> {
        let store = FileStore::new(&choice.home)?;
        let session = match &choice.session {
            Some(id) => find(&store, id)?,
            None => newest_session(&store, choice)?,
        };
        let entries = store.read(&session)?;
        let workspace = entries.iter().rev().find_map(|entry| match entry {
            Entry::Opened { workspace, .. } => Some(workspace.clone()),
            _ => None,
        });
        let workspace = workspace.ok_or_else(|| StoreError::NotFound(session.clone()))?;
        let snapshots = open_snapshots(&choice.home, &workspace)?;
        if !choice.dry_run {
            snapshots.be_alone()?;
        }
        let location = Location::of(&snapshots, &choice.cwd, &workspace);
        let (notes, pending) = Default::default();
        let others = OtherWorktrees::of(&choice.cwd);
        let mut desk =
            Desk { store, session, entries, snapshots, notes, pending, others, location };
        desk.read_notes()?;
        Ok(desk)
    }

    fn read_notes(&mut self) -> Result<(), Error> {
        let texts = self.snapshots.notes()?;
        self.notes = texts.iter().filter_map(|text| Note::parse(text)).collect();
        self.pending = interruption::pending(&texts);
        Ok(())
    }

    /// Undoes of this session that stand.
    fn standing(&self) -> Vec<&Note> {
        let mut standing: Vec<&Note> = Vec::new();
        for note in self.notes.iter().filter(|note| note.session == self.session.as_str()) {
            match note.redo {
                true => drop(standing.pop()),
                false => standing.push(note),
            }
        }
        standing
    }

    /// Changing calls of this directory that are not undone yet, newest first.
    pub(crate) fn calls(&self) -> Vec<ChangingCall> {
        let undone: HashSet<&CallId> =
            self.standing().into_iter().flat_map(|note| &note.calls).collect();
        let mut calls = calls::changing(&self.entries);
        calls.retain(|call| !undone.contains(&call.id) && self.is_here(call));
        calls.reverse();
        calls
    }

    /// Goes back through these calls, newest first.
    pub(crate) fn undo(&self, calls: Vec<ChangingCall>, dry: bool) -> Result<Undone, Error> {
        let before = self.snapshots.take("before an undo")?.id;
        let (mut notices, mut units) = (Vec::new(), Vec::new());
        let (mut undone, mut not_undone) = (Vec::new(), Vec::new());
        for call in calls {
            match self.unit(&call, before, &mut notices) {
                Ok(unit) => {
                    units.push(unit);
                    undone.push(call);
                }
                Err(error) => {
                    not_undone
                        .push((call, format!("its snapshots are not kept any more ({error})")));
                }
            }
        }
        if undone.iter().any(|call| matches!(call.did, Did::Command { .. })) {
            notices.push(
                "Not undone: what commands did outside the folders, sent over the network, or left running.".into(),
            );
        }
        let session = self.session.clone();
        let ids = undone.iter().map(|call| call.id.clone()).collect();
        let (outcomes, after) = match undone.is_empty() {
            true => (Vec::new(), before),
            false => self.carry_out(&units, self.intent(ids, before, None), dry)?,
        };
        Ok(Undone { session, calls: undone, not_undone, outcomes, before, after, notices })
    }

    fn carry_out(
        &self,
        units: &[Unit],
        intent: Intent,
        dry: bool,
    ) -> Result<(Vec<Outcome>, u64), Error> {
        let plan = self.snapshots.plan(units)?;
        if dry {
            return Ok((plan.outcomes, intent.before));
        }
        if !plan.actions.is_empty() {
            self.snapshots.note(&intent.to_text())?;
        }
        self.follow(&plan, intent)
    }

    /// Does what is planned, and writes down that it was done.
    fn follow(&self, plan: &Plan, intent: Intent) -> Result<(Vec<Outcome>, u64), Error> {
        let Intent { session, calls, before, redoes, .. } = intent;
        let redo = redoes.is_some();
        let reason = if redo { "after a redo" } else { "after an undo" };
        let (outcomes, after) = self.snapshots.follow(plan, before, reason)?;
        self.snapshots.note(&Note { session, calls, before, after, redo }.to_text())?;
        Ok((outcomes, after))
    }

    fn unit(
        &self,
        call: &ChangingCall,
        now: u64,
        notices: &mut Vec<String>,
    ) -> Result<Unit, Error> {
        match &call.did {
            Did::Command { before, after, others } => {
                let end = after.or_else(|| self.next_after(call)).unwrap_or(now);
                let mut own = self.snapshots.diff(*before, end)?;
                own.retain(|change| !others.contains(&change.path));
                let mut doubtful = Vec::new();
                if after.is_none() {
                    notices.push(format!(
                        "\"{}\" did not end in order: what is gone since it began is brought back; what was changed \
                         after its last sign of life counts as yours.",
                        call.what
                    ));
                    let lived = self.snapshots.lived(call.id.as_str(), *before);
                    (own, doubtful) = self.snapshots.part_by_life(own, lived);
                }
                let (elsewhere, own) =
                    own.into_iter().partition(|change| self.others.have(&change.path));
                let wanted = |changes: Vec<_>| changes.into_iter().map(Wanted::from).collect();
                let (wanted, doubtful, elsewhere) =
                    (wanted(own), wanted(doubtful), wanted(elsewhere));
                Ok(Unit { wanted, doubtful, elsewhere })
            }
            Did::Files(files) => {
                let blobs = self.store.blobs();
                let wanted = files
                    .iter()
                    .map(|(path, change)| Ok(self.wanted(path, change, blobs.as_ref())?));
                Ok(Unit { wanted: wanted.collect::<Result<_, Error>>()?, ..Unit::default() })
            }
        }
    }

    /// The state before the next command after one whose end nobody saw.
    fn next_after(&self, call: &ChangingCall) -> Option<u64> {
        let all = calls::changing(&self.entries);
        let at = all.iter().position(|other| other.id == call.id)?;
        all.iter().skip(at + 1).find_map(|other| match other.did {
            Did::Command { before, .. } => Some(before),
            Did::Files(_) => None,
        })
    }

    fn wanted(
        &self,
        path: &Path,
        change: &FileChange,
        blobs: &dyn Blobs,
    ) -> Result<Wanted, StoreError> {
        let now = self.snapshots.known(path).map(|item| item.mode);
        let mode = change.mode.map(|mode| mode & 0o777).or(now).unwrap_or(0o644);
        let before = match &change.before {
            Some(blob) => State::file(blobs.get(blob)?, change.mode.unwrap_or(mode) & 0o7777),
            None => State::Absent,
        };
        let after = match change.after.as_deref().and_then(Hash::from_hex) {
            Some(hash) => State::File { hash, mode, bytes: None },
            None => State::Absent,
        };
        Ok(Wanted { path: path.to_path_buf(), before, after })
    }
}

/// Undoes the last changing calls of a session, newest first. One that was killed is finished instead.
///
/// # Errors
/// If there is nothing to undo, or the snapshots cannot be used.
pub fn undo(choice: &UndoChoice, steps: usize) -> Result<Undone, Error> {
    let Readiness { desk, finished, notices } = interruption::ready(choice)?;
    if let Some(finished) = finished.filter(|finished| !finished.redo) {
        return Ok(finished.undone.with(notices));
    }
    let mut calls = desk.calls();
    calls.truncate(steps);
    if calls.is_empty() {
        return Err(Error::NothingToUndo);
    }
    Ok(desk.undo(calls, choice.dry_run)?.with(notices))
}

/// Undoes the last undo. A redo that was killed is finished instead.
///
/// # Errors
/// If nothing was undone.
pub fn redo(choice: &UndoChoice) -> Result<Undone, Error> {
    let Readiness { desk, finished, notices } = interruption::ready(choice)?;
    if let Some(finished) = finished.filter(|finished| finished.redo) {
        return Ok(finished.undone.with(notices));
    }
    let Some(last) = desk.standing().pop() else { return Err(Error::NothingToRedo) };
    let (redoes, ids) = ((last.before, last.after), last.calls.clone());
    let before = desk.snapshots.take("before a redo")?.id;
    let unit = desk.unit_of_undo(redoes)?;
    let calls = desk.named(&ids);
    let intent = desk.intent(ids, before, Some(redoes));
    let (outcomes, after) = desk.carry_out(&[unit], intent, choice.dry_run)?;
    let (session, not_undone) = (desk.session.clone(), Vec::new());
    Ok(Undone { session, calls, not_undone, outcomes, before, after, notices })
}
