//! The agents that one session started: what they are called, which of them run, and what they spent.

use crate::session::{Session, SessionShared};
use ostler_core::event::ModelUsage;
use ostler_core::session::{AgentRecord, AgentState};
use ostler_engine::Journal;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Agents that are listed for the model.
const MOST_LINES: usize = 20;
/// What an agent that the log calls running was, if nobody runs it.
const LOST: &str = "the program ended while it was running";

#[derive(Default)]
pub(crate) struct Roster {
    /// Names of teammates: they go on by themselves after a restart.
    teammates: Vec<String>,
    entries: Mutex<RosterEntries>,
}

#[derive(Default)]
struct RosterEntries {
    /// How many of a kind there were, for their names.
    counts: HashMap<String, usize>,
    running: Vec<Arc<AgentRun>>,
    /// Of agents since the last turn of the session ended.
    spent: Vec<ModelUsage>,
    /// The model knows of agents that an earlier process lost.
    has_told: bool,
}

/// An agent at work.
pub(crate) struct AgentRun {
    pub(crate) record: AgentRecord,
    session: Weak<SessionShared>,
    /// It ends at once, whatever it is doing.
    pub(super) stop: CancellationToken,
    state: watch::Sender<AgentState>,
}

impl AgentRun {
    pub(super) fn new(record: AgentRecord, session: &Session) -> Arc<Self> {
        let (state, _) = watch::channel(record.state.clone());
        let session = Arc::downgrade(&session.shared);
        Arc::new(AgentRun { record, session, stop: CancellationToken::new(), state })
    }

    pub(crate) fn session(&self) -> Option<Session> {
        self.session.upgrade().map(|shared| Session { shared })
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// How it ended, once it has.
    pub(crate) async fn ended(&self) -> AgentState {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| !state.is_running()).await.map(|state| state.clone());
        ended.unwrap_or(AgentState::Failed { why: LOST.to_owned() })
    }
}

impl Roster {
    pub(super) fn new(teammates: Vec<String>) -> Arc<Self> {
        Arc::new(Roster { teammates, ..Roster::default() })
    }

    pub(super) fn is_teammate(&self, name: &str) -> bool {
        self.teammates.iter().any(|teammate| teammate == name)
    }

    /// `explorer-1`: unique among all agents that the session ever started.
    pub(super) fn new_name(&self, kind: &str, journal: &Journal) -> String {
        let mut entries = self.entries();
        let count = entries
            .counts
            .entry(kind.to_owned())
            .or_insert_with(|| journal.agents().iter().filter(|agent| agent.kind == kind).count());
        *count += 1;
        format!("{kind}-{count}")
    }

    pub(super) fn add(&self, run: Arc<AgentRun>) {
        self.entries().running.push(run);
    }

    /// The agent is over. The log knows it before anybody who waits.
    pub(super) fn end(
        &self,
        run: &Arc<AgentRun>,
        journal: &Journal,
        state: AgentState,
        spent: Vec<ModelUsage>,
    ) {
        // A log that cannot be written ends the turn; the agent then counts as lost.
        let _ = journal.record_agent(AgentRecord { state: state.clone(), ..run.record.clone() });
        let mut entries = self.entries();
        entries.running.retain(|other| !Arc::ptr_eq(other, run));
        for model in spent {
            add(&mut entries.spent, model);
        }
        drop(entries);
        run.state.send_replace(state);
    }

    /// What agents spent since this was asked last.
    pub(crate) fn take_spent(&self) -> Vec<ModelUsage> {
        std::mem::take(&mut self.entries().spent)
    }

    pub(crate) fn running(&self) -> Vec<Arc<AgentRun>> {
        self.entries().running.clone()
    }

    /// All that the log knows, as they are now.
    pub(crate) fn all(&self, journal: &Journal) -> Vec<AgentRecord> {
        let running = self.running();
        let mut all = journal.agents();
        for agent in &mut all {
            let is_running = running.iter().any(|run| run.record.session == agent.session);
            if agent.state.is_running() && !is_running {
                agent.state = AgentState::Failed { why: LOST.to_owned() };
            }
        }
        all
    }

    /// The newest of them for the model, one line each; none: there are none.
    pub(crate) fn lines(&self, journal: &Journal) -> Option<String> {
        let mut all = self.all(journal);
        all.retain(|agent| !self.is_teammate(&agent.name));
        let newest = all.iter().skip(all.len().saturating_sub(MOST_LINES)).map(line);
        let lines: Vec<String> = newest.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Agents that were at work when an earlier process died, for the first prompt of this one.
    pub(crate) fn take_lost(&self, journal: &Journal) -> Option<String> {
        if std::mem::replace(&mut self.entries().has_told, true) {
            return None;
        }
        let all = self.all(journal);
        let is_lost = |agent: &&AgentRecord| {
            let is_lost = matches!(&agent.state, AgentState::Failed { why } if why == LOST);
            is_lost && !self.is_teammate(&agent.name)
        };
        let lost: Vec<String> =
            all.iter().rev().filter(is_lost).take(MOST_LINES).map(line).collect();
        (!lost.is_empty()).then(|| lost.join("\n"))
    }

    fn entries(&self) -> MutexGuard<'_, RosterEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn add(sum: &mut Vec<ModelUsage>, more: ModelUsage) {
    match sum.iter_mut().find(|had| had.model == more.model) {
        Some(had) => {
            had.usage += more.usage;
            had.cost = had.cost.zip(more.cost).map(|(a, b)| a + b);
        }
        None => sum.push(more),
    }
}

fn line(agent: &AgentRecord) -> String {
    let AgentRecord { name, task, state, .. } = agent;
    let task: Vec<&str> = task.split_whitespace().collect();
    let state = match state {
        AgentState::Running => "running".to_owned(),
        AgentState::Finished => "finished".to_owned(),
        AgentState::Failed { why } => format!("failed: {why}"),
    };
    format!("- {name} ({}): {state}", task.join(" "))
}
