//! `ostler tasks graph`: which task waits for which, as text, for Graphviz or as a picture.

use super::svg;
use crate::args::tasks::GraphFormat;
use crate::exit::{Code, warn};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::board::{SharedBoard, Status, Task, TaskQuery};
use serde_json::json;
use std::collections::HashMap;

/// A picture of more tasks shows nothing.
const MOST_TASKS: usize = 2_000;
/// Characters of a title in a picture.
const TITLE: usize = 28;

pub fn run(board: &mut dyn SharedBoard, format: GraphFormat, as_json: bool) -> Result<Code> {
    let found = board.list(&TaskQuery { statuses: Vec::new(), limit: MOST_TASKS })?;
    let left_out = found.total - found.tasks.len() as u64;
    if left_out > 0 {
        warn(&format!("only the {MOST_TASKS} oldest tasks are drawn; {left_out} are left out"));
    }
    let tasks = &found.tasks;
    let node = |task: &Task| json!({"id": task.id, "status": task.status, "title": task.title, "depends_on": task.depends_on});
    let value = as_json.then(|| json!({"tasks": tasks.iter().map(node).collect::<Vec<_>>()}));
    let text = match format {
        GraphFormat::Text if tasks.is_empty() => "No tasks.".to_owned(),
        GraphFormat::Text => lines(tasks).join("\n"),
        GraphFormat::Dot => dot(tasks),
        GraphFormat::Svg => svg::picture(tasks, &depths(tasks)),
    };
    super::say(value, &text)
}

/// How many tasks come before each, at the longest: its column.
fn depths(tasks: &[Task]) -> Vec<usize> {
    let place: HashMap<&str, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let mut depths = vec![0; tasks.len()];
    // Tasks that were added together may come before what they wait for. There is no circle, so this ends.
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for (at, task) in tasks.iter().enumerate() {
            let needs = task.depends_on.iter().filter_map(|id| place.get(id.as_str()));
            let depth = needs.filter_map(|need| depths.get(*need)).max().map_or(0, |most| most + 1);
            if depths.get(at).is_some_and(|known| *known < depth) {
                depths[at] = depth;
                is_changed = true;
            }
        }
    }
    depths
}

fn lines(tasks: &[Task]) -> Vec<String> {
    let mut order: Vec<(usize, &Task)> = depths(tasks).into_iter().zip(tasks).collect();
    order.sort_by_key(|(depth, _)| *depth);
    let line = |(depth, task): (usize, &Task)| {
        let after: Vec<&str> = task.depends_on.iter().map(|id| id.as_str()).collect();
        let after = match after.is_empty() {
            true => String::new(),
            false => format!("  ← {}", after.join(", ")),
        };
        let (indent, mark) = ("  ".repeat(depth), mark(task.status));
        format!("{indent}{mark} {} {}{after}", task.id, visible(&task.title))
    };
    order.into_iter().map(line).collect()
}

fn mark(status: Status) -> &'static str {
    match status {
        Status::Pending => "○",
        Status::InProgress => "◐",
        Status::Done => "●",
        Status::Failed => "✗",
        Status::Parked => "‖",
        Status::Cancelled => "–",
    }
}

fn dot(tasks: &[Task]) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=filled];\n".to_owned();
    for task in tasks {
        let (label, fill) = (quoted(&short(task)), fill(task.status));
        let status = task.status.name();
        out +=
            &format!("  \"{}\" [label=\"{label}\\n{status}\", fillcolor=\"{fill}\"];\n", task.id);
    }
    for task in tasks {
        for need in &task.depends_on {
            out += &format!("  \"{need}\" -> \"{}\";\n", task.id);
        }
    }
    out + "}"
}

pub fn short(task: &Task) -> String {
    let title = visible(&task.title);
    match title.chars().count() > TITLE {
        true => title.chars().take(TITLE - 1).chain(['…']).collect(),
        false => title,
    }
}

pub fn fill(status: Status) -> &'static str {
    match status {
        Status::Pending => "#ffffff",
        Status::InProgress => "#fff3bf",
        Status::Done => "#d3f9d8",
        Status::Failed => "#ffc9c9",
        Status::Parked => "#e5dbff",
        Status::Cancelled => "#e9ecef",
    }
}
