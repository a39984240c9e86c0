//! How much runs without a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Reading inside the roots runs, everything else asks.
    #[default]
    Default,
    /// Besides, the file tools may write inside the roots.
    AcceptEdits,
    /// Nothing may change anything.
    Plan,
    /// What would ask is refused.
    DontAsk,
    /// Nothing asks. Deny rules hold all the same.
    BypassPermissions,
}

impl Mode {
    pub const ALL: [Mode; 5] =
        [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::DontAsk, Mode::BypassPermissions];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AcceptEdits => "acceptEdits",
            Mode::Plan => "plan",
            Mode::DontAsk => "dontAsk",
            Mode::BypassPermissions => "bypassPermissions",
        }
    }

    /// Fewer calls run in it, whatever the rules say.
    pub fn is_stricter_than(self, other: Mode) -> bool {
        let rank = |mode: Mode| match mode {
            Mode::Plan => 0,
            Mode::DontAsk => 1,
            Mode::Default => 2,
            Mode::AcceptEdits => 3,
            Mode::BypassPermissions => 4,
        };
        rank(self) < rank(other)
    }

    pub fn parse(text: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == text)
    }
}
