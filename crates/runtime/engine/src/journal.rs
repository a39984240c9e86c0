//! Which fact is written when, and when it is forced to the disk.
//!
//! Forced at four points: a prompt or an item of the inbox is admitted; an answer with a changing call is sealed; a
//! changing call starts; a turn ends. Everything else survives the death of the process because it was written, but may
//! be lost in a power failure.

use crate::sync_pool::SyncPool;
use ostler_core::context::CarryOver;
use ostler_core::event::Control;
use ostler_core::ids::InboundId;
use ostler_core::inbox::Inbound;
use ostler_core::job::JobRecord;
use ostler_core::ledger::{Earlier, Usage};
use ostler_core::message::Block;
use ostler_core::ports::{Blobs, Recorder, SessionLog, StoreError};
use ostler_core::question::Question;
use ostler_core::session::{AgentRecord, Entry, Measured, Pending, SessionRecord};
use ostler_core::teammate::{PlanRecord, TeammateStatus};
use ostler_core::time::Clock;
use ostler_core::todo::Plan;
use ostler_core::tool::Seen;
use ostler_core::tool_facts::KnownTools;
use ostler_core::turn::Terminal;
use ostler_core::view::{View, ViewItem};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

#[derive(Clone)]
pub struct Journal {
    log: Arc<dyn SessionLog>,
    blobs: Arc<dyn Blobs>,
    clock: Arc<dyn Clock>,
    mirror: Arc<Mutex<Mirror>>,
    /// How many of the entries written here have reached the disk. Whoever syncs holds it.
    synced: Arc<tokio::sync::Mutex<u64>>,
    pool: SyncPool,
    arrived: Arc<Notify>,
}

/// What the log says so far: the same fold as a new process makes of it, without its history. A turn that was dropped in the middle leaves
/// the truth here.
struct Mirror {
    session: SessionRecord,
    /// The first refusal of a turn. Nothing is written behind a hole: not by this turn, nor by a call of it.
    broken: Option<StoreError>,
    written: u64,
    /// Items of the inbox that are about to be admitted.
    taken: Vec<InboundId>,
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
        let mut session = SessionRecord::default();
        session.view = view;
        session.turns = turns;
        Journal::resumed(log, blobs, clock, session)
    }

    /// Continues with what the log was folded to.
    pub fn resumed(
        log: Arc<dyn SessionLog>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
        session: SessionRecord,
    ) -> Self {
        let mut session = session;
        session.forget_history();
        let mirror = Mirror { session, broken: None, written: 0, taken: Vec::new() };
        let (mirror, synced) = (Arc::new(Mutex::new(mirror)), Arc::default());
        let (pool, arrived) = (SyncPool::default(), Arc::default());
        Journal { log, blobs, clock, mirror, synced, pool, arrived }
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

    /// The conversation as the log has it, open calls included, with what became of them so far.
    pub(crate) fn open_conversation(&self) -> (View, Pending, u32) {
        let mirror = self.mirror();
        let session = &mirror.session;
        (session.view.clone(), session.pending().clone(), session.turns)
    }

    /// The conversation goes on as it was before a turn, counted from 1. Gives what the model has seen of files by then.
    ///
    /// # Errors
    /// If the log refuses it.
    pub fn rewind(&self, turn: u32) -> Result<Vec<Seen>, StoreError> {
        self.write_beside(Entry::Rewound { turn, at: self.clock.now() })?;
        self.log.sync()?;
        Ok(self.mirror().session.seen.clone())
    }

    /// The conversation goes on as it was before the last rewind. Gives what the model has seen of files by then.
    ///
    /// # Errors
    /// If the log refuses it.
    pub fn undo_rewind(&self) -> Result<Vec<Seen>, StoreError> {
        self.write_beside(Entry::RewindUndone { at: self.clock.now() })?;
        self.log.sync()?;
        Ok(self.mirror().session.seen.clone())
    }

    /// The last turn can continue where the log ends: calls of its last answer wait to be settled.
    pub fn has_open_calls(&self) -> bool {
        !self.mirror().session.view.open_calls().is_empty()
    }

    /// The last turn can go on where the log ends: its calls wait to be settled, or its prompt for an answer.
    pub fn has_open_turn(&self) -> bool {
        let mirror = self.mirror();
        let SessionRecord { view, ended, .. } = &mirror.session;
        let waits = view.messages().last().is_some_and(|message| !message.is_assistant());
        !view.open_calls().is_empty() || (ended.is_none() && waits)
    }

    pub fn has_open_question(&self) -> bool {
        !self.mirror().session.questions.is_empty()
    }

    /// What was asked and not decided.
    pub fn questions(&self) -> Vec<Question> {
        self.mirror().session.questions.clone()
    }

    /// Jobs whose end was not reported.
    pub fn jobs(&self) -> Vec<JobRecord> {
        self.mirror().session.jobs.clone()
    }

    /// Mode, model and thinking, if they were changed since the session began.
    pub fn control(&self) -> Option<Control> {
        self.mirror().session.control.clone()
    }

    /// Records what the session continues with.
    ///
    /// # Errors
    /// If the log refuses it.
    pub fn set_control(&self, control: Control) -> Result<(), StoreError> {
        self.write_beside(Entry::Control(control))
    }

    /// The agents that the session started, as far as the log knows.
    pub fn agents(&self) -> Vec<AgentRecord> {
        self.mirror().session.agents.clone()
    }

    /// Records that an agent began or ended.
    ///
    /// # Errors
    /// If the log refuses it.
    pub fn record_agent(&self, record: AgentRecord) -> Result<(), StoreError> {
        self.write_beside(Entry::Agent(Box::new(record)))
    }

    /// What the teammates of the session were doing last, as far as the log knows.
    pub fn teammates(&self) -> Vec<TeammateStatus> {
        self.mirror().session.teammates.clone()
    }

    /// # Errors
    /// If the log refuses it.
    pub fn record_teammate(&self, status: TeammateStatus) -> Result<(), StoreError> {
        let (status, at) = (Box::new(status), self.clock.now());
        self.write_beside(Entry::Teammate { status, at })
    }

    /// The last plan of this teammate for this task, as far as the log knows.
    pub fn teammate_plan(&self, teammate: &str, task: &str) -> Option<PlanRecord> {
        let mirror = self.mirror();
        let is_it = |plan: &&PlanRecord| plan.teammate == teammate && plan.task == task;
        mirror.session.plans.iter().find(is_it).cloned()
    }

    /// The last plans of this teammate.
    pub fn teammate_plans(&self, teammate: &str) -> Vec<PlanRecord> {
        let mirror = self.mirror();
        let is_his = |plan: &&PlanRecord| plan.teammate == teammate;
        mirror.session.plans.iter().filter(is_his).cloned().collect()
    }

    /// It is on disk when this returns: others act on it.
    ///
    /// # Errors
    /// If the log refuses it.
    pub fn record_teammate_plan(&self, plan: PlanRecord) -> Result<(), StoreError> {
        let (plan, at) = (Box::new(plan), self.clock.now());
        self.write_beside(Entry::TeammatePlan { plan, at })?;
        self.log.sync()
    }

    pub(crate) fn pending(&self, wanted: impl Fn(&Inbound) -> bool) -> Vec<Inbound> {
        self.mirror().session.inbox.iter().filter(|item| wanted(item)).cloned().collect()
    }

    /// The first `most` of what is wanted. Until something else is taken they cannot be withdrawn.
    pub(crate) fn take(&self, wanted: impl Fn(&Inbound) -> bool, most: usize) -> Vec<Inbound> {
        let mut mirror = self.mirror();
        let found = mirror.session.inbox.iter().filter(|item| wanted(item)).take(most);
        let items: Vec<Inbound> = found.cloned().collect();
        mirror.taken = items.iter().map(|item| item.id.clone()).collect();
        items
    }

    /// Waits for the first item that is wanted.
    pub(crate) async fn first_pending(&self, wanted: impl Fn(&Inbound) -> bool) -> Inbound {
        loop {
            let arrived = self.arrived.notified();
            tokio::pin!(arrived);
            // Before looking: what arrives in between wakes us.
            arrived.as_mut().enable();
            let found = self.mirror().session.inbox.iter().find(|item| wanted(item)).cloned();
            if let Some(item) = found {
                return item;
            }
            arrived.await;
        }
    }

    pub(crate) fn arrived(&self) -> &Notify {
        &self.arrived
    }

    pub(crate) fn withdraw(&self, ids: &[InboundId]) -> Result<Vec<InboundId>, StoreError> {
        let mut mirror = self.mirror();
        let pending = mirror.session.inbox.iter().map(|item| &item.id);
        let free = pending.filter(|id| ids.contains(id) && !mirror.taken.contains(id));
        let inbound: Vec<InboundId> = free.cloned().collect();
        if !inbound.is_empty() {
            let questions = Vec::new();
            let entry = Entry::Withdrawn { inbound: inbound.clone(), questions };
            self.append(&mut mirror, entry)?;
        }
        Ok(inbound)
    }

    /// A turn refuses what it took.
    pub(crate) fn refuse(&self, inbound: Vec<InboundId>) -> Result<(), StoreError> {
        self.write(Entry::Withdrawn { inbound, questions: Vec::new() })
    }

    /// What was carried on so far, what was seen, the number of turns, and the title.
    pub(crate) fn carried(&self) -> (CarryOver, Vec<Seen>, u32, String) {
        let mirror = self.mirror();
        let session = &mirror.session;
        (session.carry.clone(), session.seen.clone(), session.turns, session.title.clone())
    }

    /// What the session is about, and the files it changed before what is in view.
    pub fn title_and_changed_files(&self) -> (String, Vec<String>) {
        let mirror = self.mirror();
        (mirror.session.title.clone(), mirror.session.carry.files.clone())
    }

    /// The newest undo outside of the session that the model knows of.
    pub fn undo_told(&self) -> u64 {
        self.mirror().session.carry.undo_told
    }

    /// The tools in the list of the newest request; none if there was no request.
    pub fn listed_tools(&self) -> Option<Vec<String>> {
        let mirror = self.mirror();
        let front = mirror.session.trail.front()?;
        Some(front.tools.iter().map(|(name, _)| name.clone()).collect())
    }

    pub(crate) fn know_tools(&self, tools: KnownTools) {
        self.mirror().session.know_tools(tools);
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

    /// A new turn may succeed again, for example if there is disk space again.
    pub(crate) fn try_again(&self) {
        self.mirror().broken = None;
    }

    /// A turn begins with these items, and with nothing else that somebody took.
    pub(crate) fn begin_with(&self, inbound: &[InboundId]) {
        self.mirror().taken = inbound.to_vec();
    }

    pub(crate) fn write(&self, entry: Entry) -> Result<(), StoreError> {
        let mut mirror = self.mirror();
        if let Some(error) = &mirror.broken {
            return Err(error.clone());
        }
        let written = self.append(&mut mirror, entry);
        written.map_err(|error| mirror.broken.insert(error).clone())
    }

    /// For what does not follow from the turn: it may stand behind a hole, and its refusal ends no turn.
    pub(crate) fn write_beside(&self, entry: Entry) -> Result<(), StoreError> {
        self.append(&mut self.mirror(), entry)
    }

    fn append(&self, mirror: &mut Mirror, mut entry: Entry) -> Result<(), StoreError> {
        if let Entry::Boundary(boundary) = &mut entry {
            // Under the same lock as arrivals: an item is in the boundary or behind it, never lost between the two.
            boundary.inbox.clone_from(&mirror.session.inbox);
            boundary.questions.clone_from(&mirror.session.questions);
            boundary.jobs.clone_from(&mirror.session.jobs);
            boundary.control.clone_from(&mirror.session.control);
        }
        self.log.append(&entry)?;
        // What was changed and when is read from the log; nothing here grows with the length of a session.
        if !matches!(entry, Entry::Snapshot { .. } | Entry::Checkpoint { .. }) {
            mirror.session.apply(entry);
        }
        mirror.written += 1;
        Ok(())
    }

    /// The machine moved on: its conversation says the same as the log, and shares its messages with the requests.
    pub(crate) fn adopt(&self, view: &View) {
        self.mirror().session.view = view.clone();
    }

    /// The log keeps it; a program that makes calls for days has no use for it.
    pub(crate) fn forget_conversation(&self) {
        self.mirror().session.forget_conversation();
    }

    /// Waits for the disk without blocking anything else. One at a time and in the order asked, so that no call goes on
    /// beside a refusal; who had to wait may find that the sync before took its entries along.
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
