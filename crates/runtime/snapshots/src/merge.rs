//! Three versions of a text become one where they do not contradict each other.

use ostler_core::diff::{self, DiffOp};
use std::time::{Duration, Instant};

/// Larger files are not merged.
const LONGEST: usize = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(2);

/// One place where a version differs: lines of the base, and what stands there instead.
struct Hunk<'a> {
    from: usize,
    to: usize,
    lines: &'a [&'a [u8]],
}

/// `mine` and `theirs` both come from `base`. None if they contradict, or are no texts.
pub fn lines(base: &[u8], mine: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let is_text = |bytes: &[u8]| bytes.len() <= LONGEST && !bytes.contains(&0);
    if ![base, mine, theirs].into_iter().all(is_text) {
        return None;
    }
    let (base, mine, theirs) = (diff::split(base), diff::split(mine), diff::split(theirs));
    let (left, right) = (hunks(&base, &mine), hunks(&base, &theirs));
    let mut out: Vec<&[u8]> = Vec::new();
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let mut at = 0;
    loop {
        let hunk = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => left.next()?,
            (None, Some(_)) => right.next()?,
            (Some(a), Some(b)) if a.from == b.from && a.to == b.to && a.lines == b.lines => {
                right.next();
                left.next()?
            }
            // Also what only touches contradicts: nobody knows which comes first.
            (Some(a), Some(b)) if a.to < b.from => left.next()?,
            (Some(a), Some(b)) if b.to < a.from => right.next()?,
            _ => return None,
        };
        out.extend(base.get(at..hunk.from)?);
        out.extend(hunk.lines);
        at = hunk.to;
    }
    out.extend(base.get(at..)?);
    // A line without an end may have come to stand in the middle.
    let torn = out.split_last().is_some_and(|(_, rest)| rest.iter().any(|l| !l.ends_with(b"\n")));
    (!torn).then(|| out.concat())
}

fn hunks<'a>(base: &[&'a [u8]], new: &'a [&'a [u8]]) -> Vec<Hunk<'a>> {
    let deadline = Instant::now().checked_add(PATIENCE);
    let ops = diff::lines(base, new, deadline);
    let hunk = |op: &DiffOp| {
        if matches!(op, DiffOp::Equal { .. }) {
            return None;
        }
        let (old, lines) = (op.old_range(), new.get(op.new_range())?);
        Some(Hunk { from: old.start, to: old.end, lines })
    };
    ops.iter().filter_map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    fn merged(base: &str, mine: &str, theirs: &str) -> Option<String> {
        let out = lines(base.as_bytes(), mine.as_bytes(), theirs.as_bytes());
        out.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn changes_apart_from_each_other_are_both_kept() {
        let table = [
            ("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", Some("A\nb\nc\nD\n")),
            ("a\nb\nc\n", "a\nb\nc\n", "x\n", Some("x\n")),
            ("a\nb\nc\n", "x\n", "a\nb\nc\n", Some("x\n")),
            ("a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n", Some("a\nx\nc\n")),
            ("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", None),
            ("a\nb\nc\n", "a\nb\nc\nend\n", "top\na\nb\nc\n", Some("top\na\nb\nc\nend\n")),
            ("a\n", "a\nmine\n", "a\ntheirs\n", None),
            ("a\nb\nc", "A\nb\nc", "a\nb\nc\nd\n", Some("A\nb\nc\nd\n")),
            ("a\nb\nc\n", "a\nb\nc\nx", "y\nb\nc\n", Some("y\nb\nc\nx")),
            ("", "mine\n", "", Some("mine\n")),
            ("a\0", "a\0", "b", None),
        ];
        for (base, mine, theirs, expected) in table {
            assert_eq!(
                merged(base, mine, theirs).as_deref(),
                expected,
                "{base:?} {mine:?} {theirs:?}"
            );
        }
    }
}
