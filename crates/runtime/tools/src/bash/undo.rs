//! The directories are kept before a command may change them, and after it, so that what it did can be undone.
//!
//! The look at the directories begins when the call arrives, while the model may still talk. It is used if the command
//! starts shortly after; what is changed in between by somebody else is told from the command's work by its time.

use super::group::{
    Early, Group, Joining, KeptFolders, Member, Turn, Untold, blocking, enter, remember,
};
use crate::confine::{ExactWrites, Inspection};
use crate::workspace::Files;
use ostler_core::permission::script::Word;
use ostler_core::permission::{Access, Concern, PathScope, Step};
use ostler_core::ports::ToolContext;
use ostler_core::tool::ToolOutput;
use ostler_snapshots::Snapshots;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::RwLock;

pub(super) const BEFORE: &str = "before a command";

/// A look at the directories that is older is not used.
const FRESH: Duration = Duration::from_secs(3);

/// Looks that begin before their command, at the same time in the whole process.
const MOST_EARLY_LOOKS: usize = 2;
static EARLY_LOOKS: AtomicUsize = AtomicUsize::new(0);

/// A place among them.
struct EarlyLook;

impl EarlyLook {
    fn begin() -> Option<Self> {
        let one_more = |looks| (looks < MOST_EARLY_LOOKS).then_some(looks + 1);
        EARLY_LOOKS
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more)
            .ok()
            .map(|_| EarlyLook)
    }
}

impl Drop for EarlyLook {
    fn drop(&mut self) {
        EARLY_LOOKS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether and where the directories are kept.
#[derive(Clone, Default)]
pub enum Keeping {
    /// Nobody wants to undo.
    #[default]
    Off,
    /// It is a worktree of the agent's own: all of it can be thrown away, and nothing outside it can be written.
    Disposable,
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
            Keeping::Off
            | Keeping::Disposable
            | Keeping::OnlyJudges(_)
            | Keeping::Impossible(_) => None,
        }
    }
}

pub struct Undo {
    keeping: Keeping,
    files: Arc<Files>,
    /// Held from the look before a command, or a group of them, to the look after it: their changes are not mixed.
    turn: Arc<RwLock<Early>>,
    /// The commands that run now, if others may join them.
    open_group: Mutex<Weak<Group>>,
    door: tokio::sync::Mutex<()>,
    looking: Arc<AtomicBool>,
    untold: Untold,
}

impl Undo {
    pub fn new(keeping: Keeping, files: Arc<Files>) -> Self {
        let (turn, open_group, door, looking, untold) = Default::default();
        Undo { keeping, files, turn, open_group, door, looking, untold }
    }

    /// No snapshots say what a command changes.
    pub fn is_off(&self) -> bool {
        !matches!(self.keeping, Keeping::By { .. })
    }

    /// Nanoseconds since 1970, by the clock that stamps the files; 0 where nobody keeps anything.
    pub fn now(&self) -> u64 {
        match &self.keeping {
            Keeping::By { snapshots } => snapshots.time(),
            Keeping::Off
            | Keeping::Disposable
            | Keeping::OnlyJudges(_)
            | Keeping::Impossible(_) => 0,
        }
    }

    /// What was found after commands that nobody waited for.
    pub fn untold(&self) -> Vec<String> {
        std::mem::take(&mut *self.untold.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Told with the next command.
    pub fn remember(&self, notes: Vec<String>) {
        remember(&self.untold, notes);
    }

    /// Why what its commands are known to change could not be taken back.
    pub fn not_kept(&self, access: &Access) -> Option<Cow<'static, str>> {
        let mut steps = access.runs.iter().flat_map(|runs| &runs.steps);
        let snapshots = match &self.keeping {
            Keeping::By { snapshots, .. } | Keeping::OnlyJudges(snapshots) => snapshots,
            Keeping::Off => return Some("undo is off".into()),
            Keeping::Disposable if steps.any(changes_refs) => {
                return Some("the repository does not belong to the worktree".into());
            }
            Keeping::Disposable => return None,
            Keeping::Impossible(why) => return Some(format!("undo is not possible: {why}").into()),
        };
        if steps.clone().any(|step| changes_refs(step) && !self.keeps_repository(step)) {
            return Some(
                "undo does not cover the repository, which is outside the workspace".into(),
            );
        }
        if access.writes.is_empty() || !steps.any(Step::needs_backing) {
            return None;
        }
        let Some(left_out) = left_out(snapshots) else {
            return Some("undo could not inspect the directory".into());
        };
        let below =
            |path: &PathBuf| access.writes.iter().any(|scope| scope.path().starts_with(path));
        let path = left_out.into_iter().find(below)?;
        Some(format!("undo does not cover {}", path.display()).into())
    }

    /// The repository that git finds lies in the directories that are kept.
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
        let early = Arc::clone(&self.turn).try_write_owned().ok();
        let Some((mut early, place)) = early.zip(EarlyLook::begin()) else {
            looking.store(false, Ordering::SeqCst);
            return;
        };
        let look = move || {
            let _place = place;
            let at = Instant::now();
            *early = snapshots.take_around(BEFORE, &command, None).ok().map(|taken| (at, taken));
            looking.store(false, Ordering::SeqCst);
        };
        // Without a thread the look is made when the command starts.
        if std::thread::Builder::new().name("look".into()).spawn(look).is_err() {
            self.looking.store(false, Ordering::SeqCst);
        }
    }

    /// Keeps the directories, unless the command is proved to change nothing. With `exact` it may run beside others
    /// that the kernel holds to their own files; without, it waits for all of them and runs alone.
    pub async fn begin(
        &self,
        newcomer: Newcomer<'_>,
        exact: Option<&ExactWrites>,
        cx: &ToolContext,
    ) -> Result<KeptFolders, ToolOutput> {
        let Newcomer { command, only_reads, inspection } = newcomer;
        if only_reads && cx.judged.is_harmless() {
            return Ok(KeptFolders::default());
        }
        let snapshots = match &self.keeping {
            Keeping::Off | Keeping::Disposable => {
                return Ok(self.begin_unkept(inspection, exact).await);
            }
            Keeping::By { snapshots } => Arc::clone(snapshots),
            Keeping::OnlyJudges(_) => return Err(refused("calls are only judged here")),
            Keeping::Impossible(why) => return Err(refused(why)),
        };
        let member = Member::new(command, inspection, exact, cx);
        // One after the other: whoever comes second finds the group that the first one has opened.
        let _door = match exact {
            Some(_) => Some(self.door.lock().await),
            None => None,
        };
        let open = self.open_group().upgrade();
        let member = match open.filter(|_| exact.is_some()) {
            Some(group) => match group.join(member).map_err(|why| refused(&why))? {
                Joining::Joined(kept) => return Ok(kept),
                Joining::Refused(member) => *member,
            },
            None => member,
        };
        let mut turn = Arc::clone(&self.turn).write_owned().await;
        let early = turn.take().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, taken)| taken);
        let (store, command) = (Arc::clone(&snapshots), command.to_owned());
        let entered = blocking(move || enter(&store, early, &command)).await;
        let entered = entered.map_err(|why| refused(&why))?;
        let group =
            Group::open(snapshots, Arc::clone(&self.files), self.untold.clone(), entered, turn);
        if exact.is_some() {
            *self.open_group() = Arc::downgrade(&group);
        }
        match group.join(member).map_err(|why| refused(&why))? {
            Joining::Joined(kept) => Ok(kept),
            Joining::Refused(_) => Err(refused("the group of commands is closed")),
        }
    }

    /// Nobody keeps anything, but commands that could touch the same files still run one after the other.
    async fn begin_unkept(
        &self,
        inspection: Option<Inspection>,
        exact: Option<&ExactWrites>,
    ) -> KeptFolders {
        let turn = Arc::clone(&self.turn);
        let turn = match exact {
            Some(_) => Turn::Shared { _guard: turn.read_owned().await },
            None => Turn::Alone { _guard: turn.write_owned().await },
        };
        KeptFolders::unkept(inspection, self.untold.clone(), turn)
    }

    fn open_group(&self) -> MutexGuard<'_, Weak<Group>> {
        self.open_group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that is about to run.
pub struct Newcomer<'a> {
    pub command: &'a str,
    /// It is proved to change nothing.
    pub only_reads: bool,
    /// The look at what it has changed.
    pub inspection: Option<Inspection>,
}

/// `git clean` that removes ignored files, build directories among them.
fn is_clean(step: &Step) -> bool {
    let word = |at: usize| step.words.get(at).and_then(Word::literal);
    let ignored = |text: &str| text.starts_with('-') && text.contains(['x', 'X']);
    word(0) == Some("git")
        && step.words.iter().any(|word| word.literal() == Some("clean"))
        && step.words.iter().filter_map(Word::literal).any(ignored)
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
        "Not run: no snapshot could be taken before the command, so it could not be undone: {why}. Tell the user to free disk space or fix the problem, or to start with --no-undo to run commands that cannot be undone."
    ))
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
