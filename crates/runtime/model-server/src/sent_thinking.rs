//! What this server has said: which thinking is ours, and which thinking came with which calls.

use std::collections::HashMap;

use serde_json::Value;

use crate::reply::{Resolved, signature};
use crate::script::Part;

/// Beyond this many entries of a kind the oldest half is forgotten.
const MOST: usize = 100_000;

/// Thinking as it goes over the wire, reduced to what must not change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Thought {
    Plain { text: String, signature: String },
    Redacted { data: String },
}

impl Thought {
    /// The thought in a block of a request, if it is one.
    pub fn of(block: &Value) -> Option<Self> {
        let field = |name| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str)? {
            "thinking" => {
                Some(Self::Plain { text: field("thinking"), signature: field("signature") })
            }
            "redacted_thinking" => Some(Self::Redacted { data: field("data") }),
            _ => None,
        }
    }

    fn said(part: &Part) -> Option<Self> {
        match part {
            Part::Thinking { text, signature } => Some(Self::Plain {
                text: text.clone(),
                signature: signature.clone().unwrap_or_default(),
            }),
            Part::Redacted(data) => Some(Self::Redacted { data: data.clone() }),
            _ => None,
        }
    }

    /// Known without memory: the signature is the one this program gives that text.
    fn self_signed(&self) -> bool {
        matches!(self, Self::Plain { text, signature: given } if *given == signature(text))
    }
}

/// The thoughts of an answer that made calls.
#[derive(Debug, Clone)]
pub(crate) struct Trajectory {
    pub model: String,
    pub thoughts: Vec<Thought>,
    pub thought_first: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SentThinking {
    thoughts: HashMap<Thought, (u64, String)>,
    calls: HashMap<String, (u64, Trajectory)>,
    clock: u64,
}

impl SentThinking {
    /// `model` is the one that was asked: answers may carry another name.
    pub fn remember(&mut self, answer: &Resolved, model: &str) {
        self.clock += 1;
        let thoughts: Vec<Thought> = answer.parts.iter().filter_map(Thought::said).collect();
        for thought in &thoughts {
            self.thoughts.insert(thought.clone(), (self.clock, model.to_owned()));
        }
        let blocks = |part: &&Part| !matches!(part, Part::Wait(_) | Part::Event { .. });
        let thought_first =
            answer.parts.iter().find(blocks).is_some_and(|part| Thought::said(part).is_some());
        for part in &answer.parts {
            if let Part::Tool { id: Some(id), .. } = part {
                let model = model.to_owned();
                let trajectory = Trajectory { model, thoughts: thoughts.clone(), thought_first };
                self.calls.insert(id.clone(), (self.clock, trajectory));
            }
        }
        forget(&mut self.thoughts);
        forget(&mut self.calls);
    }

    /// Whether the thought is ours; with `model`, whether it is ours and that model's.
    pub fn knows(&self, thought: &Thought, model: Option<&str>) -> bool {
        match self.thoughts.get(thought) {
            Some((_, by)) => model.is_none_or(|model| model == by),
            None => thought.self_signed(),
        }
    }

    pub fn trajectory(&self, call: &str) -> Option<&Trajectory> {
        self.calls.get(call).map(|(_, trajectory)| trajectory)
    }
}

fn forget<K: std::hash::Hash + Eq, V>(entries: &mut HashMap<K, (u64, V)>) {
    if entries.len() > MOST {
        let mut ages: Vec<u64> = entries.values().map(|(age, _)| *age).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let oldest_kept = *median;
        entries.retain(|_, (age, _)| *age >= oldest_kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_bound_and_forgets_the_oldest() {
        let mut entries: HashMap<u64, (u64, ())> =
            (0..MOST as u64 + 1).map(|n| (n, (n, ()))).collect();
        forget(&mut entries);
        assert!(entries.len() <= MOST / 2 + 1);
        assert!(entries.contains_key(&(MOST as u64)) && !entries.contains_key(&0));
    }
}
