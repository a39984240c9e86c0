//! A question as text. It shows everything that would be done: nothing is cut and nothing is obeyed.

use crate::output::visible_text::visible;
use ostler::{Place, Question, Reason, Touches};
use serde_json::Value;
use std::fmt::Write;

/// Places named in a line; the call itself stands above in full.
const PLACES: usize = 6;
/// Reasons shown.
const REASONS: usize = 8;

/// Which tool asks, and for whom.
pub fn head(question: &Question) -> String {
    let mut text = format!("? {}\n", visible(&question.tool));
    if !question.agent.is_root() {
        text += &field("asked by", &question.agent.names().join("/").into());
    }
    text
}

pub fn text(question: &Question) -> String {
    let mut text = head(question);
    match &question.input {
        Value::Object(fields) => {
            for (name, value) in fields {
                text += &field(name, value);
            }
        }
        other => text += &field("input", other),
    }
    text += &touched(&question.touches);
    text += &reasons(question);
    text + &choices(&question.decision.offer)
}

/// After an answer that was not on offer.
pub fn no_project() -> String {
    "  No rule can be saved for the project. [y]es once  [s]ession: exactly this call  \
     [n]o (or say why not): "
        .into()
}

/// A value of several lines stands behind bars, so that no line of it can be taken for one of ours.
fn field(name: &str, value: &Value) -> String {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // The line break at the end is no line of its own.
    let lines: Vec<&str> = value.strip_suffix('\n').unwrap_or(&value).split('\n').collect();
    let name = visible(name);
    match lines.as_slice() {
        [line] => format!("  {name}: {}\n", visible(line)),
        lines => {
            let mut text = format!("  {name} ({} lines):\n", lines.len());
            for line in lines {
                let _ = writeln!(text, "    │ {}", visible(line));
            }
            text
        }
    }
}

fn touched(touches: &Touches) -> String {
    let place = |place: &Place| {
        let below = if place.below { " and everything below" } else { "" };
        format!("{}{below}", visible(&place.path.to_string_lossy()))
    };
    let mut text = String::new();
    text += &listed("reads", touches.reads.iter().map(place));
    text += &listed("changes", touches.changes.iter().map(place));
    text += &listed("contacts", touches.contacts.iter().map(|host| visible(host)));
    if touches.unknown {
        let more = if text.is_empty() { "" } else { " else" };
        let _ = writeln!(text, "  may touch anything{more}");
    }
    text
}

/// One line, or none. Each is named once.
fn listed(what: &str, items: impl Iterator<Item = String>) -> String {
    let mut named: Vec<String> = Vec::new();
    for item in items {
        if !named.contains(&item) {
            named.push(item);
        }
    }
    if named.is_empty() {
        return String::new();
    }
    let more = named.len().saturating_sub(PLACES);
    named.truncate(PLACES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("  {what}: {}{rest}\n", named.join(", "))
}

fn reasons(question: &Question) -> String {
    let reasons = &question.decision.reasons;
    if reasons.is_empty() {
        return format!("  why: {}\n", visible(&question.decision.why()));
    }
    let mut text = String::new();
    for reason in reasons.iter().take(REASONS) {
        let _ = writeln!(text, "  why: {}", visible(&with_source(reason)));
    }
    let more = reasons.len().saturating_sub(REASONS);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more reasons");
    }
    text
}

/// With the place where the rule is written.
pub fn with_source(reason: &Reason) -> String {
    match &reason.rule {
        Some(rule) => format!("{reason} ({})", rule.source),
        None => reason.to_string(),
    }
}

fn choices(offer: &[String]) -> String {
    let rules: Vec<String> = offer.iter().map(|rule| visible(rule)).collect();
    let rules = rules.join(", ");
    match offer {
        [] => "  run it? [y]es once  [s]ession: exactly this call  [n]o (or say why not): ".into(),
        _ => format!(
            "  run it? [y]es once  [s]ession: {rules}  [p]roject: {rules}  [n]o (or say why not): "
        ),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
