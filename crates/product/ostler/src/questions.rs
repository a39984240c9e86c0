//! Questions to the person: open until a surface answers, they time out, or no one is left to answer.

use crate::session_events::SessionEvents;
use ostler_core::event::Event;
use ostler_core::ids::QuestionId;
use ostler_core::ports::{Approver, BoxFuture, Reply};
use ostler_core::question::{Question, QuestionEnd};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::oneshot;

const NOBODY: &str = "nobody is there to ask";
const LEFT: &str = "no one is left to answer";
const LATE: &str = "nobody answered in time";

pub(crate) struct QuestionDesk {
    events: Arc<SessionEvents>,
    deadline: Duration,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// Surfaces that can show a question to a person.
    attendants: usize,
    open: HashMap<QuestionId, oneshot::Sender<(Reply, QuestionEnd)>>,
}

impl QuestionDesk {
    pub(crate) fn new(events: Arc<SessionEvents>, deadline: Duration) -> Arc<Self> {
        Arc::new(QuestionDesk { events, deadline, table: Mutex::default() })
    }

    /// False: there is no such question any more.
    pub(crate) fn answer(&self, id: &QuestionId, reply: Reply, by: String) -> bool {
        let open = self.table().open.remove(id);
        let end = QuestionEnd::Answered { by, allowed: reply.allows() };
        open.is_some_and(|open| open.send((reply, end)).is_ok())
    }

    /// Somebody can be asked.
    pub(crate) fn is_attended(&self) -> bool {
        self.table().attendants > 0
    }

    pub(crate) fn attend(self: &Arc<Self>) -> Attendance {
        self.table().attendants += 1;
        Attendance { desk: Arc::downgrade(self) }
    }

    fn leave(&self) {
        let mut table = self.table();
        table.attendants -= 1;
        if table.attendants == 0 {
            for (_, open) in table.open.drain() {
                let _ = open.send(unanswered(LEFT));
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unanswered(why: &str) -> (Reply, QuestionEnd) {
    (Reply::Unanswered(why.to_owned()), QuestionEnd::Unanswered { why: why.to_owned() })
}

/// While it lives, questions of the session wait for an answer. Without any they are refused at once.
pub struct Attendance {
    /// It does not keep a session open that nobody else has.
    desk: Weak<QuestionDesk>,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        if let Some(desk) = self.desk.upgrade() {
            desk.leave();
        }
    }
}

impl Approver for QuestionDesk {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        let (answer, answered) = oneshot::channel();
        let why = question.decision.why();
        let attended = {
            let mut table = self.table();
            let attended = table.attendants > 0;
            if attended {
                table.open.insert(question.id.clone(), answer);
            }
            attended
        };
        if !attended {
            let reply = Reply::Unanswered(format!("{why}, and {NOBODY}"));
            return Box::pin(async move { reply });
        }
        let open = OpenQuestion { desk: self, id: question.id, end: None };
        Box::pin(async move {
            let mut open = open;
            let (reply, end) = match tokio::time::timeout(self.deadline, answered).await {
                Ok(Ok(answered)) => answered,
                Ok(Err(_)) => unanswered(LEFT),
                Err(_) => unanswered(LATE),
            };
            open.end = Some(end);
            match reply {
                Reply::Unanswered(end) => Reply::Unanswered(format!("{why}, and {end}")),
                reply => reply,
            }
        })
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.deadline)
    }
}

/// However a question ends, every surface is informed.
struct OpenQuestion<'a> {
    desk: &'a QuestionDesk,
    id: QuestionId,
    /// None while it is open: then it is being withdrawn.
    end: Option<QuestionEnd>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.desk.table().open.remove(&self.id);
        let end = self.end.take().unwrap_or(QuestionEnd::Withdrawn);
        self.desk.events.emit(Event::QuestionClosed { id: self.id.clone(), end });
    }
}
