//! What was spent, as a table and as JSON.

use super::paint::Paint;
use super::usage::thousands;
use super::visible_text::visible;
use crate::args::cost::Side;
use ostler::{BudgetStatus, ChargeStatus, CostLine, CostRow, Costs, Usage};
use serde_json::{Value, json};
use std::time::Duration;

/// Lines that are shown; the rest is counted.
const MOST_LINES: usize = 30;
const MOST_CHARS: usize = 48;

pub fn table(costs: &Costs, side: Side, since: &str, paint: Paint) -> Vec<String> {
    let report = &costs.report;
    if report.total.requests == 0 {
        let mut lines = vec!["Nothing was spent in this time.".to_owned()];
        lines.extend(costs.standings.iter().map(standing));
        return lines;
    }
    let head = ["", "requests", "fresh", "written", "cached", "hit", "output", "saved", "cost"];
    let mut cells = vec![head.map(str::to_owned)];
    cells[0][0] = side.name().to_owned();
    if side == Side::Request {
        cells.extend(costs.rows.iter().rev().take(MOST_LINES).map(request));
    } else {
        cells.extend(report.lines.iter().take(MOST_LINES).map(|line| cell(&line.key, line)));
    }
    cells.push(cell("total", &report.total));
    let mut lines = aligned(&cells);
    if let Some(first) = lines.first_mut() {
        *first = paint.dim(first);
    }
    let hidden = report.lines.len().saturating_sub(MOST_LINES);
    if hidden > 0 {
        let total = lines.len() - 1;
        lines.insert(total, format!("… and {hidden} more; --json shows all of them"));
    }
    if let Some(last) = lines.last_mut() {
        *last = paint.bold(last);
    }
    lines.extend(notes(costs, since));
    lines.extend(costs.standings.iter().map(standing));
    lines
}

fn notes(costs: &Costs, since: &str) -> Vec<String> {
    let total = &costs.report.total;
    let mut lines = Vec::new();
    let time = if since == "all" { String::new() } else { format!("In the last {since}. ") };
    let Usage { cache_read, .. } = total.usage;
    let hit = percent(&total.usage);
    lines.push(format!(
        "{time}{} tokens came from the cache ({hit}); it saved {}.",
        thousands(cache_read),
        dollars(total.saved)
    ));
    if !costs.report.unpriced.is_empty() {
        lines.push(format!(
            "No price is known for {}: {} not included in the total. You can add one to prices.toml in Ostler's home directory.",
            visible(&costs.report.unpriced.join(", ")),
            requests(total.unknown, "is", "are")
        ));
    }
    if total.failed > 0 {
        lines.push(format!("{} and cost nothing.", requests(total.failed, "failed", "failed")));
    }
    if total.cancelled > 0 {
        let what = "cancelled before the answer began; the provider reported no cost";
        let (one, several) = (format!("was {what}"), format!("were {what}"));
        lines.push(format!("{}.", requests(total.cancelled, &one, &several)));
    }
    if total.dropped > 0 {
        lines.push(format!("{}.", requests(total.dropped, "broke off", "broke off")));
    }
    if total.lost > 0 {
        let each = match total.lost {
            1 => "1 request of a process that died is counted".to_owned(),
            lost => format!("{lost} requests of processes that died are counted"),
        };
        let amount = dollars(total.lost_cost);
        lines.push(format!("{each} at the reserved amount, {amount}."));
    }
    if total.alarms > 0 {
        let times = match total.alarms {
            1 => "once".to_owned(),
            alarms => format!("{alarms} times"),
        };
        let line =
            format!("The cache returned less than expected {times}; --by request shows why.");
        lines.push(line);
    }
    lines
}

/// Of one, or of several.
pub fn requests(n: u64, one: &str, several: &str) -> String {
    match n {
        1 => format!("1 request {one}"),
        n => format!("{} requests {several}", thousands(n)),
    }
}

fn cell(key: &str, line: &CostLine) -> [String; 9] {
    let usage = &line.usage;
    [
        short(key),
        thousands(line.requests),
        thousands(usage.input),
        thousands(usage.cache_write),
        thousands(usage.cache_read),
        percent(usage),
        thousands(usage.output),
        dollars(line.saved),
        cost(line),
    ]
}

/// One request: when it was, what for, and what the cache had to say.
fn request(row: &CostRow) -> [String; 9] {
    let (charge, usage) = (&row.charged.charge, &row.charged.usage);
    let mut key =
        format!("{} {} {}", charge.purpose.name(), row.charged.model, charge.status.name());
    if let Some(broken) = &charge.broken {
        key = format!("{} ({})", charge.purpose.name(), broken.change);
    }
    let time = match charge.status {
        ChargeStatus::Lost => "-".to_owned(),
        ChargeStatus::Failed | ChargeStatus::Cancelled => format!("{} ms", charge.latency_ms),
        ChargeStatus::Ok | ChargeStatus::Dropped | ChargeStatus::Estimated => {
            format!("{}/{} ms", charge.first_byte_ms.unwrap_or_default(), charge.latency_ms)
        }
    };
    [
        short(&key),
        time,
        thousands(usage.input),
        thousands(usage.cache_write),
        thousands(usage.cache_read),
        percent(usage),
        thousands(usage.output),
        dollars(charge.price.map_or(0.0, |price| price.saved(usage))),
        row.charged.cost.map_or_else(|| "unknown".to_owned(), dollars),
    ]
}

/// The first column to the left, the others to the right.
fn aligned(cells: &[[String; 9]]) -> Vec<String> {
    let mut widths = [0; 9];
    for row in cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; 9]| {
        let mut out = String::new();
        for (n, (cell, width)) in row.iter().zip(widths).enumerate() {
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            match n {
                0 => out += &format!("{cell}{gap}"),
                _ => out += &format!("  {gap}{cell}"),
            }
        }
        out
    };
    cells.iter().map(line).collect()
}

fn short(text: &str) -> String {
    let text = visible(text);
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn percent(usage: &Usage) -> String {
    usage.hit_rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0))
}

/// What something cost: four places everywhere. A limit that a person chose is shown as it was chosen.
pub fn dollars(amount: f64) -> String {
    // What rounds to nothing has no sign.
    let amount = if amount.abs() < 0.000_05 { 0.0 } else { amount };
    if amount < 0.0 { format!("-${:.4}", -amount) } else { format!("${amount:.4}") }
}

/// Unknown is not zero.
fn cost(line: &CostLine) -> String {
    match (line.known_cost(), line.unknown) {
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => dollars(cost),
        (Some(cost), unknown) => format!("{} + {unknown} unknown", dollars(cost)),
    }
}

fn standing(standing: &BudgetStatus) -> String {
    let BudgetStatus { what, sum, forecast } = standing;
    let limit = ostler::dollars(sum.limit);
    let mut line = format!("budget {what}: {} of {limit} spent", dollars(sum.spent));
    if sum.reserved > 0.0 {
        line += &format!(", {} reserved", dollars(sum.reserved));
    }
    line += &format!("; {}/h in the last hour", dollars(forecast.usd_per_hour));
    match forecast.lasts {
        Some(time) => line + &format!(", so it runs out in {}", words(time)),
        None => line,
    }
}

fn words(time: Duration) -> String {
    match time.as_secs() / 60 {
        minutes @ 0..120 => format!("{minutes} min"),
        minutes @ 120..2880 => format!("{} h", minutes / 60),
        minutes => format!("{} days", minutes / 1440),
    }
}

pub fn as_json(costs: &Costs, side: Side, since_ms: u64) -> Value {
    let lines: Vec<Value> = match side {
        Side::Request => costs.rows.iter().map(request_json).collect(),
        _ => costs.report.lines.iter().map(line_json).collect(),
    };
    let budgets: Vec<Value> = costs.standings.iter().map(standing_json).collect();
    json!({
        "by": side.name(), "since_ms": since_ms, "lines": lines,
        "total": line_json(&costs.report.total),
        "unpriced_models": costs.report.unpriced, "budgets": budgets,
    })
}

fn line_json(line: &CostLine) -> Value {
    let Usage { input, output, cache_write, cache_write_1h, cache_read } = line.usage;
    json!({
        "key": line.key, "requests": line.requests, "failed": line.failed,
        "cancelled": line.cancelled, "dropped": line.dropped,
        "lost": line.lost, "lost_usd": line.lost_cost,
        "input": input, "output": output, "cache_write": cache_write,
        "cache_write_1h": cache_write_1h, "cache_read": cache_read,
        "hit_rate": line.usage.hit_rate(), "cost_usd": line.known_cost(),
        "unknown_cost_requests": line.unknown, "cache_saved_usd": line.saved,
        "cache_alarms": line.alarms, "latency_ms": line.latency_ms,
    })
}

fn request_json(row: &CostRow) -> Value {
    let (charged, charge) = (&row.charged, &row.charged.charge);
    let Usage { input, output, cache_write, cache_write_1h, cache_read } = charged.usage;
    json!({
        "id": charge.id, "at_ms": charge.at.0, "day": row.day, "project": row.project,
        "session": row.session, "agent": charge.agent, "task": charge.task, "tool": charge.tool,
        "purpose": charge.purpose.name(), "model": charged.model.as_str(),
        "input": input, "output": output, "cache_write": cache_write,
        "cache_write_1h": cache_write_1h, "cache_read": cache_read,
        "hit_rate": charged.usage.hit_rate(), "price": charge.price, "cost_usd": charged.cost,
        "latency_ms": charge.latency_ms, "first_byte_ms": charge.first_byte_ms,
        "status": charge.status.name(), "cache_broken": charge.broken,
    })
}

fn standing_json(standing: &BudgetStatus) -> Value {
    let BudgetStatus { what, sum, forecast } = standing;
    json!({
        "budget": what, "limit_usd": sum.limit, "spent_usd": sum.spent,
        "reserved_usd": sum.reserved, "usd_per_hour": forecast.usd_per_hour,
        "lasts_seconds": forecast.lasts.map(|time| time.as_secs()),
    })
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
