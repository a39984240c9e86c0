//! What became of each request, for whoever follows the server while it runs.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::billing::BillRow;
use crate::record::{Recorded, RequestVerdict, ServedOutcome};

/// Entries that are kept for a reader who is behind, and sessions that are told apart.
const MOST_ENTRIES: usize = 65_536;
const MOST_SESSIONS: usize = 65_536;

#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    /// Of the request, as in `Recorded`; none if it could not even be read.
    pub number: Option<usize>,
    pub method: String,
    pub path: String,
    /// The one that was asked; empty if none was.
    pub model: String,
    /// Counts from 1. Requests whose conversations begin with the same message are of one session.
    pub session: Option<usize>,
    /// Of the response; none if it had no head.
    pub status: Option<u16>,
    /// Why it was refused, if no script asked for that.
    pub refusal: Option<String>,
    /// None if the request could not be read.
    pub outcome: Option<ServedOutcome>,
    /// From the request's arrival to the end of the response.
    pub took: Duration,
    /// None if nothing is charged for it.
    pub row: Option<BillRow>,
}

#[derive(Default)]
pub(crate) struct Log {
    entries: VecDeque<Arc<LogEntry>>,
    /// Entries that were dropped because nobody read them.
    dropped: usize,
    sessions: HashMap<u64, usize>,
}

impl Log {
    pub fn ended(
        &mut self,
        recorded: &Recorded,
        status: Option<u16>,
        outcome: ServedOutcome,
        row: Option<BillRow>,
    ) {
        let refusal = match &recorded.verdict {
            RequestVerdict::Accepted => None,
            RequestVerdict::Refused { message, .. } => Some(message.clone()),
        };
        let session = self.session(recorded);
        self.push(LogEntry {
            number: Some(recorded.number),
            method: recorded.method.clone(),
            path: recorded.path.clone(),
            model: recorded.model().to_owned(),
            session,
            status,
            refusal,
            outcome: Some(outcome),
            took: recorded.arrived.elapsed(),
            row,
        });
    }

    pub fn unreadable(&mut self, status: u16, message: &str) {
        self.push(LogEntry {
            number: None,
            method: String::new(),
            path: String::new(),
            model: String::new(),
            session: None,
            status: Some(status),
            refusal: Some(message.to_owned()),
            outcome: None,
            took: Duration::ZERO,
            row: None,
        });
    }

    fn push(&mut self, entry: LogEntry) {
        if self.entries.len() == MOST_ENTRIES {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(Arc::new(entry));
    }

    fn session(&mut self, recorded: &Recorded) -> Option<usize> {
        let mut hasher = DefaultHasher::new();
        recorded.messages().first()?.to_string().hash(&mut hasher);
        let (key, next) = (hasher.finish(), self.sessions.len() + 1);
        if next > MOST_SESSIONS {
            return self.sessions.get(&key).copied();
        }
        Some(*self.sessions.entry(key).or_insert(next))
    }

    /// The entry of that number, or the oldest that is left; none if it is still to come.
    pub fn entry(&self, n: usize) -> Option<Arc<LogEntry>> {
        self.entries.get(n.saturating_sub(self.dropped)).cloned()
    }
}
