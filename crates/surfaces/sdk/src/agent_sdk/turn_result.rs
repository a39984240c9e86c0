//! The result of a turn. Turns are counted, and sums are kept, as programs for Claude Code expect.

use super::api_errors::{error_stop, error_text};
use crate::frames;
use ostler::{CallId, Finished, ModelId, ModelInfo, ModelUsage, StructuredEnd, Terminal, Usage};
use serde_json::{Map, Value, json};

/// Messages that a frame names.
const MOST_UUIDS: usize = 64;

/// What the result of the running turn will say.
#[derive(Default)]
pub(crate) struct TurnCount {
    pub(crate) began: Option<u64>,
    /// Messages to the model besides the prompt.
    pub(crate) messages: u32,
    pub(crate) requests: u32,
    pub(crate) request_ms: Option<u64>,
    /// When the first answer began, and when its first words came.
    pub(crate) first_event_ms: Option<u64>,
    pub(crate) first_token_ms: Option<u64>,
    /// Calls without a result, in order.
    pub(crate) open_calls: Vec<(CallId, String, Value)>,
    /// The end of a background task began it.
    pub(crate) by_task: bool,
    pub(crate) user_uuids: Vec<String>,
    /// What answers, and pieces of answers, have told of these.
    pub(crate) in_answers: ToldUuids,
    pub(crate) in_events: ToldUuids,
    /// Where the message that began it comes from.
    pub(crate) origin: Option<Value>,
    /// Searches of the web.
    pub(crate) searches: u64,
    /// Calls that were denied when the turn ended.
    pub(crate) denials: Vec<Value>,
    /// Of the answers to the session itself.
    pub(crate) used: Usage,
    /// Agents got answers, too, and what they used is in the sums.
    pub(crate) had_agents: bool,
}

/// How many messages of the program were named. They are named again where another one has joined the turn.
#[derive(Default)]
pub(crate) struct ToldUuids(usize);

impl ToldUuids {
    pub(crate) fn tell(&mut self, uuids: &[String], frame: &mut Value) {
        if uuids.len() > self.0
            && let Some(fields) = frame.as_object_mut()
        {
            self.0 = uuids.len();
            name_messages(uuids, fields);
        }
    }
}

/// The newest message of the program, and all of the turn.
fn name_messages(uuids: &[String], fields: &mut Map<String, Value>) {
    if let [.., last] = uuids {
        let listed: Vec<&String> = uuids.iter().take(MOST_UUIDS).collect();
        fields.insert("user_message_uuids".into(), json!(listed));
        fields.insert("user_message_uuid".into(), last.as_str().into());
    }
}

/// What all turns of this process used.
#[derive(Default)]
pub(crate) struct Totals {
    per_model: Vec<ModelUsage>,
    cost: f64,
    api_ms: u64,
    turns_ms: u64,
    /// Searches of the web, all by the model of the session.
    searches: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, finished: &Finished) {
        self.api_ms = self.api_ms.saturating_add(finished.api_time_ms);
        for used in &finished.per_model {
            self.cost += used.cost.unwrap_or(0.0);
            match self.per_model.iter_mut().find(|had| had.model == used.model) {
                Some(had) => {
                    had.usage += used.usage;
                    had.cost = had.cost.zip(used.cost).map(|(a, b)| a + b);
                }
                None => self.per_model.push(used.clone()),
            }
        }
    }

    pub(crate) fn usage(&self, models: &[(ModelId, ModelInfo)]) -> Value {
        json!({
            "total_cost_usd": self.cost, "total_api_duration_ms": self.api_ms,
            "total_duration_ms": self.turns_ms, "total_lines_added": 0, "total_lines_removed": 0,
            "model_usage": self.per_model(models),
        })
    }

    /// A turn took so long.
    pub(crate) fn add_time(&mut self, milliseconds: u64) {
        self.turns_ms = self.turns_ms.saturating_add(milliseconds);
    }

    pub(crate) fn add_searches(&mut self, searches: u64) {
        self.searches += searches;
    }

    fn per_model(&self, models: &[(ModelId, ModelInfo)]) -> Value {
        let primary = models.first().map(|(model, _)| model);
        let entry = |used: &ModelUsage| {
            let info = models.iter().find(|(model, _)| *model == used.model).map(|(_, info)| info);
            let searches = if primary == Some(&used.model) { self.searches } else { 0 };
            let mut value = json!({
                "inputTokens": used.usage.input, "outputTokens": used.usage.output,
                "cacheReadInputTokens": used.usage.cache_read,
                "cacheCreationInputTokens": used.usage.cache_write,
                "webSearchRequests": searches, "costUSD": used.cost.unwrap_or(0.0),
                "contextWindow": info.map_or(200_000, |info| info.window),
                "maxOutputTokens": info.map_or(32_000, |info| u64::from(info.max_output)),
                "canonicalModel": used.model.as_str(),
            });
            // A name with a slash belongs to a provider that the person added.
            if !used.model.as_str().contains('/') {
                value["provider"] = "firstParty".into();
            }
            (used.model.as_str().to_owned(), value)
        };
        Value::Object(self.per_model.iter().map(entry).collect())
    }
}

/// How it ended, for readers of the format.
struct TurnEnd {
    subtype: &'static str,
    is_error: bool,
    reason: Option<String>,
}

fn end_of(finished: &Finished, structured: &StructuredEnd, over_budget: bool) -> TurnEnd {
    let terminal = finished.terminal;
    let end = |subtype, is_error, reason: Option<&str>| TurnEnd {
        subtype,
        is_error,
        reason: reason.map(str::to_owned),
    };
    match (terminal, structured) {
        (Terminal::HookStopped, StructuredEnd::Given(_)) => {
            end("success", false, Some("completed"))
        }
        (Terminal::HookStopped, StructuredEnd::GivenUp) => {
            let reason = Some("structured_output_retry_exhausted");
            end("error_max_structured_output_retries", true, reason)
        }
        (Terminal::Completed, _) if over_budget => {
            end("error_max_budget_usd", true, Some("budget_exhausted"))
        }
        (Terminal::MaxTurns, _) => end("error_max_turns", true, Some("max_turns")),
        (Terminal::MaxBudget, _) => end("error_max_budget_usd", true, Some("budget_exhausted")),
        (Terminal::AbortedStreaming | Terminal::AbortedTools, _) => {
            end("error_during_execution", true, Some(terminal.name()))
        }
        (Terminal::StoreFailed | Terminal::LedgerFailed, _) => {
            end("error_during_execution", true, Some("turn_setup_failed"))
        }
        (Terminal::ModelError(_), _) => end("success", true, Some("api_error")),
        // Readers have no word for these.
        (Terminal::MaxOutputTokens | Terminal::Refusal, _) => {
            end("success", true, Some("completed"))
        }
        (
            Terminal::Completed
            | Terminal::ToolDeferred
            | Terminal::HookStopped
            | Terminal::StopHookPrevented,
            _,
        ) => end("success", false, Some(terminal.name())),
        _ => end("success", true, Some(terminal.name())),
    }
}

/// What a result is made of besides the end of the turn.
pub(crate) struct ResultParts<'a> {
    pub(crate) turn: &'a TurnCount,
    pub(crate) totals: &'a Totals,
    pub(crate) models: &'a [(ModelId, ModelInfo)],
    pub(crate) structured: StructuredEnd,
    pub(crate) max_budget: Option<f64>,
    /// In milliseconds.
    pub(crate) at: u64,
}

pub(crate) fn result(finished: &Finished, parts: &ResultParts<'_>) -> Value {
    let ResultParts { turn, totals, structured, at, .. } = parts;
    let over_budget = parts.max_budget.is_some_and(|limit| totals.cost >= limit);
    let end = end_of(finished, structured, over_budget);
    let turns = if turn.requests == 0 { 0 } else { turn.messages + 1 };
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("type", "result".into());
    put("subtype", end.subtype.into());
    put("is_error", end.is_error.into());
    put("duration_ms", at.saturating_sub(turn.began.unwrap_or(*at)).into());
    put("duration_api_ms", totals.api_ms.into());
    put("num_turns", turns.into());
    put("stop_reason", stop_reason(finished, structured));
    put("total_cost_usd", totals.cost.into());
    let used = if turn.had_agents { &turn.used } else { &finished.usage };
    let mut usage = usage(used);
    usage["server_tool_use"]["web_search_requests"] = turn.searches.into();
    put("usage", usage);
    put("modelUsage", totals.per_model(parts.models));
    put("permission_denials", denials(finished, turn));
    if let Some(reason) = &end.reason {
        put("terminal_reason", reason.as_str().into());
    }
    put("fast_mode_state", "off".into());
    match &turn.origin {
        _ if turn.by_task => put("origin", json!({ "kind": "task-notification" })),
        Some(origin) => put("origin", origin.clone()),
        None => None,
    };
    name_messages(&turn.user_uuids, &mut fields);
    outcome(finished, &end, parts, &mut fields);
    Value::Object(fields)
}

fn outcome(
    finished: &Finished,
    end: &TurnEnd,
    parts: &ResultParts<'_>,
    fields: &mut Map<String, Value>,
) {
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let failure = error_text(finished);
    if end.subtype != "success" {
        let said = match (finished.terminal, end.subtype) {
            (_, "error_max_budget_usd") => {
                Some(parts.max_budget.map_or("the budget is spent".into(), |limit| {
                    format!("Reached maximum budget (${limit})")
                }))
            }
            (Terminal::MaxTurns, _) => {
                Some(format!("Reached maximum number of turns ({})", finished.iterations))
            }
            (_, "error_max_structured_output_retries") => {
                Some("Failed to provide valid structured output after maximum retries".into())
            }
            _ => failure,
        };
        put("errors", said.into_iter().collect::<Vec<_>>().into());
        return;
    }
    let turn = parts.turn;
    let is_given = matches!(parts.structured, StructuredEnd::Given(_));
    let text = match failure {
        Some(failure) if !is_given => failure,
        _ => finished.text.clone(),
    };
    put("result", text.into());
    put("api_error_status", finished.error_status.into());
    put("ttft_ms", turn.first_token_ms.into());
    put("ttft_stream_ms", turn.first_event_ms.into());
    put("time_to_request_ms", turn.request_ms.into());
    if let StructuredEnd::Given(value) = &parts.structured {
        put("structured_output", value.clone());
    }
    if let (Terminal::ToolDeferred, Some((id, name, input))) =
        (finished.terminal, turn.open_calls.first())
    {
        put("deferred_tool_use", json!({ "id": id.as_str(), "name": name, "input": input }));
    }
}

fn stop_reason(finished: &Finished, structured: &StructuredEnd) -> Value {
    match (finished.terminal, structured) {
        (Terminal::ToolDeferred, _) => "tool_deferred".into(),
        (Terminal::ModelError(_), _) => error_stop(finished).into(),
        _ => {
            let name = finished.stop.as_ref().map(frames::stop_name);
            name.filter(|name| !name.is_empty()).into()
        }
    }
}

fn usage(used: &Usage) -> Value {
    let mut usage = frames::usage(used);
    if let Some(fields) = usage.as_object_mut() {
        fields.insert("inference_geo".into(), "".into());
        fields.insert("iterations".into(), json!([]));
        fields.insert("speed".into(), "standard".into());
    }
    usage
}

fn denials(finished: &Finished, turn: &TurnCount) -> Value {
    let entry = |denial: &ostler::Denial| {
        json!({
            "tool_name": denial.name, "tool_use_id": denial.id.as_str(),
            "tool_input": denial.input,
        })
    };
    finished.denials.iter().map(entry).chain(turn.denials.iter().cloned()).collect()
}
