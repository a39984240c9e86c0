//! Which fact is written when, and when it is forced to the disk.
//!
//! Forced at four points: a prompt is admitted; an answer with a changing call is sealed; a changing call starts; a
//! turn ends. Everything else survives the death of the process by being written, and a loss of power by luck.

use ostler_core::message::Block;
use ostler_core::ports::{Blobs, Recorder, SessionLog, StoreError};
use ostler_core::session::{Entry, Pending};
use ostler_core::time::Clock;
use ostler_core::turn::Terminal;
use ostler_core::view::View;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub struct Journal {
    log: Arc<dyn SessionLog>,
    blobs: Arc<dyn Blobs>,
    clock: Arc<dyn Clock>,
    mirror: Arc<Mutex<Mirror>>,
}

/// What the log says so far, as far as the next turn needs it. A turn that was dropped in the middle leaves the
/// truth here.
#[derive(Default)]
struct Mirror {
    view: View,
    pending: Pending,
    turns: u32,
}

impl Journal {
    /// `view` and `turns` are what the log already holds.
    pub fn new(
        log: Arc<dyn SessionLog>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
        view: View,
        turns: u32,
    ) -> Self {
        let mirror = Mirror { view, pending: Pending::default(), turns };
        Journal { log, blobs, clock, mirror: Arc::new(Mutex::new(mirror)) }
    }

    pub fn blobs(&self) -> Arc<dyn Blobs> {
        self.blobs.clone()
    }

    pub fn log(&self) -> &dyn SessionLog {
        self.log.as_ref()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// The conversation, with honest results for whatever an abandoned turn left open, and the number of turns so far.
    pub fn conversation(&self) -> (View, u32) {
        let mut mirror = self.mirror();
        let pending = std::mem::take(&mut mirror.pending);
        pending.settle(&mut mirror.view);
        (mirror.view.clone(), mirror.turns)
    }

    pub(crate) fn write(&self, entry: &Entry) -> Result<(), StoreError> {
        self.log.append(entry)?;
        let mut mirror = self.mirror();
        match entry {
            Entry::CallStarted { id } => mirror.pending.started(id.clone()),
            Entry::CallFinished { result, .. } => mirror.pending.finished(result.clone()),
            Entry::Prompt { .. } => mirror.turns += 1,
            _ => {}
        }
        Ok(())
    }

    /// The machine moved on: this is the conversation now.
    pub(crate) fn adopt(&self, view: &View) {
        let mut mirror = self.mirror();
        if view.open_calls().is_empty() {
            mirror.pending = Pending::default();
        }
        mirror.view = view.clone();
    }

    /// Waits for the disk without holding up anything else.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        let log = self.log.clone();
        match tokio::task::spawn_blocking(move || log.sync()).await {
            Ok(result) => result,
            Err(_) => Err(StoreError::Io {
                doing: "sync",
                path: self.log.id().as_str().into(),
                why: "the program is shutting down".into(),
            }),
        }
    }

    pub(crate) async fn end(&self, terminal: Terminal) -> Result<(), StoreError> {
        self.write(&Entry::End { terminal, at: self.clock.now() })?;
        self.sync().await
    }

    pub(crate) fn finished(&self, result: Block, seen: Vec<ostler_core::tool::Seen>) -> Result<(), StoreError> {
        self.write(&Entry::CallFinished { result, seen })
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for Journal {
    fn record(&self, entry: Entry) -> Result<(), StoreError> {
        self.write(&entry)
    }
}
