//! An event of each kind that never happened, for trying hooks out.

use super::event::{EventName, HookEvent};
use crate::permission::COMMANDS;
use serde_json::json;

/// `matched` is what the hook's matcher wants to see; without it the most ordinary thing.
pub fn canary(event: EventName, matched: Option<&str>) -> HookEvent {
    let or = |ordinary: &str| matched.unwrap_or(ordinary).to_owned();
    let id = || "canary".to_owned();
    match event {
        EventName::SessionStart => {
            HookEvent::SessionStart { source: or("startup"), model: "canary".into() }
        }
        EventName::UserPromptSubmit => HookEvent::UserPromptSubmit { prompt: "a canary".into() },
        EventName::PreToolUse
        | EventName::PermissionRequest
        | EventName::PostToolUse
        | EventName::PostToolUseFailure => about_call(event, or(COMMANDS)),
        EventName::Stop => HookEvent::Stop {
            stop_hook_active: false,
            last_assistant_message: "a canary".into(),
            background_tasks: Vec::new(),
        },
        EventName::StopFailure => {
            HookEvent::StopFailure { error: or("canary"), last_assistant_message: String::new() }
        }
        EventName::SubagentStart => {
            HookEvent::SubagentStart { agent_id: id(), agent_type: or("canary") }
        }
        EventName::SubagentStop => HookEvent::SubagentStop {
            agent_id: id(),
            agent_type: or("canary"),
            stop_hook_active: false,
            agent_transcript_path: String::new(),
            last_assistant_message: "a canary".into(),
            background_tasks: Vec::new(),
        },
        EventName::PreCompact => {
            HookEvent::PreCompact { trigger: or("manual"), custom_instructions: String::new() }
        }
        EventName::PostCompact => {
            HookEvent::PostCompact { trigger: or("manual"), compact_summary: "a canary".into() }
        }
        EventName::Notification => HookEvent::Notification {
            message: "a canary".into(),
            title: None,
            notification_type: or("canary"),
        },
        EventName::SessionEnd => HookEvent::SessionEnd { reason: or("other") },
    }
}

fn about_call(event: EventName, tool_name: String) -> HookEvent {
    let tool_use_id = "canary".to_owned();
    let tool_input = json!({ "command": "true", "description": "a canary; nothing is run" });
    match event {
        EventName::PermissionRequest => HookEvent::PermissionRequest {
            tool_name,
            tool_input,
            tool_use_id,
            permission_suggestions: Vec::new(),
        },
        EventName::PostToolUse => HookEvent::PostToolUse {
            tool_name,
            tool_input,
            tool_response: json!({ "content": "a canary", "detail": null }),
            tool_use_id,
            duration_ms: 1,
        },
        EventName::PostToolUseFailure => HookEvent::PostToolUseFailure {
            tool_name,
            tool_input,
            tool_use_id,
            error: "a canary".into(),
            is_interrupt: false,
            duration_ms: 1,
        },
        _ => HookEvent::PreToolUse { tool_name, tool_input, tool_use_id },
    }
}
