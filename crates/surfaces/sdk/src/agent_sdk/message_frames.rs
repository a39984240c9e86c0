//! Frames with messages: what the model wrote, what calls gave back, and the frame that a turn begins with.

use super::initialize::LOCAL_COMMANDS;
use super::live_session::LiveSession;
use super::permission_updates::reason_type;
use super::sdk_frames::SdkFrames;
use super::tool_responses::{ToolResponse, plain_text};
use crate::frames;
use crate::session_facts::SessionFacts;
use crate::stream_json::Answering;
use ostler::{
    Block, CallId, CallOutcome, Decision, Envelope, ResultPart, Timestamp, ToolFacts, ToolKind,
};
use serde_json::{Value, json};

/// The version of Claude Code that programs find here.
pub(super) const STANDS_FOR: &str = "2.1.325";

/// What programs may ask for, by the names that they look for.
pub(super) const CAPABILITIES: [&str; 2] = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

impl SdkFrames {
    pub(super) fn init(&self, live: &dyn LiveSession) -> Value {
        let SessionFacts {
            cwd,
            tools,
            mode,
            user_skills,
            model_skills,
            key_source,
            version,
            output_style,
            ..
        } = live.facts();
        // The name that readers of this frame know the tool by.
        let shown = |tool: &String| match live.tool(tool) {
            ToolFacts { kind: ToolKind::Delegates, other_names: [other, ..], .. } => {
                (*other).to_owned()
            }
            _ => tool.clone(),
        };
        let tools: Vec<String> = tools.iter().map(shown).collect();
        let mut commands: Vec<String> =
            LOCAL_COMMANDS.into_iter().map(|(name, ..)| name.to_owned()).collect();
        commands.extend(user_skills);
        let facts = live.facts();
        let model = facts.models.first().map(|(model, _)| model.as_str());
        self.system(
            "init",
            json!({
                "cwd": cwd, "tools": tools, "mcp_servers": live.mcp_servers(), "model": model,
                "permissionMode": mode, "slash_commands": commands, "apiKeySource": key_source,
                "claude_code_version": STANDS_FOR, "ostler_version": version,
                "output_style": output_style, "agents": live.agents(), "skills": model_skills,
                "plugins": live.plugins(), "memory_paths": {}, "fast_mode_state": "off",
                "analytics_disabled": true, "product_feedback_disabled": true,
                "capabilities": CAPABILITIES,
            }),
        )
    }

    pub(super) fn block(&mut self, block: &Block) -> Value {
        if let Block::ToolUse { id, name, input, .. } = block {
            self.turn.open_calls.push((id.clone(), name.clone(), input.clone()));
        }
        self.unfinished.clear();
        let mut frame = self.assistant(&frames::block(block), &self.answer, None);
        self.turn.in_answers.tell(&self.turn.user_uuids, &mut frame);
        frame
    }

    pub(super) fn assistant(
        &self,
        block: &Value,
        answer: &Answering,
        parent: Option<&CallId>,
    ) -> Value {
        self.named(json!({
            "type": "assistant",
            "message": {
                "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
                "content": [with_signature(block)], "stop_reason": null, "stop_sequence": null,
                "usage": frames::usage(&answer.usage),
            },
            "parent_tool_use_id": parent.map(CallId::as_str), "request_id": answer.request_id,
        }))
    }

    pub(super) fn task_prompt(&self, task: &str, envelope: &Envelope) -> Value {
        let content = json!([{ "type": "text", "text": task }]);
        self.user(&content, envelope.parent.as_ref(), envelope.at)
    }

    pub(super) fn user(&self, content: &Value, parent: Option<&CallId>, at: Timestamp) -> Value {
        self.named(json!({
            "type": "user", "message": { "role": "user", "content": content },
            "parent_tool_use_id": parent.map(CallId::as_str),
            "timestamp": ostler::time_text(at),
        }))
    }

    /// What Ostler says in the name of the user.
    pub(super) fn synthetic(&self, text: &str, at: Timestamp) -> Value {
        let mut frame = self.user(&text.into(), None, at);
        frame["isSynthetic"] = true.into();
        frame
    }

    pub(super) fn tool_result(
        &self,
        outcome: CallOutcome,
        result: &Block,
        detail: Option<&Value>,
        (kind, input): (ToolKind, &Value),
        envelope: &Envelope,
    ) -> Value {
        let block = frames::block(result);
        let content = &block["content"];
        let told = match outcome {
            CallOutcome::Succeeded => ToolResponse { kind, input, content, detail }.value(),
            _ => format!("Error: {}", plain_text(content)).into(),
        };
        let mut frame = self.user(&json!([block]), envelope.parent.as_ref(), envelope.at);
        if let Some(fields) = frame.as_object_mut() {
            fields.insert("tool_use_result".into(), told);
        }
        frame
    }

    pub(super) fn denied(
        &self,
        id: &CallId,
        name: &str,
        outcome: CallOutcome,
        (decision, result): (Option<&Decision>, &Block),
    ) -> Option<Value> {
        outcome.is_denied().then(|| {
            let why = decision.map(Decision::why).unwrap_or_default();
            let fields = json!({
                "tool_name": name, "tool_use_id": id.as_str(),
                "message": plain_text(&frames::block(result)["content"]), "decision_reason": why,
                "decision_reason_type": decision.map_or("other", reason_type),
            });
            self.system("permission_denied", fields)
        })
    }
}

/// A result without its first line, if that is this one.
pub(super) fn without_line(result: &Block, line: &str) -> Block {
    let mut result = result.clone();
    if let Block::ToolResult { content, .. } = &mut result
        && let Some(ResultPart::Text { text }) = content.first_mut()
        && let Some(rest) = text.strip_prefix(line)
    {
        match rest.strip_prefix('\n').map(str::to_owned) {
            Some(rest) => *text = rest,
            None if rest.is_empty() => drop(content.remove(0)),
            None => {}
        }
    }
    result
}

/// Readers want a signature on thinking, also where the provider gave none.
fn with_signature(block: &Value) -> Value {
    let mut block = block.clone();
    if block["type"] == "thinking" && block["signature"].is_null() {
        block["signature"] = "".into();
    }
    block
}
