//! The session that works on a task: an ordinary one that nobody attends.

use super::events::TaskRef;
use super::task_run::Workshop;
use super::task_tree::TaskTree;
use crate::error::Error;
use crate::input::Input;
use crate::kit;
use crate::session::Session;
use crate::session_options::{SessionChoice, SessionOptions};
use futures_util::StreamExt;
use ostler_core::event::{Event, Finished, words};
use ostler_core::message::Message;
use ostler_core::model::ModelErrorKind;
use ostler_core::turn::Terminal;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long jobs are waited for after the last answer.
const PATIENCE_WITH_JOBS: Duration = Duration::from_secs(5);
/// Turns that begin with the end of a job: the model can start another job in each of them.
const MOST_TURNS: usize = 100;

/// How a session came to its end.
#[derive(Debug, PartialEq)]
pub(super) enum SessionEnd {
    Done {
        text: String,
        cost: Option<f64>,
    },
    Failed(String),
    /// It was interrupted.
    Stopped,
    /// Another task would have met the same.
    Outside(String),
    OutOfMoney(String),
}

pub(super) struct TaskSession {
    session: Session,
}

impl TaskSession {
    pub(super) async fn open(
        shop: &Workshop,
        tree: &TaskTree,
        about: &TaskRef,
    ) -> Result<Self, Error> {
        let options = SessionOptions {
            log: SessionChoice::New,
            agent: Some("worker".into()),
            task: Some(about.title.clone()),
            // What the board says is not what the person says.
            memory: false,
            max_budget_usd: None,
            purse: Some(shop.purse.clone()),
            ..shop.options.session.clone()
        };
        let options = kit::with_rules_read(&shop.host, options)?;
        let options = tree.place(shop).await?.entered_by(options);
        Ok(TaskSession { session: shop.host.session(options)? })
    }

    pub(super) fn id(&self) -> String {
        self.session.id().to_string()
    }

    pub(super) async fn run(self, prompt: Message, halt: &CancellationToken) -> SessionEnd {
        let end = self.driven(prompt, halt).await;
        self.session.close("other").await;
        end
    }

    async fn driven(&self, prompt: Message, halt: &CancellationToken) -> SessionEnd {
        let driver = match self.session.ask(prompt) {
            Ok(driver) => driver,
            Err(error) => return SessionEnd::Failed(error.to_string()),
        };
        let mut driver = driver.until_quiet(PATIENCE_WITH_JOBS);
        let (mut is_halted, mut last, mut turns) = (false, None, 0);
        loop {
            let envelope = tokio::select! {
                biased;
                () = halt.cancelled(), if !is_halted => {
                    is_halted = true;
                    // It is closed, and ends anyway.
                    let _ = self.session.send(Input::Interrupt { cancel_queued: true });
                    continue;
                }
                envelope = driver.next() => envelope,
            };
            let Some(envelope) = envelope else { break };
            match &envelope.event {
                Event::Finished(finished) if envelope.agent.is_root() => {
                    turns += 1;
                    let end = end(finished);
                    let is_over = !matches!(end, SessionEnd::Done { .. }) || turns > MOST_TURNS;
                    last = Some(end);
                    if is_over || is_halted {
                        break;
                    }
                }
                _ => {}
            }
        }
        last.unwrap_or(match is_halted {
            true => SessionEnd::Stopped,
            false => SessionEnd::Failed("the session ended without an answer".into()),
        })
    }
}

fn end(finished: &Finished) -> SessionEnd {
    let why = || words::failure(finished).unwrap_or_else(|| finished.terminal.words().to_owned());
    match finished.terminal {
        Terminal::Completed if !finished.denials.is_empty() && finished.calls_run == 0 => {
            let denial = finished.denials.first().map(|denial| denial.name.as_str());
            let name = denial.unwrap_or_default();
            let denied = match finished.denials.len() {
                1 => format!("the call of {name} was denied"),
                all => format!("{all} calls were denied, the first was {name}"),
            };
            SessionEnd::Failed(format!(
                "nothing was allowed: {denied}. A worker gets its permissions from its own machine: choose \
                 --permission-mode or --allowedTools there"
            ))
        }
        Terminal::Completed if finished.text.trim().is_empty() => {
            SessionEnd::Failed("its last answer is empty".into())
        }
        Terminal::Completed => {
            SessionEnd::Done { text: finished.text.clone(), cost: finished.cost }
        }
        Terminal::AbortedStreaming | Terminal::AbortedTools => SessionEnd::Stopped,
        Terminal::MaxBudget => SessionEnd::OutOfMoney(why()),
        Terminal::StoreFailed | Terminal::LedgerFailed => SessionEnd::Outside(why()),
        Terminal::ModelError(kind) if is_outside(kind) => SessionEnd::Outside(why()),
        _ => SessionEnd::Failed(why()),
    }
}

/// Whatever was asked, it would not have been answered.
fn is_outside(kind: ModelErrorKind) -> bool {
    matches!(
        kind,
        ModelErrorKind::RateLimited
            | ModelErrorKind::Overloaded
            | ModelErrorKind::Unavailable
            | ModelErrorKind::Auth
            | ModelErrorKind::ModelNotFound
            | ModelErrorKind::Protocol
    )
}
