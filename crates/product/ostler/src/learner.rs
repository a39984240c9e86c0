//! Memory learns when a turn ends, before the conversation is summarized, and when the session closes.

use crate::memory::learn;
use ostler_core::event::{Event, Notice};
use ostler_core::ports::{BeforeCompact, BoxFuture, Permit};
use ostler_core::tool_facts::KnownTools;
use ostler_engine::Journal;
use ostler_memory::Memories;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A summary does not wait longer than this for the memory; what was begun continues.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Learner {
    memories: Arc<Memories>,
    journal: Journal,
    folder: PathBuf,
    tools: KnownTools,
    /// Turns of which the memory has kept what matters.
    turns: AtomicU32,
}

impl Learner {
    pub(crate) fn new(
        memories: Arc<Memories>,
        journal: Journal,
        folder: PathBuf,
        tools: KnownTools,
    ) -> Self {
        let turns = journal.conversation().1.into();
        Learner { memories, journal, folder, tools, turns }
    }

    /// Keeps what the turns since the last time leave to later sessions. Gives what there is to say about it.
    pub(crate) async fn learn_new_turns(&self) -> Vec<Event> {
        let (_, turns) = self.journal.conversation();
        if self.turns.swap(turns, Ordering::Relaxed) < turns {
            self.learn().await;
        }
        let texts = self.memories.notices().into_iter();
        let notices = texts.map(|text| Event::notice(Notice::Memory { text }));
        notices.chain(self.changes()).collect()
    }

    async fn learn(&self) {
        let (folder, tools) = (self.folder.clone(), self.tools.clone());
        learn(self.memories.clone(), &self.journal, folder, tools).await;
    }

    /// What the memory kept and forgot since the last time this was called.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Event> + use<> {
        self.memories.take_news().into_iter().map(Event::MemoryChanged)
    }
}

/// What will be summarized is looked through for what outlives the session.
impl BeforeCompact for Learner {
    fn ask(&self, _: ostler_core::context::Trigger, _: Option<String>) -> BoxFuture<'_, Permit> {
        Box::pin(async {
            let _ = tokio::time::timeout(PATIENCE, self.learn()).await;
            Permit::Go(None)
        })
    }
}
