//! Money is reserved before a request is sent: the output limit is what the rest of the budget allows.

use crate::agent::Agent;
use ostler_core::model::{Request, Thinking};
use ostler_core::turn::PrepareError;
use std::sync::PoisonError;

/// The output limit for this request, or why it may not be sent.
pub(crate) fn grant(
    agent: &Agent,
    request: &Request,
    escalated: bool,
) -> Result<u32, PrepareError> {
    let settings = &agent.settings;
    let info = agent.model.info(&request.model);
    let wanted = match settings.output_limit {
        Some(limit) => limit,
        None if escalated => settings.escalated_output,
        None => settings.default_output,
    };
    let wanted = wanted.min(info.max_output).max(1);
    let budget = *agent.budget.lock().unwrap_or_else(PoisonError::into_inner);
    if budget.limit.is_none() {
        return Ok(wanted);
    }
    // A budget in a currency nobody can compute is no budget: the request is not sent.
    let price = info.price.ok_or(PrepareError::BudgetSpent)?;
    // Thinking that comes on top of the answer is paid for like the answer.
    let thinking = match settings.thinking {
        Thinking::Budget(tokens) => tokens,
        Thinking::Auto => info.thinking_budget,
        Thinking::Adaptive | Thinking::Disabled => 0,
    };
    let both =
        budget.reserve(&price, agent.model.estimate(request), wanted.saturating_add(thinking));
    both.and_then(|granted| granted.checked_sub(thinking))
        .filter(|left| *left > 0)
        .ok_or(PrepareError::BudgetSpent)
}
