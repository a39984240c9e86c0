//! Output in bounded memory: the beginning, the end, and the number of bytes between.

use std::collections::VecDeque;

/// Collects output chunk by chunk. How the bytes are split into chunks makes no difference.
#[derive(Debug)]
pub struct Capture {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub fn new(head: usize, tail: usize) -> Self {
        Self {
            head_limit: head,
            tail_limit: tail,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    pub fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let room = self.head_limit - self.head.len();
        let (first, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(first);

        let newest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let surplus = (self.tail.len() + newest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        let wanted = self.tail.len() + newest.len();
        if wanted > self.tail.capacity() {
            // Twice as much each time, but never more than can be used.
            let room = wanted.max(2 * self.tail.capacity()).min(self.tail_limit);
            self.tail.reserve_exact(room - self.tail.len());
        }
        self.tail.extend(newest);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), total: self.total }
    }
}

/// What was kept of a command's output: standard output and standard error in one, unless they
/// were asked for separately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl Captured {
    /// The first bytes.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes; they follow the head directly if nothing was dropped.
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// How many bytes the command wrote.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes are missing between head and tail.
    pub fn dropped(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    /// Head and tail as text: valid UTF-8 with invalid bytes as U+FFFD and NUL made visible.
    /// Where bytes were dropped, one line says how many; no character is split there.
    pub fn to_text(&self) -> String {
        if self.dropped() == 0 {
            return readable(&[&self.head[..], &self.tail[..]].concat());
        }
        let (head, tail) = (whole_back(&self.head), whole_front(&self.tail));
        let dropped = self.total - head.len() as u64 - tail.len() as u64;
        let mut text = readable(head);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[… {dropped} bytes dropped …]\n"));
        text.push_str(&readable(tail));
        text
    }
}

/// Text for a reader: replacement characters for invalid bytes, a picture for NUL.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{2400}") } else { text.into_owned() }
}

/// Without the beginning of a character whose end was cut off.
fn whole_back(bytes: &[u8]) -> &[u8] {
    for (back, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => break,
        };
        let present = back + 1;
        if present < length {
            return &bytes[..bytes.len() - present];
        }
        break;
    }
    bytes
}

/// Without the end of a character whose beginning was cut off.
pub(crate) fn whole_front(bytes: &[u8]) -> &[u8] {
    let orphans = bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    &bytes[orphans..]
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
