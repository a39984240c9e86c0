//! The pipe to a program that uses a Claude Agent SDK: lines in, lines out, requests both ways.
//!
//! Everything here translates. What a line wants is an [`ostler::Input`] or a question to the session, what the session
//! says is an envelope; nothing is decided here.

mod agent_frames;
mod api_errors;
mod callback_hooks;
mod callbacks;
mod context_usage;
mod hook_frames;
mod incoming;
mod initialize;
mod live_facts;
mod live_session;
mod message_frames;
mod permission_updates;
mod pipe_servers;
mod sdk_frames;
mod task_frames;
mod tool_responses;
mod transcript;
mod transcript_entries;
mod turn_end;
mod turn_result;

pub use callback_hooks::{CallbackSpec, callback_hooks};
pub use callbacks::{CallbackFailure, Callbacks};
pub use context_usage::context_usage;
pub use hook_frames::hook_watch;
pub use incoming::{Incoming, UserLine, read_line};
pub use initialize::{InitializeAnswer, InitializeRequest, agent_definitions, skill_commands};
pub use live_facts::LiveFacts;
pub use live_session::{LiveSession, SessionView};
pub use permission_updates::{
    Behavior, PermissionAnswer, PermissionChange, PermissionUpdate, RuleAct, can_use_tool,
    changed_rules, mode_named, suggested_mode, suggestions,
};
pub use pipe_servers::{
    PipeServerLimits, pipe_server, server_source, server_status, split_servers,
};
pub use sdk_frames::{FrameOptions, SdkFrames};
pub use transcript::{Transcript, TranscriptPlace, project_folder};

use serde_json::{Value, json};

/// The answer to a request; an empty one has no body.
pub fn success(id: &str, body: Option<Value>) -> Value {
    let mut response = json!({ "subtype": "success", "request_id": id });
    if let (Some(body), Some(fields)) = (body, response.as_object_mut()) {
        fields.insert("response".into(), body);
    }
    json!({ "type": "control_response", "response": response })
}

pub fn failure(id: &str, why: &str) -> Value {
    let response = json!({ "subtype": "error", "request_id": id, "error": why });
    json!({ "type": "control_response", "response": response })
}
