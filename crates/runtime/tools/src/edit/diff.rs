//! What an edit changed, as few lines with their numbers.

use super::replace::{Edited, line_of};
use crate::text::head;
use ostler_core::diff::{self, DiffOp};
use std::time::{Duration, Instant};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines of the report.
const MAX_LINES: usize = 60;
/// Characters of one line of it.
const MAX_LINE: usize = 200;
/// How long the shortest report is looked for.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes compared; a region that is larger is not worth a reader's time.
const MAX_REGION: usize = 256 << 10;

/// The changed lines and some around them: `+` new, `-` old, each with the number it has in its file.
pub fn around(old: &[u8], edited: &Edited) -> String {
    let (Some(first), Some(last)) = (edited.places.first(), edited.places.last()) else {
        return String::new();
    };
    let start = lines_back(old, first.start);
    let end = lines_on(old, last.end);
    let new_end = edited.bytes.len().saturating_sub(old.len() - end);
    let before = old.get(start..end).unwrap_or_default();
    let after = edited.bytes.get(start..new_end).unwrap_or_default();
    if before.len() + after.len() > MAX_REGION {
        return format!(
            "(lines {} to {}; too much to show)",
            line_of(old, first.start),
            line_of(old, last.end)
        );
    }
    compared(before, after, line_of(old, start)).text
}

/// The difference of two contents, and whether something of it is left out.
pub struct Difference {
    pub text: String,
    pub cut: bool,
}

pub fn between(old: &[u8], new: &[u8]) -> Difference {
    if old.len() + new.len() > 2 * MAX_REGION {
        return Difference { text: "(too much to show)".into(), cut: true };
    }
    compared(old, new, 1)
}

/// The first line of both has the number `offset`.
fn compared(before: &[u8], after: &[u8], offset: usize) -> Difference {
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let (old, new) = (diff::split(before.as_bytes()), diff::split(after.as_bytes()));
    let deadline = Instant::now().checked_add(PATIENCE);
    let mut lines = Vec::new();
    let mut cut = false;
    for (i, group) in diff::groups(diff::lines(&old, &new, deadline), CONTEXT).iter().enumerate() {
        if i > 0 {
            lines.push("  …".to_owned());
        }
        for (mark, at, line) in group.iter().flat_map(|op| changes(op, &old, &new)) {
            let line = String::from_utf8_lossy(line);
            let (text, whole) = head(line.trim_end_matches(['\n', '\r']), MAX_LINE);
            cut |= !whole;
            let more = if whole { "" } else { "…" };
            lines.push(format!("{mark} {}\t{text}{more}", offset + at));
        }
    }
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("… {more} more lines of changes"));
        cut = true;
    }
    Difference { text: lines.join("\n"), cut }
}

/// Each line with its mark and the place it has in its text.
fn changes<'a>(
    op: &DiffOp,
    old: &'a [&'a [u8]],
    new: &'a [&'a [u8]],
) -> impl Iterator<Item = (char, usize, &'a [u8])> {
    let is_kept = matches!(op, DiffOp::Equal { .. });
    let gone = if is_kept { 0..0 } else { op.old_range() };
    let mark = if is_kept { ' ' } else { '+' };
    let line = |lines: &'a [&'a [u8]], at: usize| lines.get(at).copied().unwrap_or_default();
    let gone = gone.map(move |at| ('-', at, line(old, at)));
    gone.chain(op.new_range().map(move |at| (mark, at, line(new, at))))
}

/// The start of the line some lines above.
fn lines_back(content: &[u8], at: usize) -> usize {
    let before = content.get(..at).unwrap_or_default();
    let mut ends = before.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    ends.nth(CONTEXT).map_or(0, |(end, _)| end + 1)
}

/// The end of the line some lines below.
fn lines_on(content: &[u8], at: usize) -> usize {
    // A replaced text that ends with its line still needs the lines below.
    let after = content.get(at..).unwrap_or_default();
    let mut ends = after.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.nth(CONTEXT).map_or(content.len(), |(end, _)| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::super::replace::{Replacement, replace};
    use super::*;

    fn report(content: &str, old: &str, new: &str) -> String {
        around(
            content.as_bytes(),
            &replace(content.as_bytes(), &Replacement { old, new, all: true }).unwrap(),
        )
    }

    #[test]
    fn changes_are_shown_with_their_numbers() {
        let content: String = (1..=20).map(|i| format!("line {i}\n")).collect();
        let expected = "  7\tline 7\n  8\tline 8\n  9\tline 9\n- 10\tline 10\n+ 10\tTEN\n+ 11\tand more\n  12\tline 11\n  \
                        13\tline 12\n  14\tline 13";
        assert_eq!(report(&content, "line 10", "TEN\nand more"), expected);
        assert_eq!(report("a\n", "a\n", ""), "- 1\ta");
        assert_eq!(report("a\r\nb\r\n", "b", "c"), "  1\ta\n- 2\tb\n+ 2\tc");
        assert_eq!(report("one", "one", "two"), "- 1\tone\n+ 1\ttwo");
    }

    #[test]
    fn whole_contents_are_compared() {
        let told = |old: &str, new: &str| {
            let difference = between(old.as_bytes(), new.as_bytes());
            (difference.text, difference.cut)
        };
        assert_eq!(told("a\nb\n", "a\nc\n"), ("  1\ta\n- 2\tb\n+ 2\tc".into(), false));
        assert_eq!(told("a\n", "a\n"), (String::new(), false));
        assert!(told("", &"x".repeat(MAX_LINE + 1)).1);
        assert!(!told("", &"x".repeat(MAX_LINE)).1);
        assert!(told("", &"x\n".repeat(MAX_LINES + 1)).1);
        assert_eq!(told(&"x".repeat(3 * MAX_REGION), ""), ("(too much to show)".into(), true));
    }

    #[test]
    fn far_places_are_shown_apart_and_many_are_cut() {
        let content: String =
            (1..=40).map(|i| format!("{}\n", if i % 20 == 0 { "x" } else { "-" })).collect();
        let text = report(&content, "x", "y");
        assert!(text.contains("\n  …\n"), "{text}");
        assert!(text.contains("+ 20\ty") && text.contains("+ 40\ty"), "{text}");
        let many = "x\n".repeat(500);
        assert_eq!(report(&many, "x", "y").lines().count(), MAX_LINES + 1);
        let much = "x\n".repeat(100_000);
        assert_eq!(report(&much, "x", "y"), "(lines 1 to 100000; too much to show)");
    }
}
