//! Puts the tree together: who is below whom, and who is still there.

use super::log_signs::{FACTS, LogSigns};
use super::session_signs::SessionSigns;
use super::teammates;
use super::{AgentActivity, Blocked, MachineAgent};
use crate::error::Error;
use ostler_core::event::AgentPath;
use ostler_core::ids::SessionId;
use ostler_core::session::{AgentRecord, AgentState, Entry, StartedBy};
use ostler_core::teammate::TeammateStatus;
use ostler_store::{FileStore, LogGlimpse};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Agents in one view, and how deep below each other.
const MOST: usize = 1_000;
const DEEPEST: usize = 16;

pub(super) struct Gathering {
    pub(super) store: FileStore,
    home: PathBuf,
    all: bool,
    /// Of sessions that a living process has open.
    open: HashMap<SessionId, LogGlimpse>,
    /// Those of them that another session started.
    below: HashMap<SessionId, Vec<SessionId>>,
    seen: usize,
    pub(super) left_out: usize,
}

impl Gathering {
    pub(super) fn new(home: &Path, all: bool) -> Result<Self, Error> {
        let store = FileStore::new(home)?;
        let (mut open, mut below) = (HashMap::new(), HashMap::<SessionId, Vec<_>>::new());
        let ids = store.open_sessions()?;
        let left_out = ids.len().saturating_sub(MOST);
        for id in ids.into_iter().take(MOST) {
            // One that cannot be read, or is gone by now, is not shown.
            let Ok(glimpse) = store.glimpse(&id, FACTS) else { continue };
            if let Some(link) = &glimpse.started_by {
                below.entry(link.session.clone()).or_default().push(id.clone());
            }
            open.insert(id, glimpse);
        }
        Ok(Gathering { store, home: home.to_owned(), all, open, below, seen: 0, left_out })
    }

    /// Sessions that people began and that are open, in the order in which they began.
    pub(super) fn running(&self) -> Vec<SessionId> {
        let roots = self.open.iter().filter(|(_, glimpse)| glimpse.started_by.is_none());
        let mut ids: Vec<SessionId> = roots.map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids
    }

    pub(super) fn session(&mut self, id: &SessionId) -> Option<MachineAgent> {
        let is_open = self.open.contains_key(id);
        let glimpse = self.glimpse(id)?;
        let log = LogSigns::of(&glimpse.newest);
        let state = match (is_open, log.is_in_turn) {
            (true, true) => AgentActivity::Working,
            (true, false) => AgentActivity::Idle,
            (false, true) => AgentActivity::Lost,
            (false, false) => AgentActivity::Finished,
        };
        let signs = SessionSigns::read(&self.home, id);
        // What it is doing now; otherwise what `ostler sessions` calls it.
        let prompt = log.prompt.clone().filter(|_| state == AgentActivity::Working);
        let task = prompt.unwrap_or_else(|| glimpse.title.clone());
        let (kind, path) = ("main".to_owned(), AgentPath::default());
        Some(self.node(id, glimpse, log, &signs, About { path, kind, task, state, why: None }))
    }

    fn glimpse(&mut self, id: &SessionId) -> Option<LogGlimpse> {
        let open = self.open.remove(id);
        open.or_else(|| self.store.glimpse(id, FACTS).ok())
    }

    fn node(
        &mut self,
        id: &SessionId,
        glimpse: LogGlimpse,
        log: LogSigns,
        signs: &SessionSigns,
        about: About,
    ) -> MachineAgent {
        self.seen += 1;
        let is_working = about.state == AgentActivity::Working;
        let current = log.current_call();
        let blocked = log.question.or_else(|| signs.retry(&about.path));
        MachineAgent {
            agents: self.with_teammates(id, &about, (log.agents, log.teammates), signs),
            team: None,
            path: about.path.to_string(),
            session: id.clone(),
            workspace: glimpse.workspace,
            cost_usd: signs.cost(&about.path),
            kind: about.kind,
            task: one_line(&about.task),
            state: about.state,
            why: about.why,
            since_ms: log.since.map(|at| at.0).filter(|_| is_working),
            call: current.filter(|_| is_working && blocked.is_none()),
            blocked: blocked.filter(|_: &Blocked| is_working),
            last_line: log.last_line,
        }
    }

    /// A teammate is there also between its turns, for as long as its lead is.
    fn with_teammates(
        &mut self,
        id: &SessionId,
        about: &About,
        (records, team): (Vec<AgentRecord>, Vec<TeammateStatus>),
        signs: &SessionSigns,
    ) -> Vec<MachineAgent> {
        let known = records.clone();
        let mut agents = self.agents(id, &about.path, records, signs);
        if self.all || matches!(about.state, AgentActivity::Working | AgentActivity::Idle) {
            teammates::add(&mut agents, team, (id, &about.path), &known);
        }
        agents
    }

    /// What the log of a session knows, and those whose own log says that they belong to it.
    fn agents(
        &mut self,
        above: &SessionId,
        path: &AgentPath,
        records: Vec<AgentRecord>,
        signs: &SessionSigns,
    ) -> Vec<MachineAgent> {
        let linked = self.below.remove(above).unwrap_or_default();
        let unknown = linked.into_iter().filter(|id| records.iter().all(|had| had.session != *id));
        let unknown: Vec<SessionId> = unknown.collect();
        let known = records.into_iter().map(|record| (record.session.clone(), Some(record)));
        let all: Vec<_> = known.chain(unknown.into_iter().map(|id| (id, None))).collect();
        let mut agents = Vec::new();
        for (id, record) in all {
            let is_open = self.open.contains_key(&id);
            if !is_open && !self.all {
                continue;
            }
            if self.seen >= MOST || path.names().len() >= DEEPEST {
                self.left_out += 1;
                continue;
            }
            agents.extend(self.agent(above, path, (&id, is_open), record, signs));
        }
        agents
    }

    fn agent(
        &mut self,
        above: &SessionId,
        path: &AgentPath,
        (id, is_open): (&SessionId, bool),
        record: Option<AgentRecord>,
        signs: &SessionSigns,
    ) -> Option<MachineAgent> {
        let glimpse = self.glimpse(id)?;
        let link = glimpse.started_by.as_ref().filter(|link| link.session == *above);
        let about = match record {
            Some(record) => {
                let (state, why) = self.state(above, &record, is_open);
                let AgentRecord { name, kind, task, .. } = record;
                About { path: path.child(name), kind, task, state, why }
            }
            None => About::of_link(link?, &glimpse.title),
        };
        let log = LogSigns::of(&glimpse.newest);
        Some(self.node(id, glimpse, log, signs, about))
    }

    /// The end of an agent is in the log above it before its own log is given up.
    fn state(
        &self,
        above: &SessionId,
        record: &AgentRecord,
        is_open: bool,
    ) -> (AgentActivity, Option<String>) {
        let mut state = record.state.clone();
        if state.is_running() && !is_open {
            if self.store.is_open(&record.session) {
                return (AgentActivity::Working, None);
            }
            let now = self.store.glimpse(above, &["agent"]).unwrap_or_default().newest;
            let newer = now.into_iter().rev().find_map(|entry| match entry {
                Entry::Agent(agent) if agent.session == record.session => Some(agent.state),
                _ => None,
            });
            state = newer.unwrap_or(state);
        }
        match state {
            AgentState::Running if is_open => (AgentActivity::Working, None),
            AgentState::Running => (AgentActivity::Lost, None),
            AgentState::Finished => (AgentActivity::Finished, None),
            state if state.is_stopped() => (AgentActivity::Stopped, None),
            AgentState::Failed { why } => (AgentActivity::Failed, Some(why)),
        }
    }
}

struct About {
    path: AgentPath,
    kind: String,
    task: String,
    state: AgentActivity,
    why: Option<String>,
}

impl About {
    /// Of one that was started so long ago that the end of the log above does not have it.
    fn of_link(link: &StartedBy, task: &str) -> Self {
        let kind = link.definition.as_ref().map(|definition| definition.name.clone());
        About {
            path: link.agent.clone(),
            kind: kind.unwrap_or_default(),
            task: task.to_owned(),
            state: AgentActivity::Working,
            why: None,
        }
    }
}

/// The first line of a text, as far as it fits.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(super::log_signs::LINE).collect()
}
