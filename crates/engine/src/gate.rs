//! Where a call is allowed, asked about or denied.

use ostler_core::permission::{Access, Decision, Mode, Rules, Workspace, decide};
use ostler_core::ports::{Approver, Question, Reply};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

pub struct Gate {
    rules: Rules,
    mode: Mode,
    workspace: Workspace,
    approver: Arc<dyn Approver>,
    /// Tools the user allowed until the session ends.
    allowed: Mutex<BTreeSet<String>>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl Gate {
    pub fn new(
        rules: Rules,
        mode: Mode,
        workspace: Workspace,
        approver: Arc<dyn Approver>,
    ) -> Self {
        Gate {
            rules,
            mode,
            workspace,
            approver,
            allowed: Mutex::default(),
            asking: tokio::sync::Mutex::new(()),
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn judge(&self, tool: &str, access: &Access) -> Decision {
        match decide(tool, access, &self.rules, self.mode, &self.workspace) {
            Decision::Ask { .. } if self.is_allowed(tool, access) => {
                Decision::Allow { why: "the user allowed this tool for the session".into() }
            }
            decision => decision,
        }
    }

    pub(crate) async fn ask(&self, question: Question) -> Reply {
        let _turn = self.asking.lock().await;
        // The question before this one may have settled it.
        if self.is_allowed(&question.tool, &question.access) {
            return Reply::Yes;
        }
        let tool = question.tool.clone();
        let reply = self.approver.ask(question).await;
        if reply == Reply::YesForSession {
            self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(tool);
        }
        reply
    }

    /// The user said yes for the session. Such a yes was given to work in the folder: what leaves it asks again.
    pub(crate) fn is_allowed(&self, tool: &str, access: &Access) -> bool {
        let inside = access
            .reads
            .iter()
            .chain(&access.writes)
            .all(|scope| self.workspace.contains(scope.path()));
        inside && self.allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}
