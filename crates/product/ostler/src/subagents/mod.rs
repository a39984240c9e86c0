//! Agents that an agent starts. Each is a session of its own on the same host: a fresh context and its own log, the rights
//! of the one who started it and never more, money from its purse, and questions to the person who attends the first of
//! them. Its events appear in the stream of the one above, and only its last text goes back.

mod child;
mod child_options;
mod lineage;
mod relay;
mod slots;

pub(crate) use lineage::Lineage;

use crate::assembly;
use crate::error::Error;
use crate::session::{Session, SessionShared};
use crate::session_options::SessionOptions;
use child::Child;
use ostler_core::event::{AgentPath, SessionRules};
use ostler_core::ids::CallId;
use ostler_core::ports::{AgentKind, AgentOrder, BoxFuture, Delegate, ToolContext};
use ostler_core::tool::ToolOutput;
use relay::Relay;
use serde_json::json;
use slots::{AgentSlots, Slot};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The agents that one session starts.
pub(crate) struct Subagents {
    /// Where this session stands itself.
    path: AgentPath,
    slots: Arc<AgentSlots>,
    session: OnceLock<Weak<SessionShared>>,
    started: Mutex<Started>,
}

#[derive(Default)]
struct Started {
    /// How many of a kind there were, for their names.
    counts: HashMap<&'static str, u32>,
    /// Those that may still be at work.
    running: Vec<Weak<SessionShared>>,
}

/// Why no agent was started.
#[derive(Debug, thiserror::Error)]
enum AgentRefused {
    #[error("{limit} agents are running already. Wait for one of them, or do the work yourself")]
    TooMany { limit: usize },
    #[error(
        "agents may start each other {limit} levels deep, and this one is at the last. Do the work yourself"
    )]
    TooDeep { limit: usize },
    #[error("the session is closing")]
    Closing,
    #[error("{0}")]
    NotOpened(#[from] Error),
}

impl AgentRefused {
    /// For programs.
    fn code(&self) -> &'static str {
        match self {
            AgentRefused::TooMany { .. } => "too_many_agents",
            AgentRefused::TooDeep { .. } => "too_deep",
            AgentRefused::Closing => "closing",
            AgentRefused::NotOpened(_) => "not_opened",
        }
    }

    fn output(&self) -> ToolOutput {
        let text = format!("The agent was not started: {self}.");
        ToolOutput { detail: Some(json!({ "refused": self.code() })), ..ToolOutput::error(text) }
    }
}

impl Subagents {
    pub(crate) fn new(options: &SessionOptions, lineage: Option<&Lineage>) -> Arc<Self> {
        let slots = match lineage {
            Some(lineage) => lineage.slots.clone(),
            None => AgentSlots::new(options.max_agents, options.max_agent_depth),
        };
        let path = lineage.map(|lineage| lineage.path.clone()).unwrap_or_default();
        Arc::new(Subagents { path, slots, session: OnceLock::new(), started: Mutex::default() })
    }

    /// From here on agents can be started.
    pub(crate) fn serve(&self, session: &Session) {
        let _ = self.session.set(Arc::downgrade(&session.shared));
    }

    /// The rules of the session were replaced: commands of running agents are held by them, too.
    pub(crate) fn set_rules(&self, rules: &SessionRules) -> Result<(), Error> {
        for session in self.running() {
            let shared = session.shared();
            shared.parts.rules.set(&shared.agent, &shared.workspace, rules.clone())?;
            shared.parts.subagents.set_rules(rules)?;
        }
        Ok(())
    }

    fn running(&self) -> Vec<Session> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.running.retain(|session| session.strong_count() > 0);
        let found = started.running.iter().filter_map(Weak::upgrade);
        found.map(|shared| Session { shared }).collect()
    }

    /// `explorer-1`: lower-case letters, digits and hyphens only.
    fn new_name(&self, kind: AgentKind) -> String {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let count = started.counts.entry(kind.name()).or_default();
        *count += 1;
        format!("{}-{count}", kind.name())
    }

    fn start(&self, order: &AgentOrder, call: &CallId) -> Result<Child, AgentRefused> {
        let session = self.session.get().and_then(Weak::upgrade).ok_or(AgentRefused::Closing)?;
        let slot: Slot = self.slots.take(&self.path)?;
        let name = self.new_name(order.kind);
        let lineage = Lineage::of(&session, self, &name, call, order.kind);
        let (host, _) = &session.origin;
        let options = child_options::of(&session, order, &name);
        let child = assembly::child(host, options, lineage)?;
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.running.push(Arc::downgrade(&child.shared));
        drop(started);
        let relay = Relay::new(&session, name, call.clone());
        Ok(Child { relay, session: child, _slot: slot })
    }
}

impl Delegate for Subagents {
    fn delegate(&self, order: AgentOrder, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        match self.start(&order, &cx.call) {
            Ok(child) => Box::pin(child.work(order.prompt)),
            Err(refused) => Box::pin(std::future::ready(refused.output())),
        }
    }
}
