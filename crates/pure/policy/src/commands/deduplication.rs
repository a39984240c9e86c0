//! A long text mostly repeats itself: steps that come to the same are judged once.

use super::{Commands, Position, Step};
use crate::script::Word;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Up to here every step is judged. Reasons name their steps where there are few, so that many must stay many.
const MANY: usize = 64;
/// Steps with the same words that a step is compared with.
const MOST_ALIKE: usize = 4;

impl Commands {
    /// The same without the steps that repeat an earlier one, if there are any beyond the first [`MANY`].
    pub(crate) fn distinct(&self) -> Option<Commands> {
        if self.steps.len() <= MANY {
            return None;
        }
        let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
        let (mut kept, mut becomes) = (Vec::new(), Vec::with_capacity(self.steps.len()));
        for (index, step) in self.steps.iter().enumerate() {
            let alike = alike.entry(key(step)).or_default();
            // A rule may speak of what starts a step together with the step.
            let around = |step: &Step| match step.position {
                Position::Wrapped => step.inside.and_then(|index| becomes.get(index).copied()),
                _ => None,
            };
            let is_same = |at: &&usize| {
                kept.get(**at).is_some_and(|known: &&Step| {
                    comes_to_the_same(known, step) && around(known) == around(step)
                })
            };
            match alike.iter().find(is_same) {
                Some(at) if index >= MANY => becomes.push(*at),
                _ => {
                    if alike.len() < MOST_ALIKE {
                        alike.push(kept.len());
                    }
                    becomes.push(kept.len());
                    kept.push(step);
                }
            }
        }
        if kept.len() == self.steps.len() {
            return None;
        }
        let stage = |stage: &Vec<usize>| -> Vec<usize> {
            stage.iter().filter_map(|index| becomes.get(*index).copied()).collect()
        };
        let steps = kept.into_iter().map(|step| Step {
            inside: step.inside.and_then(|index| becomes.get(index).copied()),
            ..step.clone()
        });
        Some(Commands {
            text: self.text.clone(),
            steps: steps.collect(),
            pipes: self.pipes.iter().map(|pipe| pipe.iter().map(stage).collect()).collect(),
            doubts: self.doubts.clone(),
            suspects: self.suspects.clone(),
        })
    }
}

fn key(step: &Step) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in &step.words {
        match word {
            Word::Literal(text) | Word::Glob(text) | Word::Dynamic { source: text, .. } => {
                text.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// All that a judgement looks at of the step itself.
fn comes_to_the_same(one: &Step, other: &Step) -> bool {
    let Step {
        words,
        inside: _,
        position,
        folder,
        place,
        effect,
        touches,
        hosts,
        transparent,
        variables,
        assigned,
        cautions,
        normal,
        git,
    } = one;
    *words == other.words
        && *position == other.position
        && *folder == other.folder
        && *place == other.place
        && *effect == other.effect
        && *touches == other.touches
        && *hosts == other.hosts
        && *transparent == other.transparent
        && *variables == other.variables
        && *assigned == other.assigned
        && *cautions == other.cautions
        && *normal == other.normal
        && *git == other.git
}

#[cfg(test)]
#[path = "deduplication_tests.rs"]
mod tests;
