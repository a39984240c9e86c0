//! A session log in memory, which can be told to fail.

use crate::locked;
use crate::timeline::{Moment, Timeline};
use ostler_core::ids::SessionId;
use ostler_core::ports::{SessionLog, StoreError};
use ostler_core::session::Entry;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Which operation fails, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This append alone: room is found again afterwards.
    Append(usize),
    /// This append and everything after it.
    AppendsFrom(usize),
    Sync(usize),
    SyncsFrom(usize),
}

pub struct MemoryLog {
    id: SessionId,
    timeline: Arc<Timeline>,
    fault: Option<Fault>,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    appends: usize,
    syncs: usize,
}

impl MemoryLog {
    pub fn new(timeline: Arc<Timeline>, fault: Option<Fault>) -> Self {
        MemoryLog { id: SessionId::new("s1"), timeline, fault, counts: Mutex::default() }
    }

    /// How often the log was appended to and synced, refusals included.
    pub fn operations(&self) -> (usize, usize) {
        let counts = *locked(&self.counts);
        (counts.appends, counts.syncs)
    }

    fn refuse(&self, doing: &'static str) -> StoreError {
        self.timeline.add(Moment::Refused(doing));
        StoreError::Io { doing, path: "s1".into(), why: "the disk is full".into() }
    }
}

impl SessionLog for MemoryLog {
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
            Some(Fault::Append(at)) => n == at,
            Some(Fault::AppendsFrom(at)) => n >= at,
            _ => false,
        };
        if fails {
            return Err(self.refuse("append"));
        }
        self.timeline.add(Moment::Entry(entry.clone()));
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
            Some(Fault::Sync(at)) => n == at,
            Some(Fault::SyncsFrom(at)) => n >= at,
            _ => false,
        };
        if fails {
            return Err(self.refuse("sync"));
        }
        self.timeline.add(Moment::Synced);
        Ok(())
    }
}
