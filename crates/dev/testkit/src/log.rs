//! A session log in memory, which can be told to fail.

use crate::locked;
use crate::timeline::{Timeline, TimelineMoment};
use ostler_core::ids::SessionId;
use ostler_core::ports::{SessionLog, StoreError};
use ostler_core::session::Entry;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

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

/// A disk that answers no sync until it is told to.
#[derive(Default)]
pub struct StalledDisk {
    waiting: Mutex<usize>,
    answers: Mutex<bool>,
    changed: Condvar,
}

impl StalledDisk {
    /// Syncs that wait for it.
    pub fn waiting(&self) -> usize {
        *locked(&self.waiting)
    }

    pub fn answer(&self) {
        *locked(&self.answers) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        *locked(&self.waiting) += 1;
        let answers = locked(&self.answers);
        let limit = Duration::from_secs(60);
        let waited = self.changed.wait_timeout_while(answers, limit, |answers| !*answers);
        assert!(waited.is_ok_and(|(answers, _)| *answers), "the disk was never told to answer");
        *locked(&self.waiting) -= 1;
    }
}

pub struct TestLog {
    id: SessionId,
    timeline: Arc<Timeline>,
    fault: Option<LogFault>,
    pub(crate) disk: Option<Arc<StalledDisk>>,
    counts: Mutex<LogCounts>,
}

#[derive(Clone, Copy, Default)]
struct LogCounts {
    appends: usize,
    syncs: usize,
}

impl TestLog {
    pub fn new(timeline: Arc<Timeline>, fault: Option<LogFault>) -> Self {
        let (id, disk, counts) = (SessionId::new("s1"), None, Mutex::default());
        TestLog { id, timeline, fault, disk, counts }
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
        if let Some(disk) = &self.disk {
            disk.wait();
        }
        self.timeline.add(TimelineMoment::Synced);
        Ok(())
    }
}
