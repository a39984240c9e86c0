//! What a turn has used so far, for the report at its end.

use ostler_core::event::{Denial, Finished, ModelUsage};
use ostler_core::ids::ModelId;
use ostler_core::ledger::Usage;
use ostler_core::model::{ModelError, ModelErrorKind, ProviderLimits, StopReason};
use ostler_core::turn::Terminal;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Tally {
    per_model: Vec<ModelUsage>,
    api_time: Duration,
    /// Requests that were paid for.
    requests: u32,
    denials: Vec<Denial>,
    calls_run: u32,
    /// Of this turn's last answer.
    text: String,
    error: Option<ModelError>,
    stop: Option<StopReason>,
    store_error: Option<String>,
    /// Why a hook ended the turn, or kept it going.
    hook: Option<String>,
}

impl Tally {
    pub(crate) fn spent(&mut self, model: &ModelId, usage: Usage, cost: Option<f64>) {
        self.requests += 1;
        match self.per_model.iter_mut().find(|had| had.model == *model) {
            Some(had) => {
                had.usage += usage;
                had.cost = had.cost.zip(cost).map(|(a, b)| a + b);
            }
            None => self.per_model.push(ModelUsage { model: model.clone(), usage, cost }),
        }
    }

    /// The requests so far and what they cost, as far as it is known.
    pub(crate) fn paid(&self) -> (u32, f64) {
        (self.requests, self.per_model.iter().filter_map(|model| model.cost).sum())
    }

    pub(crate) fn api_time(&mut self, time: Duration) {
        self.api_time += time;
    }

    pub(crate) fn call(&mut self, ran: bool, denial: Option<Denial>) {
        self.calls_run += u32::from(ran);
        self.denials.extend(denial);
    }

    pub(crate) fn answered(&mut self, text: String) {
        self.text = text;
    }

    pub(crate) fn stopped(&mut self, stop: Option<StopReason>) {
        self.stop = stop;
        self.error = None;
    }

    pub(crate) fn failed(&mut self, error: ModelError) {
        self.error = Some(error);
    }

    /// Output tokens of all answers so far.
    pub(crate) fn output(&self) -> u64 {
        self.per_model.iter().map(|model| model.usage.output).sum()
    }

    /// What the provider named in the model's last failure.
    pub(crate) fn provider_limits(&self) -> ProviderLimits {
        self.error.as_ref().map(|error| error.limits).unwrap_or_default()
    }

    pub(crate) fn store_failed(&mut self, error: String) {
        self.store_error.get_or_insert(error);
    }

    pub(crate) fn hook_stopped(&mut self, why: String) {
        self.hook = Some(why);
    }

    /// Of this turn's last answer.
    pub(crate) fn last_text(&self) -> &str {
        &self.text
    }

    pub(crate) fn finished(self, terminal: Terminal, iterations: u32) -> Finished {
        let mut usage = Usage::default();
        let mut cost = Some(0.0);
        for model in &self.per_model {
            usage += model.usage;
            cost = cost.zip(model.cost).map(|(a, b)| a + b);
        }
        let failed = !matches!(terminal, Terminal::Completed);
        let paused = terminal == Terminal::ModelError(ModelErrorKind::Protocol)
            && self.stop == Some(StopReason::PauseTurn);
        let said = self.error.as_ref().map(|error| error.message.clone());
        let said = said.or(paused.then(|| "the model paused its answer too often".to_owned()));
        let by_hook = matches!(terminal, Terminal::HookStopped | Terminal::StopHookPrevented);
        let said = self.hook.filter(|_| by_hook).or(said);
        let error = self.store_error.or(said);
        Finished {
            terminal,
            text: self.text,
            error: error.filter(|_| failed),
            error_status: self.error.and_then(|error| error.status).filter(|_| failed),
            stop: self.stop,
            iterations,
            usage,
            per_model: self.per_model,
            cost,
            denials: self.denials,
            calls_run: self.calls_run,
            api_time_ms: u64::try_from(self.api_time.as_millis()).unwrap_or(u64::MAX),
            budgets: Vec::new(),
        }
    }
}
