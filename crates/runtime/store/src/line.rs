//! One record of a log: `seq crc json\n`, the checksum taken over `seq json`.

use ostler_core::session::Entry;
use serde::Deserialize;
use std::io::Write;

/// A line longer than this is never written, and is damage when read.
pub(crate) const MAX_LINE: usize = 256 << 20;

/// Deeper JSON is never written. Providers' answers are parsed to a depth of 128; our envelope adds a few.
pub(crate) const MAX_DEPTH: usize = 256;

const CRC_DIGITS: usize = 8;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritable {
    #[error("the entry cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the entry has {0} bytes; the limit for a log line is {MAX_LINE}")]
    TooLong(usize),
    #[error("the entry is nested {0} levels deep; the limit is {MAX_DEPTH}")]
    TooDeep(usize),
}

/// Adds one whole line to `out`, or nothing.
pub(crate) fn encode(seq: u64, entry: &Entry, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let start = out.len();
    let result = encode_at_end(seq, entry, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn encode_at_end(seq: u64, entry: &Entry, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let start = out.len();
    let digits = seq.to_string();
    out.extend_from_slice(digits.as_bytes());
    out.push(b' ');
    let crc_at = out.len();
    out.extend_from_slice(&[b'0'; CRC_DIGITS]);
    out.push(b' ');
    let json_at = out.len();
    serde_json::to_writer(&mut *out, entry)?;
    let json = out.get(json_at..).unwrap_or_default();
    let nesting = depth(json);
    if nesting > MAX_DEPTH {
        return Err(Unwritable::TooDeep(nesting));
    }
    let crc = checksum(digits.as_bytes(), json);
    if let Some(mut place) = out.get_mut(crc_at..crc_at + CRC_DIGITS) {
        write!(place, "{crc:08x}").map_err(serde_json::Error::io)?;
    }
    let length = out.len() - start;
    if length > MAX_LINE {
        return Err(Unwritable::TooLong(length));
    }
    out.push(b'\n');
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogRecord<'a> {
    pub seq: u64,
    pub json: &'a [u8],
}

/// Reads a line without its newline. Only the one spelling that `encode` writes is accepted,
/// so that no changed byte goes unnoticed.
pub(crate) fn decode(line: &[u8]) -> Option<LogRecord<'_>> {
    let (digits, crc, json) = split(line)?;
    let seq = number(digits)?;
    let mut wanted = [0; CRC_DIGITS];
    write!(wanted.as_mut_slice(), "{:08x}", checksum(digits, json)).ok()?;
    (crc == wanted).then_some(LogRecord { seq, json })
}

/// The kind of fact in a line, from its beginning alone and unchecked.
pub(crate) fn fact(start_of_line: &[u8]) -> Option<&[u8]> {
    let (_, _, json) = split(start_of_line)?;
    fact_of(json)
}

/// The same of its JSON.
pub(crate) fn fact_of(json: &[u8]) -> Option<&[u8]> {
    let name = json.strip_prefix(b"{\"fact\":\"")?;
    name.split(|byte| *byte == b'"').next()
}

/// Whether a file that begins like this can be a log whose first record is incomplete.
pub(crate) fn may_begin_a_log(start: &[u8]) -> bool {
    const SHAPE: &[u8] = b"1 ........ {\"fact\":\"opened\"";
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'.' => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
        _ => byte == shape,
    };
    // A file whose length reached the disk before its content reads as NULs.
    start.iter().zip(SHAPE).all(fits) || start.iter().all(|byte| *byte == 0)
}

pub(crate) fn parse(json: &[u8]) -> Result<Entry, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| {
        if depth(json) > MAX_DEPTH {
            return Err(error);
        }
        let mut deep = serde_json::Deserializer::from_slice(json);
        deep.disable_recursion_limit();
        let entry = Entry::deserialize(&mut deep)?;
        deep.end()?;
        Ok(entry)
    })
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let gap = line.iter().take(21).position(|byte| *byte == b' ')?;
    let (digits, rest) = line.split_at_checked(gap)?;
    let (crc, json) = rest.get(1..)?.split_at_checked(CRC_DIGITS)?;
    Some((digits, crc, json.strip_prefix(b" ")?))
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.first().is_none_or(|first| *first == b'0') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn checksum(digits: &[u8], json: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(digits);
    crc.update(b" ");
    crc.update(json);
    crc.finalize()
}

/// How deep valid JSON nests.
fn depth(json: &[u8]) -> usize {
    let (mut deepest, mut open, mut quoted, mut escaped) = (0, 0usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
