//! What a hook reads: the session's facts and the event's, one JSON object.

use ostler_core::hook::HookEvent;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What applies to all events of a session.
#[derive(Clone, Debug, Default)]
pub struct About {
    pub session_id: String,
    /// The session's log; empty where there is no file.
    pub transcript_path: PathBuf,
    pub cwd: PathBuf,
    /// The top of the project: commands find it in `CLAUDE_PROJECT_DIR` and `OSTLER_PROJECT_DIR`.
    pub project: PathBuf,
    pub permission_mode: String,
    /// The agent in which it happens; none: the session's own.
    pub agent: Option<AboutAgent>,
}

/// An agent that the session, or another agent, started.
#[derive(Clone, Debug)]
pub struct AboutAgent {
    pub id: String,
    pub kind: String,
}

/// Bytes of a payload.
pub(crate) const MOST: usize = 7 << 20;

impl About {
    /// None: it is about something that a hook decides on, and too large to be told whole.
    pub(crate) fn payload(&self, event: &HookEvent, canary: bool) -> Option<String> {
        let mut fields = Map::new();
        let text = |path: &PathBuf| Value::from(path.to_string_lossy().into_owned());
        fields.insert("session_id".into(), self.session_id.as_str().into());
        fields.insert("transcript_path".into(), text(&self.transcript_path));
        fields.insert("cwd".into(), text(&self.cwd));
        fields.insert("permission_mode".into(), self.permission_mode.as_str().into());
        if let Some(AboutAgent { id, kind }) = &self.agent {
            fields.insert("agent_id".into(), id.as_str().into());
            fields.insert("agent_type".into(), kind.as_str().into());
        }
        if let Ok(Value::Object(own)) = serde_json::to_value(event) {
            fields.extend(own);
        }
        if canary {
            fields.insert("canary".into(), true.into());
        }
        let all = Value::Object(fields).to_string();
        match all.len() <= MOST {
            true => Some(all),
            false if event.name().can_block() => None,
            false => Some(self.shortened(&all)),
        }
    }

    /// Honest about what is missing.
    fn shortened(&self, all: &str) -> String {
        let mut fields: Map<String, Value> = serde_json::from_str(all).unwrap_or_default();
        for name in ["tool_response", "tool_input", "prompt", "last_assistant_message", "error"] {
            let large = fields.get(name).is_some_and(|value| value.to_string().len() > MOST / 8);
            if large {
                fields.insert(name.into(), Value::Null);
                fields.insert("shortened".into(), true.into());
            }
        }
        Value::Object(fields).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::hook::{EventName, canary};

    #[test]
    fn the_fields_of_the_session_and_of_the_event() {
        let about = About { session_id: "s".into(), cwd: "/ws".into(), ..About::default() };
        let payload = about.payload(&canary(EventName::PreToolUse, None), false).unwrap();
        let value: Value = serde_json::from_str(&payload).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "session_id",
                "transcript_path",
                "cwd",
                "permission_mode",
                "hook_event_name",
                "tool_name",
                "tool_input",
                "tool_use_id"
            ]
        );
        let payload = about.payload(&canary(EventName::Stop, None), true).unwrap();
        assert!(payload.contains("\"canary\":true"));
    }

    #[test]
    fn a_payload_is_bounded() {
        let large = "x".repeat(2 * MOST);
        let event =
            HookEvent::StopFailure { error: large.clone(), last_assistant_message: large.clone() };
        let payload = About::default().payload(&event, false).unwrap();
        assert!(payload.len() < 1000 && payload.contains("\"shortened\":true"), "{payload}");
        // Nobody decides on what was not seen.
        let event = HookEvent::UserPromptSubmit { prompt: large };
        assert_eq!(About::default().payload(&event, false), None);
    }

    #[test]
    fn inside_an_agent_every_event_names_it() {
        let agent = AboutAgent { id: "a".into(), kind: "explorer".into() };
        let about = About { session_id: "root".into(), agent: Some(agent), ..About::default() };
        let payload = about.payload(&canary(EventName::PreToolUse, None), false).unwrap();
        let payload: Value = serde_json::from_str(&payload).unwrap();
        assert_eq!(payload["session_id"], "root");
        assert_eq!(
            (&payload["agent_id"], &payload["agent_type"]),
            (&"a".into(), &"explorer".into())
        );
    }
}
