//! Undo: back through the changing calls of a session, keeping what a person changed since.

mod agents;
mod attribution;
mod calls;
mod interruption;
mod keep;
mod keeping;
mod line_counts;
mod location;
mod made_folders;
mod memories;
mod news;
mod note;
mod redo;
mod rewind;
mod snapshots;
mod turns;
mod undo_steps;
mod worktrees;

pub use calls::ChangingCall;
pub(crate) use keeping::{is_denied, keeping, levels, open_snapshots, remember, remember_denied};
pub use line_counts::LineCounts;
pub(crate) use news::UndoNews;
use redo::WriteGoesOn;
pub use redo::redo;
pub(crate) use redo::redo_open;
pub(crate) use rewind::rewind_open;
pub use rewind::{Rewinding, rewind};
pub use snapshots::{
    SnapshotChange, SnapshotLine, diff_snapshots, list_snapshots, prune_snapshots,
};
pub use turns::{TurnLine, turns};
pub use undo_steps::{UndoStep, UndoSteps, undo_steps};

use crate::error::Error;
use crate::log_choice::find;
use crate::system::now_ns;
use agents::AgentLog;
use attribution::Attribution;
use calls::{Did, FileChange};
use interruption::{Intent, Readiness, ready};
use keep::KeepPaths;
use location::{Location, newest_session};
use note::Note;
use ostler_core::ids::SessionId;
use ostler_core::ports::{Blobs, StoreError};
use ostler_core::session::Entry;
use ostler_snapshots::{
    Alone, Fate, Hash, PathState, PlanOutcome, RestorePlan, Snapshots, UndoUnit, WantedState,
};
use ostler_store::FileStore;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use worktrees::OtherWorktrees;

/// Whose calls are undone.
#[derive(Clone, Debug)]
pub struct UndoChoice {
    pub home: PathBuf,
    pub cwd: PathBuf,
    /// (The beginning of) an id; none: the newest session of the directory.
    pub session: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Paths that stay as they are, with everything below; `*`, `?` and `**` stand for any names.
    pub keep: Vec<String>,
    /// Notes that the memory made of what is undone are withdrawn.
    pub memory: bool,
}

/// Gets what would be done before anything is done; if it returns false, nothing is done.
pub type Review<'a> = &'a mut dyn FnMut(&Undone) -> bool;

/// What an undo did, or would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    pub session: SessionId,
    /// Newest first.
    pub calls: Vec<ChangingCall>,
    /// Calls that cannot be undone, and why. They count as not undone.
    pub not_undone: Vec<(ChangingCall, String)>,
    pub outcomes: Vec<PlanOutcome>,
    pub lines: LineCounts,
    /// The snapshot of the state before the undo; going back to it is `redo`.
    pub before: u64,
    pub after: u64,
    /// What a reader should know: what cannot be undone, or is uncertain.
    pub notices: Vec<String>,
    /// It was done. False for what would be done.
    pub done: bool,
    /// The conversation that a rewind had taken back continues again.
    pub conversation: bool,
}

impl Undone {
    /// Everything is as it was before; nothing was kept or lost.
    pub fn is_complete(&self) -> bool {
        let done = |fate: &Fate| {
            matches!(fate, Fate::Restored | Fate::Removed | Fate::Merged | Fate::Stays(_))
        };
        self.not_undone.is_empty() && self.outcomes.iter().all(|outcome| done(&outcome.fate))
    }

    /// Both in one.
    fn after(mut self, mut first: Undone) -> Self {
        first.outcomes.retain(|old| self.outcomes.iter().all(|new| new.path != old.path));
        self.calls.append(&mut first.calls);
        self.outcomes.append(&mut first.outcomes);
        self.lines = self.lines + first.lines;
        self.with(first.notices)
    }

    fn with(mut self, notices: Vec<String>) -> Self {
        self.notices.splice(0..0, notices);
        self
    }

    /// Files are changed by it.
    pub fn changes_files(&self) -> bool {
        self.changed().next().is_some()
    }

    /// It takes back what a command did: a person's changes meanwhile cannot be distinguished from that.
    pub fn is_of_commands(&self) -> bool {
        self.calls.iter().any(ChangingCall::is_command)
    }

    /// How many calls of the session itself they are: those of agents belong to the call that started them.
    pub fn steps(&self) -> usize {
        self.calls.iter().map(ChangingCall::top).collect::<HashSet<_>>().len()
    }

    /// The files that it changes.
    pub fn changed(&self) -> impl Iterator<Item = &Path> {
        let is_changed = |fate: &Fate| {
            matches!(fate, Fate::Restored | Fate::Removed | Fate::Merged | Fate::Beside(_))
        };
        let changed = self.outcomes.iter().filter(move |outcome| is_changed(&outcome.fate));
        changed.map(|outcome| outcome.path.as_path())
    }
}

/// A session, its store of snapshots, and what was undone of it already.
pub(crate) struct Desk {
    pub(crate) store: FileStore,
    pub(crate) session: SessionId,
    pub(crate) entries: Vec<Entry>,
    /// Of the agents that it started.
    agents: Vec<AgentLog>,
    workspace: PathBuf,
    snapshots: Snapshots,
    notes: Vec<Note>,
    /// Those of all sessions.
    all_notes: Vec<Note>,
    /// An undo that was killed.
    pending: Option<Intent>,
    others: OtherWorktrees,
    /// The calls that count; none: all of them were made in one directory.
    location: Option<Location>,
    /// Commands do not run meanwhile; none where it is only looked at.
    _alone: Option<Alone>,
}

impl Desk {
    /// To change something: refused while a command runs.
    pub(crate) fn open(choice: &UndoChoice) -> Result<Self, Error> {
        Desk::new(choice, true)
    }

    /// Only to look.
    pub(crate) fn look(choice: &UndoChoice) -> Result<Self, Error> {
        Desk::new(choice, false)
    }

    fn new(choice: &UndoChoice, alone: bool) -> Result<Self, Error> {
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
        // Before anything that would wait for the command's own look at the directories.
        let _alone = match alone {
            true => Some(keeping::open(&choice.home, &workspace, Vec::new())?.alone()?),
            false => None,
        };
        let snapshots = open_snapshots(&choice.home, &workspace)?.of_session(session.as_str());
        if alone {
            snapshots.be_alone()?;
        }
        let location = Location::of(&snapshots, &choice.cwd, &workspace);
        let others = OtherWorktrees::of(&choice.cwd);
        let (notes, all_notes, pending) = Default::default();
        let agents = agents::read(&store, &session, &entries);
        let mut desk = Desk {
            store,
            session,
            entries,
            agents,
            workspace,
            snapshots,
            notes,
            all_notes,
            pending,
            others,
            location,
            _alone,
        };
        desk.read_notes()?;
        Ok(desk)
    }

    fn read_notes(&mut self) -> Result<(), Error> {
        let texts = self.snapshots.notes()?;
        self.all_notes = texts.iter().filter_map(|text| Note::parse(text)).collect();
        let own = |note: &&Note| note.session == self.session.as_str();
        self.notes = self.all_notes.iter().filter(own).cloned().collect();
        self.pending = interruption::pending(&texts);
        Ok(())
    }

    /// Those of calls of this directory.
    fn standing_here(&self) -> Vec<&Note> {
        let is_here = |note: &&Note| {
            let calls = self.named(&note.calls);
            calls.is_empty() || calls.iter().any(|call| self.is_here(call))
        };
        note::standing(self.notes.iter().filter(is_here))
    }

    /// Changing calls of this directory that are not undone yet, newest first.
    pub(crate) fn calls(&self) -> Vec<ChangingCall> {
        let (undone, mut calls) = (self.undone(), self.changing());
        calls.retain(|call| !undone.contains(&call.key()) && self.is_here(call));
        self.skip_unchanging(&mut calls);
        calls.reverse();
        calls
    }

    /// Goes back through these calls, newest first. `rewound` is the turn to which the conversation goes back, too.
    pub(crate) fn undo(
        &self,
        choice: &UndoChoice,
        calls: Vec<ChangingCall>,
        rewound: Option<u32>,
        review: Review<'_>,
    ) -> Result<Undone, Error> {
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
                    not_undone.push((call, format!("its snapshots no longer exist ({error})")));
                }
            }
        }
        if undone.iter().any(ChangingCall::is_command) {
            notices.push(self.not_covered());
        }
        let note = Note { rewound, before, ..self.note_of(&undone, false) };
        let mut planned = self.nothing_yet(undone, before);
        (planned.not_undone, planned.notices) = (not_undone, notices);
        if planned.calls.is_empty() {
            planned.done = !choice.dry_run;
            return Ok(planned);
        }
        self.carry_out(choice, units, planned, self.intent(choice, note, None), None, review)
    }

    /// What no undo of a command takes back.
    fn not_covered(&self) -> String {
        const NAMED: usize = 5;
        let folders = self.snapshots.not_followed();
        let mut names: Vec<String> =
            folders.iter().take(NAMED).map(|folder| self.name(folder)).collect();
        if folders.len() > NAMED {
            names.push(format!("{} more", folders.len() - NAMED));
        }
        let inside = match names.is_empty() {
            true => String::new(),
            false => {
                format!(" in build directories that snapshots do not cover ({}),", names.join(", "))
            }
        };
        format!(
            "Not undone: what commands changed outside the directories,{inside} sent over the network, or left running."
        )
    }

    /// Calls of which nothing is done.
    fn nothing_yet(&self, calls: Vec<ChangingCall>, before: u64) -> Undone {
        Undone {
            session: self.session.clone(),
            calls,
            not_undone: Vec::new(),
            outcomes: Vec::new(),
            lines: LineCounts::default(),
            before,
            after: before,
            notices: Vec::new(),
            done: false,
            conversation: false,
        }
    }

    fn note_of(&self, calls: &[ChangingCall], redo: bool) -> Note {
        Note {
            id: now_ns(),
            session: self.session.to_string(),
            calls: calls.iter().map(ChangingCall::key).collect(),
            redo,
            names: calls.iter().map(ChangingCall::name).collect(),
            ..Note::default()
        }
    }

    /// Plans, asks, writes down what is about to be done, restores, and writes down that it was.
    fn carry_out(
        &self,
        choice: &UndoChoice,
        mut units: Vec<UndoUnit>,
        mut undone: Undone,
        intent: Intent,
        log: Option<&WriteGoesOn<'_>>,
        review: Review<'_>,
    ) -> Result<Undone, Error> {
        KeepPaths::new(&choice.cwd, &choice.keep).spare(&mut units)?;
        let plan = self.snapshots.plan(&units)?;
        undone.outcomes.clone_from(&plan.outcomes);
        undone.lines = LineCounts::of(&self.snapshots, &plan);
        if choice.dry_run || !review(&undone) {
            return Ok(undone);
        }
        if !plan.actions.is_empty() || log.is_some() {
            self.snapshots.note(&intent.to_text())?;
        }
        self.follow(choice, &plan, undone, intent.note, log)
    }

    /// Does what is planned, and writes down that it was done. With a log the conversation continues as before a
    /// rewind.
    fn follow(
        &self,
        choice: &UndoChoice,
        plan: &RestorePlan,
        mut undone: Undone,
        mut note: Note,
        log: Option<&WriteGoesOn<'_>>,
    ) -> Result<Undone, Error> {
        let reason = if note.redo { "after a redo" } else { "after an undo" };
        let followed = self.snapshots.follow(plan, note.before, reason);
        (undone.outcomes, undone.after) = followed.map_err(|error| {
            Error::Snapshots(format!("{error}; some of it may be done: run it again to finish it"))
        })?;
        if let Some(go_on) = log {
            go_on()?;
            undone.conversation = true;
        }
        note.after = undone.after;
        note.files = undone.changed().map(|path| self.name(path)).collect();
        self.write_down(choice, &note, &mut undone.notices)?;
        undone.done = true;
        Ok(undone)
    }

    /// Memory first: a note about what is undone must not survive if the process dies here.
    fn write_down(
        &self,
        choice: &UndoChoice,
        note: &Note,
        notices: &mut Vec<String>,
    ) -> Result<(), Error> {
        if choice.memory
            && let Err(error) = self.tell_memory(choice, note)
        {
            notices.push(format!("memory may still contain notes about what was undone: {error}"));
        }
        Ok(self.snapshots.note(&note.to_text())?)
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace).unwrap_or(path).display().to_string()
    }

    fn unit(
        &self,
        call: &ChangingCall,
        now: u64,
        notices: &mut Vec<String>,
    ) -> Result<UndoUnit, Error> {
        let blobs = self.store.blobs();
        match &call.did {
            Did::Command { began, before, after, only, others } => {
                let end = after.or_else(|| self.next_after(call)).unwrap_or(now);
                let parts = self.snapshots.parts(*before, end)?;
                let since = parts.first().map_or(0, |part| part.since);
                let session = call.agent.as_ref().map_or(&self.session, |agent| &agent.session);
                let mut found = Attribution::of(parts, session.as_str());
                if !only.is_empty() {
                    found.restrict_to(only);
                }
                let mut doubtful = Vec::new();
                if after.is_none() {
                    notices.push(format!(
                        "\"{}\" was killed: files that disappeared since it started are restored; what changed after its last sign of life counts as yours.",
                        call.what
                    ));
                    let lived = self.snapshots.lived(call.id.as_str(), *began);
                    let (own, rest) = self.snapshots.part_by_life(found.changes(), lived);
                    let own: HashSet<&Path> =
                        own.iter().map(|change| change.path.as_path()).collect();
                    found.retain(|path| own.contains(path));
                    doubtful = rest;
                    doubtful.retain(|change| !others.contains(&change.path));
                }
                // An edit is written down before it is done: those shortly before the first look may count.
                let since = since.saturating_sub(attribution::SLACK).saturating_mul(1_000_000);
                let edits = self.snapshots.edits_since(since);
                let (wanted, stays) = found.settled(&edits, others, blobs.as_ref());
                let (elsewhere, wanted) =
                    wanted.into_iter().partition(|wanted| self.others.have(&wanted.path));
                let doubtful = doubtful.into_iter().map(WantedState::from).collect();
                Ok(UndoUnit { wanted, doubtful, elsewhere, stays })
            }
            Did::Files(files) => {
                let wanted = files
                    .iter()
                    .map(|(path, change)| Ok(self.wanted(path, change, blobs.as_ref())?));
                let mut wanted = wanted.collect::<Result<Vec<_>, Error>>()?;
                wanted.extend(self.folders_made(files));
                Ok(UndoUnit { wanted, ..UndoUnit::default() })
            }
        }
    }

    /// The state before the next command after one whose end nobody saw.
    fn next_after(&self, call: &ChangingCall) -> Option<u64> {
        let all = calls::changing(self.entries_of(call));
        let at = all.iter().position(|other| other.id == call.id)?;
        all.iter().skip(at + 1).find_map(|other| match &other.did {
            // One that ran beside it began with the same state.
            Did::Command { began, before, only, .. }
                if only.is_empty() || !call.began_at(*began) =>
            {
                Some(*before)
            }
            Did::Command { .. } | Did::Files(_) => None,
        })
    }

    fn wanted(
        &self,
        path: &Path,
        change: &FileChange,
        blobs: &dyn Blobs,
    ) -> Result<WantedState, StoreError> {
        let now = self.snapshots.known(path).map(|item| item.mode);
        let mode = change.mode.map(|mode| mode & 0o777).or(now).unwrap_or(0o644);
        let before = match &change.before {
            Some(blob) => PathState::file(blobs.get(blob)?, change.mode.unwrap_or(mode) & 0o7777),
            None => PathState::Absent,
        };
        let after = match change.after.as_deref().and_then(Hash::from_hex) {
            Some(hash) => PathState::File { hash, mode, bytes: None },
            None => PathState::Absent,
        };
        Ok(WantedState { path: path.to_path_buf(), before, after })
    }
}

/// Undoes the last changing calls of a session, newest first. One that was killed is finished instead.
///
/// # Errors
/// If there is nothing to undo, a command runs, or the snapshots cannot be used.
pub fn undo(choice: &UndoChoice, steps: usize, review: Review<'_>) -> Result<Undone, Error> {
    let Readiness { desk, finished, notices } = ready(choice, None)?;
    if let Some(finished) = finished.filter(|finished| !finished.note.redo) {
        return Ok(finished.undone.with(notices));
    }
    let calls = calls::newest(desk.calls(), steps);
    if calls.is_empty() {
        return Err(desk.nothing_to_undo(choice));
    }
    Ok(desk.undo(choice, calls, None, review)?.with(notices))
}
