//! Money is reserved before a request is sent, in this process and in the sums it shares with others: the output limit
//! is what the rest allows.

use crate::agent::Agent;
use ostler_core::event::Notice;
use ostler_core::ledger::{Ask, Grant, Left, Purpose, Purse, PurseHold, Sum};
use ostler_core::model::{Request, Thinking};
use ostler_core::ports::{Ledger, LedgerError, ModelInfo, Reserved};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a request waits for others to give back what they hold, before it takes what is there.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the end of a turn waits for the state of the shared totals.
const LOOK: Duration = Duration::from_secs(2);
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Tokens of the window that stay free because the provider's count is not ours; and an answer worth asking for.
const MARGIN: u64 = 500;
const LEAST: u32 = 1_024;

/// What a request may cost, held until it is paid for. Dropped, it gives everything back.
pub(crate) struct Reservation {
    pub(crate) output: u32,
    pub(crate) id: String,
    hold: Option<PurseHold>,
    /// Where it is held for other processes to see.
    shared: Option<Arc<dyn Ledger>>,
}

impl Reservation {
    /// Paid in this process. What is shared is settled by the ledger, when it records the request.
    pub(crate) fn settle(mut self, cost: f64) {
        if let Some(hold) = self.hold.take() {
            hold.settle(cost);
        }
        self.shared = None;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(ledger) = &self.shared {
            ledger.release(&self.id);
        }
    }
}

/// Why a request may not be sent.
pub(crate) enum Refused {
    Short(Notice),
    /// It is unknown what is left.
    Unknown(Notice),
}

impl Refused {
    pub(crate) fn notice(self) -> Notice {
        match self {
            Refused::Short(notice) | Refused::Unknown(notice) => notice,
        }
    }
}

/// The output limit that the agent's settings ask for, as far as the model and the window leave room for it.
pub(crate) fn wanted(agent: &Agent, request: &Request, escalated: bool) -> u32 {
    let settings = &agent.settings;
    let wanted = match settings.output_limit {
        Some(limit) => limit,
        None if escalated => settings.escalated_output,
        None => settings.default_output,
    };
    let info = agent.model.info(&request.model);
    let wanted = wanted.min(info.max_output).max(1);
    let pressure = agent.pressure(&request.view, &request.model);
    let taken = pressure.tokens + u64::from(thinking(request, &info)) + MARGIN;
    match u32::try_from(pressure.window.saturating_sub(taken)) {
        Ok(left) if left >= LEAST => wanted.min(left),
        // In so small a window a summary is short.
        _ if request.source == Purpose::Compaction => wanted.min(LEAST),
        // Too full, as it seems; that is for the provider to say.
        _ => wanted,
    }
}

/// Thinking that comes on top of the answer.
pub(crate) fn thinking(request: &Request, info: &ModelInfo) -> u32 {
    match request.thinking {
        Thinking::Budget(tokens) => tokens,
        Thinking::Auto => info.thinking_budget,
        Thinking::Adaptive | Thinking::Disabled => 0,
    }
}

/// Reserves what the request may cost, or says why it may not be sent.
pub(crate) async fn reserve(
    agent: &Agent,
    request: &Request,
    wanted: u32,
) -> Result<Reservation, Refused> {
    reserve_from(agent, None, request, wanted).await
}

/// What some requests of an agent may cost together, within what the agent may spend.
#[derive(Clone, Copy)]
pub struct OwnBudget<'a> {
    /// Draws on the agent's.
    pub purse: &'a Purse,
    /// Whose it is, in a word.
    pub of: &'a str,
}

/// Like [`reserve`], within a budget of its own, if there is one.
pub(crate) async fn reserve_from(
    agent: &Agent,
    within: Option<OwnBudget<'_>>,
    request: &Request,
    wanted: u32,
) -> Result<Reservation, Refused> {
    let own = within.map_or(&agent.budget, |own| own.purse);
    let info = agent.model.info(&request.model);
    let shared = agent.meter.ledger.is_limited();
    let id = agent.meter.ids.uuid();
    if !shared && !own.is_limited() {
        let hold = Some(own.unreserved());
        return Ok(Reservation { output: wanted, id, hold, shared: None });
    }
    // Without a price the budget cannot be enforced, so the request is not sent.
    let Some(price) = info.price else {
        return Err(Refused::Short(Notice::PriceUnknown { model: request.model.clone() }));
    };
    // It is paid for like the answer.
    let thinking = thinking(request, &info);
    let prompt = agent.model.estimate(request);
    let mut ask = Ask { price, prompt, wanted, thinking, patient: true };
    let (until, mut wait) = (Instant::now() + PATIENCE, FIRST_WAIT);
    loop {
        match once(agent, within, (&id, &ask), shared).await? {
            Some(reservation) => return Ok(reservation),
            None if Instant::now() + wait < until => sleep(wait).await,
            None => ask.patient = false,
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// None: others hold what it needs.
async fn once(
    agent: &Agent,
    within: Option<OwnBudget<'_>>,
    (id, ask): (&str, &Ask),
    shared: bool,
) -> Result<Option<Reservation>, Refused> {
    let (grant, mut hold) = match within {
        Some(own) => own.purse.reserve(ask),
        None if agent.settings.budget_may_be_exceeded => {
            (until_spent(agent, ask), agent.budget.unreserved())
        }
        None => agent.budget.reserve(ask),
    };
    let output = match grant {
        Grant::Yes { output, .. } => output,
        Grant::Wait => return Ok(None),
        Grant::No { sum } => return Err(Refused::Short(short_of_own(agent, within, sum))),
    };
    if !shared {
        let (hold, id) = (Some(hold), id.to_owned());
        return Ok(Some(Reservation { output, id, hold, shared: None }));
    }
    let ledger = agent.meter.ledger.clone();
    let ask = Ask { wanted: output, ..*ask };
    // Made before it is asked for: whatever happens in between, it is given back.
    let mut reservation =
        Reservation { output, id: id.to_owned(), hold: None, shared: Some(ledger.clone()) };
    let (id, by) = (id.to_owned(), agent.meter.agent.clone());
    let asked = tokio::task::spawn_blocking(move || ledger.reserve(&id, &by, &ask)).await;
    let asked = asked.unwrap_or_else(|_| Err(stopping()));
    if !asked.as_ref().is_ok_and(Reserved::holds) {
        // Giving back what is not held would take it from the next try of the same name.
        reservation.shared = None;
    }
    match asked {
        Ok(Reserved { grant: Grant::Yes { output, amount }, .. }) => {
            hold.shrink(amount);
            (reservation.output, reservation.hold) = (output, Some(hold));
            Ok(Some(reservation))
        }
        Ok(Reserved { grant: Grant::Wait, .. }) => Ok(None),
        Ok(Reserved { grant: Grant::No { .. }, short }) => {
            let budget = short.unwrap_or_else(|| "a shared budget".into());
            Err(Refused::Short(Notice::BudgetSpent { budget, limit_usd: None }))
        }
        Err(error) => Err(Refused::Unknown(Notice::BudgetUnknown { text: error.to_string() })),
    }
}

/// A budget that may be exceeded is spent.
pub(crate) fn is_exceeded(agent: &Agent) -> bool {
    let is_spent = || agent.budget.sums().iter().any(|sum| sum.spent >= sum.limit);
    agent.settings.budget_may_be_exceeded && is_spent()
}

/// Nothing is held: the request is sent as long as anything is left.
fn until_spent(agent: &Agent, ask: &Ask) -> Grant {
    let sums = agent.budget.sums();
    match sums.iter().position(|sum| sum.spent >= sum.limit) {
        Some(sum) => Grant::No { sum },
        None => Grant::Yes { output: ask.wanted, amount: 0.0 },
    }
}

/// What the person should know about the ledger; nothing where that takes too long.
pub(crate) async fn trouble(agent: &Agent) -> Vec<String> {
    // Whoever started this agent tells it.
    if agent.meter.purpose == Purpose::Subagent {
        return Vec::new();
    }
    let ledger = agent.meter.ledger.clone();
    let asked = tokio::task::spawn_blocking(move || ledger.trouble());
    tokio::time::timeout(LOOK, asked).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// What is left of the budgets after requests of a turn. What cannot be read in time is left out.
pub(crate) async fn remaining(agent: &Agent, requests: u32, cost: f64) -> Vec<Left> {
    let own = agent.budget.sums().into_iter().map(|sum| ("run".to_owned(), sum));
    let mut sums: Vec<(String, Sum)> = own.collect();
    if agent.meter.ledger.is_limited() {
        let (ledger, by) = (agent.meter.ledger.clone(), agent.meter.agent.clone());
        let asked = tokio::task::spawn_blocking(move || ledger.sums(&by));
        if let Ok(Ok(shared)) = tokio::time::timeout(LOOK, asked).await {
            sums.extend(shared);
        }
    }
    sums.into_iter().map(|(what, sum)| Left::new(what, sum, cost, requests)).collect()
}

fn short_of_own(agent: &Agent, within: Option<OwnBudget<'_>>, sum: usize) -> Notice {
    let sums = within.map_or(&agent.budget, |own| own.purse).sums();
    let limit = sums.get(sum).map_or(0.0, |sum| sum.limit);
    // The first is its own, the others are those above it.
    let budget = within.filter(|_| sum == 0).map_or("run", |own| own.of);
    Notice::BudgetSpent { budget: budget.into(), limit_usd: Some(limit) }
}

fn stopping() -> LedgerError {
    LedgerError { path: "file".into(), why: "the program is shutting down".into() }
}
