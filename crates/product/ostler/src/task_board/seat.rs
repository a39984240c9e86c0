//! What one agent can do with the board, in its own name.

use super::claims::{BoardClaims, HeldClaim, over};
use super::quotation::{listing, whole};
use super::return_claim;
use crate::system::new_uuid;
use ostler_board::{
    BoardError, NewTask, Priority, SharedBoard, Status, Task, TaskAction, TaskId, TaskQuery,
};
use ostler_core::ports::{BoardChange, BoardLook, BoardOrder, BoxFuture, TaskBoard};
use ostler_core::tool::ToolOutput;
use std::sync::Arc;

/// Tasks in a list.
const LISTED: usize = 50;

pub(crate) struct BoardSeat {
    claims: Arc<BoardClaims>,
    /// Who claims.
    worker: String,
}

/// What the model reads; an error is something it should know, too.
type Told = Result<String, String>;

impl BoardSeat {
    pub(crate) fn new(claims: Arc<BoardClaims>, worker: String) -> Arc<Self> {
        Arc::new(BoardSeat { claims, worker })
    }

    fn with(
        &self,
        act: impl FnOnce(&mut dyn SharedBoard, &BoardClaims, &str) -> Result<Told, BoardError>
        + Send
        + 'static,
    ) -> BoxFuture<'static, ToolOutput> {
        let (claims, worker) = (self.claims.clone(), self.worker.clone());
        Box::pin(async move {
            let desk = claims.desk.clone();
            let done = desk.with(move |board| match act(board, &claims, &worker) {
                Err(BoardError::Refused(refusal)) => Ok(Err(over(&refusal))),
                done => done,
            });
            match done.await {
                Ok(Ok(text)) => ToolOutput::text(text),
                Ok(Err(why)) => ToolOutput::error(format!("{}.", why.trim_end_matches('.'))),
                Err(why) => ToolOutput::error(format!("The task board cannot be used: {why}.")),
            }
        })
    }
}

impl TaskBoard for BoardSeat {
    fn add(&self, order: BoardOrder) -> BoxFuture<'static, ToolOutput> {
        self.with(move |board, _, _| {
            let BoardOrder { title, description, priority, depends_on, touches } = order;
            let named = |it: &Priority| priority.as_deref() == Some(it.name());
            let id = TaskId::from_uuid(&new_uuid());
            let task = NewTask {
                description,
                priority: Priority::ALL.into_iter().find(named).unwrap_or_default(),
                depends_on,
                touches,
                ..NewTask::new(id.clone(), title)
            };
            board.add(&[task])?;
            Ok(Ok(format!("Task {id} is on the board.")))
        })
    }

    fn look(&self, look: BoardLook) -> BoxFuture<'static, ToolOutput> {
        self.with(move |board, _, _| {
            let status = match look {
                BoardLook::Task { id } => return Ok(Ok(whole(&board.show(&id)?))),
                BoardLook::List { status } => status,
            };
            let named = |it: &Status| status.as_deref().is_none_or(|name| name == it.name());
            let statuses = Status::ALL.into_iter().filter(named).collect();
            Ok(Ok(listing(&board.list(&TaskQuery { statuses, limit: LISTED })?)))
        })
    }

    fn claim(&self, id: Option<String>) -> BoxFuture<'static, ToolOutput> {
        self.claims.prepare();
        self.with(move |board, claims, worker| {
            if let Some(why) = claims.full() {
                return Ok(Err(format!("Nothing was claimed: {why}")));
            }
            let Some(claimed) = board.claim(id.as_deref(), worker, claims.lease)? else {
                let why =
                    "no task is pending, or all are blocked or touch files of tasks in progress";
                return Ok(Err(format!("There is nothing to claim now: {why}")));
            };
            let claim = HeldClaim { worker: worker.to_owned(), fence: claimed.fence };
            claims.hold(claimed.id.clone(), claim);
            Ok(Ok(whole(&board.show(claimed.id.as_str())?)))
        })
    }

    fn update(&self, id: String, change: BoardChange) -> BoxFuture<'static, ToolOutput> {
        self.with(move |board, claims, worker| {
            let task = board.show(&id)?;
            let id = task.id.clone();
            let fence = claims.of(&task, worker);
            let changed = match (change, fence) {
                (BoardChange::Done { result }, Some(fence)) => {
                    board.act(id.as_str(), &TaskAction::Finish { fence, result })
                }
                (BoardChange::Failed { error }, Some(fence)) => {
                    board.act(id.as_str(), &TaskAction::Fail { fence, error })
                }
                (BoardChange::Done { .. } | BoardChange::Failed { .. }, None) => {
                    return Ok(Err(not_yours(&task)));
                }
                (BoardChange::Returned { why }, Some(fence)) => {
                    let why = why.unwrap_or_else(|| format!("{worker} did not finish it"));
                    return_claim(board, (id.as_str(), fence), &why)
                }
                (BoardChange::Returned { .. }, None) if task.status == Status::InProgress => {
                    return Ok(Err(not_yours(&task)));
                }
                (BoardChange::Returned { .. }, None) => board.act(id.as_str(), &TaskAction::Retry),
                (BoardChange::Cancelled { reason }, _) => {
                    board.act(id.as_str(), &TaskAction::Cancel { reason })
                }
            };
            // Refused or not, the claim is over. Other errors leave it as it is.
            if matches!(changed, Ok(_) | Err(BoardError::Refused(_))) && fence.is_some() {
                claims.let_go(&id);
            }
            Ok(Ok(format!("Task {id} is now {}.", changed?.status.name())))
        })
    }
}

fn not_yours(task: &Task) -> String {
    let Task { id, status, claimed_by, .. } = task;
    let by = claimed_by.as_ref().filter(|_| *status == Status::InProgress);
    let by = by.map(|name| format!(" by {name}")).unwrap_or_default();
    format!(
        "You have not claimed task {id}, or lost the claim: it is {}{by}. Claim it with BoardNext first",
        status.name()
    )
}
