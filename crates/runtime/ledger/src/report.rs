//! What was expensive? Requests put together by one of their sides, dearest first.

use crate::row::LedgerRow;
use ostler_core::ledger::{ChargeStatus, Charged, Usage};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKey {
    Tool,
    Task,
    Agent,
    Model,
    Day,
    Session,
    Project,
    Purpose,
    /// Each for itself.
    Request,
}

/// Requests with something in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportLine {
    pub key: String,
    pub requests: u64,
    /// Of them, those that never began to answer: they cost nothing.
    pub failed: u64,
    /// Of them, those that were cancelled before they began to answer: no cost was reported for them.
    pub cancelled: u64,
    /// Of them, those that broke off.
    pub dropped: u64,
    /// Of them, those of processes that died: counted at what was reserved for them.
    pub lost: u64,
    pub lost_cost: f64,
    pub usage: Usage,
    /// Of the requests whose price is known.
    pub cost: f64,
    /// Requests whose price is not known.
    pub unknown: u64,
    /// What the cache spared, less what writing it cost.
    pub saved: f64,
    /// How often the cache gave less than it should have.
    pub alarms: u64,
    pub latency_ms: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostReport {
    pub lines: Vec<ReportLine>,
    pub total: ReportLine,
    /// Models without a price.
    pub unpriced: Vec<String>,
}

impl CostReport {
    pub fn builder(by: ReportKey) -> Builder {
        Builder { by, lines: BTreeMap::new(), total: ReportLine::default(), unpriced: Vec::new() }
    }
}

pub struct Builder {
    by: ReportKey,
    lines: BTreeMap<String, ReportLine>,
    total: ReportLine,
    unpriced: Vec<String>,
}

impl Builder {
    pub fn add(&mut self, row: &LedgerRow) {
        let key = key(row, self.by);
        let line = self.lines.entry(key.clone()).or_default();
        line.key = key;
        line.add(&row.charged);
        self.total.add(&row.charged);
        let model = row.charged.model.as_str();
        if row.charged.cost.is_none() && !self.unpriced.iter().any(|known| known == model) {
            self.unpriced.push(model.to_owned());
        }
    }

    pub fn finish(self) -> CostReport {
        let mut lines: Vec<ReportLine> = self.lines.into_values().collect();
        let tokens = |line: &ReportLine| line.usage.prompt() + line.usage.output;
        lines.sort_by(|a, b| {
            let by_cost = b.cost.total_cmp(&a.cost);
            by_cost.then_with(|| tokens(b).cmp(&tokens(a))).then_with(|| a.key.cmp(&b.key))
        });
        CostReport { lines, total: self.total, unpriced: self.unpriced }
    }
}

impl ReportLine {
    fn add(&mut self, charged: &Charged) {
        let Charged { usage, cost, charge, .. } = charged;
        self.requests += 1;
        self.failed += u64::from(charge.status == ChargeStatus::Failed);
        self.cancelled += u64::from(charge.status == ChargeStatus::Cancelled);
        self.dropped += u64::from(charge.status == ChargeStatus::Dropped);
        if charge.status == ChargeStatus::Lost {
            self.lost += 1;
            self.lost_cost += cost.unwrap_or(0.0);
        }
        self.usage += *usage;
        self.cost += cost.unwrap_or(0.0);
        self.unknown += u64::from(cost.is_none());
        self.saved += charge.price.map_or(0.0, |price| price.saved(usage));
        self.alarms +=
            u64::from(charge.broken.as_ref().is_some_and(|broken| !broken.change.is_meant()));
        self.latency_ms += charge.latency_ms;
    }

    /// None: every request's price is unknown.
    pub fn known_cost(&self) -> Option<f64> {
        (self.unknown == 0 || self.unknown < self.requests - self.failed - self.cancelled)
            .then_some(self.cost)
    }
}

fn key(row: &LedgerRow, by: ReportKey) -> String {
    let charge = &row.charged.charge;
    let or = |text: &Option<String>, other: &str| text.clone().unwrap_or_else(|| other.to_owned());
    match by {
        ReportKey::Tool => or(&charge.tool, "(prompt)"),
        ReportKey::Task => or(&charge.task, "(none)"),
        ReportKey::Agent => charge.agent.clone(),
        ReportKey::Model => row.charged.model.to_string(),
        ReportKey::Day => row.day.clone(),
        ReportKey::Session => row.session.clone(),
        ReportKey::Project => row.project.clone(),
        ReportKey::Purpose => charge.purpose.name().to_owned(),
        ReportKey::Request => charge.id.clone(),
    }
}
