//! How much of the context window the descriptions of tools may take.

use crate::session::Session;
use ostler_core::context::weight;
use ostler_core::late_tools::described_in;
use ostler_core::ports::Tool;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes of a tool list in a token.
const BYTES_PER_TOKEN: u64 = 4;

type Tools = Vec<Arc<dyn Tool>>;

pub(super) struct SchemaRoom {
    /// In percent of the window.
    share: u64,
    /// Bytes that are taken.
    used: u64,
    /// Everything that comes from here on is deferred.
    is_full: bool,
}

impl SchemaRoom {
    pub(super) fn new(share: u64) -> Self {
        SchemaRoom { share, used: 0, is_full: false }
    }

    fn limit(&self, session: &Session) -> u64 {
        let window = session.model_info(&session.model()).window;
        window.saturating_mul(self.share) / 100 * BYTES_PER_TOKEN
    }

    /// These are about to be added.
    pub(super) fn measure(&mut self, session: &Session, tools: &[Arc<dyn Tool>]) {
        let bytes: u64 = tools.iter().map(|tool| weight::of_tool(tool.spec())).sum();
        self.is_full |= self.used + bytes > self.limit(session);
    }

    /// Those that are described, and those that the model looks for.
    pub(super) fn divided(
        &mut self,
        session: &Session,
        tools: Vec<Arc<dyn Tool>>,
        always: bool,
    ) -> (Tools, Tools) {
        self.measure(session, &tools);
        let (is_full, mut used) = (self.is_full, self.used);
        let looks = is_full && !always && !tools.is_empty();
        let known = if looks { known_in(session) } else { BTreeSet::new() };
        let divided = tools.into_iter().partition(|tool| {
            let is_described = always || !is_full || known.contains(&tool.spec().name);
            if is_described {
                used += weight::of_tool(tool.spec());
            }
            is_described
        });
        self.used = used;
        divided
    }
}

/// What was listed or found, here or in an earlier process, stays described: the model learns how it changes, and finds it
/// in the list after a summary.
fn known_in(session: &Session) -> BTreeSet<String> {
    let journal = &session.shared().agent.journal;
    let (view, _) = journal.conversation();
    let mut names = described_in(&view);
    names.extend(journal.listed_tools().into_iter().flatten());
    names
}
