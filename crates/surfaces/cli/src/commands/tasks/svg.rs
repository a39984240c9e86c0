//! The graph of tasks as a picture: a column for each depth, lines from what is needed to what needs it.

use super::graph::{fill, short};
use ostler::board::Task;
use std::collections::HashMap;

const WIDTH: usize = 230;
const HEIGHT: usize = 44;
const ACROSS: usize = 290;
const DOWN: usize = 60;
const MARGIN: usize = 20;

pub fn picture(tasks: &[Task], depths: &[usize]) -> String {
    let mut rows: HashMap<usize, usize> = HashMap::new();
    let mut places: HashMap<&str, (usize, usize)> = HashMap::new();
    for (task, depth) in tasks.iter().zip(depths) {
        let row = rows.entry(*depth).or_default();
        places.insert(task.id.as_str(), (MARGIN + depth * ACROSS, MARGIN + *row * DOWN));
        *row += 1;
    }
    let columns = depths.iter().max().map_or(0, |most| most + 1);
    let most_rows = rows.values().max().copied().unwrap_or(0);
    let (width, height) = (columns * ACROSS + 2 * MARGIN, most_rows * DOWN + 2 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f8f9fa\"/>\n"
    );
    for task in tasks {
        for need in &task.depends_on {
            if let (Some(from), Some(to)) =
                (places.get(need.as_str()), places.get(task.id.as_str()))
            {
                out += &line(*from, *to);
            }
        }
    }
    for task in tasks {
        if let Some(at) = places.get(task.id.as_str()) {
            out += &node(task, *at);
        }
    }
    out + "</svg>"
}

fn line((x1, y1): (usize, usize), (x2, y2): (usize, usize)) -> String {
    let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
    let middle = x1.midpoint(x2);
    format!(
        "<path d=\"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#868e96\"/>\n"
    )
}

fn node(task: &Task, (x, y): (usize, usize)) -> String {
    let (title, fill) = (xml(&short(task)), fill(task.status));
    let (left, first, second) = (x + 10, y + 18, y + 35);
    let (id, status) = (&task.id, task.status.name());
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"#495057\"/>\n\
         <text x=\"{left}\" y=\"{first}\">{title}</text>\n\
         <text x=\"{left}\" y=\"{second}\" fill=\"#495057\">{id} {status}</text>\n"
    )
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
