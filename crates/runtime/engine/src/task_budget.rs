//! A turn with a task budget: a model that stops long before it is spent is asked to continue, as long as that helps.

use crate::run::Turn;
use crate::texts;
use ostler_core::message::Message;
use ostler_core::turn::StopVerdict;

/// From this share of the budget on, stopping is fine.
const PERCENT: u64 = 90;
/// A continuation that brought less than this is the last.
const LEAST: u64 = 500;

impl Turn {
    /// The message for a model that stopped early; none if it may stop.
    pub(crate) fn within_task_budget(&mut self) -> Option<StopVerdict> {
        let budget = self.agent.settings.context.task_budget?;
        let used = self.tally.output();
        let idle = self.nudged_at.is_some_and(|before| used.saturating_sub(before) < LEAST);
        if used.saturating_mul(100) >= budget.saturating_mul(PERCENT) || idle {
            return None;
        }
        self.nudged_at = Some(used);
        let text = texts::TASK_BUDGET
            .replace("{used}", &used.to_string())
            .replace("{budget}", &budget.to_string());
        Some(StopVerdict::SpendMore(Message::meta(text)))
    }
}
