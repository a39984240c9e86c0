//! A session log in memory, which can be told to fail.

use crate::locked;
use crate::timeline::{Timeline, TimelineMoment};
use ostler_core::ids::SessionId;
use ostler_core::ports::{SessionLog, StoreError};
use ostler_core::session::Entry;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Which operation fails, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFault {
    /// This append alone: room is found again afterwards.
    Append(usize),
    /// This append and everything after it.
    AppendsFrom(usize),
    Sync(usize),
    SyncsFrom(usize),
}

pub struct TestLog {
    id: SessionId,
    timeline: Arc<Timeline>,
    fault: Option<LogFault>,
    counts: Mutex<LogCounts>,
}

#[derive(Clone, Copy, Default)]
struct LogCounts {
    appends: usize,
    syncs: usize,
}

impl TestLog {
    pub fn new(timeline: Arc<Timeline>, fault: Option<LogFault>) -> Self {
        TestLog { id: SessionId::new("s1"), timeline, fault, counts: Mutex::default() }
    }

    /// How often the log was appended to and synced, refusals included.
    pub fn operations(&self) -> (usize, usize) {
        let counts = *locked(&self.counts);
        (counts.appends, counts.syncs)
    }

    fn refuse(&self, doing: &'static str) -> StoreError {
        self.timeline.add(TimelineMoment::Refused(doing));
        StoreError::Io { doing, path: "s1".into(), why: "the disk is full".into() }
    }
}

impl SessionLog for TestLog {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn append(&self, entry: &Entry) -> Result<(), StoreError> {
        let n = {
            let mut counts = locked(&self.counts);
            counts.appends += 1;
            counts.appends
        };
        let fails = match self.fault {
            Some(LogFault::Append(at)) => n == at,
            Some(LogFault::AppendsFrom(at)) => n >= at,
            _ => false,
        };
        if fails {
            return Err(self.refuse("append"));
        }
        self.timeline.add(TimelineMoment::Entry(entry.clone()));
        Ok(())
    }

    fn visit(&self, see: &mut dyn FnMut(u64, Entry) -> ControlFlow<()>) -> Result<(), StoreError> {
        for (seq, entry) in (1..).zip(self.timeline.entries()) {
            if see(seq, entry).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        let n = {
            let mut counts = locked(&self.counts);
            counts.syncs += 1;
            counts.syncs
        };
        let fails = match self.fault {
            Some(LogFault::Sync(at)) => n == at,
            Some(LogFault::SyncsFrom(at)) => n >= at,
            _ => false,
        };
        if fails {
            return Err(self.refuse("sync"));
        }
        self.timeline.add(TimelineMoment::Synced);
        Ok(())
    }
}
