//! The frames that a turn ends with.

use super::api_errors::{error_stop, error_text, error_word};
use super::live_session::LiveSession;
use super::sdk_frames::SdkFrames;
use super::turn_result::{ResultParts, Totals, TurnCount, result};
use crate::frames;
use ostler::{Finished, StopReason, Terminal, Timestamp, Usage, words};
use serde_json::{Value, json};

const INTERRUPTED: &str = "[Request interrupted by user]";
const INTERRUPTED_IN_TOOL: &str = "[Request interrupted by user for tool use]";

impl SdkFrames {
    /// The frames of a prompt that was answered without the model.
    pub fn local(&mut self, text: &str, at: Timestamp, live: &dyn LiveSession) -> Vec<Value> {
        self.turn.began.get_or_insert(at.0);
        let init = self.init(live);
        vec![init, self.local_result(text, at, live)]
    }

    /// What all turns of this process cost, as the answer to `get_usage`. Plans and their limits are not known here.
    pub fn usage(&self, live: &dyn LiveSession) -> Value {
        json!({
            "session": self.totals.usage(&live.facts().models), "subscription_type": null,
            "rate_limits_available": false, "rate_limits": null, "behaviors": null,
        })
    }

    /// The conversation starts over, and so do the totals. The session stays.
    pub fn reset(&mut self) -> Value {
        self.totals = Totals::default();
        let new = self.ids.uuid();
        self.named(json!({
            "type": "conversation_reset", "new_conversation_id": new, "trigger": "clear",
        }))
    }

    /// A hook did not let the prompt pass.
    pub(super) fn refused(
        &mut self,
        why: &str,
        at: Timestamp,
        live: &dyn LiveSession,
    ) -> Vec<Value> {
        let mut all = self.local(why, at, live);
        all.insert(1, self.blocked_prompt(why));
        all
    }

    fn blocked_prompt(&self, why: &str) -> Value {
        let fields = json!({ "content": why, "level": "warning", "prevent_continuation": true });
        self.system("informational", fields)
    }

    fn local_result(&mut self, text: &str, at: Timestamp, live: &dyn LiveSession) -> Value {
        let finished = Finished {
            terminal: Terminal::Completed,
            text: text.to_owned(),
            error: None,
            error_status: None,
            stop: None,
            iterations: 0,
            usage: Usage::default(),
            per_model: Vec::new(),
            cost: None,
            denials: Vec::new(),
            calls_run: 0,
            api_time_ms: 0,
            budgets: Vec::new(),
        };
        self.result(&finished, at, live)
    }

    pub(super) fn finished(
        &mut self,
        finished: &Finished,
        at: Timestamp,
        live: &dyn LiveSession,
    ) -> Vec<Value> {
        let mut all = Vec::new();
        if let Some(StopReason::Refusal { category, explanation }) = &finished.stop
            && finished.terminal == Terminal::Refusal
        {
            let fields = json!({
                "original_model": self.answer.model, "request_id": self.answer.request_id,
                "api_refusal_category": category, "api_refusal_explanation": explanation,
                "content": words::failure(finished),
            });
            all.push(self.system("model_refusal_no_fallback", fields));
        }
        if finished.terminal == Terminal::HookStopped && self.turn.requests == 0 {
            all.push(self.blocked_prompt(&words::failure(finished).unwrap_or_default()));
        }
        if let Some(word) = error_word(finished) {
            all.push(self.api_error(finished, word));
        }
        let marker = match finished.terminal {
            Terminal::AbortedStreaming => Some(INTERRUPTED),
            Terminal::AbortedTools => Some(INTERRUPTED_IN_TOOL),
            _ => None,
        };
        if let Some(marker) = marker {
            let partial = std::mem::take(&mut self.unfinished);
            if !partial.trim().is_empty() {
                let block = json!({ "type": "text", "text": partial });
                let mut cut = self.assistant(&block, &self.answer, None);
                cut["aborted"] = true.into();
                all.push(cut);
            }
            let content = json!([{ "type": "text", "text": marker }]);
            all.push(self.user(&content, None, at));
        }
        all.push(self.result(finished, at, live));
        all
    }

    pub(super) fn api_error(&self, finished: &Finished, word: &str) -> Value {
        let text = error_text(finished).unwrap_or_default();
        self.named(json!({
            "type": "assistant",
            "message": {
                "id": self.ids.uuid(), "type": "message", "role": "assistant",
                "model": "<synthetic>", "content": [{ "type": "text", "text": text }],
                "stop_reason": error_stop(finished), "stop_sequence": "",
                "usage": frames::usage(&Usage::default()),
            },
            "parent_tool_use_id": null, "error": word,
        }))
    }

    pub(super) fn result(
        &mut self,
        finished: &Finished,
        at: Timestamp,
        live: &dyn LiveSession,
    ) -> Value {
        self.totals.add(finished);
        self.totals.add_time(at.0.saturating_sub(self.turn.began.unwrap_or(at.0)));
        self.totals.add_searches(self.turn.searches);
        let models = live.facts().models;
        let structured = self.options.structured.as_ref().map(|structured| structured.end());
        let parts = ResultParts {
            turn: &self.turn,
            totals: &self.totals,
            models: &models,
            structured: structured.unwrap_or_default(),
            max_budget: self.options.max_budget_usd,
            at: at.0,
        };
        let frame = result(finished, &parts);
        self.turn = TurnCount::default();
        self.named(frame)
    }
}
