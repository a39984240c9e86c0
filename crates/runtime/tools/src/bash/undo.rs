//! The folders are kept before a command may change them, and after it, so that what it did can be undone.
//!
//! The look at the folders begins when the call arrives, while the model may still talk. It is used if the command
//! starts shortly after; what is changed in between by somebody else is told from the command's work by its time.

use crate::confine::{Inspection, SeenTraces};
use crate::workspace::Files;
use ostler_core::ids::CallId;
use ostler_core::permission::script::Word;
use ostler_core::permission::{Access, Concern, PathScope, Step};
use ostler_core::ports::{Recorder, ToolContext};
use ostler_core::session::{Entry, SnapshotCost};
use ostler_core::tool::ToolOutput;
use ostler_snapshots::{Alive, Hash, Moment, Occupied, RecordedChange, Snapshots, Taken, Why};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::task::AbortHandle;

const BEFORE: &str = "before a command";
const AFTER: &str = ostler_snapshots::AFTER_COMMAND;

/// A look at the folders that is older is not used.
const FRESH: Duration = Duration::from_secs(3);

/// Between two signs of life of a running command.
const BEAT: Duration = Duration::from_millis(100);
/// A command that is dropped is killed by another process, which needs a moment for it.
const DYING: Duration = Duration::from_millis(50);

/// Whether and where the folders are kept.
#[derive(Clone, Default)]
pub enum Keeping {
    /// Nobody wants to undo.
    #[default]
    Off,
    By {
        snapshots: Arc<Snapshots>,
    },
    /// Calls are judged with these, and nothing runs.
    OnlyJudges(Arc<Snapshots>),
    /// It is wanted and cannot be done: commands that may change something do not run.
    Impossible(String),
}

impl Keeping {
    /// Those that are taken, if any are.
    pub fn snapshots(&self) -> Option<Arc<Snapshots>> {
        match self {
            Keeping::By { snapshots, .. } => Some(Arc::clone(snapshots)),
            Keeping::Off | Keeping::OnlyJudges(_) | Keeping::Impossible(_) => None,
        }
    }
}

pub struct Undo {
    keeping: Keeping,
    files: Arc<Files>,
    /// Held from the look before a command to the look after it: their changes are not mixed.
    turn: Arc<Turn<Early>>,
    looking: Arc<AtomicBool>,
    untold: Untold,
}

/// What was found after commands that were dropped: told with the next one.
type Untold = Arc<Mutex<Vec<String>>>;

/// The look that began when a call arrived.
type Early = Option<(Instant, Taken)>;

/// A command that runs. However it ends, also when it is dropped, what it changed is kept.
#[derive(Default)]
pub struct KeptFolders(KeepState);

#[derive(Default)]
enum KeepState {
    /// It is proved to change nothing, or has been dealt with.
    #[default]
    Nothing,
    /// No snapshots are taken.
    Unkept(Box<Unkept>),
    Running(Box<KeptRun>),
}

/// It is looked at afterwards all the same.
struct Unkept {
    inspection: Option<Inspection>,
    untold: Untold,
}

struct KeptRun {
    inspection: Option<Inspection>,
    untold: Untold,
    call: CallId,
    recorder: Arc<dyn Recorder>,
    alive: Arc<Alive>,
    beats: AbortHandle,
    is_over: bool,
    snapshots: Arc<Snapshots>,
    files: Arc<Files>,
    _turn: OwnedMutexGuard<Early>,
    /// Nobody undoes anything meanwhile.
    _occupied: Occupied,
    command: String,
    before: Taken,
    started: Moment,
}

/// A command that has ended.
#[derive(Default)]
pub struct KeepNotices {
    detail: Option<Value>,
    failed: Option<String>,
    /// What the look afterwards found, for the model and the person.
    pub notes: Vec<String>,
}

impl Undo {
    pub fn new(keeping: Keeping, files: Arc<Files>) -> Self {
        let (turn, looking, untold) = Default::default();
        Undo { keeping, files, turn, looking, untold }
    }

    /// No snapshots say what a command changes.
    pub fn is_off(&self) -> bool {
        !matches!(self.keeping, Keeping::By { .. })
    }

    /// Nanoseconds since 1970, by the clock that stamps the files; 0 where nobody keeps anything.
    pub fn now(&self) -> u64 {
        match &self.keeping {
            Keeping::By { snapshots } => snapshots.time(),
            Keeping::Off | Keeping::OnlyJudges(_) | Keeping::Impossible(_) => 0,
        }
    }

    /// What was found after commands that nobody waited for.
    pub fn untold(&self) -> Vec<String> {
        std::mem::take(&mut *self.untold.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why what its commands are known to change could not be taken back.
    pub fn not_kept(&self, access: &Access) -> Option<Cow<'static, str>> {
        let snapshots = match &self.keeping {
            Keeping::By { snapshots, .. } | Keeping::OnlyJudges(snapshots) => snapshots,
            Keeping::Off => return Some("undo is off".into()),
            Keeping::Impossible(why) => return Some(format!("undo is not possible: {why}").into()),
        };
        let mut steps = access.runs.iter().flat_map(|runs| &runs.steps);
        if steps.clone().any(|step| changes_refs(step) && !self.keeps_repository(step)) {
            return Some("undo does not keep the repository, which is not in the workspace".into());
        }
        if access.writes.is_empty() || !steps.any(Step::needs_backing) {
            return None;
        }
        let Some(left_out) = left_out(snapshots) else {
            return Some("undo could not look at the directory".into());
        };
        let below =
            |path: &PathBuf| access.writes.iter().any(|scope| scope.path().starts_with(path));
        let path = left_out.into_iter().find(below)?;
        Some(format!("undo does not keep {}", path.display()).into())
    }

    /// The repository that git finds lies in the folders that are kept.
    fn keeps_repository(&self, step: &Step) -> bool {
        let Some(place) = &step.place else { return false };
        for folder in place.ancestors() {
            match std::fs::symlink_metadata(folder.join(".git")) {
                Ok(found) => return found.is_dir() && self.files.workspace().contains(folder),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Something that its commands would remove and that is too large to be kept.
    pub fn unkept(&self, access: &Access) -> Option<PathBuf> {
        let (Keeping::By { snapshots } | Keeping::OnlyJudges(snapshots)) = &self.keeping else {
            return None;
        };
        if access.is_harmless() {
            return None;
        }
        let cleans = access.runs.iter().flat_map(|runs| &runs.steps).any(is_clean);
        let removes = |path: &PathBuf| {
            let covers = |scope: &PathScope| match scope {
                PathScope::Tree(tree) => path.starts_with(tree),
                PathScope::File(_) => false,
            };
            cleans || access.writes.iter().any(covers)
        };
        let whole = |scope: &PathScope| matches!(scope, PathScope::Tree(_));
        if !cleans && !access.writes.iter().any(whole) {
            return None;
        }
        left_out(snapshots)?.into_iter().find(removes)
    }

    /// A call has arrived that may come to run.
    pub fn expect(&self, access: &Access, command: &str) {
        let Keeping::By { snapshots } = &self.keeping else { return };
        if access.is_harmless() || self.looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let (snapshots, looking) = (Arc::clone(snapshots), Arc::clone(&self.looking));
        let command = command.to_owned();
        // While a command runs there is nothing to be seen that would be of use.
        let Ok(mut early) = Arc::clone(&self.turn).try_lock_owned() else {
            looking.store(false, Ordering::SeqCst);
            return;
        };
        let look = move || {
            let at = Instant::now();
            *early = snapshots.take_around(BEFORE, &command, None).ok().map(|taken| (at, taken));
            looking.store(false, Ordering::SeqCst);
        };
        // Without a thread the look is made when the command starts.
        if std::thread::Builder::new().name("look".into()).spawn(look).is_err() {
            self.looking.store(false, Ordering::SeqCst);
        }
    }

    /// Keeps the folders, unless the command is proved to change nothing.
    pub async fn begin(
        &self,
        command: &str,
        only_reads: bool,
        inspection: Option<Inspection>,
        cx: &ToolContext,
    ) -> Result<KeptFolders, ToolOutput> {
        if only_reads && cx.judged.is_harmless() {
            return Ok(KeptFolders::default());
        }
        let untold = Arc::clone(&self.untold);
        let snapshots = match &self.keeping {
            Keeping::Off => {
                return Ok(KeptFolders(KeepState::Unkept(Box::new(Unkept { inspection, untold }))));
            }
            Keeping::By { snapshots } => Arc::clone(snapshots),
            Keeping::OnlyJudges(_) => return Err(refused("calls are only judged here")),
            Keeping::Impossible(why) => return Err(refused(why)),
        };
        let mut turn = Arc::clone(&self.turn).lock_owned().await;
        let early = turn.take().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, taken)| taken);
        let (store, call, command) = (Arc::clone(&snapshots), cx.call.clone(), command.to_owned());
        let entered = blocking(move || enter(&store, early, &call, command)).await;
        let Entered { _occupied, command, before, started, alive } =
            entered.map_err(|why| refused(&why))?;
        let alive = Arc::new(alive);
        let (call, recorder) = (cx.call.clone(), Arc::clone(&cx.recorder));
        record(&*recorder, &call, before.id, None, &before).map_err(|why| refused(&why))?;
        let (files, beats) = (Arc::clone(&self.files), beat(Arc::clone(&alive)));
        let (is_over, _turn) = (false, turn);
        Ok(KeptFolders(KeepState::Running(Box::new(KeptRun {
            inspection,
            untold,
            call,
            recorder,
            alive,
            beats,
            is_over,
            snapshots,
            files,
            _turn,
            _occupied,
            command,
            before,
            started,
        }))))
    }
}

/// What holds from the look before a command on.
struct Entered {
    _occupied: Occupied,
    command: String,
    before: Taken,
    started: Moment,
    alive: Alive,
}

/// Keeps an undo out first: a look from before it would take its changes for the command's.
fn enter(
    snapshots: &Snapshots,
    early: Option<Taken>,
    call: &CallId,
    command: String,
) -> Result<Entered, ostler_snapshots::Error> {
    let _occupied = snapshots.occupy()?;
    let before = match early.filter(|taken| snapshots.is_newest(taken.id)) {
        Some(taken) => taken,
        None => snapshots.take_around(BEFORE, &command, None)?,
    };
    let started = snapshots.moment();
    let alive = snapshots.alive(call.as_str(), before.id, &command, &started)?;
    Ok(Entered { _occupied, command, before, started, alive })
}

/// `git clean` that removes ignored files, build folders among them.
fn is_clean(step: &Step) -> bool {
    let word = |at: usize| step.words.get(at).and_then(Word::literal);
    let ignored = |text: &str| text.starts_with('-') && text.contains(['x', 'X']);
    word(0) == Some("git")
        && step.words.iter().any(|word| word.literal() == Some("clean"))
        && step.words.iter().filter_map(Word::literal).any(ignored)
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

impl KeptFolders {
    /// The command has ended: what it changed is what differs now.
    pub async fn end(self) -> KeepNotices {
        let mut running = match self.0 {
            KeepState::Nothing => return KeepNotices::default(),
            KeepState::Unkept(mut unkept) => {
                let notes = unkept.inspection.take().map(|look| look.run(None));
                return KeepNotices { notes: notes.unwrap_or_default(), ..KeepNotices::default() };
            }
            KeepState::Running(running) => running,
        };
        running.beats.abort();
        running.alive.beat();
        let (store, since) = (Arc::clone(&running.snapshots), running.started.clone());
        let command = running.command.clone();
        let after = blocking(move || store.take_around(AFTER, &command, Some(&since))).await;
        running.is_over = true;
        match after {
            Ok(after) => running.settle(&after),
            Err(why) => {
                let notes = running.inspection.take().map(|look| look.run(None));
                KeepNotices { detail: None, failed: Some(why), notes: notes.unwrap_or_default() }
            }
        }
    }
}

impl KeptRun {
    fn settle(&mut self, after: &Taken) -> KeepNotices {
        let inspection = self.inspection.take();
        let KeptRun { before, call, .. } = self;
        // Somebody else's look in between leaves it open whose change it was: then all of it counts.
        let from = after.older.filter(|older| *older == before.id + 1).unwrap_or(before.id);
        let cost = Taken {
            took: before.took + after.took,
            bytes_kept: before.bytes_kept + after.bytes_kept,
            ..after.clone()
        };
        let failed = record(&*self.recorder, call, from, Some(after.id), &cost).err();
        if failed.is_none() {
            self.alive.ended();
        }
        let changes = match after.id > from {
            true => self.snapshots.diff(from, after.id).ok(),
            false => Some(Vec::new()),
        };
        if let Some(changes) = changes.as_deref().filter(|changes| !changes.is_empty()) {
            self.files.command_changed(call, &self.snapshots, changes);
        }
        let detail = json!({
            "before": from, "after": after.id, "changed": after.changed, "files": after.files,
            "ms": millis(cost.took), "bytes": cost.bytes_kept, "left_out": cost.left_out.len(),
        });
        let notes =
            inspection.map(|inspection| self.inspect(&inspection, changes.as_deref(), after));
        KeepNotices { detail: Some(detail), failed, notes: notes.unwrap_or_default() }
    }

    /// Looks at what the command changed. If the snapshots do not say it, a walk does.
    fn inspect(
        &self,
        inspection: &Inspection,
        changes: Option<&[RecordedChange]>,
        after: &Taken,
    ) -> Vec<String> {
        let Some(changes) = changes else { return inspection.run(None) };
        let left_out = after.left_out.iter().filter(|(_, why)| *why == Why::Build);
        let left_out: Vec<PathBuf> = left_out.map(|(path, _)| path.clone()).collect();
        let content = |hash: &Hash| self.snapshots.content(hash).ok();
        inspection.run(Some(SeenTraces { changes, left_out: &left_out, content: &content }))
    }
}

/// Nobody is there to be told now.
fn remember(untold: &Untold, notes: Vec<String>) {
    untold.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
}

impl Drop for Unkept {
    fn drop(&mut self) {
        let Some(inspection) = self.inspection.take() else { return };
        std::thread::sleep(DYING);
        remember(&self.untold, inspection.run(None));
    }
}

/// Whoever interrupts the call goes on working in the folders: the state is kept before that.
impl Drop for KeptRun {
    fn drop(&mut self) {
        self.beats.abort();
        if self.is_over {
            return;
        }
        std::thread::sleep(DYING);
        self.alive.beat();
        // If it fails, the signs of life tell what was the command's.
        let notes = match self.snapshots.take_around(AFTER, &self.command, Some(&self.started)) {
            Ok(after) => self.settle(&after).notes,
            Err(_) => self.inspection.take().map(|look| look.run(None)).unwrap_or_default(),
        };
        remember(&self.untold, notes);
    }
}

impl KeepNotices {
    /// The cost goes to whoever reads the events; the model learns only what went wrong.
    pub fn told(self, mut output: ToolOutput) -> ToolOutput {
        if let (Some(undo), Some(Value::Object(detail))) = (self.detail, &mut output.detail) {
            detail.insert("undo".into(), undo);
        }
        if let Some(why) = self.failed {
            let text = format!("[The state after this command could not be kept: {why}]");
            output.content.push(ostler_core::message::ResultPart::text(text));
        }
        output
    }
}

/// The snapshots touch the disk and may wait for others.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ostler_snapshots::Error> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn record(
    recorder: &dyn Recorder,
    call: &CallId,
    before: u64,
    after: Option<u64>,
    cost: &Taken,
) -> Result<(), String> {
    let cost = SnapshotCost { ms: millis(cost.took), files: cost.files, bytes: cost.bytes_kept };
    let entry = Entry::Checkpoint { call: call.clone(), before, after, cost };
    recorder.record(entry).map_err(|error| error.to_string())
}

/// It runs git, and a rule on git would cover what it changes in the repository.
fn changes_refs(step: &Step) -> bool {
    step.compared().first().and_then(Word::literal) == Some("git")
        && step.cautions.iter().any(|caution| caution.concern == Concern::Writes)
}

/// What is too large to be kept, which is known after a first look. None: the look failed.
fn left_out(snapshots: &Snapshots) -> Option<Vec<PathBuf>> {
    if snapshots.is_new() {
        snapshots.take("before a command").ok()?;
    }
    Some(snapshots.left_out())
}

fn refused(why: &str) -> ToolOutput {
    ToolOutput::error(format!(
        "Not run: the state before the command could not be kept, so it could not be undone: {why}. Tell the user: \
         make room or fix what is named, or start with --no-undo to run commands that cannot be undone."
    ))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
