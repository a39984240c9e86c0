//! What the model server was asked and what it charged, in a line each.

use super::usage::{percent, thousands};
use super::visible_text::visible;
use ostler_model_server::{Bill, Billed, LogEntry, ServedOutcome};
use serde_json::{Value, json};

#[derive(Default)]
pub struct Counts {
    pub entries: usize,
    refused: usize,
}

impl Counts {
    pub fn add(&mut self, entry: &LogEntry) {
        self.entries += 1;
        self.refused += usize::from(entry.refusal.is_some());
    }
}

/// `at`: now, as a time stamp.
pub fn line(entry: &LogEntry, at: &str) -> String {
    let mut parts = vec![at.get(11..19).unwrap_or(at).to_owned()];
    parts.push(entry.status.map_or("---".to_owned(), |status| status.to_string()));
    parts.extend(entry.session.map(|session| format!("session {session}")));
    match entry.model.as_str() {
        "" => parts.push(visible(&format!("{} {}", entry.method, entry.path))),
        model => parts.push(visible(model)),
    }
    if let Some(row) = &entry.row {
        parts.push(tokens(&row.billed));
        parts.push(money(row.cost));
    }
    if let Some(why) = &entry.refusal {
        parts.push(format!("refused: {}", visible(why)));
    }
    match entry.outcome {
        Some(ServedOutcome::Broken) => parts.push("broken off as scripted".into()),
        Some(ServedOutcome::ClientGone) => parts.push("the client went away".into()),
        Some(ServedOutcome::GaveUp) => parts.push("a wait reached its limit".into()),
        Some(ServedOutcome::Delivered) if entry.row.is_none() && entry.refusal.is_none() => {
            parts.push("as scripted".into());
        }
        Some(ServedOutcome::Delivered) | None => {}
    }
    parts.push(format!("{:.2} s", entry.took.as_secs_f64()));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("  ")
}

pub fn as_json(entry: &LogEntry, at: &str) -> Value {
    let outcome = entry.outcome.map(|outcome| match outcome {
        ServedOutcome::Delivered => "delivered",
        ServedOutcome::Broken => "broken",
        ServedOutcome::ClientGone => "client_gone",
        ServedOutcome::GaveUp => "gave_up",
    });
    json!({
        "type": "request", "at": at, "number": entry.number, "session": entry.session,
        "method": entry.method, "path": entry.path, "model": entry.model, "status": entry.status,
        "refused": entry.refusal, "outcome": outcome, "ms": entry.took.as_secs_f64() * 1000.0,
        "usage": entry.row.as_ref().map(|row| usage(&row.billed)),
        "cost_usd": entry.row.as_ref().and_then(|row| row.cost),
    })
}

/// The bill, in a line and as data.
pub fn bill(counts: &Counts, bill: &Bill) -> (String, Value) {
    let total = bill.total();
    let Counts { entries, refused } = counts;
    let line = format!(
        "bill: {entries} request{}, {refused} refused  {}  {}",
        if *entries == 1 { "" } else { "s" },
        tokens(&total),
        money(bill.cost())
    );
    let value = json!({
        "type": "bill", "requests": entries, "refused": refused, "usage": usage(&total),
        "cost_usd": bill.cost(), "cache_reuse": bill.reuse(),
    });
    (line, value)
}

fn tokens(billed: &Billed) -> String {
    let written = billed.cache_write_5m + billed.cache_write_1h;
    let cache = match (billed.cache_read, written) {
        (0, 0) => String::new(),
        (read, written) => format!(
            " (cache: {} read, {} written, {} % hit)",
            thousands(read),
            thousands(written),
            percent(read, billed.prompt())
        ),
    };
    format!("in {}{cache}  out {}", thousands(billed.prompt()), thousands(billed.output))
}

fn usage(billed: &Billed) -> Value {
    json!({
        "input_tokens": billed.input, "output_tokens": billed.output,
        "cache_read_input_tokens": billed.cache_read,
        "cache_creation_input_tokens": billed.cache_write_5m + billed.cache_write_1h,
    })
}

fn money(cost: Option<f64>) -> String {
    cost.map_or("no price".to_owned(), |cost| format!("${cost:.4}"))
}
