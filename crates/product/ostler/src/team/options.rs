//! Who is in a team.

use crate::error::Error;
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::permission::Mode;
use std::path::Path;
use std::time::Duration;

const EXPLORER: &str = include_str!("../../../../../prompts/agents/explorer.md").trim_ascii();
const WRITER: &str = include_str!("../../../../../prompts/team/writer.md").trim_ascii();

/// The teammates of a session. Without any there is no team, and the tools for it are not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamOptions {
    pub teammates: Vec<AgentDefinition>,
    /// How long a teammate waits for the answer to a request.
    pub request_deadline: Duration,
    /// How long a teammate that is shut down may go on with its turn.
    pub shutdown_deadline: Duration,
    /// How long a plan waits for its approval; then its task ends.
    pub plan_deadline: Duration,
}

impl Default for TeamOptions {
    fn default() -> Self {
        let request_deadline = Duration::from_secs(600);
        let shutdown_deadline = Duration::from_secs(60);
        let plan_deadline = Duration::from_secs(60 * 60);
        TeamOptions { teammates: Vec::new(), request_deadline, shutdown_deadline, plan_deadline }
    }
}

impl TeamOptions {
    pub(crate) fn names(&self) -> Vec<String> {
        self.teammates.iter().map(|teammate| teammate.name.clone()).collect()
    }

    /// # Errors
    /// If a teammate cannot be used as it is defined.
    pub(crate) fn check(&self, home: Option<&Path>) -> Result<(), Error> {
        for (at, AgentDefinition { name, .. }) in self.teammates.iter().enumerate() {
            let is_double = self.teammates[..at].iter().any(|other| other.name == *name);
            let why = match AgentDefinition::no_teammate(name) {
                Some(why) => why,
                None if is_double => "two teammates have this name",
                None if home.is_none() => "a team needs a state directory for its mail",
                None => continue,
            };
            return Err(Error::Team(format!("teammate \"{name}\": {why}")));
        }
        Ok(())
    }
}

/// The teammates that ship: an explorer, which changes nothing, and a writer.
pub fn shipped_teammates() -> Vec<AgentDefinition> {
    let teammate = |name: &str, description: &str, prompt: &str, mode| AgentDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        prompt: prompt.to_owned(),
        mode,
        ..AgentDefinition::default()
    };
    vec![
        teammate("explorer", "finds things out and changes nothing", EXPLORER, Some(Mode::Plan)),
        teammate("writer", "writes and changes code and text", WRITER, None),
    ]
}
