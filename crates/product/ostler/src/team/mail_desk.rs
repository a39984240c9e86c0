//! The team's access to the board: one handle, used by one thread at a time, away from the threads of the runtime.

use crate::task_board::open_project_board;
use ostler_board::{
    Bell, BoardError, BoardFile, Delivery, MailReceipt, Mailbox, NewMail, Outcome, SharedBoard,
};
use ostler_store::FaultPlan;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long the thread that hears the bell sleeps before it looks whether anybody still listens.
const LOOK: Duration = Duration::from_secs(1);

pub(super) struct MailDesk {
    home: PathBuf,
    project: PathBuf,
    board: Mutex<Option<BoardFile>>,
    /// Counts what is written, in crash tests.
    fault: Option<Arc<FaultPlan>>,
}

impl MailDesk {
    /// Opens nothing yet.
    pub(super) fn new(home: &Path, project: &Path, fault: Option<Arc<FaultPlan>>) -> Arc<Self> {
        let (home, project) = (home.to_owned(), project.to_owned());
        Arc::new(MailDesk { home, project, board: Mutex::new(None), fault })
    }

    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut BoardFile) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, String> {
        let desk = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || desk.with_board(act)).await;
        done.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    fn with_board<T>(
        &self,
        act: impl FnOnce(&mut BoardFile) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *board {
            Some(board) => act(board),
            closed => act(closed.insert(open_project_board(&self.home, &self.project)?)),
        }
    }

    /// Something was written, or is about to be.
    pub(super) fn count_write(&self) {
        if let Some(fault) = &self.fault {
            fault.count();
        }
    }

    pub(super) async fn send(self: &Arc<Self>, mail: NewMail) -> Result<MailReceipt, String> {
        self.count_write();
        let sent = self.with(move |board| board.send(&mail)).await;
        self.count_write();
        sent
    }

    pub(super) async fn receive(
        self: &Arc<Self>,
        who: String,
        lease: Duration,
    ) -> Result<Option<Delivery>, String> {
        let received = self.with(move |board| board.receive(&who, lease)).await;
        if matches!(received, Ok(Some(_))) {
            self.count_write();
        }
        received
    }

    pub(super) async fn settle(
        self: &Arc<Self>,
        delivery: Delivery,
        outcome: Outcome,
    ) -> Result<(), String> {
        self.count_write();
        let settled = self.with(move |board| board.settle(&delivery, &outcome)).await;
        self.count_write();
        settled
    }

    /// Counts what happens to the board, for as long as somebody listens.
    pub(super) async fn listen(self: &Arc<Self>) -> Result<watch::Receiver<u64>, String> {
        let bell = self.with(|board| Ok(board.bell())).await?;
        let (count, news) = watch::channel(0);
        let heard = bell.ticket();
        let thread = std::thread::Builder::new().name("team-mail".into()).stack_size(64 * 1024);
        let listening = thread.spawn(move || hear(&bell, heard, &count));
        listening.map(|_| news).map_err(|error| error.to_string())
    }
}

fn hear(bell: &Bell, mut heard: ostler_board::Ticket, count: &watch::Sender<u64>) {
    while !count.is_closed() {
        bell.wait(heard, LOOK);
        let now = bell.ticket();
        if now != heard {
            heard = now;
            count.send_modify(|count| *count += 1);
        }
    }
}
