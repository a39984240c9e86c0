//! One file searched.

use super::GrepMode;
use crate::blocking_task::TaskStop;
use crate::text::head;
use crate::workspace::{FileError, Files};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use std::io::{self, Read};
use std::path::Path;

/// What a search may hold of a file at once: its longest line, or all of it when matches span lines.
const HEAP: usize = 32 << 20;
/// Characters of a line that are shown.
const MAX_LINE: usize = 500;
/// Of a longer line, what is shown before the match.
const LEAD: usize = 100;
/// Bytes of lines kept of one file.
const MAX_KEPT: usize = 1 << 20;

pub struct GrepSearch {
    pub matcher: RegexMatcher,
    pub mode: GrepMode,
    pub multiline: bool,
    pub before: usize,
    pub after: usize,
}

#[derive(Debug)]
pub enum FileHits {
    Hits(Hits),
    /// It could not be searched; why, if the file itself said so.
    Failed(Option<FileError>),
}

#[derive(Debug, Default, PartialEq)]
pub struct Hits {
    pub lines: Vec<HitLine>,
    /// Lines that match.
    pub count: u64,
    /// More lines would follow, but are not kept.
    pub cut: bool,
}

#[derive(Debug, PartialEq)]
pub enum HitLine {
    Match(u64, String),
    Context(u64, String),
    /// Lines are left out here.
    Gap,
}

impl GrepSearch {
    /// At most `wanted` lines are collected. Binary files have no hits.
    pub fn file(&self, files: &Files, path: &Path, wanted: usize, stop: &TaskStop) -> FileHits {
        let file = match files.open(path) {
            Ok((file, _)) => file,
            Err(error) => return FileHits::Failed(Some(error)),
        };
        match self.read(Stoppable { from: file, stop }, wanted) {
            Ok(hits) => FileHits::Hits(hits),
            Err(_) => FileHits::Failed(None),
        }
    }

    pub fn read(&self, from: impl Read, wanted: usize) -> io::Result<Hits> {
        // Both sides must agree on what ends a line; where matches span lines, nothing is assumed.
        let line_end =
            if self.multiline { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() };
        let mut searcher = SearcherBuilder::new()
            .line_terminator(line_end)
            .multi_line(self.multiline)
            .before_context(self.before)
            .after_context(self.after)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP))
            .build();
        let mut sink = Collect { search: self, wanted, kept: 0, hits: Hits::default() };
        searcher.search_reader(&self.matcher, from, &mut sink)?;
        Ok(sink.hits)
    }

    /// A line for a reader, the part around the match if it is long.
    fn text(&self, bytes: &[u8]) -> String {
        let bytes = bytes.trim_ascii_end_newline();
        let whole = String::from_utf8_lossy(bytes);
        let (cut, all) = head(&whole, MAX_LINE);
        if all {
            return whole.replace('\0', "\u{fffd}");
        }
        let at = self.matcher.find(bytes).ok().flatten().map_or(0, |at| at.start());
        let before = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default()).chars().count();
        let skipped = before.saturating_sub(LEAD);
        if skipped == 0 {
            return format!("{cut}…");
        }
        let part: String = whole.chars().skip(skipped).take(MAX_LINE).collect();
        let more = if whole.chars().count() > skipped + MAX_LINE { "…" } else { "" };
        format!("…{part}{more}")
    }
}

trait TrimNewline {
    fn trim_ascii_end_newline(&self) -> &[u8];
}

impl TrimNewline for [u8] {
    fn trim_ascii_end_newline(&self) -> &[u8] {
        let line = self.strip_suffix(b"\n").unwrap_or(self);
        line.strip_suffix(b"\r").unwrap_or(line)
    }
}

struct Collect<'a> {
    search: &'a GrepSearch,
    wanted: usize,
    kept: usize,
    hits: Hits,
}

impl Collect<'_> {
    /// False when no more lines are taken.
    fn push(&mut self, line: HitLine) -> bool {
        if let HitLine::Match(_, text) | HitLine::Context(_, text) = &line {
            self.kept += text.len();
        }
        self.hits.lines.push(line);
        self.hits.cut = self.kept > MAX_KEPT;
        !self.hits.cut && self.hits.lines.len() < self.wanted
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let first = found.line_number().unwrap_or(0);
        for (number, line) in (first..).zip(found.lines()) {
            self.hits.count += 1;
            if self.search.mode == GrepMode::Content
                && !self.push(HitLine::Match(number, self.search.text(line)))
            {
                return Ok(false);
            }
        }
        Ok(self.search.mode != GrepMode::FilesWithMatches)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or(0);
        Ok(self.push(HitLine::Context(number, self.search.text(found.bytes()))))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.push(HitLine::Gap))
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() {
            self.hits = Hits::default();
        }
        Ok(())
    }
}

/// A reader that ends with an error when the work must stop.
struct Stoppable<'a, R> {
    from: R,
    stop: &'a TaskStop,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.reached() {
            Some(_) => Err(io::ErrorKind::TimedOut.into()),
            None => self.from.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::matcher;
    use super::*;

    fn search(pattern: &str, context: usize, multiline: bool) -> GrepSearch {
        let matcher = matcher(pattern, false, multiline).unwrap();
        GrepSearch { matcher, mode: GrepMode::Content, multiline, before: context, after: context }
    }

    fn lines(search: &GrepSearch, content: &[u8]) -> Vec<String> {
        let show = |line: &HitLine| match line {
            HitLine::Match(n, text) => format!("{n}:{text}"),
            HitLine::Context(n, text) => format!("{n}-{text}"),
            HitLine::Gap => "--".into(),
        };
        search.read(content, 100).unwrap().lines.iter().map(show).collect()
    }

    #[test]
    fn lines_and_context() {
        assert_eq!(lines(&search("b", 0, false), b"a\nb\nab\n"), ["2:b", "3:ab"]);
        assert_eq!(
            lines(&search("x", 1, false), b"a\nx\nb\nc\nd\nx\n"),
            ["1-a", "2:x", "3-b", "--", "5-d", "6:x"]
        );
        assert_eq!(lines(&search("b$", 0, false), b"a\r\nb\r\n"), ["2:b"]);
        assert_eq!(lines(&search("a.*b", 0, true), b"x\na\nb\nx\n"), ["2:a", "3:b"]);
        assert_eq!(lines(&search("^b", 0, true), b"a\nb\n"), ["2:b"]);
        assert_eq!(lines(&search("caf.", 0, false), b"caf\xe9s\n"), Vec::<String>::new());
        assert_eq!(lines(&search("caf", 0, false), b"caf\xe9s\n"), ["1:caf\u{fffd}s"]);
    }

    #[test]
    fn binary_files_have_no_hits() {
        assert_eq!(search("x", 0, false).read(&b"x\nx\0\n"[..], 9).unwrap(), Hits::default());
    }

    #[test]
    fn a_long_line_shows_its_match() {
        let long = format!("{}needle{}", "a".repeat(10_000), "b".repeat(10_000));
        let text = search("needle", 0, false).text(long.as_bytes());
        assert!(text.starts_with("…aaa") && text.contains("needle") && text.ends_with("bbb…"));
        assert_eq!(text.chars().count(), MAX_LINE + 2);
    }

    #[test]
    fn only_what_is_wanted_is_collected() {
        let hits = search("x", 0, false).read("x\n".repeat(1000).as_bytes(), 5).unwrap();
        assert_eq!((hits.lines.len(), hits.cut), (5, false));
        let wide = format!("{}\n", "x".repeat(400)).repeat(10_000);
        let hits = search("x", 0, false).read(wide.as_bytes(), usize::MAX).unwrap();
        assert!(hits.cut && hits.lines.len() < 3_000);
        let names = GrepSearch { mode: GrepMode::FilesWithMatches, ..search("x", 0, false) };
        assert_eq!(names.read("x\n".repeat(1000).as_bytes(), 9).unwrap().count, 1);
        let count = GrepSearch { mode: GrepMode::Count, ..search("x", 0, false) };
        assert_eq!(count.read("x\n".repeat(1000).as_bytes(), 9).unwrap().count, 1000);
    }
}
