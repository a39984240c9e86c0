//! One request on its way. Whatever becomes of it, it is accounted for, also when its turn is dropped.

use crate::agent::Agent;
use crate::budget::{Reservation, thinking};
use ostler_core::ids::{CallId, ModelId};
use ostler_core::ledger::{
    Broken, Charge, ChargeStatus, Charged, Front, Purpose, SentRequest, Usage,
};
use ostler_core::message::{Block, Message};
use ostler_core::model::Request;
use ostler_core::ports::StoreError;
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use ostler_core::view::View;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub(crate) struct Payment {
    agent: Arc<Agent>,
    model: ModelId,
    sent: SentRequest,
    reservation: Option<Reservation>,
    purpose: Purpose,
    task: Option<String>,
    tool: Option<String>,
    at: Timestamp,
    since: Instant,
    first_byte: Option<Duration>,
    /// Since the answer began.
    usage: Option<Usage>,
    /// The answer has content, so its length is not 0.
    has_content: bool,
    /// It ended with an error, not because somebody cancelled it.
    has_failed: bool,
    /// Tokens of the prompt and the most tokens of the answer, as reserved.
    estimate: (u64, u64),
}

/// What a request came to.
pub(crate) struct Paid {
    pub(crate) usage: Usage,
    pub(crate) cost: Option<f64>,
    /// The cache returned less than expected.
    pub(crate) broken: Option<Broken>,
    /// The provider did not report all of it.
    pub(crate) estimated: bool,
}

impl Payment {
    pub(crate) fn new(
        agent: Arc<Agent>,
        request: &Request,
        reservation: Reservation,
        task: Option<String>,
    ) -> Self {
        let (at, purpose) = (agent.journal.clock().now(), request.source);
        // What the harness asks for itself was caused by no call.
        let thinking = thinking(request, &agent.model.info(&request.model));
        let longest = u64::from(reservation.output) + u64::from(thinking);
        let is_own = matches!(
            purpose,
            Purpose::Compaction
                | Purpose::Title
                | Purpose::Memory
                | Purpose::Web
                | Purpose::Sampling
        );
        Payment {
            model: request.model.clone(),
            sent: SentRequest::new(request, at),
            reservation: Some(reservation),
            purpose,
            task: agent.meter.task.clone().or(task),
            tool: if is_own { None } else { caused_by(&request.view) },
            at,
            since: Instant::now(),
            first_byte: None,
            usage: None,
            has_content: false,
            has_failed: false,
            estimate: (agent.model.estimate(request), longest),
            agent,
        }
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(crate) fn began(&mut self, usage: Usage) {
        self.first_byte = Some(self.since.elapsed());
        self.usage = Some(usage);
    }

    pub(crate) fn counted(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    pub(crate) fn has_content(&mut self) {
        self.has_content = true;
    }

    /// The provider did not answer, or not as it should have.
    pub(crate) fn failed(&mut self) {
        self.has_failed = true;
    }

    /// What the request is for; a request that is tried again is a retry.
    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// A try failed before the answer began; the next one starts after `wait`. The reservation continues.
    pub(crate) fn tried(&mut self, wait: Duration) -> Result<(), StoreError> {
        let id = self.agent.meter.ids.uuid();
        let charge = self.charge(id, ChargeStatus::Failed, None);
        self.write(Usage::default(), Some(0.0), charge, None)?;
        // A summary stays a summary, however often it is asked for.
        if self.purpose == Purpose::Answer {
            self.purpose = Purpose::Retry;
        }
        self.since = Instant::now() + wait;
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.at = Timestamp(self.agent.journal.clock().now().0.saturating_add(wait));
        Ok(())
    }

    /// The request is over. None if nothing is to be paid.
    pub(crate) fn settle(mut self, ended: bool) -> Result<Option<Paid>, StoreError> {
        self.close(ended)
    }

    fn close(&mut self, ended: bool) -> Result<Option<Paid>, StoreError> {
        let Some(reservation) = self.reservation.take() else { return Ok(None) };
        let id = reservation.id.clone();
        let Some(usage) = self.usage else {
            let status = match self.has_failed {
                true => ChargeStatus::Failed,
                false => ChargeStatus::Cancelled,
            };
            let charge = self.charge(id, status, None);
            // Nothing was reported, whatever it would have cost.
            reservation.settle(0.0);
            return self.write(Usage::default(), Some(0.0), charge, None).map(|()| None);
        };
        let (broken, front) = self.watched(usage);
        let reported = usage;
        let usage = self.completed(reported, ended);
        let estimated = usage != reported;
        let cost = self.agent.model.info(&self.model).price.map(|price| price.cost(&usage));
        reservation.settle(cost.unwrap_or(0.0));
        let status = match (estimated, ended) {
            (true, _) => ChargeStatus::Estimated,
            (false, true) => ChargeStatus::Ok,
            (false, false) => ChargeStatus::Dropped,
        };
        let charge = self.charge(id, status, broken.clone());
        self.write(usage, cost, charge, front)?;
        Ok(Some(Paid { usage, cost, broken, estimated }))
    }

    /// A prompt has tokens, and so has an answer that says something. If the provider reports no counts, the budget is
    /// charged the reserved amount: otherwise a gateway that reports nothing would disable every limit.
    fn completed(&self, reported: Usage, ended: bool) -> Usage {
        let (prompt, longest) = self.estimate;
        let mut usage = reported;
        let silent = reported.prompt() == 0;
        if silent {
            // As expensive as it was reserved: all of it may have been written to the cache.
            let price = self.agent.model.info(&self.model).price;
            match price.is_some_and(|price| price.cache_write > price.input) {
                true => usage.cache_write = prompt,
                false => usage.input = prompt,
            }
        }
        let unfinished = !ended && silent;
        if reported.output == 0 && (unfinished || (ended && self.has_content)) {
            usage.output = longest;
        }
        usage
    }

    /// Only requests of the conversation itself follow each other.
    fn watched(&mut self, usage: Usage) -> (Option<Broken>, Option<Front>) {
        if !self.purpose.is_conversation() {
            return (None, None);
        }
        self.sent.usage = usage;
        self.agent.meter.answered(self.sent.clone())
    }

    fn charge(&self, id: String, status: ChargeStatus, broken: Option<Broken>) -> Charge {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Charge {
            id,
            at: self.at,
            agent: self.agent.meter.agent.clone(),
            task: self.task.clone(),
            tool: self.tool.clone(),
            purpose: self.purpose,
            status,
            latency_ms: millis(self.since.elapsed()),
            first_byte_ms: self.first_byte.map(millis),
            price: self.agent.model.info(&self.model).price,
            broken,
        }
    }

    /// The log first: it is the durable record. The ledger gets it without waiting, whatever the log says, because the
    /// reservation must not stay.
    fn write(
        &self,
        usage: Usage,
        cost: Option<f64>,
        charge: Charge,
        front: Option<Front>,
    ) -> Result<(), StoreError> {
        let model = self.model.clone();
        let entry = Entry::Spent {
            model: model.clone(),
            usage,
            cost,
            charge: Some(Box::new(charge.clone())),
            front: front.map(Box::new),
        };
        let written = self.agent.journal.write(entry);
        self.agent.meter.ledger.record(Charged { model, usage, cost, charge });
        written
    }
}

impl Drop for Payment {
    fn drop(&mut self) {
        // Nobody is left to report a failing log to; the next turn finds out.
        let _ = self.close(false);
    }
}

/// The tools whose results the request carries, each once, in the order of the calls. What the harness added behind them
/// caused nothing.
fn caused_by(view: &View) -> Option<String> {
    let messages = view.items().iter().rev().map(|item| item.message());
    let is_added = |message: &&Message| {
        message.blocks().iter().all(|b| matches!(b, Block::Text { meta: true, .. }))
    };
    let mut messages = messages.skip_while(is_added);
    let results: Vec<&CallId> = messages.next()?.blocks().iter().filter_map(result_of).collect();
    let mut names: Vec<&str> = Vec::new();
    for block in messages.next()?.blocks() {
        if let Block::ToolUse { id, name, .. } = block
            && results.contains(&id)
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

fn result_of(block: &Block) -> Option<&CallId> {
    match block {
        Block::ToolResult { id, .. } => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::ids::ModelId;
    use ostler_core::message::ResultPart;

    #[test]
    fn the_tools_of_the_newest_results_cause_a_request_whatever_is_added_behind_them() {
        let id = |n: &str| CallId::new(n);
        let call = |n: &str, name: &str| Block::ToolUse {
            id: id(n),
            name: name.into(),
            input: serde_json::json!({}),
            via: None,
        };
        let result = |n: &str| Block::ToolResult {
            id: id(n),
            content: vec![ResultPart::text("ok")],
            is_error: false,
        };
        let mut view = View::from_messages([Message::user("go")]);
        assert_eq!(caused_by(&view), None);
        let calls = vec![call("1", "Read"), call("2", "Grep"), call("3", "Read")];
        view.push(Message::assistant(&ModelId::new("m"), calls));
        view.push(Message::User { content: vec![result("1"), result("2"), result("3")] });
        assert_eq!(caused_by(&view).as_deref(), Some("Read, Grep"));
        view.push(Message::meta("a note"));
        view.push(Message::meta("and another"));
        assert_eq!(caused_by(&view).as_deref(), Some("Read, Grep"));
        view.push(Message::user("something else"));
        assert_eq!(caused_by(&view), None);
    }
}
