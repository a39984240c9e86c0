//! What the tool that delegates needs: somebody who starts agents.

use super::{BoxFuture, ToolContext};
use crate::agent_definition::AgentDefinition;
use crate::tool::ToolOutput;

pub trait Delegate: Send + Sync {
    /// Starts or resumes an agent and gives its last text, or why there is none. Dropping the future ends the agent,
    /// unless it went to the background: then the text says how to find it.
    fn delegate(&self, order: AgentOrder, cx: ToolContext) -> BoxFuture<'static, ToolOutput>;

    /// The agents that people defined, beside those that ship.
    fn definitions(&self) -> &[AgentDefinition];

    /// The kind of an agent that was started before, by its id or its name; none: there is no such agent.
    fn kind_of(&self, agent: &str) -> Option<String>;

    /// A message to a running agent, by its id, its name or the id of its job. It is read at the next safe point.
    fn message(&self, agent: &str, text: String) -> ToolOutput;
}

/// The work that an agent is started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOrder {
    /// In a few words, for people.
    pub description: String,
    pub prompt: String,
    /// The name of a kind that ships, or of a definition.
    pub kind: String,
    /// None: the model of the one who asks.
    pub model: Option<String>,
    /// The agent that goes on with what it knows, by its id or its name, instead of a new one.
    pub resume: Option<String>,
    /// The call does not wait for it.
    pub background: bool,
}

/// The agents that ship with the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentKind {
    /// Finds things out. It has only tools that read.
    Explorer,
    /// Finds out what has to be done, and changes nothing.
    Planner,
    /// Does what the one who asks could do.
    #[default]
    General,
}

impl AgentKind {
    pub const ALL: [AgentKind; 3] = [AgentKind::Explorer, AgentKind::Planner, AgentKind::General];

    /// Its own name, and that of its like in Claude Code.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            AgentKind::Explorer => ["explorer", "Explore"],
            AgentKind::Planner => ["planner", "Plan"],
            AgentKind::General => ["general", "general-purpose"],
        }
    }

    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// What it is for, for people.
    pub fn purpose(self) -> &'static str {
        match self {
            AgentKind::Explorer => "finds things out; has only tools that read",
            AgentKind::Planner => "works out what to do; changes nothing",
            AgentKind::General => "does what the agent that starts it can do",
        }
    }

    pub fn parse(name: &str) -> Option<AgentKind> {
        AgentKind::ALL.into_iter().find(|kind| kind.names().contains(&name))
    }
}
