//! Reads a log from beginning to end and says what can be used of it.
//!
//! Every line is checked, but of a log with boundaries only what still counts is made into entries: the newest
//! boundary and what follows it, and of what lies before it the facts that are not part of the conversation.

use crate::line::{self, Record};
use ostler_core::session::{Entry, FORMAT};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

const BUFFER: usize = 64 << 10;
/// A line buffer that grew beyond this is given back.
const KEEP: usize = 1 << 20;
const MAX_NOTICES: usize = 50;
/// Enough of a file to tell whether it may be a log.
const HEAD: usize = 32;

/// How much is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    All,
    /// What a session goes on from.
    Live,
}

/// The facts that a boundary stands for.
const CONVERSATION: [&[u8]; 11] = [
    b"prompt",
    b"answer",
    b"note",
    b"went",
    b"call_started",
    b"call_finished",
    b"decided",
    b"end",
    b"elided",
    b"collapsed",
    b"boundary",
];

#[derive(Debug)]
pub(crate) enum Unreadable {
    Io(io::Error),
    TooNew(u16),
    NotALog,
    /// The newest boundary is not understood: what lies before it counts again.
    Boundary,
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Unreadable::Io(error)
    }
}

/// How the file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Clean,
    /// A whole record that lacks its newline.
    Unended,
    /// From `Scan::good` to `Scan::end` there is no record.
    Torn,
}

#[derive(Debug)]
pub(crate) struct Scan {
    pub entries: Vec<Entry>,
    pub notices: Vec<String>,
    /// The number of the next record.
    pub next: u64,
    /// Length up to the end of the last record.
    pub good: u64,
    pub end: u64,
    pub tail: Tail,
}

pub(crate) fn scan(source: impl Read, max_line: usize, want: Want) -> Result<Scan, Unreadable> {
    let source = BufReader::with_capacity(BUFFER, source);
    let mut lines = Lines { source, buf: Vec::new(), head: Vec::new(), at: 0, max_line };
    let mut state = State { want: Some(want), ..State::default() };
    while let Some(span) = lines.next()? {
        state.line(&span, &lines.buf)?;
    }
    let may_be_one =
        lines.at == 0 || (!lines.head.is_empty() && line::may_begin_a_log(&lines.head));
    if state.highest == 0 && !may_be_one {
        return Err(Unreadable::NotALog);
    }
    state.finish(lines.at)
}

/// Shows what can be read, one entry after the other.
pub(crate) fn visit(
    source: impl Read,
    max_line: usize,
    see: &mut dyn FnMut(u64, Entry) -> ControlFlow<()>,
) -> io::Result<()> {
    let source = BufReader::with_capacity(BUFFER, source);
    let mut lines = Lines { source, buf: Vec::new(), head: Vec::new(), at: 0, max_line };
    while lines.next()?.is_some() {
        if let Some(record) = line::decode(&lines.buf)
            && let Ok(entry) = line::parse(record.json)
            && see(record.seq, entry).is_break()
        {
            break;
        }
    }
    Ok(())
}

struct Span {
    start: u64,
    end: u64,
    ended: bool,
}

/// Lines of at most `max_line` bytes; a longer one is passed over and shows as empty.
struct Lines<R> {
    source: BufReader<R>,
    buf: Vec<u8>,
    /// How the first line begins.
    head: Vec<u8>,
    at: u64,
    max_line: usize,
}

impl<R: Read> Lines<R> {
    fn next(&mut self) -> io::Result<Option<Span>> {
        self.buf.clear();
        self.buf.shrink_to(KEEP);
        let start = self.at;
        let limit = self.max_line as u64 + 1;
        let read = self.source.by_ref().take(limit).read_until(b'\n', &mut self.buf)? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.at += read;
        let ended = self.buf.last() == Some(&b'\n');
        if ended {
            self.buf.pop();
        }
        if start == 0 {
            self.head.extend(self.buf.iter().take(HEAD));
        }
        if !ended && read == limit {
            self.buf.clear();
            self.at += self.source.skip_until(b'\n')? as u64;
        }
        Ok(Some(Span { start, end: self.at, ended }))
    }
}

#[derive(Default)]
struct State {
    want: Option<Want>,
    kept: Vec<Kept>,
    notices: Notices,
    highest: u64,
    good: u64,
    unended: bool,
    /// Bytes since the last record that are none.
    damage: Option<(u64, u64)>,
}

/// A record that may count: made into an entry at once, or when it is known that nothing replaced it.
enum Kept {
    Entry(Entry),
    Said { json: Box<[u8]>, seq: u64, start: u64, end: u64, boundary: bool },
}

impl State {
    fn line(&mut self, span: &Span, bytes: &[u8]) -> Result<(), Unreadable> {
        // A lost block reads as NULs, and what follows it on the same line may be a whole record.
        let nuls = bytes.iter().take_while(|byte| **byte == 0).count();
        let record = bytes.get(nuls..).and_then(line::decode);
        if nuls > 0 || record.is_none() {
            let to = if record.is_some() { span.start + nuls as u64 } else { span.end };
            let from = self.damage.map_or(span.start, |(from, _)| from);
            self.damage = Some((from, to));
        }
        let Some(record) = record else { return Ok(()) };
        self.record(&record, span)?;
        self.good = span.end;
        self.unended = !span.ended;
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>, span: &Span) -> Result<(), Unreadable> {
        let Record { seq, json } = *record;
        if seq <= self.highest {
            self.report_damage(self.highest + 1);
            self.notices.push(format!(
                "entry {seq} stands a second time at bytes {}: skipped",
                bytes(span)
            ));
            return Ok(());
        }
        let before = self.damage.map_or(span.start, |(from, _)| from);
        self.report_gap(seq, before);
        self.highest = seq;
        let fact = line::fact_of(json).filter(|_| self.want == Some(Want::Live));
        if let Some(fact) = fact.filter(|fact| CONVERSATION.contains(fact)) {
            let boundary = fact == b"boundary";
            if boundary {
                self.kept.retain(|kept| matches!(kept, Kept::Entry(_)));
            }
            let (json, start, end) = (json.into(), span.start, span.end);
            self.kept.push(Kept::Said { json, seq, start, end, boundary });
            return Ok(());
        }
        if let Some(entry) = self.entry(record, span)? {
            self.kept.push(Kept::Entry(entry));
        }
        Ok(())
    }

    fn entry(&mut self, record: &Record<'_>, span: &Span) -> Result<Option<Entry>, Unreadable> {
        match line::parse(record.json) {
            Ok(Entry::Opened { format, .. }) if format > FORMAT => Err(Unreadable::TooNew(format)),
            Ok(entry) => Ok(Some(entry)),
            Err(error) => self.unknown(record, span, &error).map(|()| None),
        }
    }

    fn entries(&mut self) -> Result<Vec<Entry>, Unreadable> {
        let mut entries = Vec::with_capacity(self.kept.len());
        for kept in std::mem::take(&mut self.kept) {
            match kept {
                Kept::Entry(entry) => entries.push(entry),
                Kept::Said { json, seq, start, end, boundary } => {
                    let (record, span) =
                        (Record { seq, json: &json }, Span { start, end, ended: true });
                    match self.entry(&record, &span)? {
                        Some(entry) => entries.push(entry),
                        None if boundary => return Err(Unreadable::Boundary),
                        None => {}
                    }
                }
            }
        }
        Ok(entries)
    }

    /// An intact record that this version cannot make an entry of.
    fn unknown(
        &mut self,
        record: &Record<'_>,
        span: &Span,
        error: &serde_json::Error,
    ) -> Result<(), Unreadable> {
        #[derive(Deserialize)]
        struct Kind {
            fact: String,
            #[serde(default)]
            format: Option<u64>,
        }
        let kind = serde_json::from_slice::<Kind>(record.json).ok();
        if let Some(Kind { fact, format: Some(format) }) = &kind
            && fact == "opened"
            && *format > u64::from(FORMAT)
        {
            return Err(Unreadable::TooNew(u16::try_from(*format).unwrap_or(u16::MAX)));
        }
        let name: String =
            kind.map_or_else(String::new, |kind| kind.fact.chars().take(40).collect());
        let (seq, at) = (record.seq, bytes(span));
        self.notices.push(format!("entry {seq} ({name:?}, bytes {at}) is not understood by this version: skipped ({error})"));
        Ok(())
    }

    fn report_gap(&mut self, seq: u64, at: u64) {
        if self.damage.is_some() {
            self.report_damage(seq);
        } else if seq > self.highest + 1 {
            let lost = range(self.highest + 1, seq - 1);
            self.notices.push(format!("{lost} missing before byte {at}"));
        }
    }

    /// `next` is the record that follows the damage.
    fn report_damage(&mut self, next: u64) {
        let Some((from, to)) = self.damage.take() else { return };
        self.notices.push(match next.saturating_sub(1) {
            last if last > self.highest => {
                format!("{} damaged (bytes {from}–{to}): skipped", range(self.highest + 1, last))
            }
            _ => format!("bytes {from}–{to} after entry {} are no record: skipped", self.highest),
        });
    }

    fn finish(mut self, end: u64) -> Result<Scan, Unreadable> {
        let entries = self.entries()?;
        let tail = match (self.damage, self.unended) {
            (Some(_), _) => Tail::Torn,
            (None, true) => Tail::Unended,
            (None, false) => Tail::Clean,
        };
        Ok(Scan {
            entries,
            notices: self.notices.into_lines(),
            next: self.highest.saturating_add(1),
            good: self.good,
            end,
            tail,
        })
    }
}

fn bytes(span: &Span) -> String {
    format!("{}–{}", span.start, span.end)
}

fn range(first: u64, last: u64) -> String {
    if first == last {
        format!("entry {first} is")
    } else {
        format!("entries {first}–{last} are")
    }
}

/// A bounded list: a log of nothing but damage must not fill the memory with complaints.
#[derive(Default)]
struct Notices {
    lines: Vec<String>,
    more: u64,
}

impl Notices {
    fn push(&mut self, line: String) {
        if self.lines.len() < MAX_NOTICES { self.lines.push(line) } else { self.more += 1 }
    }

    fn into_lines(mut self) -> Vec<String> {
        if self.more > 0 {
            self.lines.push(format!("and {} more places like these", self.more));
        }
        self.lines
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
