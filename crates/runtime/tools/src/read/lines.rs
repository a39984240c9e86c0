//! Bytes → numbered lines, in bounded memory whatever the file holds.

use crate::blocking_task::TaskStop;
use crate::text::head;
use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// Characters of text in all; with the notices it stays under the general cap for outputs.
const MAX_CHARS: usize = 49_000;
/// Characters of one line.
const MAX_LINE: usize = 2_000;
/// Bytes of one line that are held: enough for that many characters of any kind.
const HELD: usize = MAX_LINE * 4 + 4;

pub struct LineRange {
    /// Counted from 1.
    pub first: u64,
    pub count: u64,
}

#[derive(Debug, Default, PartialEq)]
pub struct NumberedLines {
    pub text: String,
    pub shown: u64,
    /// There are lines after the last one shown.
    pub more: bool,
    /// How many lines there are, if the file was read to its end.
    pub total: Option<u64>,
    pub bytes: u64,
    pub lossy: bool,
    pub crlf: bool,
    /// Of the whole content, if asked for.
    pub hash: Option<Vec<u8>>,
}

/// Reads to the end if the hash is wanted, else only as far as needed to show the lines.
pub fn number(
    mut from: impl Read,
    request: &LineRange,
    hash: Option<Sha256>,
    stop: &TaskStop,
) -> io::Result<NumberedLines> {
    let mut numberer = Numberer::new(request);
    let mut hash = hash;
    let mut buffer = vec![0; 64 << 10];
    loop {
        if stop.reached().is_some() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let chunk = buffer.get(..read).unwrap_or_default();
        if chunk.is_empty() {
            return Ok(numberer.finish(hash));
        }
        if let Some(hash) = &mut hash {
            hash.update(chunk);
        }
        numberer.push(chunk);
        if hash.is_none() && numberer.ends_in_a_long_line() {
            numberer.end_line(false);
            numberer.out.more = true;
        }
        if hash.is_none() && numberer.out.more {
            return Ok(numberer.out);
        }
    }
}

struct Numberer<'a> {
    request: &'a LineRange,
    out: NumberedLines,
    chars: usize,
    /// The number of the line being read.
    line: u64,
    held: Vec<u8>,
    length: u64,
    full: bool,
}

impl<'a> Numberer<'a> {
    fn new(request: &'a LineRange) -> Self {
        Numberer {
            request,
            out: NumberedLines::default(),
            chars: 0,
            line: 1,
            held: Vec::new(),
            length: 0,
            full: false,
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.out.bytes += chunk.len() as u64;
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.hold(line);
            self.end_line(true);
            rest = after.get(1..).unwrap_or_default();
        }
        self.hold(rest);
    }

    fn hold(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.length += bytes.len() as u64;
        self.out.more |= self.is_past();
        if self.is_wanted() {
            let room = HELD.saturating_sub(self.held.len());
            self.held.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
    }

    fn is_past(&self) -> bool {
        self.full || self.line >= self.request.first.saturating_add(self.request.count)
    }

    fn is_wanted(&self) -> bool {
        self.line >= self.request.first && !self.is_past()
    }

    /// Nothing is missing but the rest of a line that is cut anyway, and that may be most of a huge file.
    fn ends_in_a_long_line(&self) -> bool {
        let is_last =
            self.line.saturating_add(1) == self.request.first.saturating_add(self.request.count);
        is_last && self.is_wanted() && self.length > HELD as u64
    }

    fn end_line(&mut self, has_newline: bool) {
        self.out.more |= self.is_past();
        if self.is_wanted() {
            self.show(has_newline);
        }
        self.line += 1;
        self.held.clear();
        self.length = 0;
    }

    fn show(&mut self, has_newline: bool) {
        let mut bytes = self.held.as_slice();
        if has_newline && self.length <= HELD as u64 && bytes.last() == Some(&b'\r') {
            bytes = &bytes[..bytes.len() - 1];
            self.out.crlf = true;
        }
        if self.line == 1 {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        let (text, lossy) = readable(bytes, self.length > self.held.len() as u64);
        let (start, whole) = head(&text, MAX_LINE);
        let mark = match whole && self.length <= HELD as u64 {
            true => String::new(),
            false => "… [line cut]".to_owned(),
        };
        let line = format!("{}\t{start}{mark}", self.line);
        let chars = line.chars().count() + 1;
        if self.chars + chars > MAX_CHARS && self.out.shown > 0 {
            self.full = true;
            self.out.more = true;
            return;
        }
        if self.out.shown > 0 {
            self.out.text.push('\n');
        }
        self.out.text.push_str(&line);
        self.out.lossy |= lossy;
        self.chars += chars;
        self.out.shown += 1;
    }

    fn finish(mut self, hash: Option<Sha256>) -> NumberedLines {
        let ends_open = self.length > 0;
        if ends_open {
            self.end_line(false);
        } else if self.out.bytes > 0 && self.out.shown > 0 && self.is_wanted() {
            // The empty last number tells that the file ends with a newline.
            self.out.text.push_str(&format!("\n{}\t", self.line));
        }
        self.out.total = Some(self.line - 1);
        self.out.hash = hash.map(|hash| hash.finalize().to_vec());
        self.out
    }
}

/// Text for a reader. NUL is no text either, and some readers stumble over it.
fn readable(bytes: &[u8], is_cut: bool) -> (String, bool) {
    let mut text = String::with_capacity(bytes.len());
    let mut lossy = false;
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let cut_in_two = is_cut && chunks.peek().is_none();
        if !chunk.invalid().is_empty() && !cut_in_two {
            text.push('\u{fffd}');
            lossy = true;
        }
    }
    if text.contains('\0') {
        return (text.replace('\0', "\u{fffd}"), true);
    }
    (text, lossy)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
