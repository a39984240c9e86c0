//! What a session looks for while it waits for something else: memories, and the layers of the sandbox.

use crate::memory::{Recalling, recall};
use crate::plain_threads::SEARCHES;
use crate::session::Session;
use ostler_core::tool_facts::ToolKind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

impl Session {
    /// Begins to look for the memories of a prompt, while it is being expanded.
    pub(crate) fn begin_recall(&self, words: &str) {
        let begun = self.recalling(words.to_owned());
        *self.shared().parts.recalling.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }

    /// The search that was begun for these words, or a new one.
    pub(crate) fn recalling(&self, words: String) -> Option<Recalling> {
        let parts = &self.shared().parts;
        let memories = parts.memories.as_ref()?;
        let begun = parts.recalling.lock().unwrap_or_else(PoisonError::into_inner).take();
        begun.filter(|begun| begun.is_for(&words)).or_else(|| {
            let (view, _) = self.shared().agent.journal.conversation();
            let (session, said) = (self.id().clone(), parts.by_words.clone());
            Some(recall(memories.clone(), words, view, session, said))
        })
    }

    /// The layers of the sandbox are looked for while the model thinks, not when the first command waits for them.
    pub(crate) fn probe_sandbox(&self) {
        let runs = self.shared().agent.tools.current().of_kind(ToolKind::Runs).is_some();
        let confinement = self.confinement();
        let wanted = confinement.options().enabled && runs && !confinement.is_probed();
        if wanted && !self.shared().probing.swap(true, Ordering::Relaxed) {
            let confinement = Arc::clone(&self.shared().parts.confinement);
            SEARCHES.run(move || {
                confinement.found();
            });
        }
    }
}
