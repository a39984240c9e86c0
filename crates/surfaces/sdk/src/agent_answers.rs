//! What the frames of agents repeat: the task that a call gave, and the answer that each of them is writing.

use crate::stream_json::Answering;
use ostler::{AgentPath, Block, CallId, Envelope, Event};
use std::collections::HashMap;
use std::sync::LazyLock;

#[derive(Default)]
pub(crate) struct AgentAnswers {
    /// Of calls that give one, until they have ended, or the agent in the background that they started.
    tasks: HashMap<CallId, String>,
    open: HashMap<AgentPath, Answering>,
}

impl AgentAnswers {
    pub(crate) fn see(&mut self, envelope: &Envelope) {
        match &envelope.event {
            // The agent may be heard before the start of its call.
            Event::BlockFinished { block: Block::ToolUse { id, input, .. } } => {
                if let Some(task) = input.get("prompt").and_then(|task| task.as_str()) {
                    self.tasks.insert(id.clone(), task.to_owned());
                }
            }
            // An agent in the background may begin after its call has ended.
            Event::CallFinished { detail: Some(detail), .. } if detail["job"].is_string() => {}
            Event::CallFinished { id, .. } => _ = self.tasks.remove(id),
            Event::Closed { .. } => {
                self.open.remove(&envelope.agent);
                if let Some(call) = &envelope.parent {
                    self.tasks.remove(call);
                }
            }
            event if !envelope.agent.is_root() => {
                if let Some(answer) = Answering::of(event) {
                    self.open.insert(envelope.agent.clone(), answer);
                }
            }
            _ => {}
        }
    }

    /// What the agent was asked to do.
    pub(crate) fn task(&self, envelope: &Envelope) -> Option<&str> {
        self.tasks.get(envelope.parent.as_ref()?).map(String::as_str)
    }

    pub(crate) fn answer(&self, envelope: &Envelope) -> &Answering {
        static NONE: LazyLock<Answering> = LazyLock::new(Answering::default);
        self.open.get(&envelope.agent).unwrap_or(&NONE)
    }
}
