//! Calls of an answer that another process left open, or that a hook deferred: settled where the log ends.

use crate::call::Verdict;
use crate::scheduler::Scheduler;
use ostler_core::event::CallOutcome;
use ostler_core::message::Block;
use ostler_core::prompt_texts;
use ostler_core::session::Pending;
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::ToolKind;
use ostler_core::view::View;
use std::time::Duration;

impl Scheduler {
    /// What has a result keeps it; what had started may have taken effect; the rest is judged and asked about like new.
    pub(crate) fn reopen(&mut self, view: &View, pending: &Pending) {
        let last = view.messages().last().map(|message| message.blocks()).unwrap_or_default();
        for block in last {
            let Block::ToolUse { id, name, input, via } = block else { continue };
            if !view.open_calls().contains(id) {
                continue;
            }
            let changed = pending.changed_input(id);
            let (id, name) = (id.clone(), name.clone());
            let (input, index) = (changed.unwrap_or(input).clone(), self.calls.len());
            let is_new = pending.result(&id).is_none();
            match pending.result(&id) {
                Some(Block::ToolResult { content, is_error, .. }) => {
                    let mut output = ToolOutput::text("");
                    (output.content, output.is_error) = (content.clone(), *is_error);
                    self.keep(id, name, input, Verdict::ran(output, Duration::ZERO));
                }
                _ if pending.has_started(&id) => {
                    let output = ToolOutput::error(prompt_texts::LOST_EFFECT);
                    let lost = Verdict::ran(output, Duration::ZERO);
                    let lost = Verdict { outcome: CallOutcome::Stopped, ..lost };
                    self.answered(id, name, input, lost);
                }
                _ => self.submit(id, name, via.clone(), input),
            }
            if let Some(changed) = changed.filter(|_| is_new) {
                self.resubmit_changed(index, changed);
            }
        }
    }

    /// A call whose only purpose is to wait has ended.
    pub(crate) fn has_waited(&self) -> bool {
        let known = self.known();
        self.calls.iter().any(|call| {
            let ran = call.verdict().is_some_and(Verdict::has_run);
            ran && known.kind(&call.name) == ToolKind::Waits
        })
    }
}
