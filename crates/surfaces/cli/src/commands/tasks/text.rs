//! Tasks as lines for people.

use crate::commands::sessions::age;
use crate::output::visible_text::visible;
use ostler::board::{DamagedEntry, Status, Task, TaskEvent, TaskList};

/// Damaged entries that are named.
const MOST_DAMAGED: usize = 10;

pub fn headline(word: &str, task: &Task) -> String {
    format!("{word}: {} {}", task.id, visible(&task.title))
}

pub fn table(found: &TaskList) -> Vec<String> {
    let mut lines: Vec<String> = found.tasks.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("No tasks.".to_owned());
    }
    let left_out = found.total.saturating_sub(found.tasks.len() as u64);
    if left_out > 0 && !found.tasks.is_empty() {
        lines.push(format!("… and {left_out} more (--limit)"));
    }
    lines.extend(damaged(&found.damaged));
    lines
}

/// Entries of a server that cannot be read, if there are any.
pub fn damaged(all: &[DamagedEntry]) -> Option<String> {
    let named = |it: &DamagedEntry| format!("{} ({})", visible(&it.entry), visible(&it.why));
    let mut named: Vec<String> = all.iter().take(MOST_DAMAGED).map(named).collect();
    named.extend(all.len().checked_sub(MOST_DAMAGED + 1).map(|more| format!("{} more", more + 1)));
    (!named.is_empty()).then(|| format!("damaged, and not used: {}", named.join(", ")))
}

fn line(task: &Task) -> String {
    let (status, priority) = (task.status.name(), task.priority.name());
    let line = format!("{:<12}  {status:<11}  {priority:<6}  {}", task.id, visible(&task.title));
    match remark(task) {
        Some(remark) => format!("{line}  ({remark})"),
        None => line,
    }
}

/// What a status alone does not say.
fn remark(task: &Task) -> Option<String> {
    let error = task.error.as_deref().map(|error| visible(&first_line(error)));
    match task.status {
        Status::InProgress => {
            task.claimed_by.as_deref().map(|name| format!("by {}", visible(name)))
        }
        Status::Pending => {
            let by: Vec<String> = task
                .blocked_by
                .iter()
                .map(|by| format!("{} {}", by.status.name(), by.id))
                .collect();
            (!by.is_empty()).then(|| format!("waits for {}", by.join(", ")))
        }
        Status::Done => None,
        Status::Failed | Status::Parked | Status::Cancelled => error,
    }
}

pub fn whole(task: &Task) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", task.id, visible(&task.title))];
    let mut field =
        |name: &str, value: &str| lines.push(format!("{name:<12} {value}").trim_end().to_owned());
    field("status", task.status.name());
    field("priority", task.priority.name());
    let ids: Vec<&str> = task.depends_on.iter().map(|id| id.as_str()).collect();
    if !ids.is_empty() {
        field("depends on", &ids.join(", "));
    }
    for by in &task.blocked_by {
        let reason = by.reason.as_deref().map(|why| format!(": {}", visible(why)));
        field(
            "blocked by",
            &format!("{} ({}){}", by.id, by.status.name(), reason.unwrap_or_default()),
        );
    }
    if !task.touches.is_empty() {
        field("touches", &visible(&task.touches.join(", ")));
    }
    if let Some(worker) = &task.claimed_by {
        field("worker", &visible(worker));
    }
    if let (Some(fence), Some(until)) = (task.fence, task.lease_until) {
        let left = age(until.saturating_sub(ostler::now_ms()));
        field("lease", &format!("fence {fence}, ends in {left}"));
    }
    for (name, text) in [("error", &task.error), ("result", &task.result)] {
        let mut name = name;
        for line in text.iter().flat_map(|text| text.lines()) {
            field(name, &visible(line));
            name = "";
        }
    }
    if !task.description.is_empty() {
        lines.push(String::new());
        lines.extend(task.description.lines().map(visible));
    }
    lines.push(String::new());
    for entry in &task.history {
        let ago = age(ostler::now_ms().saturating_sub(entry.at_ms));
        lines.push(format!("{ago:>8} ago  {}", visible(&first_line(&event(&entry.event)))));
    }
    lines
}

/// `show` has the rest, in `error` or `result`.
fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

fn event(event: &TaskEvent) -> String {
    match event {
        TaskEvent::Added => "added".to_owned(),
        TaskEvent::Claimed { worker, fence } => format!("claimed by {worker}, fence {fence}"),
        TaskEvent::Finished { fence } => format!("finished, fence {fence}"),
        TaskEvent::Returned { fence, reason } => format!("returned, fence {fence}: {reason}"),
        TaskEvent::Failed { fence, error } => format!("failed, fence {fence}: {error}"),
        TaskEvent::LeaseExpired { worker, fence } => {
            format!("the lease of {worker} ended, fence {fence}")
        }
        TaskEvent::Parked { reason } => format!("parked: {reason}"),
        TaskEvent::Retried => "made pending again".to_owned(),
        TaskEvent::Cancelled { reason: Some(reason) } => format!("cancelled: {reason}"),
        TaskEvent::Cancelled { reason: None } => "cancelled".to_owned(),
    }
}
