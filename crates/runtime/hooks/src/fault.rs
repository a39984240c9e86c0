//! A hook that gave no usable answer, and what follows from it.

use ostler_core::hook::{EventName, HookEvent, HookOutcome, HookSpec, Stand};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookFault {
    /// The program or its interpreter is missing or cannot be executed.
    CannotStart(String),
    /// It was started or asked, and crashed, timed out or was not reachable.
    Failed(String),
    /// It ran to its end; what it wrote is not a verdict.
    Unclear(String),
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HookFault::CannotStart(why) => write!(f, "could not start: {why}"),
            HookFault::Failed(why) => write!(f, "failed: {why}"),
            HookFault::Unclear(why) => write!(f, "gave an unclear answer: {why}"),
        }
    }
}

impl HookFault {
    /// A block where the hook decides, else a warning.
    pub(crate) fn outcome(&self, spec: &HookSpec, event: &HookEvent) -> HookOutcome {
        let what = spec.what();
        if spec.decides() && !self.is_tolerated(event) {
            let why = format!("it {self} (a blocking hook without a verdict denies)");
            return HookOutcome::of(Stand::Block, &what, why);
        }
        let name = spec.event.name();
        HookOutcome::notice(format!("the hook {what} on {name} ({}) {self}", spec.source))
    }

    /// A prompt or the end of a turn changes nothing by itself, so a hook that is not there must not keep people from
    /// working; and a model that continued once cannot repair the hook by continuing again.
    fn is_tolerated(&self, event: &HookEvent) -> bool {
        let went_on = match event {
            HookEvent::Stop { stop_hook_active, .. }
            | HookEvent::SubagentStop { stop_hook_active, .. } => *stop_hook_active,
            _ => false,
        };
        let gentle = matches!(
            event.name(),
            EventName::UserPromptSubmit | EventName::Stop | EventName::SubagentStop
        );
        went_on || (gentle && matches!(self, HookFault::CannotStart(_)))
    }
}
