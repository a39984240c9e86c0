//! The events that hooks receive. Fields and names are those of Claude Code's hooks, so that existing hooks work.

use crate::job::{JobKind, JobRecord};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventName {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    PostToolUseFailure,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    Notification,
    SessionEnd,
}

/// Events of Claude Code that Ostler never fires: a hook on one gets a warning and is not an error.
pub const OTHER_EVENTS: &[&str] = &[
    "Setup",
    "InstructionsLoaded",
    "UserPromptExpansion",
    "PostToolBatch",
    "PermissionDenied",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "MessageDisplay",
];

impl EventName {
    pub const ALL: [EventName; 14] = [
        EventName::SessionStart,
        EventName::UserPromptSubmit,
        EventName::PreToolUse,
        EventName::PermissionRequest,
        EventName::PostToolUse,
        EventName::PostToolUseFailure,
        EventName::Stop,
        EventName::StopFailure,
        EventName::SubagentStart,
        EventName::SubagentStop,
        EventName::PreCompact,
        EventName::PostCompact,
        EventName::Notification,
        EventName::SessionEnd,
    ];

    pub fn name(self) -> &'static str {
        match self {
            EventName::SessionStart => "SessionStart",
            EventName::UserPromptSubmit => "UserPromptSubmit",
            EventName::PreToolUse => "PreToolUse",
            EventName::PermissionRequest => "PermissionRequest",
            EventName::PostToolUse => "PostToolUse",
            EventName::PostToolUseFailure => "PostToolUseFailure",
            EventName::Stop => "Stop",
            EventName::StopFailure => "StopFailure",
            EventName::SubagentStart => "SubagentStart",
            EventName::SubagentStop => "SubagentStop",
            EventName::PreCompact => "PreCompact",
            EventName::PostCompact => "PostCompact",
            EventName::Notification => "Notification",
            EventName::SessionEnd => "SessionEnd",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        EventName::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Something is about to happen that a hook can keep from happening.
    pub fn can_block(self) -> bool {
        matches!(
            self,
            EventName::UserPromptSubmit
                | EventName::PreToolUse
                | EventName::PermissionRequest
                | EventName::Stop
                | EventName::SubagentStop
                | EventName::PreCompact
        )
    }

    /// A hook on it stands between a call and its effect, so without the hook a restriction is lost.
    pub fn guards_calls(self) -> bool {
        matches!(self, EventName::PreToolUse | EventName::PermissionRequest)
    }

    /// It has happened, and a hook that objects is heard by the model.
    pub fn tells_model(self) -> bool {
        matches!(self, EventName::PostToolUse | EventName::PostToolUseFailure)
    }

    /// What a hook prints is for the model, also where it is not JSON.
    pub fn plain_text_counts(self) -> bool {
        matches!(self, EventName::SessionStart | EventName::UserPromptSubmit)
    }

    /// A hook may end the turn with `continue: false`.
    pub fn can_prevent(self) -> bool {
        self.can_block() || self.tells_model() || self == EventName::SessionStart
    }

    /// How long a hook may take that names no limit of its own.
    pub fn time_limit(self) -> Duration {
        match self {
            EventName::UserPromptSubmit => Duration::from_secs(30),
            EventName::SessionEnd => Duration::from_millis(1500),
            _ => Duration::from_secs(60),
        }
    }
}

/// A job that is running when a turn ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackgroundTask {
    pub task_id: String,
    /// The call that started it.
    pub tool_use_id: String,
    pub description: String,
    /// `local_bash` or `local_agent`.
    pub task_type: &'static str,
}

impl From<JobRecord> for BackgroundTask {
    fn from(job: JobRecord) -> Self {
        BackgroundTask {
            task_id: job.id.to_string(),
            tool_use_id: job.call.to_string(),
            description: job.label,
            task_type: match job.kind {
                JobKind::Command => "local_bash",
                JobKind::Agent => "local_agent",
            },
        }
    }
}

/// One event, as a hook receives it. Fields that are the same for the whole session are added when it is sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "hook_event_name")]
pub enum HookEvent {
    SessionStart {
        /// `startup`, `resume`, `fork`, `clear` or `compact`.
        source: String,
        model: String,
    },
    UserPromptSubmit {
        prompt: String,
    },
    PreToolUse {
        tool_name: String,
        tool_input: Value,
        tool_use_id: String,
    },
    PermissionRequest {
        tool_name: String,
        tool_input: Value,
        tool_use_id: String,
        /// Rules that would allow it from now on.
        permission_suggestions: Vec<String>,
    },
    PostToolUse {
        tool_name: String,
        tool_input: Value,
        tool_response: Value,
        tool_use_id: String,
        duration_ms: u64,
    },
    PostToolUseFailure {
        tool_name: String,
        tool_input: Value,
        tool_use_id: String,
        error: String,
        is_interrupt: bool,
        duration_ms: u64,
    },
    Stop {
        /// The turn already continues because a hook wanted it to.
        stop_hook_active: bool,
        last_assistant_message: String,
        background_tasks: Vec<BackgroundTask>,
    },
    StopFailure {
        error: String,
        last_assistant_message: String,
    },
    SubagentStart {
        agent_id: String,
        agent_type: String,
    },
    SubagentStop {
        agent_id: String,
        agent_type: String,
        stop_hook_active: bool,
        agent_transcript_path: String,
        last_assistant_message: String,
        background_tasks: Vec<BackgroundTask>,
    },
    PreCompact {
        /// `auto` or `manual`.
        trigger: String,
        custom_instructions: String,
    },
    PostCompact {
        trigger: String,
        compact_summary: String,
    },
    Notification {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        notification_type: String,
    },
    SessionEnd {
        reason: String,
    },
}

impl HookEvent {
    pub fn name(&self) -> EventName {
        match self {
            HookEvent::SessionStart { .. } => EventName::SessionStart,
            HookEvent::UserPromptSubmit { .. } => EventName::UserPromptSubmit,
            HookEvent::PreToolUse { .. } => EventName::PreToolUse,
            HookEvent::PermissionRequest { .. } => EventName::PermissionRequest,
            HookEvent::PostToolUse { .. } => EventName::PostToolUse,
            HookEvent::PostToolUseFailure { .. } => EventName::PostToolUseFailure,
            HookEvent::Stop { .. } => EventName::Stop,
            HookEvent::StopFailure { .. } => EventName::StopFailure,
            HookEvent::SubagentStart { .. } => EventName::SubagentStart,
            HookEvent::SubagentStop { .. } => EventName::SubagentStop,
            HookEvent::PreCompact { .. } => EventName::PreCompact,
            HookEvent::PostCompact { .. } => EventName::PostCompact,
            HookEvent::Notification { .. } => EventName::Notification,
            HookEvent::SessionEnd { .. } => EventName::SessionEnd,
        }
    }

    /// What a matcher is compared with; none where matchers mean nothing.
    pub fn matched(&self) -> Option<&str> {
        match self {
            HookEvent::PreToolUse { tool_name, .. }
            | HookEvent::PermissionRequest { tool_name, .. }
            | HookEvent::PostToolUse { tool_name, .. }
            | HookEvent::PostToolUseFailure { tool_name, .. } => Some(tool_name),
            HookEvent::SessionStart { source, .. } => Some(source),
            HookEvent::SubagentStart { agent_type, .. }
            | HookEvent::SubagentStop { agent_type, .. } => Some(agent_type),
            HookEvent::PreCompact { trigger, .. } | HookEvent::PostCompact { trigger, .. } => {
                Some(trigger)
            }
            HookEvent::Notification { notification_type, .. } => Some(notification_type),
            HookEvent::SessionEnd { reason } => Some(reason),
            HookEvent::StopFailure { error, .. } => Some(error),
            HookEvent::UserPromptSubmit { .. } | HookEvent::Stop { .. } => None,
        }
    }

    /// The input of the call it is about.
    pub fn tool_input(&self) -> Option<&Value> {
        match self {
            HookEvent::PreToolUse { tool_input, .. }
            | HookEvent::PermissionRequest { tool_input, .. } => Some(tool_input),
            _ => None,
        }
    }
}
