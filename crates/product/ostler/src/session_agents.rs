//! The agents below a session: who they are, and what a person can do about them while they work.

use crate::driver::{Driver, Until};
use crate::error::Error;
use crate::input::{InputReceipt, InputRefused};
use crate::queue::Place;
use crate::session::Session;
use crate::subagents::AgentRun;
use ostler_core::event::{AgentPath, Event, Finished, ModelUsage};
use ostler_core::ids::{QuestionId, SessionId};
use ostler_core::inbox::Inbound;
use ostler_core::message::Message;
use ostler_core::session::AgentState;
use std::sync::Arc;
use std::time::Duration;

/// An agent that a session, or an agent of it, started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInfo {
    pub path: AgentPath,
    /// Its own session, which can be read like every other one.
    pub session: SessionId,
    pub kind: String,
    pub task: String,
    pub state: AgentState,
}

/// What can be done to a running agent.
#[derive(Clone, Debug)]
pub enum AgentInput {
    /// It reads this before its next request. Nothing that it is doing is cancelled.
    Message(Message),
    /// Its turn ends in order; the one who started it gets an error with the reason.
    Interrupt,
    /// It ends at once, whatever it is doing.
    Stop,
}

impl Session {
    /// All agents that this session started, and those below agents that are running.
    pub fn agents(&self) -> Vec<AgentInfo> {
        let mut all = Vec::new();
        self.collect_agents(&AgentPath::default(), &mut all);
        all
    }

    fn collect_agents(&self, above: &AgentPath, all: &mut Vec<AgentInfo>) {
        let shared = self.shared();
        let roster = &shared.parts.subagents.roster;
        let running = roster.running();
        for record in roster.all(&shared.agent.journal) {
            let path = above.child(record.name.as_str());
            let run = running.iter().find(|run| run.record.session == record.session);
            let (session, state) = (record.session, record.state);
            let (kind, task) = (record.kind, record.task);
            all.push(AgentInfo { path: path.clone(), session, kind, task, state });
            if let Some(session) = run.and_then(|run| run.session()) {
                session.collect_agents(&path, all);
            }
        }
    }

    /// Comes back when a question is open that is not this one, such as that of an agent in the background. A question stays
    /// open for a moment after it was answered.
    pub async fn question_due(&self, answered: Option<&QuestionId>) {
        loop {
            let (state, cursor) = self.state();
            if state.open_questions().any(|question| Some(&question.id) != answered) {
                return;
            }
            if self.observe(&cursor).next().await.is_none() {
                return std::future::pending().await;
            }
        }
    }

    /// Waits until an agent has ended, at most so long; none: it is still running.
    ///
    /// # Errors
    /// If there is no such agent.
    pub async fn wait_for_agent(
        &self,
        agent: &AgentPath,
        at_most: Duration,
    ) -> Result<Option<AgentState>, InputRefused> {
        if let Some(run) = self.find_running(agent) {
            return Ok(tokio::time::timeout(at_most, run.ended()).await.ok());
        }
        let known = self.agents().into_iter().find(|info| info.path == *agent);
        known.map(|info| Some(info.state)).ok_or_else(|| unknown(agent))
    }

    pub(crate) fn send_to_agent(
        &self,
        agent: &AgentPath,
        input: AgentInput,
    ) -> Result<InputReceipt, InputRefused> {
        let run = self.find_running(agent).ok_or_else(|| unknown(agent))?;
        match (input, run.session()) {
            (AgentInput::Stop, _) => {
                run.stop();
                Ok(InputReceipt::Done)
            }
            (_, None) => Err(unknown(agent)),
            (AgentInput::Message(message), Some(session)) => session.tell(message),
            (AgentInput::Interrupt, Some(session)) => {
                session.send(crate::Input::Interrupt { cancel_queued: true })
            }
        }
    }

    /// Begins a turn with an item of the inbox, which arrives now unless it has before.
    pub(crate) fn ask_once(&self, item: Inbound) -> Result<Driver, Error> {
        let driver = self.driver(Until::Idle)?;
        let inbox = self.shared().agent.inbox();
        if inbox.pending().iter().all(|had| had.id != item.id) {
            inbox.arrive(item)?;
            self.shared().queue.push(Place::Inbox);
        }
        self.shared().queue.release();
        Ok(driver)
    }

    fn find_running(&self, agent: &AgentPath) -> Option<Arc<AgentRun>> {
        let (last, above) = agent.names().split_last()?;
        let mut session = self.clone();
        for name in above {
            session = session.running_agent(name)?.session()?;
        }
        session.running_agent(last)
    }

    fn running_agent(&self, name: &str) -> Option<Arc<AgentRun>> {
        let running = self.shared().parts.subagents.roster.running();
        running.into_iter().find(|run| run.record.name == name)
    }

    /// The end of a turn with what its agents spent.
    pub(crate) fn with_spending_of_agents(&self, event: Event) -> Event {
        let spent = self.shared().parts.subagents.roster.take_spent();
        match event {
            Event::Finished(mut finished) if !spent.is_empty() => {
                add_spending(&mut finished, spent);
                Event::Finished(finished)
            }
            other => other,
        }
    }
}

fn add_spending(finished: &mut Finished, spent: Vec<ModelUsage>) {
    for model in spent {
        finished.cost = finished.cost.zip(model.cost).map(|(a, b)| a + b);
        finished.usage += model.usage;
        crate::subagents::add_usage(&mut finished.per_model, model);
    }
}

fn unknown(agent: &AgentPath) -> InputRefused {
    InputRefused::NoSuchAgent(agent.names().join("/"))
}
