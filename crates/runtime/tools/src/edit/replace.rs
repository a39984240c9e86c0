//! The replacement itself, on bytes: what is not touched stays as it is, whatever its encoding and line ends.

use crate::text::line_ends;
use std::ops::Range;

pub struct Replacement<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub all: bool,
}

#[derive(Debug, PartialEq)]
pub struct Edited {
    pub bytes: Vec<u8>,
    /// Where the replaced texts stood in the old content.
    pub places: Vec<Range<usize>>,
}

#[derive(Debug, PartialEq)]
pub enum NoEdit {
    NotFound,
    /// The lines where it stands.
    Ambiguous(Vec<usize>),
}

pub fn replace(content: &[u8], wanted: &Replacement<'_>) -> Result<Edited, NoEdit> {
    let ends = LineEnds::of(content);
    let places = ends.find(content, wanted.old);
    match places.len() {
        0 => return Err(NoEdit::NotFound),
        2.. if !wanted.all => {
            return Err(NoEdit::Ambiguous(
                places.iter().map(|at| line_of(content, at.start)).collect(),
            ));
        }
        _ => {}
    }
    let new = ends.applied(wanted.new);
    let mut bytes = Vec::with_capacity(content.len() + new.len());
    let mut done = 0;
    for place in &places {
        bytes.extend_from_slice(content.get(done..place.start).unwrap_or_default());
        bytes.extend_from_slice(new.as_bytes());
        done = place.end;
    }
    bytes.extend_from_slice(content.get(done..).unwrap_or_default());
    Ok(Edited { bytes, places })
}

/// The number of the line that holds the byte.
pub fn line_of(content: &[u8], at: usize) -> usize {
    1 + content.get(..at).unwrap_or(content).iter().filter(|byte| **byte == b'\n').count()
}

/// How a file ends its lines.
struct LineEnds {
    crlf: usize,
    lf: usize,
}

impl LineEnds {
    fn of(content: &[u8]) -> Self {
        let (crlf, lf) = line_ends(content);
        LineEnds { crlf, lf }
    }

    /// A model writes `\n`; in a file of `\r\n` it means the end of a line there.
    fn find(&self, content: &[u8], old: &str) -> Vec<Range<usize>> {
        if self.crlf == 0 || !old.contains('\n') {
            return occurrences(content, old.as_bytes());
        }
        let plain = PlainText::of(content);
        let found = occurrences(&plain.bytes, old.replace("\r\n", "\n").as_bytes());
        found.into_iter().map(|at| plain.origin(at.start)..plain.origin(at.end)).collect()
    }

    /// The text with the line ends the file has, or most of them.
    fn applied(&self, new: &str) -> String {
        match self.crlf > self.lf {
            true => new.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => new.to_owned(),
        }
    }
}

/// A content whose `\r\n` are `\n`, and the way back to the original places.
struct PlainText {
    bytes: Vec<u8>,
    /// Places of the newlines that lost their carriage return, in order.
    shortened: Vec<usize>,
}

impl PlainText {
    fn of(content: &[u8]) -> Self {
        let mut plain =
            PlainText { bytes: Vec::with_capacity(content.len()), shortened: Vec::new() };
        let mut rest = content.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            if byte == b'\r' && rest.peek() == Some(&b'\n') {
                plain.shortened.push(plain.bytes.len());
            } else {
                plain.bytes.push(byte);
            }
        }
        plain
    }

    /// A place between two bytes; one before a shortened newline is before its carriage return.
    fn origin(&self, at: usize) -> usize {
        at + self.shortened.partition_point(|newline| *newline < at)
    }
}

/// Occurrences that do not overlap, from the left.
fn occurrences(content: &[u8], wanted: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some((first, others)) = wanted.split_first() else { return found };
    let mut at = 0;
    while let Some(next) =
        content.get(at..).and_then(|rest| rest.iter().position(|byte| byte == first))
    {
        let start = at + next;
        if content.get(start + 1..).is_some_and(|rest| rest.starts_with(others)) {
            at = start + wanted.len();
            found.push(start..at);
        } else {
            at = start + 1;
        }
    }
    found
}

/// Why a text is not found, as far as it can be guessed.
pub fn reason(content: &[u8], old: &str) -> String {
    let content = String::from_utf8_lossy(content);
    let is_numbered = |line: &str| {
        line.trim_start()
            .split_once('\t')
            .is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    if old.lines().count() > 0 && old.lines().all(is_numbered) {
        return "The line numbers that Read shows, and the tab after them, are not part of the file.".into();
    }
    let wanted: Vec<&str> = old.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines: Vec<(usize, &str)> = content
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let matches =
        |window: &&[(usize, &str)]| window.iter().map(|(_, line)| *line).eq(wanted.iter().copied());
    if let Some([(line, _), ..]) =
        (!wanted.is_empty()).then(|| lines.windows(wanted.len()).find(matches)).flatten()
    {
        return format!(
            "The same text with different white space is at line {line}: copy it exactly."
        );
    }
    if content.contains('\u{fffd}') && old.contains('\u{fffd}') {
        return "Bytes that are not UTF-8 cannot be matched: choose text around them.".into();
    }
    "Read the file again and copy the text exactly.".into()
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
