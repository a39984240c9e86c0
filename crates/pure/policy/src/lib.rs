//! What a call would touch, and whether it may run: access, rules, modes and the one decision.
//!
//! Invariants
//! - **Pure**: no I/O, no clock. Where a path leads is asked through [`Places`].
//! - **One decision** for run time, tests and `ostler permissions`: the strictest answer over every command a text could
//!   run. What is not understood asks.
//! - **No tool is known by its name**: rules and decisions go by the facts that a tool declares ([`tool_facts`]).

pub mod access;
pub mod autorun;
pub mod command_regex;
pub mod command_rule;
pub mod commands;
pub mod decide;
pub mod edit_distance;
pub mod file_pattern;
pub mod guarded_names;
mod interpreters;
mod live;
pub mod mode;
mod offer;
mod person_request;
pub mod places;
pub mod policy;
mod program_name;
pub mod rule;
mod rule_text;
pub mod script;
mod step_verdict;
mod stray_words;
#[cfg(test)]
mod test_tools;
pub mod tool_facts;
pub mod tool_names;
mod vouch;
mod wrapper_rules;

pub use access::{Access, Backing, Denials, Hold, Inward, PathScope, Workspace};
pub use commands::{Act, Caution, Commands, Concern, Effect, Position, Step, Touch, TouchKind};
pub use decide::{By, CitedRule, Decision, Reason, Verdict, decide};
pub use file_pattern::Anchors;
pub use guarded_names::{protected, sensitive};
pub use interpreters::is_interpreter;
pub use live::{Derived, Live};
pub use mode::Mode;
pub use person_request::{Choice, ChoiceQuestion, PersonRequest};
pub use places::{Lexical, Places};
pub use policy::{DeniedFiles, Fallback, Policy};
pub use rule::{Bound, CHANGING, COMMANDS, Matcher, READING, Rule, RuleError, Source, Tier};
pub use tool_names::ToolName;
