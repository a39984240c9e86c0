//! The JSON objects other programs read. Fields and their names are those of Claude Code's stream.

use crate::output::json_text::escaped;
use crate::output::printer;
use crate::output::text::failure;
use ostler::{
    Block, Engine, Event, Finished, ModelId, ResultPart, SessionId, StopReason, Terminal, Usage,
};
use serde_json::{Map, Value, json};
use std::time::Instant;

pub struct Frames {
    session: SessionId,
    infos: Vec<(ModelId, ostler::ModelInfo)>,
    began: Instant,
    first_token_ms: Option<u64>,
    request_ms: Option<u64>,
}

impl Frames {
    pub fn new(engine: &Engine, began: Instant) -> Self {
        let infos = engine
            .models()
            .into_iter()
            .map(|model| (model.clone(), engine.model_info(&model)))
            .collect();
        Frames {
            session: engine.session_id().clone(),
            infos,
            began,
            first_token_ms: None,
            request_ms: None,
        }
    }

    /// Notes what the result will want to know.
    pub fn watch(&mut self, event: &Event) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        match event {
            Event::IterationStarted { .. } => _ = self.request_ms.get_or_insert(now),
            Event::AnswerStarted { .. } => _ = self.first_token_ms.get_or_insert(now),
            _ => {}
        }
    }

    /// Adds what every line carries.
    pub fn line(&self, mut frame: Value) -> Value {
        if let Some(fields) = frame.as_object_mut() {
            fields.insert("session_id".into(), self.session.as_str().into());
            fields.insert("uuid".into(), ostler::new_uuid().into());
        }
        frame
    }

    pub fn result(&self, finished: &Finished) -> Value {
        let is_error = is_error(finished.terminal);
        let mut frame = json!({
            "type": "result",
            "subtype": subtype(finished.terminal),
            "is_error": is_error,
            "duration_ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
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
        self.line(frame)
    }

    /// The result of a prompt that was answered without the model.
    pub fn local(&self, text: &str) -> Value {
        self.line(json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 0, "result": text,
            "duration_ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "duration_api_ms": 0, "total_cost_usd": 0.0, "usage": usage(&Usage::default()), "modelUsage": {},
            "permission_denials": [], "stop_reason": null,
        }))
    }

    fn outcome(&self, finished: &Finished, fields: &mut Map<String, Value>) {
        let words = failure(finished);
        if subtype(finished.terminal) == "success" {
            let text = words.unwrap_or_else(|| finished.text.clone());
            fields.insert("result".into(), text.into());
            fields.insert("api_error_status".into(), finished.error_status.into());
            fields.insert("ttft_ms".into(), self.first_token_ms.into());
            fields.insert("time_to_request_ms".into(), self.request_ms.into());
        } else {
            fields.insert("errors".into(), words.into_iter().collect::<Vec<_>>().into());
        }
    }

    fn model_usage(&self, finished: &Finished) -> Value {
        let entry = |used: &ostler::ModelUsage| {
            let info =
                self.infos.iter().find(|(model, _)| *model == used.model).map(|(_, info)| info);
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

/// The result of a run that could not begin.
pub fn refused(why: &str) -> Value {
    json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
        "duration_ms": 0, "duration_api_ms": 0, "total_cost_usd": 0.0, "usage": usage(&Usage::default()),
        "modelUsage": {}, "permission_denials": [], "errors": [why],
        "session_id": "", "uuid": ostler::new_uuid(),
    })
}

/// Writes one line, whole.
pub fn print(frame: &Value) -> anyhow::Result<()> {
    // Also U+2028 and U+2029, where some readers of lines end one.
    let mut line = escaped(&serde_json::to_string(frame)?);
    line.push('\n');
    Ok(printer::print(&line)?)
}

fn budget(left: &ostler::Left) -> Value {
    let ostler::Left { what, sum, requests } = left;
    json!({
        "budget": what, "limit_usd": sum.limit, "spent_usd": sum.spent, "reserved_usd": sum.reserved,
        "requests_left": requests,
    })
}

fn denials(finished: &Finished) -> Vec<Value> {
    let entry = |denial: &ostler::Denial| json!({ "tool_name": denial.name, "tool_use_id": denial.id.as_str(), "tool_input": denial.input });
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

pub fn stop_name(stop: &StopReason) -> String {
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

pub fn usage(usage: &Usage) -> Value {
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

pub fn block(block: &Block) -> Value {
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
        Block::ToolUse { id, name, input } => {
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
