//! One agent at work. Whoever drives it owns it: the call that started it, or the table of jobs.

use super::agent_job::{job_end, resume_hint};
use super::agent_tree::{AgentTree, AgentWorkPlace};
use super::relay::Relay;
use super::roster::{AgentRun, Roster};
use super::slots::Slot;
use super::written_text::WrittenText;
use crate::session::Session;
use futures_util::{FutureExt, StreamExt};
use ostler_core::event::{Event, Finished, ModelUsage, words};
use ostler_core::ids::SessionId;
use ostler_core::inbox::Inbound;
use ostler_core::job::{JobEnd, JobStatus};
use ostler_core::ledger::Usage;
use ostler_core::message::{Message, ResultPart};
use ostler_core::session::{AgentRecord, AgentState};
use ostler_core::tool::ToolOutput;
use ostler_core::turn::Terminal;
use ostler_engine::Journal;
use serde_json::json;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// It stopped because the call did.
const WITH_ITS_CALL: &str = "it was stopped with the call that started it";

pub(super) struct Child {
    /// Goes first, so that everybody who reads knows of the end of the agent.
    relay: Relay,
    session: Session,
    run: Arc<AgentRun>,
    /// Of the one who started it.
    above: (Arc<Roster>, Journal),
    written: Arc<WrittenText>,
    /// The session above it is being closed, or nobody has it any more.
    closing: CancellationToken,
    /// Its own.
    tree: Option<AgentTree>,
    /// What its answers took so far, and those of agents below it.
    answered: Usage,
    finished: Option<Box<Finished>>,
    is_recorded: bool,
    _slot: Slot,
}

/// What an agent begins with.
pub(crate) enum FirstInput {
    Prompt(String),
    /// For its inbox, unless it is there already.
    Item(Box<Inbound>),
    /// What waits in its inbox.
    Queued,
    /// The turn that its log ends in.
    OpenTurn,
}

/// How an agent came to its end.
enum AgentEnd {
    Finished,
    NotStarted(String),
    NoAnswer,
    Stopped,
    /// With the session above it.
    Closed,
    TimedOut(Duration),
    Panicked,
}

/// What an agent leaves to the one who started it.
pub(crate) struct AgentReport {
    name: String,
    session: SessionId,
    failure: Option<(JobStatus, String)>,
    text: String,
    /// What it changed in a worktree of its own.
    work: Option<AgentWorkPlace>,
}

impl Child {
    pub(super) fn new(
        relay: Relay,
        session: Session,
        run: Arc<AgentRun>,
        above: (Arc<Roster>, Journal),
        (closing, slot): (CancellationToken, Slot),
    ) -> Self {
        Child {
            relay,
            session,
            run,
            above,
            written: Arc::default(),
            closing,
            tree: None,
            answered: Usage::default(),
            finished: None,
            is_recorded: false,
            _slot: slot,
        }
    }

    pub(super) fn in_tree(mut self, tree: Option<AgentTree>) -> Self {
        self.tree = tree;
        self
    }

    pub(super) fn run(&self) -> &Arc<AgentRun> {
        &self.run
    }

    pub(super) fn written(&self) -> &Arc<WrittenText> {
        &self.written
    }

    pub(super) fn limit(&self) -> Duration {
        self.session.shared().origin.1.max_agent_time
    }

    pub(super) async fn work(mut self, input: FirstInput) -> AgentReport {
        let end = match AssertUnwindSafe(self.driven(input)).catch_unwind().await {
            Ok(end) => end,
            Err(_) => AgentEnd::Panicked,
        };
        let closing = async {
            for envelope in self.session.close("other").await {
                self.relay.pass(&envelope).await;
            }
        };
        // What panicked once may do so again.
        let _ = AssertUnwindSafe(closing).catch_unwind().await;
        let message = self.commit_message();
        let work = match self.tree.take() {
            Some(tree) => tree.end(message).await,
            None => None,
        };
        let failure = failure(&end, self.finished.as_deref());
        let state = match &failure {
            None => AgentState::Finished,
            Some((_, why)) => AgentState::Failed { why: why.clone() },
        };
        self.record(state);
        let text = self.finished.as_ref().map(|end| end.text.trim().to_owned());
        let (name, session) = (self.run.record.name.clone(), self.run.record.session.clone());
        AgentReport { name, session, failure, text: text.unwrap_or_default(), work }
    }

    fn commit_message(&self) -> String {
        let AgentRecord { name, session, task, .. } = &self.run.record;
        let title = task.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if title.is_empty() { name.clone() } else { title };
        format!("{title}\n\nAgent: {name}\nSession: {session}\n")
    }

    async fn driven(&mut self, input: FirstInput) -> AgentEnd {
        let limit = self.limit();
        let (stop, closing) = (self.run.stop.clone(), self.closing.clone());
        tokio::select! {
            biased;
            () = stop.cancelled() => AgentEnd::Stopped,
            () = closing.cancelled() => AgentEnd::Closed,
            end = tokio::time::timeout(limit, self.turn(input)) => {
                end.unwrap_or(AgentEnd::TimedOut(limit))
            }
        }
    }

    async fn turn(&mut self, input: FirstInput) -> AgentEnd {
        let begun = match input {
            FirstInput::Prompt(text) => self.session.ask(Message::user(text)),
            FirstInput::Item(item) => self.session.ask_once(*item),
            FirstInput::Queued => self.session.run_queued(),
            FirstInput::OpenTurn => self.session.resume_turn(),
        };
        let mut driver = match begun {
            Ok(driver) => driver,
            Err(error) => return AgentEnd::NotStarted(error.to_string()),
        };
        while let Some(envelope) = driver.next().await {
            match &envelope.event {
                Event::Finished(finished) if envelope.agent.is_root() => {
                    self.finished = Some(finished.clone());
                }
                Event::AnswerSealed { usage, .. } => self.answered += *usage,
                _ => {}
            }
            self.written.see(&envelope);
            self.relay.pass(&envelope).await;
        }
        match self.finished {
            Some(_) => AgentEnd::Finished,
            None => AgentEnd::NoAnswer,
        }
    }

    /// What it spent, with the agents below it. Of one that did not come to its end, the cost is right and the tokens
    /// are those of its answers.
    fn spent(&self) -> Vec<ModelUsage> {
        if let Some(finished) = &self.finished {
            return finished.per_model.clone();
        }
        let agent = &self.session.shared().agent;
        let (cost, usage) = (agent.budget.spent(), self.answered);
        if usage == Usage::default() && cost == 0.0 {
            return Vec::new();
        }
        let model = agent.choice().primary;
        let cost = agent.model.info(&model).price.map(|_| cost);
        vec![ModelUsage { model, usage, cost }]
    }

    fn record(&mut self, state: AgentState) {
        self.is_recorded = true;
        let (roster, journal) = &self.above;
        roster.end(&self.run, journal, state, self.spent());
    }
}

/// The call was dropped or interrupted.
impl Drop for Child {
    fn drop(&mut self) {
        // What it had done so far is kept.
        if let (Some(tree), Ok(runtime)) = (self.tree.take(), tokio::runtime::Handle::try_current())
        {
            drop(runtime.spawn(tree.end(self.commit_message())));
        }
        if !self.is_recorded {
            self.record(AgentState::Failed { why: WITH_ITS_CALL.to_owned() });
        }
    }
}

/// None: it did its work.
fn failure(end: &AgentEnd, finished: Option<&Finished>) -> Option<(JobStatus, String)> {
    let why = match end {
        AgentEnd::NotStarted(error) => format!("it did not start: {error}"),
        AgentEnd::NoAnswer => "it ended without an answer".to_owned(),
        AgentEnd::Stopped => AgentState::STOPPED.to_owned(),
        AgentEnd::Closed => "the session that started it was closed".to_owned(),
        AgentEnd::TimedOut(limit) => format!("it did not finish within {} s", limit.as_secs()),
        AgentEnd::Panicked => "internal error".to_owned(),
        AgentEnd::Finished => finished.and_then(of_turn)?,
    };
    let status = match end {
        AgentEnd::Stopped | AgentEnd::Closed => JobStatus::Stopped,
        AgentEnd::TimedOut(_) => JobStatus::TimedOut,
        _ => JobStatus::Failed,
    };
    Some((status, why))
}

/// What a person could do about it is not for the one who asked.
fn of_turn(end: &Finished) -> Option<String> {
    let why = match (words::failure(end), end.terminal, &end.error) {
        (None, ..) if end.text.trim().is_empty() => "its answer is empty".to_owned(),
        (None, ..) => return None,
        (Some(why), Terminal::Completed, _) => why,
        (Some(_), terminal, Some(error)) => {
            format!("{}: {}", terminal.words(), error.trim_end_matches('.'))
        }
        (Some(_), terminal, None) => terminal.words().to_owned(),
    };
    Some(why)
}

impl AgentReport {
    /// Its last text, or why there is none.
    pub(crate) fn result(self) -> Result<String, String> {
        let AgentReport { failure, text, work, .. } = self;
        let told = |text: String| match work {
            Some(work) => format!("{text}\n\n{work}"),
            None => text,
        };
        match failure {
            None => Ok(told(text)),
            Some((_, why)) => Err(told(why)),
        }
    }

    /// For the call that waited for it.
    pub(super) fn output(self) -> ToolOutput {
        let failure = self.failure.as_ref().map(|(_, why)| why.as_str());
        let mut output = output(&self.name, failure, &self.text);
        output.content.extend(self.work.iter().map(|work| ResultPart::text(work.to_string())));
        // How to go on with it is for the model.
        let text = |part: &ResultPart| match part {
            ResultPart::Text { text } => Some(text.clone()),
            ResultPart::Image(_) => None,
        };
        let texts: Vec<String> = output.content.iter().filter_map(text).collect();
        output.shown = Some(texts.join("\n"));
        output.content.push(ResultPart::text(resume_hint(&self.name)));
        let mut detail = json!({ "agent": self.name, "session": self.session.as_str() });
        if let Some(AgentWorkPlace::Branch { branch, commit }) = &self.work {
            (detail["branch"], detail["commit"]) = (json!(branch), json!(commit));
        }
        output.detail = Some(detail);
        output
    }

    pub(super) fn job_end(&self) -> JobEnd {
        let failure = self.failure.as_ref();
        let mut end = job_end(&self.name, failure.map(|(status, why)| (*status, why.as_str())));
        end.notes.extend(self.work.iter().map(ToString::to_string));
        end
    }
}

fn output(name: &str, failure: Option<&str>, text: &str) -> ToolOutput {
    let Some(why) = failure else { return ToolOutput::text(text) };
    let said = match text {
        "" => String::new(),
        text => format!("\n\nIts last text:\n{text}"),
    };
    ToolOutput::error(format!("The agent {name} failed: {}.{said}", why.trim_end_matches('.')))
}
