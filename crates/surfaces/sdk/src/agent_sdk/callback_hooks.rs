//! Hooks of the program that drives us: each is called by a request on the pipe.

use super::callbacks::{CallbackFailure, Callbacks};
use super::live_facts::LiveFacts;
use super::permission_updates::suggestions;
use super::tool_responses::ToolResponse;
use ostler::{
    BoxFuture, EventName, Hook, HookAnswer, HookEvent, HookMatcher, HookOutcome, Stand,
    hook_answered,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Calls that may be approved ahead of their question.
const MOST_APPROVED: usize = 10_000;
/// The longest time that a program may claim for a hook.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What a program registered for one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackSpec {
    pub id: String,
    pub event: EventName,
    pub matcher: HookMatcher,
    pub limit: Duration,
    /// A failure of the callback does not decide.
    pub tolerant: bool,
}

impl CallbackSpec {
    /// The hooks of an `initialize` request. Events that never happen here are left out.
    ///
    /// # Errors
    /// In words, if they cannot be understood.
    pub fn read(hooks: Option<&Value>) -> Result<Vec<CallbackSpec>, String> {
        let events = match hooks {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(events)) => events,
            Some(_) => return Err("hooks is not an object".into()),
        };
        let mut all = Vec::new();
        for (name, matchers) in events {
            let Some(event) = EventName::parse(name) else { continue };
            for matcher in matchers.as_array().into_iter().flatten() {
                all.extend(CallbackSpec::of_matcher(event, matcher)?);
            }
        }
        Ok(all)
    }

    fn of_matcher(event: EventName, matcher: &Value) -> Result<Vec<CallbackSpec>, String> {
        let text = matcher.get("matcher").and_then(Value::as_str).unwrap_or_default();
        let wanted = HookMatcher::parse(text).map_err(|error| error.to_string())?;
        let limit = match matcher.get("timeout").and_then(Value::as_f64) {
            Some(seconds) if seconds > 0.0 => {
                Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST)
            }
            _ => event.time_limit(),
        };
        let tolerant = matcher.get("onFailure").and_then(Value::as_str) == Some("continue");
        let ids = matcher.get("hookCallbackIds").and_then(Value::as_array).into_iter().flatten();
        let spec = |id: &str| CallbackSpec {
            id: id.to_owned(),
            event,
            matcher: wanted.clone(),
            limit,
            tolerant,
        };
        Ok(ids.filter_map(Value::as_str).map(spec).collect())
    }
}

/// All hooks of a program, for the options of its session.
pub fn callback_hooks(
    specs: Vec<CallbackSpec>,
    callbacks: &Callbacks,
    facts: &Arc<LiveFacts>,
) -> Vec<Arc<dyn Hook>> {
    let approved = Arc::new(ApprovedCalls::default());
    let approves = specs.iter().any(|spec| spec.event == EventName::PreToolUse);
    let hook = |spec: CallbackSpec| -> Arc<dyn Hook> {
        let (callbacks, facts) = (callbacks.clone(), facts.clone());
        Arc::new(CallbackHook { spec, callbacks, facts, approved: approved.clone() })
    };
    let mut hooks: Vec<Arc<dyn Hook>> = specs.into_iter().map(hook).collect();
    if approves {
        hooks.push(approved);
    }
    hooks
}

struct CallbackHook {
    spec: CallbackSpec,
    callbacks: Callbacks,
    facts: Arc<LiveFacts>,
    approved: Arc<ApprovedCalls>,
}

impl CallbackHook {
    async fn ask(&self, event: &HookEvent, payload: Option<&str>) -> HookOutcome {
        let Some(input) = payload.and_then(|payload| serde_json::from_str(payload).ok()) else {
            return self.failed(event, "was not asked: the event is too large for it");
        };
        let input = self.input(event, input);
        let call = input.get("tool_use_id").cloned().unwrap_or_default();
        let request = json!({
            "subtype": "hook_callback", "callback_id": self.spec.id, "input": input,
            "tool_use_id": call,
        });
        match self.callbacks.ask(request, Some(self.spec.limit)).await {
            Ok(answer) => self.read(event, &answer),
            Err(CallbackFailure::Closed) if !event.name().guards_calls() => HookOutcome::default(),
            Err(failure) => self.failed(event, &failure.to_string()),
        }
    }

    /// What the program reads: the facts as they are now.
    fn input(&self, event: &HookEvent, mut fields: Map<String, Value>) -> Value {
        fields.insert("permission_mode".into(), self.facts.mode().into());
        if let Some(path) = self.facts.transcript() {
            fields.insert("transcript_path".into(), path.into());
        }
        let prompt = self.facts.prompt();
        if !prompt.is_empty() {
            fields.insert("prompt_id".into(), prompt.into());
        }
        if let Some(kind) = fields.get("agent_type").and_then(Value::as_str) {
            let kind = self.facts.agent_type(kind).to_owned();
            fields.insert("agent_type".into(), kind.into());
        }
        let agent = fields.get("agent_id").and_then(Value::as_str);
        let path = agent.and_then(|agent| self.facts.transcript_of(agent));
        if let (Some(path), true) = (path, fields.contains_key("agent_transcript_path")) {
            fields.insert("agent_transcript_path".into(), path.into());
        }
        if fields.contains_key("background_tasks") {
            fields.insert("session_crons".into(), json!([]));
        }
        if let HookEvent::PostToolUse { tool_name, tool_input, tool_response, .. } = event {
            let response = ToolResponse {
                kind: self.facts.tool(tool_name).kind,
                input: tool_input,
                content: &tool_response["content"],
                detail: tool_response.get("detail").filter(|detail| !detail.is_null()),
            };
            fields.insert("tool_response".into(), response.value());
        }
        if let HookEvent::PermissionRequest { permission_suggestions, .. } = event {
            fields.insert("permission_suggestions".into(), suggestions(permission_suggestions));
        }
        if let HookEvent::PreCompact { custom_instructions, .. } = event
            && custom_instructions.is_empty()
        {
            fields.insert("custom_instructions".into(), Value::Null);
        }
        Value::Object(fields)
    }

    fn read(&self, event: &HookEvent, answer: &Value) -> HookOutcome {
        // It works on while we do.
        if answer.get("async").and_then(Value::as_bool) == Some(true) || answer.is_null() {
            return HookOutcome::default();
        }
        if !answer.is_object() {
            return self.failed(event, "gave an unclear answer: it is not an object");
        }
        let output = answer.to_string();
        let said = HookAnswer { refused: false, must_decide: false, output: &output, errors: "" };
        let outcome = match hook_answered(event, &self.spec.id, &said) {
            Ok(outcome) => outcome,
            Err(why) => {
                return self.failed(event, &format!("gave an unclear answer: {why}"));
            }
        };
        let special = answer.get("hookSpecificOutput");
        let decision = special.and_then(|special| special.get("permissionDecision"));
        let allows = decision.and_then(Value::as_str) == Some("allow")
            || answer.get("decision").and_then(Value::as_str) == Some("approve");
        if let (HookEvent::PreToolUse { tool_use_id, .. }, true) = (event, allows)
            && outcome.stand == Stand::Pass
        {
            self.approved.approve(tool_use_id, &self.spec.id);
        }
        outcome
    }

    /// A callback that stands before something and gives no answer says no.
    fn failed(&self, event: &HookEvent, why: &str) -> HookOutcome {
        let decides = event.name().can_block()
            && !matches!(event.name(), EventName::Stop | EventName::SubagentStop);
        match decides && !self.spec.tolerant {
            true => {
                let why = format!("it {why} (a callback without an answer denies)");
                HookOutcome::of(Stand::Block, &self.spec.id, why)
            }
            false => HookOutcome::notice(format!("the hook {} {why}", self.spec.id)),
        }
    }
}

impl Hook for CallbackHook {
    fn name(&self) -> &str {
        &self.spec.id
    }

    fn listens(&self, event: EventName, matched: Option<&str>) -> bool {
        let is_agent = matches!(event, EventName::SubagentStart | EventName::SubagentStop);
        let matched =
            if is_agent { matched.map(|kind| self.facts.agent_type(kind)) } else { matched };
        let fits = |name: Option<&str>| self.spec.matcher.matches(name);
        // A tool can be meant by another of its names.
        let others = matched.map_or(&[][..], |name| self.facts.tool(name).other_names);
        let is_call = event.guards_calls() || event.tells_model();
        let meant = || is_call && others.iter().any(|name| fits(Some(name)));
        self.spec.event == event && (fits(matched) || meant())
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        self.call_with(event, None)
    }

    fn call_with<'a>(
        &'a self,
        event: &'a HookEvent,
        payload: Option<&'a str>,
    ) -> BoxFuture<'a, HookOutcome> {
        Box::pin(self.ask(event, payload))
    }
}

/// Calls that a callback allowed before anybody knew whether there would be a question. It answers the question and
/// nothing else: where a rule denies the call, there is none.
#[derive(Default)]
struct ApprovedCalls {
    calls: Mutex<HashSet<(String, String)>>,
}

impl ApprovedCalls {
    fn approve(&self, call: &str, hook: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() < MOST_APPROVED {
            calls.insert((call.to_owned(), hook.to_owned()));
        }
    }

    fn approved_by(&self, call: &str) -> Option<String> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let found = calls.iter().find(|(approved, _)| approved == call).cloned()?;
        calls.remove(&found);
        Some(found.1)
    }
}

impl Hook for ApprovedCalls {
    fn name(&self) -> &str {
        "calls that a callback allowed"
    }

    fn listens(&self, event: EventName, _matched: Option<&str>) -> bool {
        event == EventName::PermissionRequest
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        let allowed_by = match event {
            HookEvent::PermissionRequest { tool_use_id, .. } => self.approved_by(tool_use_id),
            _ => None,
        };
        let outcome = HookOutcome { allowed_by, ..HookOutcome::default() };
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
#[path = "callback_hooks_tests.rs"]
mod tests;
