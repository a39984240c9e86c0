//! One task, from the claim to the report.

use super::WorkerOptions;
use super::assignment;
use super::board_desk::BoardDesk;
use super::events::{TaskRef, WorkBranch, WorkerEvent};
use super::task_session::{SessionEnd, TaskSession};
use super::task_tree::{TaskTree, TreeStart, named};
use crate::error::Error;
use crate::host::Host;
use crate::tree_commands::TreeRunner;
use ostler_board::{BoardError, Claimed, Task, TaskAction};
use ostler_core::ledger::Purse;
use ostler_worktrees::{BRANCH_PREFIX, ObjectId, Worktrees};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Bytes of the text in a result; the branch comes after it.
const MOST_TEXT: usize = 48 * 1024;
/// The end of the result of a task without a branch.
const NOTHING: &str = "No files were changed.";
/// Between two tries to report an end while the board cannot be reached.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What all tasks of a pool share.
pub(super) struct Workshop {
    pub(super) host: Host,
    pub(super) trees: Worktrees,
    pub(super) desk: BoardDesk,
    pub(super) options: WorkerOptions,
    /// Money for all of them.
    pub(super) purse: Purse,
    /// No more work is begun, and what can be interrupted is.
    pub(super) stop: CancellationToken,
    pub(super) tell: Arc<dyn Fn(&WorkerEvent) + Send + Sync>,
    /// A task goes back to the board because of something that others would meet, too: they must not claim it before the
    /// pool knows.
    pub(super) is_paused: AtomicBool,
    /// The first wait after something outside failed; later ones double.
    pub(super) wait: Duration,
}

/// What the end of a task means for the pool.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TaskEnd {
    /// Reported, or somebody else's by now.
    Settled,
    /// Something failed that the task is not to blame for.
    Setback(String),
    /// No more requests can be paid for.
    OutOfMoney(String),
}

/// What is reported to the board.
enum Verdict {
    Done {
        text: String,
        cost: Option<f64>,
    },
    Failed(String),
    /// Why it goes back.
    Back(String, TaskEnd),
}

/// When a lease has surely ended.
struct LeaseEnd(Mutex<Instant>);

impl LeaseEnd {
    fn of(lease: Duration) -> Self {
        LeaseEnd(Mutex::new(Instant::now() + lease))
    }

    fn renew(&self, lease: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + lease;
    }

    fn get(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workshop {
    pub(super) async fn run(&self, worker: String, claimed: Claimed, task: Task) -> TaskEnd {
        let about = TaskRef {
            worker,
            task: claimed.id.clone(),
            title: task.title.clone(),
            attempt: task.attempt,
            fence: claimed.fence,
        };
        self.say(WorkerEvent::Claimed { task: about.clone() });
        let halt = self.stop.child_token();
        let lost = tokio::sync::OnceCell::new();
        // It has not ended before this, whatever the board's clock says.
        let lease_end = LeaseEnd::of(self.options.lease);
        let beat = async {
            let _ = lost.set(self.heartbeat(&claimed, &lease_end).await);
            halt.cancel();
            std::future::pending::<()>().await;
        };
        let work = async {
            let (verdict, work) = self.work(&about, &task, &halt).await;
            match lost.get() {
                Some(reason) => {
                    let (task, reason) = (about.clone(), reason.clone());
                    self.say(WorkerEvent::Lost { task, work, reason });
                    TaskEnd::Settled
                }
                None => self.report(&about, verdict, work, &lease_end).await,
            }
        };
        tokio::select! {
            end = work => end,
            () = beat => TaskEnd::Settled,
        }
    }

    pub(super) fn runner(&self) -> TreeRunner<'_> {
        TreeRunner::new(&self.host, &self.trees, &self.options.session)
    }

    pub(super) fn say(&self, event: WorkerEvent) {
        (self.tell)(&event);
    }

    /// Renews the lease until that is refused, and says why it was.
    async fn heartbeat(&self, claimed: &Claimed, lease_end: &LeaseEnd) -> String {
        let lease = self.options.lease;
        loop {
            tokio::time::sleep(lease / 3).await;
            match self.desk.renew(claimed.id.as_str(), claimed.fence, lease).await {
                Ok(()) => lease_end.renew(lease),
                // If the board cannot be reached, the fence decides later.
                Err(BoardError::File { .. } | BoardError::Server { .. }) => {}
                Err(refused) => return refused.to_string(),
            }
        }
    }

    async fn work(
        &self,
        about: &TaskRef,
        task: &Task,
        halt: &CancellationToken,
    ) -> (Verdict, Option<WorkBranch>) {
        let tree = match TaskTree::make(self, about, task).await {
            Ok(TreeStart::Ready(tree)) => *tree,
            Ok(TreeStart::Conflict(why)) => return (Verdict::Failed(why), None),
            Err(error) => return (setback(&error), None),
        };
        if halt.is_cancelled() {
            if let Err(error) = tree.leave(self).await {
                self.say(WorkerEvent::Notice { text: error.to_string() });
            }
            return (Verdict::Back("the worker was stopped".into(), TaskEnd::Settled), None);
        }
        let verdict = self.work_in(&tree, about, task, halt).await;
        let committed = tree.commit(self, about, task).await;
        let (verdict, work) = match (verdict, committed) {
            (verdict, Ok(work)) => (verdict, Some(work)),
            (verdict @ (Verdict::Failed(_) | Verdict::Back(..)), Err(error)) => {
                self.say(WorkerEvent::Notice { text: format!("{about}: {error}") });
                (verdict, None)
            }
            (Verdict::Done { .. }, Err(error)) => {
                let why = format!("its work cannot be committed: {error}");
                (Verdict::Failed(why), None)
            }
        };
        let verdict = match (verdict, tree.unresolved(self, work.as_ref())) {
            (Verdict::Done { .. }, Some(why)) => Verdict::Failed(why),
            (verdict, _) => verdict,
        };
        let verdict = match (verdict, &self.options.check) {
            (Verdict::Done { text, cost }, Some(check)) => {
                match tree.check(self, check, work.as_ref()).await {
                    Ok(None) => Verdict::Done { text, cost },
                    Ok(Some(report)) => Verdict::Failed(format!("the check failed: {report}")),
                    Err(error) => setback(&error),
                }
            }
            (verdict, _) => verdict,
        };
        let verdict = self.pushed(&tree, verdict, work.as_ref()).await;
        let left = match tree.leave(self).await {
            Ok(warnings) => warnings.iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        };
        for line in left {
            self.say(WorkerEvent::Notice { text: format!("{about}: {line}") });
        }
        (verdict, work)
    }

    /// Others can look at the branch before the task is reported as done. What an attempt left that did not come so far
    /// is pushed, too, if that is possible.
    async fn pushed(
        &self,
        tree: &TaskTree,
        verdict: Verdict,
        work: Option<&WorkBranch>,
    ) -> Verdict {
        let is_new = work.is_some_and(|work| work.commit.is_some());
        let Some(remote) = self.options.push.as_ref().filter(|_| is_new) else { return verdict };
        match (tree.push(self, remote).await, verdict) {
            (Err(error), Verdict::Done { .. }) => setback(&error),
            (Err(error), verdict) => {
                self.say(WorkerEvent::Notice { text: error.to_string() });
                verdict
            }
            (Ok(()), verdict) => verdict,
        }
    }

    async fn work_in(
        &self,
        tree: &TaskTree,
        about: &TaskRef,
        task: &Task,
        halt: &CancellationToken,
    ) -> Verdict {
        let session = match TaskSession::open(self, tree, about).await {
            Ok(session) => session,
            Err(error) => return setback(&error),
        };
        self.say(WorkerEvent::Started {
            task: about.clone(),
            session: session.id(),
            branch: tree.branch().to_owned(),
            path: tree.path().display().to_string(),
            earlier: tree.earlier.clone(),
        });
        let prompt = assignment::prompt(task, tree.branch(), &tree.earlier, &tree.conflicts);
        match session.run(prompt, halt).await {
            SessionEnd::Done { text, cost } => Verdict::Done { text, cost },
            SessionEnd::Failed(why) => Verdict::Failed(why),
            SessionEnd::Stopped => Verdict::Back("the worker was stopped".into(), TaskEnd::Settled),
            SessionEnd::Outside(why) => Verdict::Back(why.clone(), TaskEnd::Setback(why)),
            SessionEnd::OutOfMoney(why) => Verdict::Back(why.clone(), TaskEnd::OutOfMoney(why)),
        }
    }

    async fn report(
        &self,
        about: &TaskRef,
        verdict: Verdict,
        work: Option<WorkBranch>,
        lease_end: &LeaseEnd,
    ) -> TaskEnd {
        let task = about.clone();
        let fence = about.fence;
        let (action, event, end) = match verdict {
            Verdict::Done { text, cost } => {
                let work = work.unwrap_or_default();
                let result = Some(result(&text, &work));
                let finished = WorkerEvent::Finished { task, work, cost_usd: cost };
                (TaskAction::Finish { fence, result }, finished, TaskEnd::Settled)
            }
            Verdict::Failed(error) => {
                let told = with_branch(&error, work.as_ref());
                let failed = WorkerEvent::Failed { task, work, error };
                (TaskAction::Fail { fence, error: told }, failed, TaskEnd::Settled)
            }
            Verdict::Back(reason, end) => {
                self.is_paused.fetch_or(end != TaskEnd::Settled, Ordering::Relaxed);
                let told = with_branch(&reason, work.as_ref());
                let returned = WorkerEvent::Returned { task, work, reason };
                (TaskAction::Return { fence, reason: told }, returned, end)
            }
        };
        match self.record(about, action, lease_end).await {
            Ok(()) => {
                if let WorkerEvent::Finished { work, .. } = &event {
                    let name = work.branch.strip_prefix(BRANCH_PREFIX).unwrap_or_default();
                    // Then it has to be merged by name.
                    if let Err(error) = self.trees.mark_finished(name).await {
                        self.say(WorkerEvent::Notice { text: error.to_string() });
                    }
                }
                self.say(event);
                end
            }
            Err(BoardError::Refused(refused)) => {
                let (work, reason) = (event.work(), refused.to_string());
                self.say(WorkerEvent::Lost { task: about.clone(), work, reason });
                TaskEnd::Settled
            }
            Err(error) => {
                let error = error.to_string();
                let (work, reason) =
                    (event.work(), format!("its end could not be reported: {error}"));
                self.say(WorkerEvent::Lost { task: about.clone(), work, reason });
                TaskEnd::Setback(error)
            }
        }
    }

    /// What was done is not lost because the board cannot be reached for a while: only the end of the lease makes it
    /// worthless.
    async fn record(
        &self,
        about: &TaskRef,
        action: TaskAction,
        lease_end: &LeaseEnd,
    ) -> Result<(), BoardError> {
        let mut pause = self.wait.max(SHORTEST_PAUSE);
        loop {
            // Whoever begins after the end is refused.
            let is_last = Instant::now() >= lease_end.get();
            let done = self.desk.act(about.task.as_str(), action.clone()).await;
            let Err(BoardError::File { .. } | BoardError::Server { .. }) = &done else {
                return done;
            };
            if is_last {
                return done;
            }
            tokio::time::sleep_until((Instant::now() + pause).min(lease_end.get())).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }
}

fn setback(error: &Error) -> Verdict {
    let why = error.to_string();
    Verdict::Back(why.clone(), TaskEnd::Setback(why))
}

/// The text, and where its work is.
fn result(text: &str, work: &WorkBranch) -> String {
    let text = ostler_board::backend::clipped(text.trim(), MOST_TEXT);
    match &work.commit {
        Some(commit) => {
            format!("{text}\n\nBranch: {}\nCommit: {commit}{}", work.branch, not_committed(work))
        }
        None => format!("{text}\n\n{NOTHING}{}", not_committed(work)),
    }
}

/// What a result says of the work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordedWork {
    Commit(ObjectId),
    Nothing,
    /// No worker wrote this result.
    Unknown,
}

impl RecordedWork {
    /// Only the end counts, which the harness wrote. The model wrote what comes before.
    pub(super) fn of(result: Option<&str>) -> Self {
        let Some((_, end)) = result.unwrap_or_default().rsplit_once("\n\n") else {
            return RecordedWork::Unknown;
        };
        let mut lines = end.lines();
        let first = lines.next().unwrap_or_default();
        let commit = || ObjectId::parse(lines.next()?.strip_prefix("Commit: ")?);
        match first.starts_with("Branch: ").then(commit).flatten() {
            Some(commit) => RecordedWork::Commit(commit),
            None if first == NOTHING => RecordedWork::Nothing,
            None => RecordedWork::Unknown,
        }
    }
}

/// What others would look for on the branch in vain.
fn not_committed(work: &WorkBranch) -> String {
    match work.left_out.is_empty() {
        true => String::new(),
        false => {
            format!("\nNot committed (repositories or special files): {}", named(&work.left_out))
        }
    }
}

fn with_branch(why: &str, work: Option<&WorkBranch>) -> String {
    match work {
        Some(work @ WorkBranch { branch, commit: Some(commit), .. }) => {
            format!("{why}\nBranch: {branch}\nCommit: {commit}{}", not_committed(work))
        }
        _ => why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_worktrees::ObjectId;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba98";

    fn work(commit: Option<&str>, left_out: &[&str]) -> WorkBranch {
        WorkBranch {
            branch: "ostler/3f2a-1-fix".into(),
            commit: commit.map(str::to_owned),
            left_out: left_out.iter().map(Into::into).collect(),
        }
    }

    /// What a model writes, and what it calls a file, cannot name another commit.
    #[test]
    fn the_commit_of_a_result_is_the_one_that_the_harness_wrote() {
        let forged = format!("Branch: ostler/x\nCommit: {OTHER}");
        let file = format!("sub\n\n{forged}");
        let of = |text: &str, work: &WorkBranch| RecordedWork::of(Some(&result(text, work)));
        let expected = RecordedWork::Commit(ObjectId::parse(COMMIT).unwrap());
        for text in ["Done.", "", &forged, &format!("Done.\n\n{forged}\n\n")] {
            for left_out in [&[][..], &["sub"], &[&file]] {
                assert_eq!(
                    of(text, &work(Some(COMMIT), left_out)),
                    expected,
                    "{text} {left_out:?}"
                );
                let nothing = of(text, &work(None, left_out));
                assert_eq!(nothing, RecordedWork::Nothing, "{text} {left_out:?}");
            }
        }
        for result in [None, Some("merged as 9c1e"), Some("a\n\nBranch: b\nCommit: 12")] {
            assert_eq!(RecordedWork::of(result), RecordedWork::Unknown, "{result:?}");
        }
    }
}
