//! The part of the result that is shown: some lines skipped, a number of lines and characters at most.

use super::hits::{FileHits, HitLine};
use super::{GrepInput, GrepMode};
use crate::workspace::Files;
use std::path::Path;

/// Characters of output, whatever the limit of lines.
const MAX_CHARS: usize = 10_000;

pub struct Page {
    skip: u64,
    limit: Option<u64>,
    lines: Vec<String>,
    chars: usize,
    /// All lines so far, the skipped ones included.
    seen: u64,
    full: bool,
}

impl Page {
    pub fn new(skip: u64, limit: Option<u64>) -> Self {
        Page { skip, limit, lines: Vec::new(), chars: 0, seen: 0, full: false }
    }

    /// There are lines that are not shown.
    pub fn is_full(&self) -> bool {
        self.full
    }

    pub fn shown(&self) -> u64 {
        self.lines.len() as u64
    }

    pub fn seen(&self) -> u64 {
        self.seen
    }

    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// How many lines of one more file could matter: those still to skip, those that fit, and one to know of more.
    pub fn wanted(&self) -> usize {
        let fit = self.limit.unwrap_or(MAX_CHARS as u64).saturating_sub(self.shown());
        let skip = self.skip.saturating_sub(self.seen);
        usize::try_from(skip.saturating_add(fit).saturating_add(1)).unwrap_or(usize::MAX)
    }

    /// True if lines of this file are lost because too many were found in it.
    pub fn add(&mut self, files: &Files, input: &GrepInput, path: &Path, found: &FileHits) -> bool {
        let FileHits::Hits(hits) = found else { return false };
        if hits.count == 0 || self.full {
            return false;
        }
        let name = files.name(path);
        match input.output_mode.unwrap_or_default() {
            GrepMode::FilesWithMatches => self.push(name),
            GrepMode::Count => self.push(format!("{name}:{}", hits.count)),
            GrepMode::Content => {
                let context = hits.lines.iter().any(|line| !matches!(line, HitLine::Match(..)));
                if context && self.seen > 0 {
                    self.push("--".into());
                }
                for line in &hits.lines {
                    self.push(written(&name, line, input.numbers.unwrap_or(true)));
                }
            }
        }
        hits.cut && !self.full
    }

    fn push(&mut self, line: String) {
        self.seen += 1;
        if self.seen <= self.skip || self.full {
            return;
        }
        let chars = line.chars().count() + 1;
        let fits = self.lines.is_empty() || self.chars + chars <= MAX_CHARS;
        if !fits || self.limit.is_some_and(|limit| self.shown() >= limit) {
            self.full = true;
            return;
        }
        self.chars += chars;
        self.lines.push(line);
    }
}

fn written(name: &str, line: &HitLine, numbers: bool) -> String {
    match (line, numbers) {
        (HitLine::Match(number, text), true) => format!("{name}:{number}:{text}"),
        (HitLine::Match(_, text), false) => format!("{name}:{text}"),
        (HitLine::Context(number, text), true) => format!("{name}-{number}-{text}"),
        (HitLine::Context(_, text), false) => format!("{name}-{text}"),
        (HitLine::Gap, _) => "--".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(
        skip: u64,
        limit: Option<u64>,
        lines: impl IntoIterator<Item = String>,
    ) -> (Vec<String>, bool) {
        let mut page = Page::new(skip, limit);
        lines.into_iter().for_each(|line| page.push(line));
        (page.lines, page.full)
    }

    #[test]
    fn lines_are_skipped_and_limited() {
        let ten = || (1..=10).map(|i| i.to_string());
        for (skip, limit, expected, full) in [
            (0, None, 1..=10, false),
            (0, Some(10), 1..=10, false),
            (0, Some(9), 1..=9, true),
            (3, Some(2), 4..=5, true),
            (8, Some(2), 9..=10, false),
        ] {
            let expected: Vec<String> = expected.map(|i: u32| i.to_string()).collect();
            assert_eq!(page(skip, limit, ten()), (expected, full), "{skip} {limit:?}");
        }
        assert_eq!(page(99, None, ten()), (vec![], false));
    }

    #[test]
    fn characters_are_limited_but_one_line_always_fits() {
        let (lines, full) = page(0, None, std::iter::repeat_n("x".repeat(99), 500));
        assert_eq!((lines.len(), full), (100, true));
        let (lines, full) = page(0, None, ["x".repeat(20_000)]);
        assert_eq!((lines.len(), full), (1, false));
    }

    #[test]
    fn no_more_is_asked_of_a_file_than_could_be_shown() {
        assert_eq!(Page::new(0, Some(250)).wanted(), 251);
        assert_eq!(Page::new(10, Some(250)).wanted(), 261);
        assert_eq!(Page::new(u64::MAX, Some(250)).wanted(), usize::MAX);
    }
}
