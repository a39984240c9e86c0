//! Command hooks as frames: when one starts, and how it ended.

use super::live_facts::LiveFacts;
use crate::frames::line;
use ostler::{EventName, HookProgress, HookWatch, IdSource};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Lines for standard output, one for each start and each end; those of a session's start in any case.
pub fn hook_watch(
    facts: &Arc<LiveFacts>,
    all: bool,
    ids: Arc<dyn IdSource>,
    out: mpsc::UnboundedSender<String>,
) -> HookWatch {
    let facts = facts.clone();
    Arc::new(move |progress: &HookProgress| {
        if !all && progress.event != EventName::SessionStart {
            return;
        }
        let mut frame = hook_frame(progress);
        frame["session_id"] = facts.session().into();
        frame["uuid"] = ids.uuid().into();
        let _ = out.send(line(&frame));
    })
}

fn hook_frame(progress: &HookProgress) -> Value {
    let event = progress.event.name();
    let name = match &progress.matched {
        Some(matched) => format!("{event}:{matched}"),
        None => event.to_owned(),
    };
    let mut frame = json!({
        "type": "system", "subtype": "hook_started", "hook_id": progress.id, "hook_name": name,
        "hook_event": event, "hook_command": progress.hook,
    });
    if let (Some(end), Some(fields)) = (&progress.end, frame.as_object_mut()) {
        fields.insert("subtype".into(), "hook_response".into());
        fields.insert("output".into(), format!("{}{}", end.stdout, end.stderr).into());
        fields.insert("stdout".into(), end.stdout.as_str().into());
        fields.insert("stderr".into(), end.stderr.as_str().into());
        fields.insert("exit_code".into(), end.exit_code.into());
        let outcome = if end.is_ok { "success" } else { "error" };
        fields.insert("outcome".into(), outcome.into());
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::HookRunEnd;

    #[test]
    fn a_start_and_an_end_share_their_id() {
        let start = HookProgress {
            id: "h".into(),
            hook: "./check".into(),
            event: EventName::PreToolUse,
            matched: Some("Bash".into()),
            end: None,
        };
        let end = HookRunEnd {
            exit_code: Some(2),
            stdout: "out".into(),
            stderr: "err".into(),
            is_ok: false,
        };
        let started = hook_frame(&start);
        assert_eq!(
            (&started["subtype"], &started["hook_name"]),
            (&json!("hook_started"), &json!("PreToolUse:Bash"))
        );
        let ended = hook_frame(&HookProgress { end: Some(end), ..start });
        assert_eq!((&ended["hook_id"], &ended["exit_code"]), (&json!("h"), &json!(2)));
        assert_eq!(
            (&ended["subtype"], &ended["outcome"]),
            (&json!("hook_response"), &json!("error"))
        );
    }
}
