//! Which fact is written when, and when it is forced to the disk.
//!
//! Forced at four points: a prompt is admitted; an answer with a changing call is sealed; a changing call starts; a
//! turn ends. Everything else survives the death of the process by being written, and a loss of power by luck.

use crate::sync_pool::SyncPool;
use ostler_core::context::CarryOver;
use ostler_core::ledger::{Earlier, Usage};
use ostler_core::message::Block;
use ostler_core::ports::{Blobs, Recorder, SessionLog, StoreError};
use ostler_core::session::{Entry, Measured, Session};
use ostler_core::time::Clock;
use ostler_core::todo::Plan;
use ostler_core::tool::Seen;
use ostler_core::turn::Terminal;
use ostler_core::view::{View, ViewItem};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub struct Journal {
    log: Arc<dyn SessionLog>,
    blobs: Arc<dyn Blobs>,
    clock: Arc<dyn Clock>,
    mirror: Arc<Mutex<Mirror>>,
    /// How many of the entries written here have reached the disk. Whoever syncs holds it.
    synced: Arc<tokio::sync::Mutex<u64>>,
    pool: SyncPool,
}

/// What the log says so far: the same fold as a new process makes of it, without its history. A turn that was dropped in the middle leaves
/// the truth here.
struct Mirror {
    session: Session,
    /// The first refusal of a turn. Nothing is written behind a hole: not by this turn, nor by a call of it.
    broken: Option<StoreError>,
    written: u64,
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
        let mut session = Session::default();
        session.view = view;
        session.turns = turns;
        Journal::resumed(log, blobs, clock, session)
    }

    /// Goes on with what the log was folded to.
    pub fn resumed(
        log: Arc<dyn SessionLog>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
        session: Session,
    ) -> Self {
        let mut session = session;
        session.forget_history();
        let mirror = Mirror { session, broken: None, written: 0 };
        let (mirror, synced) = (Arc::new(Mutex::new(mirror)), Arc::default());
        Journal { log, blobs, clock, mirror, synced, pool: SyncPool::default() }
    }

    /// Syncs together with other sessions.
    #[must_use]
    pub fn syncing_with(mut self, pool: SyncPool) -> Self {
        self.pool = pool;
        self
    }

    /// The plan that the log already holds.
    #[must_use]
    pub fn with_plan(self, plan: Arc<Plan>) -> Self {
        self.mirror().session.plan = plan;
        self
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
        let session = self.mirror().session.clone().close();
        (session.view, session.turns)
    }

    /// What was carried on so far, what was seen, the number of turns, and the title.
    pub(crate) fn carried(&self) -> (CarryOver, Vec<Seen>, u32, String) {
        let mirror = self.mirror();
        let session = &mirror.session;
        (session.carry.clone(), session.seen.clone(), session.turns, session.title.clone())
    }

    /// What the session is about, and the files it changed before what is in view.
    pub fn begun(&self) -> (String, Vec<String>) {
        let mirror = self.mirror();
        (mirror.session.title.clone(), mirror.session.carry.files.clone())
    }

    /// The newest undo outside of the session that the model was told of.
    pub fn undo_told(&self) -> u64 {
        self.mirror().session.carry.undo_told
    }

    /// The newest request of an earlier process.
    pub fn earlier(&self) -> Option<Earlier> {
        self.mirror().session.trail.earlier()
    }

    /// What is known of sizes: the bytes of a prompt's messages and of the answer, and their tokens.
    pub(crate) fn measured(&self) -> Option<(u64, u64, Usage)> {
        let mirror = self.mirror();
        let items = mirror.session.view.items();
        let weight = |items: &[Arc<ViewItem>]| items.iter().map(|item| item.weight()).sum::<u64>();
        Some(match mirror.session.measured? {
            Measured::Reported { usage, items: count } => {
                let (answer, asked) = items.get(..count)?.split_last()?;
                (weight(asked), answer.weight(), usage)
            }
            Measured::Estimated { tokens, items: count } => {
                (weight(items.get(..count)?), 0, Usage { input: tokens, ..Usage::default() })
            }
        })
    }

    /// A new turn may find the disk mended.
    pub(crate) fn try_again(&self) {
        self.mirror().broken = None;
    }

    pub(crate) fn write(&self, entry: Entry) -> Result<(), StoreError> {
        let mut mirror = self.mirror();
        if let Some(error) = &mirror.broken {
            return Err(error.clone());
        }
        match self.log.append(&entry) {
            Ok(()) => {
                // What was changed and when is read from the log; nothing here grows with the length of a session.
                if !matches!(entry, Entry::Snapshot { .. } | Entry::Checkpoint { .. }) {
                    mirror.session.apply(entry);
                }
                mirror.written += 1;
                Ok(())
            }
            Err(error) => Err(mirror.broken.insert(error).clone()),
        }
    }

    /// The machine moved on: its conversation says the same as the log, and shares its messages with the requests.
    pub(crate) fn adopt(&self, view: &View) {
        self.mirror().session.view = view.clone();
    }

    /// Waits for the disk without holding up anything else. One at a time and in the order asked, so that no call goes
    /// on beside a refusal; who had to wait may find that the sync before took its entries along.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        let wanted = self.mirror().written;
        let mut synced = self.synced.lock().await;
        let written = self.unbroken()?;
        if *synced >= wanted {
            return Ok(());
        }
        let result = self.pool.sync(&self.log).await;
        result.map_err(|error| self.mirror().broken.get_or_insert(error).clone())?;
        *synced = written;
        self.unbroken().map(|_| ())
    }

    /// How much was written, unless the log refused something in the meantime.
    fn unbroken(&self) -> Result<u64, StoreError> {
        let mirror = self.mirror();
        mirror.broken.clone().map_or(Ok(mirror.written), Err)
    }

    pub(crate) async fn end(&self, terminal: Terminal) -> Result<(), StoreError> {
        self.write(Entry::End { terminal, at: self.clock.now() })?;
        self.sync().await
    }

    pub(crate) fn finished(
        &self,
        result: Block,
        seen: Vec<ostler_core::tool::Seen>,
    ) -> Result<(), StoreError> {
        self.write(Entry::CallFinished { result, seen })
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for Journal {
    fn record(&self, entry: Entry) -> Result<(), StoreError> {
        self.write(entry)
    }

    fn plan(&self) -> Arc<Plan> {
        self.mirror().session.plan.clone()
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
