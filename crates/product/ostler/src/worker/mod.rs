//! Workers: they claim tasks from the board and work on each in a worktree of its own, with a session that nobody
//! attends. The model decides nothing about the protocol: claims, renewals, commits and reports are made here.
//!
//! - **What a worker may do comes from its own machine**: mode, rules, budget and sandbox are those of the options. The
//!   text of a task is quoted data.
//! - **Work is never lost**: whatever the end of an attempt is, what it changed is committed on its branch.
//! - **The fence decides**: an attempt whose lease has ended reports nothing. Its branch stays.

mod assignment;
mod board_desk;
mod events;
pub(crate) mod merge_task;
mod task_run;
mod task_session;
mod task_tree;

pub use events::{TaskRef, WorkBranch, WorkerEvent};
pub use merge_task::{FailedMerge, resolves_a_merge, return_branch};

use crate::error::Error;
use crate::host::Host;
use crate::session_options::SessionOptions;
use crate::tree_commands::TreeRunner;
use board_desk::BoardDesk;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use ostler_board::{BoardError, Claimed, SharedBoard, Task};
use ostler_core::ledger::Purse;
use ostler_worktrees::{PruneOptions, Worktrees};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use task_run::{TaskEnd, Workshop};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The first wait after something outside has failed.
const WAIT: Duration = Duration::from_secs(1);
/// Failures in a row, none of them the fault of a task, after which the workers stop.
const MOST_SETBACKS: u32 = 6;

/// Ends workers in order: what can be interrupted is, and goes back to the board.
#[derive(Clone, Debug, Default)]
pub struct WorkerStop(CancellationToken);

impl WorkerStop {
    pub fn stop(&self) {
        self.0.cancel();
    }
}

#[derive(Clone)]
pub struct WorkerOptions {
    /// With a number behind it if there are several.
    pub name: String,
    pub count: usize,
    /// How long a claim lasts without a sign of life. It is renewed three times as often.
    pub lease: Duration,
    /// End when there is nothing to claim.
    pub once: bool,
    /// Decides whether a task is done: a shell command, run in a clean checkout of the commit.
    pub check: Option<String>,
    /// The remote to which the branch of each task is pushed, and from which its base is fetched.
    pub push: Option<String>,
    /// What each session is opened with; its `cwd` is a directory of the checkout.
    pub session: SessionOptions,
}

/// Why workers ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerEnd {
    /// Nothing is left to claim.
    NothingLeft,
    /// There was nothing to claim from the beginning.
    NothingToClaim,
    Stopped,
    /// Something outside keeps failing.
    GaveUp {
        reason: String,
    },
    /// The board does not accept a claim of this worker.
    Refused {
        reason: String,
    },
    OutOfMoney {
        reason: String,
    },
}

/// Claims and works until `stop`, or with `once` until nothing is left. The two handles are of one board.
///
/// # Errors
/// If the worktrees cannot be looked at.
pub async fn run_workers(
    host: &Host,
    trees: Worktrees,
    [board, heartbeat]: [Box<dyn SharedBoard>; 2],
    options: WorkerOptions,
    stop: WorkerStop,
    tell: Arc<dyn Fn(&WorkerEvent) + Send + Sync>,
) -> Result<WorkerEnd, Error> {
    if let Some(remote) = &options.push {
        trees.check_remote(remote).await?;
    }
    for warning in trees.preflight().await? {
        tell(&WorkerEvent::Notice { text: warning.to_string() });
    }
    let runner = TreeRunner::new(host, &trees, &options.session);
    let pruned = trees.prune(PruneOptions::default(), Some(&runner)).await?;
    for warning in &pruned.warnings {
        tell(&WorkerEvent::Notice { text: warning.to_string() });
    }
    for name in pruned.removed {
        tell(&WorkerEvent::Notice {
            text: format!("removed worktree {name}, which had nothing new"),
        });
    }
    let workshop = Workshop {
        host: host.clone(),
        trees,
        desk: BoardDesk::new(board, heartbeat),
        purse: Purse::new(options.session.max_budget_usd),
        wait: host.options().retry_wait.unwrap_or(WAIT),
        is_paused: AtomicBool::new(false),
        options,
        stop: stop.0,
        tell,
    };
    let rings = workshop.desk.rings()?;
    Ok(Pool::new(&workshop).run(rings).await)
}

/// None: there is nothing to claim.
type FoundTask = Result<Option<(Claimed, Task)>, BoardError>;

/// The workers of one process. One claims for all of them.
struct Pool<'a> {
    shop: &'a Workshop,
    /// Workers without a task.
    free: Vec<String>,
    has_claimed: bool,
    is_waiting: bool,
    setbacks: u32,
    /// Nothing is claimed before this.
    not_before: Option<Instant>,
    end: Option<WorkerEnd>,
}

impl<'a> Pool<'a> {
    fn new(shop: &'a Workshop) -> Self {
        let WorkerOptions { name, count, .. } = &shop.options;
        let free = match count {
            0 | 1 => vec![name.clone()],
            count => (1..=*count).rev().map(|number| format!("{name}-{number}")).collect(),
        };
        Pool {
            shop,
            free,
            has_claimed: false,
            is_waiting: false,
            setbacks: 0,
            not_before: None,
            end: None,
        }
    }

    async fn run(mut self, mut rings: watch::Receiver<u64>) -> WorkerEnd {
        let mut running = FuturesUnordered::new();
        // A board that takes its time must not keep the others from renewing their leases.
        let mut claiming = FuturesUnordered::new();
        let mut is_empty = false;
        loop {
            if claiming.is_empty() && !is_empty && self.may_claim() {
                rings.borrow_and_update();
                claiming.extend(self.free.pop().map(|worker| self.claim(worker)));
            }
            if self.shop.stop.is_cancelled() {
                self.end.get_or_insert(WorkerEnd::Stopped);
            }
            if running.is_empty() && claiming.is_empty() {
                if let Some(end) = self.end {
                    return end;
                }
                if is_empty && self.shop.options.once {
                    return match self.has_claimed {
                        true => WorkerEnd::NothingLeft,
                        false => WorkerEnd::NothingToClaim,
                    };
                }
                self.say_waiting(is_empty);
            }
            let pause = self.not_before;
            tokio::select! {
                Some((worker, found)) = claiming.next() => match found {
                    Ok(Some((claimed, task))) => {
                        (self.has_claimed, self.is_waiting) = (true, false);
                        running.push(self.work(worker, claimed, task));
                    }
                    Ok(None) => {
                        self.free.push(worker);
                        is_empty = true;
                    }
                    Err(error) => {
                        self.free.push(worker);
                        self.not_claimed(&error);
                    }
                },
                Some((worker, end)) = running.next() => {
                    self.settle(worker, end);
                    is_empty = false;
                }
                () = self.shop.stop.cancelled(), if self.end.is_none() => {}
                Ok(()) = rings.changed(), if is_empty => is_empty = false,
                () = tokio::time::sleep_until(pause.unwrap_or_else(Instant::now)), if pause.is_some() => {
                    self.not_before = None;
                }
            }
        }
    }

    fn may_claim(&self) -> bool {
        let is_ending = self.end.is_some() || self.shop.stop.is_cancelled();
        let is_paused = self.not_before.is_some() || self.shop.is_paused.load(Ordering::Relaxed);
        !is_ending && !is_paused && !self.free.is_empty()
    }

    fn claim(&self, worker: String) -> impl Future<Output = (String, FoundTask)> + use<'a> {
        let shop = self.shop;
        async move {
            let found = shop.desk.claim(&worker, shop.options.lease).await;
            (worker, found)
        }
    }

    fn work(
        &self,
        worker: String,
        claimed: Claimed,
        task: Task,
    ) -> impl Future<Output = (String, TaskEnd)> + use<'a> {
        let shop = self.shop;
        async move {
            let run = AssertUnwindSafe(shop.run(worker.clone(), claimed, task));
            // Nobody renews the lease any more, so the task returns by itself.
            let end = run.catch_unwind().await;
            (worker, end.unwrap_or_else(|_| TaskEnd::Setback("internal error".into())))
        }
    }

    fn settle(&mut self, worker: String, end: TaskEnd) {
        self.free.push(worker);
        match end {
            TaskEnd::Settled => self.setbacks = 0,
            TaskEnd::Setback(reason) => self.set_back(reason),
            TaskEnd::OutOfMoney(reason) => {
                self.end.get_or_insert(WorkerEnd::OutOfMoney { reason });
            }
        }
        self.shop.is_paused.store(false, Ordering::Relaxed);
    }

    fn not_claimed(&mut self, error: &BoardError) {
        let reason = error.to_string();
        match error {
            // The next try would meet the same.
            BoardError::Refused(_) | BoardError::TooNew { .. } => {
                self.end.get_or_insert(WorkerEnd::Refused { reason });
            }
            BoardError::File { .. } | BoardError::Server { .. } => self.set_back(reason),
        }
    }

    fn set_back(&mut self, reason: String) {
        self.setbacks += 1;
        if self.setbacks >= MOST_SETBACKS {
            self.end.get_or_insert(WorkerEnd::GaveUp { reason });
            return;
        }
        let wait = self.shop.wait.saturating_mul(1 << (self.setbacks - 1));
        self.not_before = Some(Instant::now() + wait);
        (self.shop.tell)(&WorkerEvent::Setback { reason, wait });
    }

    fn say_waiting(&mut self, is_empty: bool) {
        if is_empty && !self.is_waiting {
            self.is_waiting = true;
            (self.shop.tell)(&WorkerEvent::Waiting);
        }
    }
}
