//! Commands between one look at the directories and the next: one alone, or several that the kernel holds to files of
//! their own. A group is over when all of them have ended; then the directories are looked at once more, and each
//! command is told what it changed. Nobody gets a result before that, so that no later call can be mixed up with the
//! group's work.

use super::undo::BEFORE;
use crate::confine::{ExactWrites, Inspection, SeenTraces};
use crate::workspace::Files;
use ostler_core::ids::CallId;
use ostler_core::permission::Access;
use ostler_core::ports::{Recorder, ToolContext};
use ostler_core::session::{Entry, SnapshotCost};
use ostler_core::tool::ToolOutput;
use ostler_snapshots::{Alive, Hash, Moment, Occupied, RecordedChange, Snapshots, Taken, Why};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, watch};
use tokio::task::AbortHandle;

const AFTER: &str = ostler_snapshots::AFTER_COMMAND;

/// Between two signs of life of a running command.
const BEAT: Duration = Duration::from_millis(100);
/// A command that is dropped is killed by another process, which needs a moment for it.
const DYING: Duration = Duration::from_millis(50);

/// What was found after commands that were dropped: told with the next one.
pub(super) type Untold = Arc<Mutex<Vec<String>>>;

/// The look that began when a call arrived.
pub(super) type Early = Option<(Instant, Taken)>;

/// Keeps commands apart where nothing is kept of what they change.
pub(super) enum Turn {
    Alone { _guard: OwnedRwLockWriteGuard<Early> },
    Shared { _guard: OwnedRwLockReadGuard<Early> },
}

/// What holds from the look before a group on.
pub(super) struct Entered {
    occupied: Occupied,
    before: Taken,
    started: Moment,
}

/// Keeps an undo out first: a look from before it would take its changes for the command's.
pub(super) fn enter(
    snapshots: &Snapshots,
    early: Option<Taken>,
    command: &str,
) -> Result<Entered, ostler_snapshots::Error> {
    let occupied = snapshots.occupy()?;
    let before = match early.filter(|taken| snapshots.is_newest(taken.id)) {
        Some(taken) => taken,
        None => snapshots.take_around(BEFORE, command, None)?,
    };
    let started = snapshots.moment();
    Ok(Entered { occupied, before, started })
}

pub(super) struct Group {
    snapshots: Arc<Snapshots>,
    files: Arc<Files>,
    untold: Untold,
    before: Taken,
    started: Moment,
    state: Mutex<GroupState>,
    /// Says when everything is recorded.
    over: watch::Sender<bool>,
}

struct GroupState {
    members: Vec<Member>,
    /// The member that looks at the directories, because it ended last; nobody joins any more.
    closer: Option<usize>,
    /// Until everything is recorded, no other command runs, and nobody undoes anything.
    held: Option<(OwnedRwLockWriteGuard<Early>, Occupied)>,
}

/// One command of a group.
pub(super) struct Member {
    call: CallId,
    recorder: Arc<dyn Recorder>,
    command: String,
    claim: Claim,
    inspection: Option<Inspection>,
    life: Option<Life>,
    has_ended: bool,
    /// Nobody waits for its result.
    is_dropped: bool,
    told: Option<Told>,
}

/// Signs of life, until it ends.
struct Life {
    alive: Arc<Alive>,
    beats: AbortHandle,
}

pub(super) enum Joining {
    Joined(KeptFolders),
    /// The group is over, or the two must not run at the same time.
    Refused(Box<Member>),
}

impl Member {
    pub(super) fn new(
        command: &str,
        inspection: Option<Inspection>,
        exact: Option<&ExactWrites>,
        cx: &ToolContext,
    ) -> Self {
        let paths = |exact: &ExactWrites| exact.paths().map(Path::to_path_buf).collect();
        Member {
            call: cx.call.clone(),
            recorder: Arc::clone(&cx.recorder),
            command: command.to_owned(),
            claim: Claim {
                access: cx.judged.clone(),
                only: exact.map(paths),
                identities: exact.iter().flat_map(|exact| exact.identities()).collect(),
            },
            inspection,
            life: None,
            has_ended: false,
            is_dropped: false,
            told: None,
        }
    }
}

/// What a command would touch, and what the kernel would let it write.
struct Claim {
    access: Access,
    /// The only files that it can write. None: it runs alone.
    only: Option<Vec<PathBuf>>,
    /// Those of them that exist, so that one file under two names is noticed.
    identities: Vec<(u64, u64)>,
}

impl Claim {
    /// The kernel holds both to files of their own, and running them at once gives what one after the other would.
    fn may_run_beside(&self, other: &Claim) -> bool {
        let is_same_file = || self.identities.iter().any(|file| other.identities.contains(file));
        self.only.is_some()
            && other.only.is_some()
            && !self.access.conflicts(&other.access)
            && !is_same_file()
    }
}

impl Group {
    pub(super) fn open(
        snapshots: Arc<Snapshots>,
        files: Arc<Files>,
        untold: Untold,
        entered: Entered,
        turn: OwnedRwLockWriteGuard<Early>,
    ) -> Arc<Self> {
        let Entered { occupied, before, started } = entered;
        let held = Some((turn, occupied));
        let state = Mutex::new(GroupState { members: Vec::new(), closer: None, held });
        let over = watch::Sender::new(false);
        Arc::new(Group { snapshots, files, untold, before, started, state, over })
    }

    /// On record before it runs: after a crash, what it may have changed can be undone.
    pub(super) fn join(self: &Arc<Self>, mut member: Member) -> Result<Joining, String> {
        let mut state = self.state();
        let mut others = state.members.iter().map(|other| &other.claim);
        if state.closer.is_some() || !others.all(|other| other.may_run_beside(&member.claim)) {
            return Ok(Joining::Refused(Box::new(member)));
        }
        let Member { call, command, .. } = &member;
        let alive = self.snapshots.alive(call.as_str(), self.before.id, command, &self.started);
        let alive = Arc::new(alive.map_err(|error| error.to_string())?);
        let cost = if state.members.is_empty() { self.before.clone() } else { free(&self.before) };
        member.record(self.before.id, None, &cost, member.claim.only.clone())?;
        member.life = Some(Life { beats: beat(Arc::clone(&alive)), alive });
        let index = state.members.len();
        state.members.push(member);
        Ok(Joining::Joined(KeptFolders(State::Running(Running { group: Arc::clone(self), index }))))
    }

    fn state(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True: it was the last one, so it has to look at the directories.
    fn leave(&self, index: usize) -> bool {
        let mut state = self.state();
        if let Some(member) = state.members.get_mut(index).filter(|member| !member.has_ended) {
            member.has_ended = true;
            if let Some(life) = &member.life {
                life.beats.abort();
                life.alive.beat();
            }
        }
        if state.closer.is_none() && state.members.iter().all(|member| member.has_ended) {
            state.closer = Some(index);
        }
        state.closer == Some(index)
    }

    fn look(&self) -> Result<Taken, ostler_snapshots::Error> {
        let commands: Vec<String> =
            self.state().members.iter().map(|member| member.command.clone()).collect();
        self.snapshots.take_around(AFTER, &commands.join(" & "), Some(&self.started))
    }

    /// Writes down what each of them did.
    fn settle(&self, after: &Result<Taken, String>) {
        let mut state = self.state();
        if state.held.is_none() {
            return;
        }
        let is_shared = state.members.len() > 1;
        for (place, member) in state.members.iter_mut().enumerate() {
            let told = match after {
                Ok(after) => self.settle_member(member, after, is_shared, place == 0),
                Err(why) => {
                    let notes = member.inspection.take().map(|look| look.run(None).lines);
                    let (failed, notes) = (Some(why.clone()), notes.unwrap_or_default());
                    Told { detail: None, failed, notes }
                }
            };
            match member.is_dropped {
                true => remember(&self.untold, told.notes),
                false => member.told = Some(told),
            }
        }
        state.held = None;
        drop(state);
        self.over.send_replace(true);
    }

    fn settle_member(
        &self,
        member: &mut Member,
        after: &Taken,
        is_shared: bool,
        is_first: bool,
    ) -> Told {
        let before = &self.before;
        // Somebody else's look in between leaves it open whose change it was: then all of it counts.
        let from = after.older.filter(|older| *older == before.id + 1).unwrap_or(before.id);
        // The looks were made once for all of them.
        let cost = match is_first {
            true => Taken {
                took: before.took + after.took,
                bytes_kept: before.bytes_kept + after.bytes_kept,
                ..after.clone()
            },
            false => free(after),
        };
        let only = member.claim.only.clone().filter(|_| is_shared);
        let failed = member.record(from, Some(after.id), &cost, only.clone()).err();
        if let (None, Some(life)) = (&failed, &member.life) {
            life.alive.ended();
        }
        let is_own =
            |change: &RecordedChange| only.as_ref().is_none_or(|only| only.contains(&change.path));
        let mut changes = match after.id > from {
            true => self.snapshots.diff(from, after.id).ok(),
            false => Some(Vec::new()),
        };
        if let Some(changes) = &mut changes {
            changes.retain(is_own);
        }
        if let Some(changes) = changes.as_deref().filter(|changes| !changes.is_empty()) {
            self.files.command_changed(&member.call, &self.snapshots, changes);
        }
        let changed = match (&changes, is_shared) {
            (Some(changes), true) => changes.len(),
            _ => after.changed,
        };
        let detail = json!({
            "before": from, "after": after.id, "changed": changed, "files": after.files,
            "ms": millis(cost.took), "bytes": cost.bytes_kept, "left_out": cost.left_out.len(),
        });
        let inspection = member.inspection.take();
        let notes =
            inspection.map(|inspection| self.inspect(&inspection, changes.as_deref(), after));
        Told { detail: Some(detail), failed, notes: notes.unwrap_or_default() }
    }

    /// Looks at what the command changed. If the snapshots do not say it, a walk does.
    fn inspect(
        &self,
        inspection: &Inspection,
        changes: Option<&[RecordedChange]>,
        after: &Taken,
    ) -> Vec<String> {
        let Some(changes) = changes else { return inspection.run(None).lines };
        let left_out = after.left_out.iter().filter(|(_, why)| *why == Why::Build);
        let left_out: Vec<PathBuf> = left_out.map(|(path, _)| path.clone()).collect();
        let content = |hash: &Hash| self.snapshots.content(hash).ok();
        inspection.run(Some(SeenTraces { changes, left_out: &left_out, content: &content })).lines
    }
}

impl Member {
    fn record(
        &self,
        before: u64,
        after: Option<u64>,
        cost: &Taken,
        only: Option<Vec<PathBuf>>,
    ) -> Result<(), String> {
        let cost =
            SnapshotCost { ms: millis(cost.took), files: cost.files, bytes: cost.bytes_kept };
        let (call, only) = (self.call.clone(), only.unwrap_or_default());
        let entry = Entry::Checkpoint { call, before, after, cost, only };
        self.recorder.record(entry).map_err(|error| error.to_string())
    }
}

/// The same look for another one, who does not pay for it.
fn free(taken: &Taken) -> Taken {
    Taken { took: Duration::ZERO, bytes_kept: 0, ..taken.clone() }
}

/// Until it is aborted.
fn beat(alive: Arc<Alive>) -> AbortHandle {
    let beats = async move {
        loop {
            tokio::time::sleep(BEAT).await;
            alive.beat();
        }
    };
    tokio::spawn(beats).abort_handle()
}

/// A command that runs. However it ends, also when it is dropped, what it changed is kept.
#[derive(Default)]
pub struct KeptFolders(State);

#[derive(Default)]
enum State {
    /// It is proved to change nothing, or has been dealt with.
    #[default]
    Nothing,
    /// No snapshots are taken.
    Unkept(Box<Unkept>),
    Running(Running),
}

/// It is looked at afterwards all the same.
struct Unkept {
    inspection: Option<Inspection>,
    untold: Untold,
    _turn: Turn,
}

struct Running {
    group: Arc<Group>,
    index: usize,
}

/// A command that has ended.
#[derive(Default)]
pub struct Told {
    detail: Option<Value>,
    failed: Option<String>,
    /// What the look afterwards found, for the model and the person.
    pub notes: Vec<String>,
}

impl KeptFolders {
    pub(super) fn unkept(inspection: Option<Inspection>, untold: Untold, turn: Turn) -> Self {
        KeptFolders(State::Unkept(Box::new(Unkept { inspection, untold, _turn: turn })))
    }

    /// The command has ended: what it changed is what differs once the last of its group has ended, too.
    pub async fn end(self) -> Told {
        match self.0 {
            State::Nothing => Told::default(),
            State::Unkept(mut unkept) => {
                let notes = unkept.inspection.take().map(|look| look.run(None).lines);
                Told { notes: notes.unwrap_or_default(), ..Told::default() }
            }
            State::Running(running) => running.end().await,
        }
    }
}

impl Running {
    async fn end(self) -> Told {
        let group = Arc::clone(&self.group);
        if group.leave(self.index) {
            let store = Arc::clone(&group);
            let after = blocking(move || store.look()).await;
            group.settle(&after);
        } else {
            // It cannot fail: the group is there.
            let _ = group.over.subscribe().wait_for(|over| *over).await;
        }
        let mut state = group.state();
        state.members.get_mut(self.index).and_then(|member| member.told.take()).unwrap_or_default()
    }
}

/// Whoever interrupts the call continues working in the directories: the state is kept before that.
impl Drop for Running {
    fn drop(&mut self) {
        let is_last = self.group.leave(self.index);
        {
            let mut state = self.group.state();
            let is_over = state.held.is_none();
            let Some(member) = state.members.get_mut(self.index) else { return };
            if is_over {
                let untold = member.told.take().map(|told| told.notes).unwrap_or_default();
                return remember(&self.group.untold, untold);
            }
            member.is_dropped = true;
        }
        if is_last {
            std::thread::sleep(DYING);
            // If it fails, the signs of life tell what was the command's.
            let after = self.group.look().map_err(|error| error.to_string());
            self.group.settle(&after);
        }
    }
}

/// Nobody is there to be told now.
pub(super) fn remember(untold: &Untold, notes: Vec<String>) {
    untold.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
}

impl Drop for Unkept {
    fn drop(&mut self) {
        let Some(inspection) = self.inspection.take() else { return };
        std::thread::sleep(DYING);
        remember(&self.untold, inspection.run(None).lines);
    }
}

impl Told {
    /// The command changed something, as far as snapshots tell.
    pub fn has_changes(&self) -> bool {
        let changed = self.detail.as_ref().and_then(|detail| detail["changed"].as_u64());
        changed.is_some_and(|changed| changed > 0)
    }

    /// The cost goes to whoever reads the events; the model learns only what went wrong.
    pub fn told(self, mut output: ToolOutput) -> ToolOutput {
        if let (Some(undo), Some(Value::Object(detail))) = (self.detail, &mut output.detail) {
            detail.insert("undo".into(), undo);
        }
        if let Some(why) = self.failed {
            let text = format!("[No snapshot could be taken after this command: {why}]");
            output.content.push(ostler_core::message::ResultPart::text(text));
        }
        output
    }
}

/// The snapshots touch the disk and may wait for others.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ostler_snapshots::Error> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
