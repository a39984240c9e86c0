//! The access of a session to its board: one handle, used by one thread at a time, away from the threads of the runtime.

use super::patience::DeskError;
use super::{BoardOptions, BoardPlace, open_board_at};
use crate::session_events::SessionEvents;
use ostler_board::{Bell, BoardError, Delivery, MailReceipt, NewMail, Outcome, SharedBoard};
use ostler_core::event::{Event, Notice};
use ostler_store::FaultPlan;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long the thread that hears the bell sleeps before it looks whether anybody still listens.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) struct BoardDesk {
    home: PathBuf,
    project: PathBuf,
    place: BoardPlace,
    board: Mutex<Option<Box<dyn SharedBoard>>>,
    /// Counts what is written, in crash tests.
    fault: Option<Arc<FaultPlan>>,
    events: Arc<SessionEvents>,
}

impl BoardDesk {
    /// Opens nothing yet. The first use decides which board it is: from then on it is no other.
    pub(crate) fn new(
        options: &BoardOptions,
        (home, cwd): (&Path, &Path),
        fault: Option<Arc<FaultPlan>>,
        events: Arc<SessionEvents>,
    ) -> Arc<Self> {
        let project = options.project.as_deref().unwrap_or(cwd).to_owned();
        let (home, place, board) = (home.to_owned(), options.place.clone(), Mutex::new(None));
        Arc::new(BoardDesk { home, project, place, board, fault, events })
    }

    pub(crate) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut dyn SharedBoard) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, String> {
        self.attempt(act).await.map_err(|error| error.to_string())
    }

    /// The same, for whoever has to know whether it is worth trying again.
    pub(super) async fn attempt<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut dyn SharedBoard) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, DeskError> {
        let desk = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || desk.with_board(act)).await;
        Ok(done.map_err(|error| DeskError::Refused(error.to_string()))??)
    }

    /// Blocks.
    pub(crate) fn with_board<T>(
        &self,
        act: impl FnOnce(&mut dyn SharedBoard) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *board {
            Some(board) => act(board.as_mut()),
            closed => act(closed.insert(self.open()?).as_mut()),
        }
    }

    fn open(&self) -> Result<Box<dyn SharedBoard>, BoardError> {
        match open_board_at(&self.place, &self.home, &self.project) {
            Err(error @ BoardError::Server { .. }) if self.falls_back() => {
                let text = format!(
                    "{error}. Using the project's own board on this machine until this session ends"
                );
                self.events.emit(Event::notice(Notice::Board { text }));
                open_board_at(&BoardPlace::Project, &self.home, &self.project)
            }
            opened => opened,
        }
    }

    fn falls_back(&self) -> bool {
        matches!(self.place, BoardPlace::Server { falls_back: true, .. })
    }

    /// Something was written, or is about to be.
    pub(crate) fn count_write(&self) {
        if let Some(fault) = &self.fault {
            fault.count();
        }
    }

    pub(crate) async fn send(self: &Arc<Self>, mail: NewMail) -> Result<MailReceipt, String> {
        self.count_write();
        let sent = self.with(move |board| board.send(&mail)).await;
        self.count_write();
        sent
    }

    pub(crate) async fn receive(
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

    /// Tries once: whoever answers hears of the failure and can answer again.
    pub(crate) async fn settle(
        self: &Arc<Self>,
        delivery: Delivery,
        outcome: Outcome,
    ) -> Result<(), DeskError> {
        self.count_write();
        let settled = self.attempt(move |board| board.settle(&delivery, &outcome)).await;
        self.count_write();
        settled
    }

    /// Counts what happens to the board, for as long as somebody listens.
    pub(crate) async fn listen(self: &Arc<Self>) -> Result<watch::Receiver<u64>, String> {
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
