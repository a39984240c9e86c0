//! `--output-format stream-json`: everything that happens, one object a line, as it happens.

use super::Output;
use super::frames::{self, Frames};
use crate::args::RunArgs;
use anyhow::Result;
use ostler::{Block, Continue, Engine, Event, Finished, MemoryChange, ModelId, Receipt, Usage};
use serde_json::{Value, json};
use std::time::Instant;

/// The version of Claude Code whose frames these are.
const SPEAKS: &str = "2.1.197";

pub struct StreamJson {
    frames: Frames,
    init: Value,
    partial: bool,
    answer: Answering,
    fallback: Option<(ModelId, Option<ModelId>)>,
}

#[derive(Default)]
struct Answering {
    id: String,
    request_id: Option<String>,
    model: String,
    usage: Usage,
}

impl StreamJson {
    pub fn new(engine: &Engine, args: &RunArgs, key_source: &str, began: Instant) -> Self {
        let skills = engine.skills();
        let named = |may: fn(&ostler::Skill) -> bool| {
            let skills = skills.iter().filter(|skill| may(skill));
            skills.map(|skill| skill.name.clone()).collect::<Vec<_>>()
        };
        let mut commands = vec!["compact".to_owned(), "context".to_owned(), "cost".to_owned()];
        commands.extend(named(|skill| skill.for_user));
        let init = json!({
            "type": "system", "subtype": "init",
            "cwd": engine.workspace().cwd,
            "tools": engine.tool_names().collect::<Vec<_>>(),
            "mcp_servers": [], "model": engine.model().as_str(), "permissionMode": engine.mode().name(),
            "slash_commands": commands, "apiKeySource": key_source, "output_style": "default",
            "agents": [], "skills": named(|skill| skill.for_model), "plugins": [],
            "claude_code_version": SPEAKS, "ostler_version": env!("CARGO_PKG_VERSION"),
        });
        let mut models = engine.models().into_iter();
        let fallback = models.next().map(|primary| (primary, models.next()));
        StreamJson {
            frames: Frames::new(engine, began),
            init,
            partial: args.include_partial_messages,
            answer: Answering::default(),
            fallback,
        }
    }

    fn write(&self, frame: Value) -> Result<()> {
        frames::print(&self.frames.line(frame))
    }

    fn system(&self, subtype: &str, mut fields: Value) -> Result<()> {
        if let Some(map) = fields.as_object_mut() {
            map.insert("type".into(), "system".into());
            map.insert("subtype".into(), subtype.into());
        }
        self.write(fields)
    }

    fn assistant(&self, block: &Block) -> Result<()> {
        let answer = &self.answer;
        self.write(json!({
            "type": "assistant",
            "message": {
                "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
                "content": [frames::block(block)], "stop_reason": null, "stop_sequence": null,
                "usage": frames::usage(&answer.usage),
            },
            "parent_tool_use_id": null, "request_id": answer.request_id,
        }))
    }

    fn compacted(&self, receipt: &Receipt) -> Result<()> {
        let (trigger, before) = (receipt.trigger.name(), receipt.before);
        self.system("status", json!({ "status": null, "compact_result": "success" }))?;
        let metadata = json!({ "trigger": trigger, "pre_tokens": before, "receipt": receipt });
        self.system("compact_boundary", json!({ "compact_metadata": metadata }))
    }

    fn went(&self, why: Continue) -> Result<()> {
        self.system("transition", json!({ "reason": why.name(), "detail": why }))?;
        if let (Continue::ModelFallback, Some((primary, Some(fallback)))) = (why, &self.fallback) {
            let (original, other) = (primary.as_str(), fallback.as_str());
            let content = format!("{original} is not available; going on with {other}");
            let fields =
                json!({ "original_model": original, "fallback_model": other, "content": content });
            self.system("model_fallback", fields)?;
        }
        Ok(())
    }
}

impl Output for StreamJson {
    fn event(&mut self, event: &Event) -> Result<()> {
        self.frames.watch(event);
        if matches!(event, Event::IterationStarted { .. }) {
            self.answer = Answering::default();
        }
        match event {
            Event::TurnStarted { .. } => self.write(self.init.clone()),
            Event::IterationStarted { .. } if self.partial => self.system("status", json!({ "status": "requesting" })),
            Event::Retrying(retry) => self.system(
                "api_retry",
                json!({
                    "attempt": retry.attempt, "max_retries": retry.of, "retry_delay_ms": retry.wait.as_millis() as u64,
                    "error_status": retry.status, "error": retry.kind.name(), "message": retry.message,
                }),
            ),
            Event::AnswerStarted { message_id, request_id, model, usage } => {
                let (id, model) = (message_id.clone(), model.as_str().to_owned());
                self.answer = Answering { id, request_id: request_id.clone(), model, usage: *usage };
                Ok(())
            }
            Event::BlockFinished { block } => self.assistant(block),
            // A request that was refused has no answer to forget; the one before it stands.
            Event::AnswerDropped if self.answer.id.is_empty() => Ok(()),
            Event::AnswerDropped => self.system("answer_dropped", json!({ "message_id": self.answer.id })),
            Event::Went(why) => self.went(*why),
            Event::CallFinished { result, detail, .. } => self.write(json!({
                "type": "user", "message": { "role": "user", "content": [frames::block(result)] },
                "parent_tool_use_id": null, "timestamp": ostler::now_text(), "tool_use_result": detail,
            })),
            Event::Plan(plan) => self.system("plan", json!({ "tasks": plan.tasks })),
            Event::Compacting { .. } => self.system("status", json!({ "status": "compacting" })),
            Event::Compacted { receipt } => self.compacted(receipt),
            Event::Raw(raw) => self.write(json!({ "type": "stream_event", "event": raw, "parent_tool_use_id": null })),
            Event::Notice { level, text } => {
                let level = format!("{level:?}").to_lowercase();
                self.system("informational", json!({ "content": text, "level": level }))
            }
            Event::IterationStarted { .. }
            | Event::TextDelta(_)
            | Event::ThinkingDelta(_)
            | Event::AnswerSealed { .. }
            | Event::CallAsked { .. }
            | Event::CallStarted { .. }
            | Event::CallProgress { .. }
            | Event::Finished(_) => Ok(()),
        }
    }

    fn finished(&mut self, finished: &Finished) -> Result<()> {
        frames::print(&self.frames.result(finished))
    }

    fn remembered(&mut self, change: &MemoryChange) -> Result<()> {
        let what = if change.kept { "kept" } else { "forgotten" };
        let MemoryChange { id, kind, scope, text, .. } = change;
        let fields =
            json!({ "change": what, "id": id, "kind": kind, "scope": scope, "text": text });
        self.system("memory", fields)
    }

    fn local(&mut self, text: &str) -> Result<()> {
        self.write(self.init.clone())?;
        frames::print(&self.frames.local(text))
    }
}
