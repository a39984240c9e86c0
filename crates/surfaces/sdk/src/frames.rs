//! The JSON objects other programs read. Fields and their names are those of Claude Code's stream.

use crate::json_text::escaped;
use crate::session_facts::SessionFacts;
use ostler::{
    Block, Envelope, Event, Finished, IdSource, Purpose, ResultPart, StopReason, Terminal,
    Timestamp, Usage, words,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Makes the frames of a session, and keeps what its result will say.
pub struct Frames {
    facts: Arc<SessionFacts>,
    ids: Arc<dyn IdSource>,
    /// When the program began.
    began: Timestamp,
    first_token_ms: Option<u64>,
    request_ms: Option<u64>,
    requests: Vec<Value>,
}

impl Frames {
    pub fn new(facts: Arc<SessionFacts>, ids: Arc<dyn IdSource>, began: Timestamp) -> Self {
        Frames { facts, ids, began, first_token_ms: None, request_ms: None, requests: Vec::new() }
    }

    /// Notes what the result will want to know.
    pub fn watch(&mut self, envelope: &Envelope) {
        let now = self.since_beginning(envelope.at);
        match &envelope.event {
            Event::TurnStarted { .. } => self.requests.clear(),
            Event::IterationStarted { .. } => _ = self.request_ms.get_or_insert(now),
            Event::AnswerStarted { .. } => _ = self.first_token_ms.get_or_insert(now),
            Event::AnswerSealed { usage, cost, cache_saved, source, .. } => {
                self.requests.push(request(usage, *cost, *cache_saved, *source));
            }
            _ => {}
        }
    }

    /// What each request of the turn cost, and what the prompt cache did for it.
    pub fn requests(&self) -> &[Value] {
        &self.requests
    }

    fn since_beginning(&self, at: Timestamp) -> u64 {
        at.0.saturating_sub(self.began.0)
    }

    /// Adds what every line carries.
    pub fn named(&self, mut frame: Value) -> Value {
        if let Some(fields) = frame.as_object_mut() {
            fields.insert("session_id".into(), self.facts.session.as_str().into());
            fields.insert("uuid".into(), self.ids.uuid().into());
        }
        frame
    }

    /// `at`: when it ended.
    pub fn result(&self, finished: &Finished, at: Timestamp) -> Value {
        let is_error = is_error(finished.terminal);
        let mut frame = json!({
            "type": "result",
            "subtype": subtype(finished.terminal),
            "is_error": is_error,
            "duration_ms": self.since_beginning(at),
            "duration_api_ms": finished.api_time_ms,
            "num_turns": finished.iterations,
            "stop_reason": finished.stop.as_ref().map(stop_name).filter(|name| !name.is_empty()),
            "total_cost_usd": finished.cost,
            "usage": usage(&finished.usage),
            "modelUsage": self.model_usage(finished),
            "permission_denials": denials(finished),
            "terminal_reason": finished.terminal.name(),
        });
        if let Some(fields) = frame.as_object_mut() {
            self.outcome(finished, fields);
            if !finished.budgets.is_empty() {
                let budgets: Vec<Value> = finished.budgets.iter().map(budget).collect();
                fields.insert("budgets".into(), budgets.into());
            }
        }
        self.named(frame)
    }

    /// The result of a prompt that was answered without the model.
    pub fn local(&self, text: &str, at: Timestamp) -> Value {
        self.named(json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 0, "result": text,
            "duration_ms": self.since_beginning(at),
            "duration_api_ms": 0, "total_cost_usd": 0.0, "usage": usage(&Usage::default()), "modelUsage": {},
            "permission_denials": [], "stop_reason": null,
        }))
    }

    fn outcome(&self, finished: &Finished, fields: &mut Map<String, Value>) {
        let failure = words::failure(finished);
        if subtype(finished.terminal) == "success" {
            let text = failure.unwrap_or_else(|| finished.text.clone());
            fields.insert("result".into(), text.into());
            fields.insert("api_error_status".into(), finished.error_status.into());
            fields.insert("ttft_ms".into(), self.first_token_ms.into());
            fields.insert("time_to_request_ms".into(), self.request_ms.into());
        } else {
            fields.insert("errors".into(), failure.into_iter().collect::<Vec<_>>().into());
        }
    }

    fn model_usage(&self, finished: &Finished) -> Value {
        let entry = |used: &ostler::ModelUsage| {
            let mut models = self.facts.models.iter();
            let info = models.find(|(model, _)| *model == used.model).map(|(_, info)| info);
            let value = json!({
                "inputTokens": used.usage.input, "outputTokens": used.usage.output,
                "cacheReadInputTokens": used.usage.cache_read, "cacheCreationInputTokens": used.usage.cache_write,
                "webSearchRequests": 0, "costUSD": used.cost,
                "contextWindow": info.map(|info| info.window), "maxOutputTokens": info.map(|info| info.max_output),
            });
            (used.model.as_str().to_owned(), value)
        };
        Value::Object(finished.per_model.iter().map(entry).collect())
    }
}

pub(crate) fn request(
    used: &Usage,
    cost: Option<f64>,
    saved: Option<f64>,
    source: Purpose,
) -> Value {
    let cache = json!({
        "state": words::cache_state(used), "read_tokens": used.cache_read,
        "written_tokens": used.cache_write, "saved_usd": saved,
    });
    json!({ "usage": usage(used), "cost_usd": cost, "cache": cache, "source": source.name() })
}

/// The result of a run that could not begin.
pub fn refused(why: &str, ids: &dyn IdSource) -> Value {
    json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
        "duration_ms": 0, "duration_api_ms": 0, "total_cost_usd": 0.0, "usage": usage(&Usage::default()),
        "modelUsage": {}, "permission_denials": [], "errors": [why],
        "session_id": "", "uuid": ids.uuid(),
    })
}

/// A frame as a line.
pub fn line(frame: &Value) -> String {
    // Also U+2028 and U+2029, where some readers of lines end one.
    let mut line = escaped(&frame.to_string());
    line.push('\n');
    line
}

fn budget(left: &ostler::Left) -> Value {
    let ostler::Left { what, sum, requests } = left;
    json!({
        "budget": what, "limit_usd": sum.limit, "spent_usd": sum.spent, "reserved_usd": sum.reserved,
        "requests_left": requests,
    })
}

fn denials(finished: &Finished) -> Vec<Value> {
    let entry = |denial: &ostler::Denial| {
        json!({
            "tool_name": denial.name, "tool_use_id": denial.id.as_str(), "tool_input": denial.input,
            "decision": denial.decision,
        })
    };
    finished.denials.iter().map(entry).collect()
}

/// An API failure is a "success" with `is_error`, as readers of this format expect.
fn subtype(terminal: Terminal) -> &'static str {
    match terminal {
        Terminal::MaxTurns => "error_max_turns",
        Terminal::MaxBudget => "error_max_budget_usd",
        Terminal::AbortedStreaming
        | Terminal::AbortedTools
        | Terminal::StoreFailed
        | Terminal::LedgerFailed => "error_during_execution",
        _ => "success",
    }
}

fn is_error(terminal: Terminal) -> bool {
    !matches!(terminal, Terminal::Completed | Terminal::ToolDeferred | Terminal::HookStopped)
}

pub(crate) fn stop_name(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end_turn".into(),
        StopReason::ToolUse => "tool_use".into(),
        StopReason::MaxTokens => "max_tokens".into(),
        StopReason::StopSequence => "stop_sequence".into(),
        StopReason::PauseTurn => "pause_turn".into(),
        StopReason::Refusal { .. } => "refusal".into(),
        StopReason::WindowExceeded => "model_context_window_exceeded".into(),
        StopReason::Other(reason) => reason.clone(),
    }
}

pub(crate) fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "server_tool_use": { "web_search_requests": 0, "web_fetch_requests": 0 },
        "service_tier": "standard",
        "cache_creation": {
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
            "ephemeral_5m_input_tokens": usage.cache_write.saturating_sub(usage.cache_write_1h),
        },
    })
}

pub(crate) fn block(block: &Block) -> Value {
    match block {
        Block::Text { text, .. } => json!({ "type": "text", "text": text }),
        Block::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        Block::Redacted { data } => json!({ "type": "redacted_thinking", "data": data }),
        // As unreadable as redacted thinking, and readers know that.
        Block::Provider(part) => {
            json!({ "type": "redacted_thinking", "data": part.data.to_string() })
        }
        Block::Image(image) => picture(image),
        Block::ToolUse { id, name, input, .. } => {
            json!({ "type": "tool_use", "id": id.as_str(), "name": name, "input": input })
        }
        Block::ToolResult { id, content, is_error } => json!({
            "tool_use_id": id.as_str(), "type": "tool_result", "content": result_content(content), "is_error": is_error,
        }),
    }
}

fn result_content(parts: &[ResultPart]) -> Value {
    let part = |part: &ResultPart| match part {
        ResultPart::Text { text } => json!({ "type": "text", "text": text }),
        ResultPart::Image(image) => picture(image),
    };
    match parts {
        [ResultPart::Text { text }] => text.as_str().into(),
        parts => parts.iter().map(part).collect(),
    }
}

fn picture(image: &ostler::Image) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": image.media, "data": image.data } })
}
