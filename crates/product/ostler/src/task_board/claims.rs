//! The tasks that the agents of a session have claimed. The process renews them for as long as the session is open, and
//! returns what is unfinished when it is closed. The fences stay here.

use super::{BoardDesk, Patience, return_claim};
use crate::session_events::SessionEvents;
use crate::team::Addresses;
use ostler_board::{BoardError, Refusal, Status, Task, TaskAction, TaskId, TaskQuery};
use ostler_core::event::{Event, Notice};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Of all agents of a session together.
const MOST_CLAIMS: usize = 32;
/// How long a session that closes tries to return a claim. Then the lease ends it.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct BoardClaims {
    pub(super) desk: Arc<BoardDesk>,
    pub(super) lease: Duration,
    addresses: Addresses,
    held: Mutex<HashMap<TaskId, HeldClaim>>,
    /// A process that died may have left claims of this session.
    is_resumed: bool,
    is_serving: AtomicBool,
    is_renewing: AtomicBool,
    is_used: AtomicBool,
    is_closed: AtomicBool,
    events: Arc<SessionEvents>,
    closing: CancellationToken,
    me: Weak<BoardClaims>,
}

#[derive(Clone)]
pub(super) struct HeldClaim {
    pub(super) worker: String,
    pub(super) fence: u64,
}

impl BoardClaims {
    pub(crate) fn new(
        desk: Arc<BoardDesk>,
        lease: Duration,
        (addresses, is_resumed): (Addresses, bool),
        events: Arc<SessionEvents>,
        closing: CancellationToken,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| BoardClaims {
            desk,
            lease,
            addresses,
            held: Mutex::default(),
            is_resumed,
            is_serving: AtomicBool::new(false),
            is_renewing: AtomicBool::new(false),
            is_used: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            events,
            closing,
            me: me.clone(),
        })
    }

    /// Opens the board, so that it is clear from the start which one it is, and goes on with the claims that an earlier
    /// process of this session left. The lock of the session's log says that this process is gone. Needs a runtime.
    pub(crate) fn serve(&self) {
        if self.is_serving.swap(true, Ordering::AcqRel) {
            return;
        }
        let Some(claims) = self.me.upgrade() else { return };
        tokio::spawn(async move {
            let of_team = claims.clone();
            let found = claims.desk.with(move |board| match of_team.is_resumed {
                true => of_team.left_over(board),
                false => Ok(Vec::new()),
            });
            match found.await {
                Ok(found) => found.into_iter().for_each(|(id, claim)| claims.hold(id, claim)),
                Err(why) => claims.warn(why),
            }
        });
    }

    fn left_over(
        &self,
        board: &mut dyn ostler_board::SharedBoard,
    ) -> Result<Vec<(TaskId, HeldClaim)>, BoardError> {
        let statuses = vec![Status::InProgress];
        let running = board.list(&TaskQuery { statuses, ..TaskQuery::default() })?;
        let ours = |task: Task| {
            let worker = task.claimed_by.filter(|name| self.addresses.name(name) != name)?;
            Some((task.id, HeldClaim { worker, fence: task.fence? }))
        };
        Ok(running.tasks.into_iter().filter_map(ours).collect())
    }

    /// From here on the end of the session has something to return.
    pub(super) fn prepare(&self) {
        self.is_used.store(true, Ordering::Release);
    }

    /// Why nothing more can be claimed.
    pub(super) fn full(&self) -> Option<String> {
        if self.is_closed.load(Ordering::Acquire) {
            return Some("the session is closing".to_owned());
        }
        let count = self.held().len();
        (count >= MOST_CLAIMS)
            .then(|| format!("this session has claimed {count} tasks; finish or return one first"))
    }

    pub(super) fn hold(&self, id: TaskId, claim: HeldClaim) {
        self.prepare();
        self.held().insert(id, claim);
        self.renew_all();
    }

    /// The claim of this agent on a task, if it has one.
    pub(super) fn of(&self, task: &Task, worker: &str) -> Option<u64> {
        self.held().get(&task.id).filter(|claim| claim.worker == worker).map(|claim| claim.fence)
    }

    pub(super) fn let_go(&self, id: &TaskId) {
        self.held().remove(id);
    }

    /// For as long as something is claimed.
    fn renew_all(&self) {
        if self.is_renewing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (claims, closing, pause) = (self.me.clone(), self.closing.clone(), self.lease / 3);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                let Some(claims) = claims.upgrade() else { return };
                if claims.is_done() {
                    return;
                }
                claims.renew().await;
            }
        });
    }

    /// Under the lock, so that a claim made now starts the renewals again.
    fn is_done(&self) -> bool {
        let held = self.held();
        if held.is_empty() {
            self.is_renewing.store(false, Ordering::Release);
        }
        held.is_empty()
    }

    async fn renew(&self) {
        let all: Vec<(TaskId, HeldClaim)> =
            self.held().iter().map(|(id, claim)| (id.clone(), claim.clone())).collect();
        for (id, HeldClaim { fence, .. }) in all {
            let (lease, task) = (self.lease, id.clone());
            let renew = TaskAction::Renew { fence, lease };
            let renewed = self.desk.with(move |board| {
                match board.act(task.as_str(), &renew) {
                    // Nothing can be done about it, and nothing more is tried.
                    Err(BoardError::Refused(refusal)) => Ok(Some(over(&refusal))),
                    renewed => renewed.map(|_| None),
                }
            });
            match renewed.await {
                Ok(None) => {}
                Ok(Some(why)) => {
                    self.let_go(&id);
                    self.warn(format!("task {id} is no longer claimed by this session: {why}"));
                }
                Err(why) => self.warn(why),
            }
        }
    }

    /// What is unfinished can be claimed by others at once. A claim that is being made is waited for, because both use the
    /// desk; a later one is refused.
    pub(crate) async fn return_all(&self) {
        let Some(claims) = self.me.upgrade().filter(|claims| claims.is_used()) else { return };
        let desk = self.desk.clone();
        let held = self.desk.with(move |_| {
            claims.is_closed.store(true, Ordering::Release);
            Ok(claims.held().drain().collect::<Vec<_>>())
        });
        let held = match held.await {
            Ok(held) => held,
            Err(why) => return self.warn(why),
        };
        for (id, HeldClaim { worker, fence }) in held {
            let why = format!("the session of {worker} ended");
            let task = id.clone();
            // The session is closing already: only the time ends this.
            let (closing, warn) = (CancellationToken::new(), Box::new(|_: &str| {}));
            let patience = Patience { most: LAST_PATIENCE, closing, warn };
            let returned = desk.insist(patience, move |board| {
                match return_claim(board, (task.as_str(), fence), &why) {
                    // A claim that is over has nothing to return.
                    Err(BoardError::Refused(_)) => Ok(()),
                    returned => returned.map(drop),
                }
            });
            if let Err(why) = returned.await {
                self.warn(format!(
                    "task {id} could not be returned: {why}. Others can claim it when its lease ends"
                ));
            }
        }
    }

    /// Something was claimed, or is about to be.
    fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    fn warn(&self, why: String) {
        let text = format!("task board: {why}");
        self.events.emit(Event::notice(Notice::Board { text }));
    }

    fn held(&self) -> MutexGuard<'_, HashMap<TaskId, HeldClaim>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the fence, which is nobody's business here.
pub(super) fn over(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Stale { why, .. } => (*why).to_owned(),
        other => other.to_string(),
    }
}
