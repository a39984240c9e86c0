//! Where an agent comes from, and what it has from there.

use super::Subagents;
use super::agent_tree::AgentTree;
use super::slots::AgentSlots;
use crate::questions::QuestionDesk;
use crate::session::SessionShared;
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::event::AgentPath;
use ostler_core::ids::{CallId, SessionId};
use ostler_core::ports::Teamwork;
use ostler_core::session::StartedBy;
use ostler_engine::{Gate, Subagent, WorkCopy};
use std::path::Path;
use std::sync::Arc;

pub(crate) struct Lineage {
    /// From the session's own agent down to this one.
    pub(crate) path: AgentPath,
    /// The session that a person began.
    pub(crate) root: SessionId,
    /// The gate of the one above: its answers hold here, too.
    pub(crate) gate: Arc<Gate>,
    /// The desk of the first of them, where a person may be.
    pub(crate) desk: Arc<QuestionDesk>,
    /// The worktree that this one has of its own.
    pub(crate) copy: Option<WorkCopy>,
    pub(super) slots: Arc<AgentSlots>,
    session: SessionId,
    call: CallId,
    definition: AgentDefinition,
    /// What a teammate can do with the others.
    pub(crate) seat: Option<Arc<dyn Teamwork>>,
}

impl Lineage {
    pub(super) fn of(
        above: &SessionShared,
        subagents: &Subagents,
        name: &str,
        call: &CallId,
        definition: &AgentDefinition,
    ) -> Self {
        let session = above.agent.journal.log().id().clone();
        Lineage {
            path: subagents.path.child(name),
            root: subagents.root.clone().unwrap_or_else(|| session.clone()),
            gate: above.agent.gate.clone(),
            desk: above.desk.clone(),
            copy: None,
            slots: subagents.slots.clone(),
            session,
            call: call.clone(),
            definition: definition.clone(),
            seat: None,
        }
    }

    pub(super) fn seated(self, seat: Option<&Arc<dyn Teamwork>>) -> Self {
        Lineage { seat: seat.cloned(), ..self }
    }

    pub(super) fn in_tree(self, tree: Option<&AgentTree>) -> Self {
        Lineage { copy: tree.map(AgentTree::copy), ..self }
    }

    /// For its log.
    pub(crate) fn started_by(&self) -> StartedBy {
        StartedBy {
            session: self.session.clone(),
            call: self.call.clone(),
            agent: self.path.clone(),
            root: Some(self.root.clone()),
            definition: Some(self.definition.clone()),
        }
    }

    /// What hooks call it.
    pub(crate) fn kind(&self) -> &str {
        &self.definition.name
    }

    /// For hooks.
    pub(crate) fn subagent(&self, id: &SessionId, log: Option<&Path>) -> Subagent {
        let transcript = log.map(|log| log.display().to_string()).unwrap_or_default();
        Subagent { id: id.to_string(), kind: self.kind().to_owned(), transcript }
    }
}
