//! `--output-format stream-json`: everything that happens, one object a line, as it happens.

use crate::agent_answers::AgentAnswers;
use crate::frames::{self, Frames};
use crate::session_facts::SessionFacts;
use ostler::{
    Block, CallId, CallOutcome, Continue, Decision, Envelope, Event, IdSource, Level, MemoryChange,
    Notice, Receipt, Retry, Timestamp, Usage, words,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// The version of Claude Code whose frames these are.
const SPEAKS: &str = "2.1.197";

/// Envelopes in, lines out.
pub struct StreamJson {
    frames: Frames,
    facts: Arc<SessionFacts>,
    partial: bool,
    answer: Answering,
    agents: AgentAnswers,
}

/// What the frames of an open answer repeat.
#[derive(Default)]
pub(crate) struct Answering {
    pub(crate) id: String,
    pub(crate) request_id: Option<String>,
    pub(crate) model: String,
    pub(crate) usage: Usage,
}

impl Answering {
    /// None: the event does not begin an answer.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let Event::AnswerStarted { message_id, request_id, model, usage } = event else {
            return None;
        };
        let (id, model) = (message_id.clone(), model.as_str().to_owned());
        Some(Answering { id, request_id: request_id.clone(), model, usage: *usage })
    }
}

impl StreamJson {
    /// `partial`: also what is not complete yet. `began`: when the program began.
    pub fn new(
        facts: Arc<SessionFacts>,
        ids: Arc<dyn IdSource>,
        began: Timestamp,
        partial: bool,
    ) -> Self {
        let frames = Frames::new(facts.clone(), ids, began);
        let (answer, agents) = (Answering::default(), AgentAnswers::default());
        StreamJson { frames, facts, partial, answer, agents }
    }

    /// The lines for an event.
    pub fn event(&mut self, envelope: &Envelope) -> Vec<String> {
        self.agents.see(envelope);
        let frames = match envelope.agent.is_root() {
            true => {
                self.frames.watch(envelope);
                self.frames_of(envelope)
            }
            false => self.frames_of_agent(envelope),
        };
        frames.iter().map(frames::line).collect()
    }

    /// The lines for a prompt that was answered without the model.
    pub fn local(&self, text: &str, at: Timestamp) -> Vec<String> {
        [self.init(), self.frames.local(text, at)].iter().map(frames::line).collect()
    }

    fn frames_of(&mut self, envelope: &Envelope) -> Vec<Value> {
        match &envelope.event {
            Event::TurnStarted { .. } => vec![self.init()],
            Event::IterationStarted { .. } => {
                self.answer = Answering::default();
                let status = || self.system("status", json!({ "status": "requesting" }));
                self.partial.then(status).into_iter().collect()
            }
            Event::Retrying(retry) => vec![self.retrying(retry)],
            event @ Event::AnswerStarted { .. } => {
                self.answer = Answering::of(event).unwrap_or_default();
                Vec::new()
            }
            Event::BlockFinished { block } => vec![self.assistant(block, &self.answer, None)],
            Event::AnswerSealed { usage, cost, cache_saved, source, .. } => {
                let mut fields = frames::request(usage, *cost, *cache_saved, *source);
                fields["message_id"] = self.answer.id.as_str().into();
                vec![self.system("request", fields)]
            }
            // A request that was refused has no answer to forget; the one before it stands.
            Event::AnswerDropped if self.answer.id.is_empty() => Vec::new(),
            Event::AnswerDropped => {
                vec![self.system("answer_dropped", json!({ "message_id": self.answer.id }))]
            }
            Event::Went(why) => self.went(*why),
            Event::CallAsked { id, name, decision, .. } => vec![self.asked(id, name, decision)],
            Event::CallFinished { outcome, decision, result, detail, .. } => {
                let decision = decision.as_deref();
                vec![self.result((*outcome, decision), result, detail, envelope)]
            }
            Event::Plan(plan) => vec![self.system("plan", json!({ "tasks": plan.tasks }))],
            Event::Compacting { .. } => {
                vec![self.system("status", json!({ "status": "compacting" }))]
            }
            Event::Compacted { receipt } => self.compacted(receipt),
            Event::MemoryChanged(change) => vec![self.memory(change)],
            Event::Raw(raw) => vec![self.frames.named(
                json!({ "type": "stream_event", "event": raw, "parent_tool_use_id": null }),
            )],
            Event::Notice { level, notice } => vec![self.notice(*level, notice)],
            Event::Finished(finished) => vec![self.frames.result(finished, envelope.at)],
            Event::TextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::CallStarted { .. }
            | Event::CallProgress { .. }
            | Event::PromptRefused { .. }
            | Event::TurnAbandoned
            | Event::Queued(_)
            | Event::Delivered { .. }
            | Event::Dequeued { .. }
            | Event::MessageAdded { .. }
            | Event::QuestionClosed { .. }
            | Event::ControlChanged(_)
            | Event::TeammateChanged(_)
            | Event::Closed { .. }
            | Event::Unknown(_) => Vec::new(),
        }
    }

    /// Of an agent only what it does: its task, its calls and their results, and what a person should know.
    fn frames_of_agent(&self, envelope: &Envelope) -> Vec<Value> {
        let parent = envelope.parent.as_ref();
        let mut frames = match &envelope.event {
            Event::TurnStarted { .. } => self
                .agents
                .task(envelope)
                .map(|task| self.task(task, envelope))
                .into_iter()
                .collect(),
            Event::BlockFinished { block: block @ Block::ToolUse { .. } } => {
                vec![self.assistant(block, self.agents.answer(envelope), parent)]
            }
            Event::CallFinished { outcome, decision, result, detail, .. } => {
                vec![self.result((*outcome, decision.as_deref()), result, detail, envelope)]
            }
            Event::CallAsked { id, name, decision, .. } => vec![self.asked(id, name, decision)],
            Event::Notice { level, notice } => vec![self.notice(*level, notice)],
            Event::TeammateChanged(status) => vec![self.system("teammate", json!(status))],
            _ => Vec::new(),
        };
        for frame in frames.iter_mut().filter_map(Value::as_object_mut) {
            frame.insert("parent_tool_use_id".into(), parent.map(CallId::as_str).into());
            frame.insert("agent".into(), envelope.agent.to_string().into());
        }
        frames
    }

    fn task(&self, task: &str, envelope: &Envelope) -> Value {
        self.frames.named(json!({
            "type": "user", "message": {
                "role": "user", "content": [{ "type": "text", "text": task }],
            },
            "timestamp": ostler::time_text(envelope.at),
        }))
    }

    fn init(&self) -> Value {
        let SessionFacts { cwd, tools, mode, user_skills, model_skills, key_source, .. } =
            &*self.facts;
        let output_style = &self.facts.output_style;
        let mut commands = vec!["compact".to_owned(), "context".to_owned(), "cost".to_owned()];
        commands.extend(user_skills.iter().cloned());
        let model = self.facts.models.first().map(|(model, _)| model.as_str());
        self.frames.named(json!({
            "type": "system", "subtype": "init", "cwd": cwd, "tools": tools,
            "mcp_servers": [], "model": model, "permissionMode": mode,
            "slash_commands": commands, "apiKeySource": key_source, "output_style": output_style,
            "agents": [], "skills": model_skills, "plugins": [],
            "claude_code_version": SPEAKS, "ostler_version": self.facts.version,
        }))
    }

    fn system(&self, subtype: &str, mut fields: Value) -> Value {
        if let Some(map) = fields.as_object_mut() {
            map.insert("type".into(), "system".into());
            map.insert("subtype".into(), subtype.into());
        }
        self.frames.named(fields)
    }

    fn retrying(&self, retry: &Retry) -> Value {
        let wait = u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX);
        let fields = json!({
            "attempt": retry.attempt, "max_retries": retry.of, "retry_delay_ms": wait,
            "error_status": retry.status, "error": retry.kind.name(), "message": retry.message,
        });
        self.system("api_retry", fields)
    }

    fn assistant(&self, block: &Block, answer: &Answering, parent: Option<&CallId>) -> Value {
        self.frames.named(json!({
            "type": "assistant",
            "message": {
                "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
                "content": [frames::block(block)], "stop_reason": null, "stop_sequence": null,
                "usage": frames::usage(&answer.usage),
            },
            "parent_tool_use_id": parent.map(CallId::as_str), "request_id": answer.request_id,
        }))
    }

    fn asked(&self, id: &CallId, name: &str, decision: &Decision) -> Value {
        let (id, why) = (id.as_str(), decision.why());
        let fields = json!({
            "tool_use_id": id, "tool_name": name, "content": why, "decision": decision,
        });
        self.system("permission_asked", fields)
    }

    fn result(
        &self,
        (outcome, decision): (CallOutcome, Option<&Decision>),
        result: &Block,
        detail: &Option<Value>,
        envelope: &Envelope,
    ) -> Value {
        let parent = envelope.parent.as_ref().map(CallId::as_str);
        self.frames.named(json!({
            "type": "user", "message": { "role": "user", "content": [frames::block(result)] },
            "parent_tool_use_id": parent, "timestamp": ostler::time_text(envelope.at),
            "tool_use_result": detail, "outcome": outcome, "decision": decision,
        }))
    }

    fn compacted(&self, receipt: &Receipt) -> Vec<Value> {
        let (trigger, before) = (receipt.trigger.name(), receipt.before);
        let metadata = json!({ "trigger": trigger, "pre_tokens": before, "receipt": receipt });
        vec![
            self.system("status", json!({ "status": null, "compact_result": "success" })),
            self.system("compact_boundary", json!({ "compact_metadata": metadata })),
        ]
    }

    fn went(&self, why: Continue) -> Vec<Value> {
        let transition = self.system("transition", json!({ "reason": why.name(), "detail": why }));
        match (why, self.facts.models.as_slice()) {
            (Continue::ModelFallback, [(primary, _), (fallback, _), ..]) => {
                let (original, other) = (primary.as_str(), fallback.as_str());
                let content = format!("{original} is not available; going on with {other}");
                let fields = json!({
                    "original_model": original, "fallback_model": other, "content": content,
                });
                vec![transition, self.system("model_fallback", fields)]
            }
            _ => vec![transition],
        }
    }

    fn memory(&self, change: &MemoryChange) -> Value {
        let what = if change.kept { "kept" } else { "forgotten" };
        let MemoryChange { id, kind, scope, text, .. } = change;
        let fields =
            json!({ "change": what, "id": id, "kind": kind, "scope": scope, "text": text });
        self.system("memory", fields)
    }

    fn notice(&self, level: Level, notice: &Notice) -> Value {
        let mut fields = json!({
            "content": words::notice(notice), "level": level.name(), "code": notice.code(),
        });
        if let (Some(data), Some(fields)) = (data(notice), fields.as_object_mut()) {
            fields.insert("data".into(), data);
        }
        self.system("informational", fields)
    }
}

/// What a notice holds besides its code and its words.
fn data(notice: &Notice) -> Option<Value> {
    let mut data = serde_json::to_value(notice).ok()?;
    let fields = data.as_object_mut()?;
    fields.retain(|name, _| !["code", "text"].contains(&name.as_str()));
    (!fields.is_empty()).then_some(data)
}
