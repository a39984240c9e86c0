//! What was done is recorded on the board even if that is busy or out of reach for a moment.

use super::BoardDesk;
use ostler_board::{AgentChange, BoardError, Delivery, MailReceipt, NewMail, Outcome, SharedBoard};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The first pause; later ones double.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why something did not happen on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeskError {
    /// The board works, but this is not allowed: trying again would not help.
    Refused(String),
    /// The board is busy, gone or cannot be reached.
    Unusable(String),
}

impl fmt::Display for DeskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeskError::Refused(why) | DeskError::Unusable(why) => f.write_str(why),
        }
    }
}

impl From<BoardError> for DeskError {
    fn from(error: BoardError) -> Self {
        let text = error.to_string();
        match error {
            BoardError::Refused(_) | BoardError::TooNew { .. } => DeskError::Refused(text),
            BoardError::File { .. } | BoardError::Server { .. } => DeskError::Unusable(text),
        }
    }
}

/// How long something is tried again, and who hears of each failure. It ends with the session.
pub(crate) struct Patience<'a> {
    pub(crate) most: Duration,
    pub(crate) closing: CancellationToken,
    pub(crate) warn: Box<dyn Fn(&str) + Send + Sync + 'a>,
}

impl BoardDesk {
    /// Tries again while the board cannot be used.
    pub(super) async fn insist<T: Send + 'static>(
        self: &Arc<Self>,
        patience: Patience<'_>,
        act: impl Fn(&mut dyn SharedBoard) -> Result<T, BoardError> + Clone + Send + 'static,
    ) -> Result<T, DeskError> {
        let (begin, mut pause) = (Instant::now(), PAUSE);
        loop {
            let done = self.attempt(act.clone()).await;
            let Err(DeskError::Unusable(why)) = &done else { return done };
            if begin.elapsed() >= patience.most {
                return done;
            }
            (patience.warn)(why);
            tokio::select! {
                () = patience.closing.cancelled() => return done,
                () = tokio::time::sleep(pause) => {}
            }
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    /// The id makes it one mail, however often it is sent.
    pub(crate) async fn send_surely(
        self: &Arc<Self>,
        mail: NewMail,
        patience: Patience<'_>,
    ) -> Result<MailReceipt, DeskError> {
        self.count_write();
        let sent = self.insist(patience, move |board| board.send(&mail)).await;
        self.count_write();
        sent
    }

    pub(crate) async fn settle_surely(
        self: &Arc<Self>,
        delivery: Delivery,
        outcome: Outcome,
        patience: Patience<'_>,
    ) -> Result<(), DeskError> {
        self.count_write();
        let settled = self.insist(patience, move |board| board.settle(&delivery, &outcome)).await;
        self.count_write();
        settled
    }

    /// What an agent had in hand becomes unread, and all that is unread bounces.
    pub(crate) async fn finish_agent(
        self: &Arc<Self>,
        (who, lead): (String, String),
        patience: Patience<'_>,
    ) -> Result<(), DeskError> {
        let end = move |board: &mut dyn SharedBoard| {
            board.set_agent(&who, &AgentChange::Started { lead: Some(lead.clone()) })?;
            board.set_agent(&who, &AgentChange::Finished)
        };
        self.count_write();
        let ended = self.insist(patience, end).await;
        self.count_write();
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_events::SessionEvents;
    use crate::task_board::{BoardOptions, BoardPlace};
    use ostler_board::MailId;
    use ostler_core::ids::SessionId;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// One that is a directory cannot be opened.
    fn desk(folder: &std::path::Path) -> Arc<BoardDesk> {
        let place = BoardPlace::File(folder.join("board.db"));
        let options = BoardOptions { place, ..BoardOptions::default() };
        let events = SessionEvents::new(SessionId::new("s"), None);
        BoardDesk::new(&options, (folder, folder), None, events)
    }

    fn mail(text: &str) -> NewMail {
        NewMail::new(MailId("one".into()), "writer@s", "lead@s", text)
    }

    #[tokio::test]
    async fn what_fails_is_tried_again_until_the_board_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let board = folder.path().join("board.db");
        std::fs::create_dir(&board).unwrap();
        let tries = AtomicUsize::new(0);
        let warn = |why: &str| {
            assert!(why.contains("board.db"), "{why}");
            if tries.fetch_add(1, Ordering::SeqCst) == 1 {
                std::fs::remove_dir(&board).unwrap();
            }
        };
        let patience = || Patience {
            most: Duration::MAX,
            closing: CancellationToken::new(),
            warn: Box::new(warn),
        };
        let desk = desk(folder.path());
        desk.send_surely(mail("done"), patience()).await.unwrap();
        assert_eq!(tries.load(Ordering::SeqCst), 2);
        let again = desk.send_surely(mail("something else"), patience()).await;
        assert!(matches!(again, Err(DeskError::Refused(_))), "a refusal stays one: {again:?}");
        assert_eq!(tries.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn patience_ends_with_its_time_and_with_the_session() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("board.db")).unwrap();
        let closing = CancellationToken::new();
        closing.cancel();
        for most in [Duration::ZERO, Duration::MAX] {
            let warn = Box::new(move |_: &str| assert_ne!(most, Duration::ZERO));
            let patience = Patience { most, closing: closing.clone(), warn };
            let sent = desk(folder.path()).send_surely(mail("done"), patience).await;
            assert!(matches!(sent, Err(DeskError::Unusable(_))), "{sent:?}");
        }
    }
}
