//! The board as workers use it: without blocking the others.

use crate::error::Error;
use ostler_board::{BoardError, Claimed, SharedBoard, Task, TaskAction, TaskId};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A ring that was missed, and a lease that ended without one, are noticed after this time.
const GLANCE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct BoardDesk {
    /// Claims and reports.
    board: Handle,
    /// Renewals do not wait for those.
    heartbeat: Handle,
}

type Handle = Arc<Mutex<Box<dyn SharedBoard>>>;

impl BoardDesk {
    pub(super) fn new(board: Box<dyn SharedBoard>, heartbeat: Box<dyn SharedBoard>) -> Self {
        let handle = |board| Arc::new(Mutex::new(board));
        BoardDesk { board: handle(board), heartbeat: handle(heartbeat) }
    }

    pub(super) async fn claim(
        &self,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<(Claimed, Task)>, BoardError> {
        let worker = worker.to_owned();
        let claim = move |board: &mut dyn SharedBoard| {
            let Some(claimed) = board.claim(None, &worker, lease)? else { return Ok(None) };
            let task = board.show(claimed.id.as_str())?;
            Ok(Some((claimed, task)))
        };
        with(&self.board, claim).await
    }

    /// What is known of these tasks. One that cannot be read any more is left out.
    pub(super) async fn show_all(&self, tasks: &[TaskId]) -> Result<Vec<Task>, BoardError> {
        let tasks = tasks.to_vec();
        let look = move |board: &mut dyn SharedBoard| {
            let mut found = Vec::new();
            for id in tasks {
                match board.show(id.as_str()) {
                    Ok(task) => found.push(task),
                    Err(BoardError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(found)
        };
        with(&self.board, look).await
    }

    pub(super) async fn act(&self, id: &str, action: TaskAction) -> Result<(), BoardError> {
        let id = id.to_owned();
        with(&self.board, move |board| board.act(&id, &action).map(drop)).await
    }

    pub(super) async fn renew(
        &self,
        id: &str,
        fence: u64,
        lease: Duration,
    ) -> Result<(), BoardError> {
        let (id, action) = (id.to_owned(), TaskAction::Renew { fence, lease });
        with(&self.heartbeat, move |board| board.act(&id, &action).map(drop)).await
    }

    /// Changes whenever something on the board may have changed.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(super) fn rings(&self) -> Result<watch::Receiver<u64>, Error> {
        self.rings_or_after(GLANCE)
    }

    fn rings_or_after(&self, glance: Duration) -> Result<watch::Receiver<u64>, Error> {
        let bell = self.board.lock().unwrap_or_else(PoisonError::into_inner).bell();
        let (sender, receiver) = watch::channel(0);
        // Not in the thread: what happens before that runs must not be missed.
        let mut ticket = bell.ticket();
        let listen = move || {
            loop {
                let begin = Instant::now();
                let is_over = || begin.elapsed() >= glance || sender.is_closed();
                bell.wait(ticket, glance);
                while bell.ticket() == ticket && bell.hears_others() && !is_over() {
                    bell.wait(ticket, glance);
                }
                // Taken before anybody looks: what happens from now on rings again.
                ticket = bell.ticket();
                sender.send_modify(|count| *count += 1);
                if sender.is_closed() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("worker-bell".into()).spawn(listen);
        thread.map_err(|error| Error::Runtime(error.to_string()))?;
        Ok(receiver)
    }
}

async fn with<T: Send + 'static>(
    handle: &Handle,
    work: impl FnOnce(&mut dyn SharedBoard) -> Result<T, BoardError> + Send + 'static,
) -> Result<T, BoardError> {
    let handle = handle.clone();
    let work = move || work(&mut **handle.lock().unwrap_or_else(PoisonError::into_inner));
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The program ends.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_board::open_board;
    use ostler_board::{Board, NewTask};

    /// No glance comes in this time: what does not ring hangs.
    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn a_change_by_somebody_else_is_heard_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let open = || open_board(&folder.path().join("board.db")).unwrap();
        let desk = BoardDesk::new(Box::new(open()), Box::new(open()));
        let (mut other, mut rings) = (open(), desk.rings_or_after(LONG).unwrap());
        rings.borrow_and_update();
        other.add(&[NewTask::new(TaskId("a".into()), "one")]).unwrap();
        rings.changed().await.unwrap();
    }
}
