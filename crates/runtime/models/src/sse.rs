//! Bytes → frames of an event stream. A push decoder: however the bytes are cut, the frames are the same.

use thiserror::Error;

/// What one event may hold before the stream is given up.
pub const MAX_EVENT_BYTES: usize = 16 << 20;

/// What may be sent in a row that is no part of an event: comments, blank lines and fields that nobody reads.
pub const MAX_NOISE_BYTES: usize = 1 << 20;

const DATA: &[u8] = b"data";
const BOM: &[u8] = b"\xEF\xBB\xBF";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// Empty when the sender named none.
    pub event: String,
    pub data: String,
    /// Bytes of it were not UTF-8 and were replaced.
    pub lossy: bool,
}

/// Why a stream is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flood {
    #[error("one event of the stream is larger than {limit} bytes")]
    Event { limit: usize },
    #[error("the stream continues without an event")]
    Noise,
}

#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    noise_limit: usize,
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return, so a line feed now belongs to it.
    after_cr: bool,
    first_line: bool,
    failed: Option<Flood>,
    /// Bytes of whole lines since the last part of an event.
    noise: usize,
    alive: bool,
}

fn without_bom(line: &[u8]) -> &[u8] {
    line.strip_prefix(BOM).unwrap_or(line)
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::with_limits(MAX_EVENT_BYTES, MAX_NOISE_BYTES)
    }
}

impl Decoder {
    pub fn with_limits(limit: usize, noise_limit: usize) -> Self {
        Decoder {
            limit,
            noise_limit,
            line: Vec::new(),
            event: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
            failed: None,
            noise: 0,
            alive: false,
        }
    }

    /// Whether what was pushed last held a part of an event.
    pub fn is_alive(&self) -> bool {
        self.alive
    }

    /// Adds the frames that these bytes complete. Frames before a failure are added too.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<SseFrame>) -> Result<(), Flood> {
        self.alive = false;
        while !bytes.is_empty() && self.failed.is_none() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) else {
                self.line.extend_from_slice(bytes);
                self.check_piece();
                break;
            };
            let (head, tail) = bytes.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            bytes = tail.get(1..).unwrap_or_default();
            match self.held() + head.len() > self.limit {
                true => self.failed = Some(Flood::Event { limit: self.limit }),
                false => self.end_line(head, out),
            }
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Checks a line whose end has not arrived.
    fn check_piece(&mut self) {
        let line = if self.first_line { without_bom(&self.line) } else { &self.line };
        let is_data = line.starts_with(DATA);
        // As long as it may become a part of an event, it is no noise.
        let may_become = DATA.starts_with(line) || (self.first_line && BOM.starts_with(line));
        let is_noise = !is_data && !may_become && self.noise + line.len() > self.noise_limit;
        self.alive |= is_data;
        if self.held() > self.limit {
            self.failed = Some(Flood::Event { limit: self.limit });
        } else if is_noise {
            self.failed = Some(Flood::Noise);
        }
    }

    fn held(&self) -> usize {
        self.line.len() + self.event.len() + self.data.len()
    }

    fn end_line(&mut self, head: &[u8], out: &mut Vec<SseFrame>) {
        if self.line.is_empty() {
            return self.take_line(head, out);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(head);
        self.take_line(&line, out);
        line.clear();
        self.line = line;
    }

    fn take_line(&mut self, line: &[u8], out: &mut Vec<SseFrame>) {
        let line = match std::mem::replace(&mut self.first_line, false) {
            true => without_bom(line),
            false => line,
        };
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        self.noise = if field == DATA { 0 } else { self.noise + line.len() + 1 };
        if self.noise > self.noise_limit {
            self.failed = Some(Flood::Noise);
            return;
        }
        if line.is_empty() {
            return self.dispatch(out);
        }
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            DATA => {
                self.alive = true;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            // `id` and `retry` are for readers that reconnect, which makes no sense for a POST;
            // an empty name is a comment; others are not ours.
            _ => {}
        }
    }

    fn dispatch(&mut self, out: &mut Vec<SseFrame>) {
        let (event, _) = text(std::mem::take(&mut self.event));
        let (data, lossy) = text(std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            out.push(SseFrame { event, data, lossy });
        }
    }
}

/// Whole lines only are decoded, so a character cut by the network is never damaged. True if bytes were replaced.
fn text(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(bad) => (String::from_utf8_lossy(bad.as_bytes()).into_owned(), true),
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
