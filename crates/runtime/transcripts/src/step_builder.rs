//! Puts steps together from items that come one by one: parts of an answer, results, prompts.

use crate::conversation::Step;
use ostler_core::ids::ModelId;
use ostler_core::message::{Block, Message};
use ostler_core::time::Timestamp;

pub(crate) struct StepBuilder {
    steps: Vec<Step>,
    model: ModelId,
    answer: Vec<Block>,
    results: Vec<Block>,
}

impl StepBuilder {
    pub fn new() -> Self {
        let model = ModelId::new("unknown");
        StepBuilder { steps: Vec::new(), model, answer: Vec::new(), results: Vec::new() }
    }

    /// The model that wrote what follows.
    pub fn model(&mut self, model: ModelId) {
        if model != self.model {
            self.flush();
            self.model = model;
        }
    }

    /// A part of an answer. Results end the answer before it.
    pub fn part(&mut self, block: Block) {
        if !self.results.is_empty() {
            self.flush();
        }
        self.answer.push(block);
    }

    /// A call that is stored together with its result: those beside it belong to the same answer.
    pub fn call(&mut self, block: Block) {
        self.answer.push(block);
    }

    pub fn result(&mut self, block: Block) {
        self.results.push(block);
    }

    pub fn prompt(&mut self, content: Vec<Block>, at: Timestamp) {
        self.flush();
        if !content.is_empty() {
            self.steps.push(Step::Prompt { content, at });
        }
    }

    pub fn note(&mut self, content: Vec<Block>) {
        self.flush();
        if !content.is_empty() {
            self.steps.push(Step::Note { content });
        }
    }

    pub fn summary(&mut self, text: String, kept: Vec<Message>, at: Timestamp, manual: bool) {
        self.flush();
        self.steps.push(Step::Summary { text, kept, at, manual });
    }

    /// The answer so far is complete.
    pub fn flush(&mut self) {
        let (content, results) =
            (std::mem::take(&mut self.answer), std::mem::take(&mut self.results));
        if !content.is_empty() {
            self.steps.push(Step::Answer { content, model: self.model.clone() });
        }
        if !results.is_empty() {
            self.steps.push(Step::Results(results));
        }
    }

    /// Takes the last prompts back, with everything after them.
    pub fn roll_back(&mut self, turns: u64) {
        self.flush();
        for _ in 0..turns.min(self.steps.len() as u64) {
            let is_prompt = |step: &Step| matches!(step, Step::Prompt { .. });
            match self.steps.iter().rposition(is_prompt) {
                Some(at) => self.steps.truncate(at),
                None => return,
            }
        }
    }

    pub fn into_steps(mut self) -> Vec<Step> {
        self.flush();
        self.steps
    }
}

/// The words of the first prompt, for a title.
pub(crate) fn first_prompt(steps: &[Step]) -> Option<String> {
    steps.iter().find_map(|step| match step {
        Step::Prompt { content, .. } => {
            let text = Message::User { content: content.clone() }.text();
            Some(crate::foreign_text::first_words(&text)).filter(|words| !words.is_empty())
        }
        _ => None,
    })
}
