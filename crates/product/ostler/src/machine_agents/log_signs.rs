//! What the newest entries of a log say about the one who writes it.

use super::{Blocked, CurrentCall};
use ostler_core::ids::{CallId, QuestionId};
use ostler_core::message::Block;
use ostler_core::question::Question;
use ostler_core::session::{AgentRecord, Entry};
use ostler_core::teammate::TeammateStatus;
use ostler_core::time::Timestamp;
use ostler_store::beginning_of_prompt;

/// The entries that are looked at.
pub(super) const FACTS: &[&str] = &[
    "prompt",
    "note",
    "answer",
    "call_started",
    "call_finished",
    "asked",
    "decided",
    "withdrawn",
    "end",
    "rewound",
    "agent",
    "teammate",
];
/// Characters of a line.
pub(super) const LINE: usize = 200;

#[derive(Default)]
pub(super) struct LogSigns {
    /// What it was asked last.
    pub(super) prompt: Option<String>,
    pub(super) is_in_turn: bool,
    /// When the last turn began.
    pub(super) since: Option<Timestamp>,
    /// Calls of the newest answer that have no result, oldest first.
    calls: Vec<(CallId, CurrentCall)>,
    pub(super) question: Option<Blocked>,
    pub(super) last_line: Option<String>,
    /// Those that it started, in this order, as they were last.
    pub(super) agents: Vec<AgentRecord>,
    /// Its teammates, as they were last.
    pub(super) teammates: Vec<TeammateStatus>,
}

impl LogSigns {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut signs = LogSigns::default();
        let mut open: Vec<&Question> = Vec::new();
        for entry in entries {
            signs.look_at(entry);
            match entry {
                Entry::Asked { question, .. } => open.push(question),
                Entry::Decided { call, question, .. } => {
                    open.retain(|had| !answers(had, call, question.as_ref()));
                }
                Entry::Withdrawn { questions, .. } => {
                    open.retain(|had| !questions.contains(&had.id));
                }
                Entry::Prompt { .. } | Entry::End { .. } | Entry::Rewound { .. } => open.clear(),
                _ => {}
            }
        }
        signs.question = open.first().map(|question| blocked(question));
        signs
    }

    /// What it is running, if that is known.
    pub(super) fn current_call(&self) -> Option<CurrentCall> {
        self.calls.first().map(|(_, call)| call.clone())
    }

    fn look_at(&mut self, entry: &Entry) {
        match entry {
            Entry::Prompt { message, at, .. } => {
                self.is_in_turn = true;
                self.since = Some(*at);
                self.calls.clear();
                let text = beginning_of_prompt(&message.text()).to_owned();
                self.prompt = Some(text).filter(|text| !text.is_empty());
            }
            Entry::Answer { message, .. } => {
                self.is_in_turn = true;
                let text = message.text();
                let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
                let last = last.map(|line| line.chars().take(LINE).collect());
                self.last_line = last.or(self.last_line.take());
                self.calls = message.blocks().iter().filter_map(current_call).collect();
            }
            Entry::CallFinished { result: Block::ToolResult { id: done, .. }, .. } => {
                self.calls.retain(|(id, _)| id != done);
            }
            Entry::CallStarted { .. } | Entry::Asked { .. } => self.is_in_turn = true,
            Entry::End { .. } | Entry::Rewound { .. } => {
                self.is_in_turn = false;
                self.calls.clear();
            }
            Entry::Agent(record) => {
                match self.agents.iter_mut().find(|had| had.session == record.session) {
                    Some(had) => had.clone_from(record),
                    None => self.agents.push((**record).clone()),
                }
            }
            Entry::Teammate { status, .. } => {
                match self.teammates.iter_mut().find(|had| had.name == status.name) {
                    Some(had) => had.clone_from(status),
                    None => self.teammates.push((**status).clone()),
                }
            }
            _ => {}
        }
    }
}

fn current_call(block: &Block) -> Option<(CallId, CurrentCall)> {
    let Block::ToolUse { id, name, input, .. } = block else { return None };
    let subject = one_line(&ostler_tools::facts(name).subject_of(input));
    Some((id.clone(), CurrentCall { tool: name.clone(), subject }))
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LINE).collect()
}

fn answers(question: &Question, call: &CallId, id: Option<&QuestionId>) -> bool {
    question.call == *call || id == Some(&question.id)
}

fn blocked(question: &Question) -> Blocked {
    let subject = one_line(&ostler_tools::facts(&question.tool).subject_of(&question.input));
    Blocked::Question { tool: question.tool.clone(), subject }
}
