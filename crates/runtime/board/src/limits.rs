//! How much a board holds, and texts that fit.

use crate::error::Refusal;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tasks on a board, and tasks added at once.
    pub tasks: u64,
    pub batch: usize,
    pub title_bytes: usize,
    /// Of a description, and of a result.
    pub text_bytes: usize,
    pub error_bytes: usize,
    pub dependencies: usize,
    pub globs: usize,
    pub glob_bytes: usize,
    /// Entries of the history of a task. The first is always kept.
    pub history: u32,
    /// Leases in a row that may end without a word, before a task is parked.
    pub losses: u32,
    pub shortest_lease: Duration,
    pub longest_lease: Duration,
    /// Of a worker or an agent.
    pub name_bytes: usize,
    pub mail_bytes: usize,
    /// Unread mail of one agent.
    pub unread: u64,
    /// Mail that is settled, of the whole board; the oldest is dropped.
    pub archive: u64,
    /// Deliveries of one mail, before it is given up.
    pub deliveries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            tasks: 1_000_000,
            batch: 1_000,
            title_bytes: 500,
            text_bytes: 64 * 1024,
            error_bytes: 4 * 1024,
            dependencies: 100,
            globs: 100,
            glob_bytes: 500,
            history: 100,
            losses: 3,
            shortest_lease: Duration::from_secs(1),
            longest_lease: Duration::from_secs(24 * 3600),
            name_bytes: 128,
            mail_bytes: 256 * 1024,
            unread: 10_000,
            archive: 50_000,
            deliveries: 5,
        }
    }
}

impl Limits {
    /// The lease in milliseconds.
    ///
    /// # Errors
    /// If it is too short or too long.
    pub fn lease(&self, lease: Duration) -> Result<u64, Refusal> {
        if lease < self.shortest_lease || lease > self.longest_lease {
            let (least, most) = (self.shortest_lease.as_secs(), self.longest_lease.as_secs());
            return Err(Refusal::Lease { seconds: lease.as_secs(), least, most });
        }
        Ok(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
    }

    /// # Errors
    /// If it is empty, too long or not printable.
    pub fn name(&self, what: &'static str, name: &str) -> Result<(), Refusal> {
        within(what, name, self.name_bytes)?;
        match name.trim().is_empty() || name.chars().any(char::is_control) {
            true => Err(Refusal::Name { what, name: name.escape_debug().to_string() }),
            false => Ok(()),
        }
    }
}

pub(crate) fn within(what: &'static str, text: &str, most: usize) -> Result<(), Refusal> {
    match text.len() > most {
        true => Err(Refusal::TooLong { what, bytes: text.len(), most }),
        false => Ok(()),
    }
}

/// What a worker reports must not be lost because it is long.
pub fn clipped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let note = format!("… (cut, it had {} bytes)", text.len());
    let mut end = most.saturating_sub(note.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{note}", text.get(..end).unwrap_or_default())
}
