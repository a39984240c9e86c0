//! The calls of the last answer that are not settled yet.

use super::changed_input::changed_input_line;
use crate::ids::CallId;
use crate::message::{Block, Message};
use crate::pairing;
use crate::prompt_texts;
use crate::view::View;
use serde_json::Value;

/// What became of the open calls since the answer that made them.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    started: Vec<CallId>,
    results: Vec<Block>,
    /// Inputs that a person changed.
    inputs: Vec<(CallId, Value)>,
}

impl Pending {
    pub fn started(&mut self, id: CallId) {
        self.started.push(id);
    }

    pub fn finished(&mut self, result: Block) {
        self.results.push(result);
    }

    pub fn changed(&mut self, call: CallId, input: Value) {
        self.inputs.retain(|(other, _)| *other != call);
        self.inputs.push((call, input));
    }

    /// What runs instead of what the model wrote, if a person changed it.
    pub fn changed_input(&self, call: &CallId) -> Option<&Value> {
        self.inputs.iter().find(|(other, _)| other == call).map(|(_, input)| input)
    }

    /// It may have taken effect.
    pub fn has_started(&self, call: &CallId) -> bool {
        self.started.contains(call)
    }

    /// What it gave back, if it ended.
    pub fn result(&self, call: &CallId) -> Option<&Block> {
        let is_its = |block: &&Block| matches!(block, Block::ToolResult { id, .. } if id == call);
        self.results.iter().find(is_its)
    }

    pub(super) fn has_results(&self) -> bool {
        !self.results.is_empty()
    }

    /// Answers the open calls: with what was recorded, and with the truth where nothing was.
    pub fn settle(self, view: &mut View) {
        let open = view.open_calls().to_vec();
        if open.is_empty() {
            return;
        }
        let Pending { started, results, inputs } = self;
        let truth = |id: &CallId| match started.contains(id) {
            true => match inputs.iter().find(|(call, _)| call == id) {
                Some((_, input)) => {
                    format!("{}\n{}", changed_input_line(input), prompt_texts::LOST_EFFECT)
                }
                None => prompt_texts::LOST_EFFECT.to_owned(),
            },
            false => prompt_texts::LOST_HARMLESS.to_owned(),
        };
        let content = pairing::complete(&open, results, truth);
        view.push(Message::User { content });
    }
}
