//! Reads a log from beginning to end and reports what can be used.
//!
//! Every line is checked, but in a log with boundaries only what is still needed becomes an entry: the newest boundary,
//! what follows it, and earlier facts that are not part of the conversation. The time is linear in the length of the
//! file, however many boundaries it has.
//!
//! Records are ordered by their numbers. A line in the wrong place, because somebody edited the file or a disk lost
//! blocks, is moved to its place and costs no other line.

use crate::line::{self, LogRecord};
use crate::losses::{LossPlace, Losses};
use ostler_core::session::{Entry, FORMAT};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

const BUFFER: usize = 64 << 10;
/// A line buffer that grew beyond this is given back.
const KEEP: usize = 1 << 20;
/// Enough of a file to tell whether it may be a log.
const HEAD: usize = 32;

/// How much is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    All,
    /// What a session continues from.
    Live,
}

/// The facts that a boundary replaces. The cost of a request is for the ledger, which reads the whole log; a resumed
/// session needs only what was spent since.
const CONVERSATION: [&[u8]; 17] = [
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
    b"spent",
    // What of these is still open stands in the boundary.
    b"inbound",
    b"asked",
    b"withdrawn",
    b"control",
    b"detached",
];

#[derive(Debug)]
pub(crate) enum Unreadable {
    Io(io::Error),
    TooNew(u16),
    NotALog,
    /// The newest boundary cannot be read, so what precedes it is used again.
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
    /// Those of the entries, ascending; where something was lost, there are gaps.
    pub numbers: Vec<u64>,
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
    let mut lines = LogLines { source, buf: Vec::new(), head: Vec::new(), at: 0, max_line };
    let mut state = ScanState { want: Some(want), ..ScanState::default() };
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
    let mut lines = LogLines { source, buf: Vec::new(), head: Vec::new(), at: 0, max_line };
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

struct LineSpan {
    start: u64,
    end: u64,
    ended: bool,
}

/// Lines of at most `max_line` bytes; a longer one is passed over and shows as empty.
struct LogLines<R> {
    source: BufReader<R>,
    buf: Vec<u8>,
    /// How the first line begins.
    head: Vec<u8>,
    at: u64,
    max_line: usize,
}

impl<R: Read> LogLines<R> {
    fn next(&mut self) -> io::Result<Option<LineSpan>> {
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
        Ok(Some(LineSpan { start, end: self.at, ended }))
    }
}

#[derive(Default)]
struct ScanState {
    want: Option<Want>,
    /// Facts that stay in effect across boundaries, by number.
    facts: Vec<(u64, Entry)>,
    /// The conversation since the newest boundary, which is the first of them.
    said: Vec<SummedFacts>,
    /// The number of that boundary.
    boundary: u64,
    /// Plans since the newest boundary, and the last one before it: each is whole.
    plans: Vec<SummedFacts>,
    losses: Losses,
    highest: u64,
    good: u64,
    unended: bool,
    /// Bytes since the last record that are none.
    damage: Option<(u64, u64)>,
}

/// A record that is made into an entry when it is known that nothing replaced it.
struct SummedFacts {
    json: Box<[u8]>,
    seq: u64,
    start: u64,
    end: u64,
}

impl ScanState {
    fn line(&mut self, span: &LineSpan, bytes: &[u8]) -> Result<(), Unreadable> {
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

    fn record(&mut self, record: &LogRecord<'_>, span: &LineSpan) -> Result<(), Unreadable> {
        let seq = record.seq;
        if seq > self.highest {
            self.report_gap(seq, span.start);
            self.highest = seq;
            return self.keep(record, span);
        }
        self.report_damage();
        let place = bytes(span);
        if self.losses.fill(seq) {
            self.losses
                .say(format!("entry {seq} is out of order at bytes {place}: moved back"), None);
            return self.keep(record, span);
        }
        self.losses.say(format!("entry {seq} occurs again at bytes {place}: skipped"), None);
        Ok(())
    }

    fn keep(&mut self, record: &LogRecord<'_>, span: &LineSpan) -> Result<(), Unreadable> {
        let LogRecord { seq, json } = *record;
        let fact = line::fact_of(json).filter(|_| self.want == Some(Want::Live));
        let said = || SummedFacts { json: json.into(), seq, start: span.start, end: span.end };
        match fact {
            Some(b"planned") => self.plans.push(said()),
            // Summed up since.
            Some(fact) if CONVERSATION.contains(&fact) && seq < self.boundary => {}
            Some(b"boundary") => {
                self.boundary = seq;
                self.said.retain(|said| said.seq > seq);
                self.said.push(said());
                self.plans.drain(..self.plans.len().saturating_sub(1));
            }
            Some(fact) if CONVERSATION.contains(&fact) => self.said.push(said()),
            _ => {
                if let Some(entry) = self.entry(record, span)? {
                    self.facts.push((seq, entry));
                }
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        record: &LogRecord<'_>,
        span: &LineSpan,
    ) -> Result<Option<Entry>, Unreadable> {
        match line::parse(record.json) {
            Ok(Entry::Opened { format, .. }) if format > FORMAT => Err(Unreadable::TooNew(format)),
            Ok(entry) => Ok(Some(entry)),
            Err(error) => self.unknown(record, span, &error).map(|()| None),
        }
    }

    /// In the order of their numbers, which is that of the file unless lines were moved.
    fn entries(&mut self) -> Result<(Vec<u64>, Vec<Entry>), Unreadable> {
        let mut entries = std::mem::take(&mut self.facts);
        let (said, plans) = (std::mem::take(&mut self.said), std::mem::take(&mut self.plans));
        entries.reserve(said.len() + plans.len());
        for SummedFacts { json, seq, start, end } in said.into_iter().chain(plans) {
            let (record, span) =
                (LogRecord { seq, json: &json }, LineSpan { start, end, ended: true });
            match self.entry(&record, &span)? {
                Some(entry) => entries.push((seq, entry)),
                None if seq == self.boundary => return Err(Unreadable::Boundary),
                None => {}
            }
        }
        entries.sort_by_key(|(seq, _)| *seq);
        Ok(entries.into_iter().unzip())
    }

    /// An intact record that this version cannot make an entry of.
    fn unknown(
        &mut self,
        record: &LogRecord<'_>,
        span: &LineSpan,
        error: &serde_json::Error,
    ) -> Result<(), Unreadable> {
        #[derive(Deserialize)]
        struct EntryKind {
            fact: String,
            #[serde(default)]
            format: Option<u64>,
        }
        let kind = serde_json::from_slice::<EntryKind>(record.json).ok();
        if let Some(EntryKind { fact, format: Some(format) }) = &kind
            && fact == "opened"
            && *format > u64::from(FORMAT)
        {
            return Err(Unreadable::TooNew(u16::try_from(*format).unwrap_or(u16::MAX)));
        }
        let name: String =
            kind.map_or_else(String::new, |kind| kind.fact.chars().take(40).collect());
        let (seq, at) = (record.seq, bytes(span));
        let words = format!(
            "entry {seq} ({name:?}, bytes {at}) is not understood by this version: skipped ({error})"
        );
        self.losses.say(words, Some(seq));
        Ok(())
    }

    /// What lies between the highest number so far and this one.
    fn report_gap(&mut self, seq: u64, at: u64) {
        if seq == self.highest + 1 {
            return self.report_damage();
        }
        let place = match self.damage.take() {
            Some((from, to)) => LossPlace::Damaged { from, to },
            None => LossPlace::Missing { at },
        };
        self.losses.gap(self.highest + 1, seq - 1, place);
    }

    /// Damage that cost no number.
    fn report_damage(&mut self) {
        if let Some((from, to)) = self.damage.take() {
            let after = self.highest;
            let words = format!("bytes {from}–{to} after entry {after} are not a record: skipped");
            self.losses.say(words, None);
        }
    }

    fn finish(mut self, end: u64) -> Result<Scan, Unreadable> {
        let (numbers, entries) = self.entries()?;
        let tail = match (self.damage, self.unended) {
            (Some(_), _) => Tail::Torn,
            (None, true) => Tail::Unended,
            (None, false) => Tail::Clean,
        };
        Ok(Scan {
            entries,
            numbers,
            notices: self.losses.into_notices(),
            next: self.highest.saturating_add(1),
            good: self.good,
            end,
            tail,
        })
    }
}

fn bytes(span: &LineSpan) -> String {
    format!("{}–{}", span.start, span.end)
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
