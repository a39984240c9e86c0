//! What two texts have in common. Everybody compares numbers that stand for lines or characters, so that there is one
//! copy of the comparison in the program.

pub use similar::DiffOp;
use similar::{Algorithm, capture_diff_slices_deadline, group_diff_ops};
use std::collections::HashMap;
use std::time::Instant;

/// How the lines of `new` come from those of `old`. After the deadline the answer is still right, but may be longer than
/// it need be.
pub fn lines(old: &[&[u8]], new: &[&[u8]], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut known = HashMap::new();
    let mut numbered = |lines: &[&[u8]]| -> Vec<u32> {
        let number = |line: &&[u8]| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(line.to_vec()).or_insert(next)
        };
        lines.iter().map(number).collect()
    };
    let (old, new) = (numbered(old), numbered(new));
    compared(&old, &new, deadline)
}

/// With their line breaks.
pub fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Changes with this many unchanged lines around them; those that are close together are one group.
pub fn groups(ops: Vec<DiffOp>, context: usize) -> Vec<Vec<DiffOp>> {
    group_diff_ops(ops, context)
}

/// How alike two names are: from 0, nothing in common, to 1, the same.
pub fn likeness(one: &str, other: &str) -> f64 {
    let numbers = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
    let (one, other) = (numbers(one), numbers(other));
    let both = one.len() + other.len();
    if both == 0 {
        return 1.0;
    }
    let same = |op: &DiffOp| match op {
        DiffOp::Equal { len, .. } => *len,
        _ => 0,
    };
    let same: usize = compared(&one, &other, None).iter().map(same).sum();
    2.0 * same as f64 / both as f64
}

fn compared(old: &[u32], new: &[u32], deadline: Option<Instant>) -> Vec<DiffOp> {
    capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline)
}

/// As `diff -u` writes it, with these names for the two texts. Empty if they are the same.
pub fn unified(old: &str, new: &str, names: (&str, &str), context: usize) -> String {
    let (old, new) = (split(old.as_bytes()), split(new.as_bytes()));
    let groups = groups(lines(&old, &new, None), context);
    let mut out = String::new();
    if groups.iter().all(Vec::is_empty) {
        return out;
    }
    out.push_str(&format!("--- {}\n+++ {}\n", names.0, names.1));
    for group in &groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let of_old = range(first.old_range().start, last.old_range().end);
        let of_new = range(first.new_range().start, last.new_range().end);
        out.push_str(&format!("@@ -{of_old} +{of_new} @@\n"));
        for op in group {
            let kept = matches!(op, DiffOp::Equal { .. });
            let mark = if kept { ' ' } else { '-' };
            marked(&mut out, mark, old.get(op.old_range()));
            marked(&mut out, '+', new.get(op.new_range()).filter(|_| !kept));
        }
    }
    out
}

fn marked(out: &mut String, mark: char, lines: Option<&[&[u8]]>) {
    for line in lines.unwrap_or_default() {
        out.push(mark);
        out.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The first line and how many, as `diff -u` counts.
fn range(from: usize, to: usize) -> String {
    match to - from {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        count => format!("{},{count}", from + 1),
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
