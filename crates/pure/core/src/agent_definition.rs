//! What kind of agent somebody defined: its instructions, and what it may use of what its starter has.

use crate::model::Effort;
use crate::permission::Mode;
use serde::{Deserialize, Serialize};

/// Characters of a name.
const LONGEST_NAME: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDefinition {
    pub name: String,
    /// When to use it, for the model.
    pub description: String,
    /// Its instructions.
    pub prompt: String,
    /// The tools it may use; none: all that its starter has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disallowed_tools: Vec<String>,
    /// None: that of its starter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Counts only where it is stricter than that of its starter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How hard its model tries; none: as hard as that of its starter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Its call never waits for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Names of skills that it knows from the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    #[serde(default, skip_serializing_if = "AgentIsolation::is_none")]
    pub isolation: AgentIsolation,
    /// A teammate changes nothing before the plan for its task is approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_required: bool,
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentIsolation {
    /// In the directory of its starter.
    #[default]
    None,
    /// In a git worktree of its own. Its changes are commits on a branch.
    Worktree,
}

impl AgentIsolation {
    fn is_none(&self) -> bool {
        *self == AgentIsolation::None
    }
}

/// What a team calls the session that it works for.
pub const LEAD: &str = "lead";

impl AgentDefinition {
    /// Letters, digits, `-` and `_`: a name is a part of a path and of a rule.
    pub fn is_name(name: &str) -> bool {
        let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits)
    }

    /// Why nobody in a team can be called so. Agents are `kind-1`, and `lead` is taken.
    pub fn no_teammate(name: &str) -> Option<&'static str> {
        let ends_with_number = name.rsplit_once('-').is_some_and(|(_, end)| {
            !end.is_empty() && end.chars().all(|digit| digit.is_ascii_digit())
        });
        match name {
            LEAD => Some("the session itself is the lead"),
            _ if !Self::is_name(name) => {
                Some("use letters, digits, - and _, at most 64, for the name of a teammate")
            }
            _ if ends_with_number => {
                Some("names that end with - and a number are for other agents")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_part_of_a_path() {
        for name in ["reviewer", "test-runner", "Code_Review2"] {
            assert!(AgentDefinition::is_name(name), "{name}");
        }
        for name in ["", "a/b", "/", "..", "a b", "a)", "ä", &"x".repeat(65)] {
            assert!(!AgentDefinition::is_name(name), "{name}");
        }
    }

    #[test]
    fn some_names_are_taken_in_a_team() {
        for name in ["writer", "leader", "gpt-4o", "a-", "7"] {
            assert_eq!(AgentDefinition::no_teammate(name), None, "{name}");
        }
        for (name, why) in [("lead", "the lead"), ("writer-2", "a number"), ("a/b", "letters")] {
            let found = AgentDefinition::no_teammate(name);
            assert!(found.is_some_and(|found| found.contains(why)), "{name}: {found:?}");
        }
    }
}
