//! What a program asks for while its session runs, each request as an input or a question to the session.

use super::conversation::Conversation;
use super::opening::OpenSession;
use crate::output::printer;
use anyhow::Result;
use futures_util::future::FutureExt;
use ostler::{
    AgentInput, Effort, InboundId, Input, InputReceipt, InputRefused, JobId, Rewind, Rewinding,
    Session, SessionRules, Thinking, Undone,
};
use ostler_sdk::agent_sdk::{InitializeAnswer, context_usage, failure, mode_named, success};
use ostler_sdk::line;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The body of an answer, or why there is none.
pub(super) type Answer = Result<Option<Value>, String>;

impl Conversation<'_> {
    /// Answers `initialize`, however often it is asked.
    pub(super) fn introduce(&mut self, id: &str, hooks_applied: bool) -> Result<()> {
        let Some(body) = self.introduction(hooks_applied) else { return Ok(()) };
        let pending = body["pending_permission_requests"].clone();
        let mut frame = success(id, Some(body));
        frame["response"]["pending_permission_requests"] = pending;
        frame["response"]["pending_user_dialog_requests"] = json!([]);
        Ok(printer::print(&line(&frame))?)
    }

    /// What a program is told about the session.
    pub(super) fn introduction(&self, hooks_applied: bool) -> Option<Value> {
        let open = self.open.as_ref()?;
        let (skills, model) = (open.session.skills(), open.session.model());
        let answer = InitializeAnswer {
            skills: &skills,
            agents: &open.agents,
            model: model.as_str(),
            mode: open.session.mode().name(),
            state: self.state(),
            key_source: &open.view.key_source,
            pid: std::process::id(),
            hooks_applied,
            pending: self.opener.callbacks.questions(),
            output_style: &open.view.output_style,
            output_styles: &open.output_styles,
            without_effect: &open.without_effect,
        };
        Some(answer.body())
    }

    /// Every other request.
    pub(super) fn answer(&mut self, id: &str, body: &Value) -> Result<()> {
        let subtype = body.get("subtype").and_then(Value::as_str).unwrap_or_default();
        let answered = match self.of_servers(subtype, body) {
            Some(Ok(later)) => {
                let id = id.to_owned();
                self.later.push(later.map(move |answer| frame(&id, answer)).boxed());
                return Ok(());
            }
            Some(Err(why)) => Err(why),
            None => self.answer_to(subtype, body),
        };
        Ok(printer::print(&line(&frame(id, answered)))?)
    }

    fn answer_to(&mut self, subtype: &str, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Err("there is no session".into()) };
        let session = &open.session;
        match subtype {
            "interrupt" => self.interrupt(body),
            "set_permission_mode" => {
                let name = text(body, "mode")?;
                let mode = mode_named(name).ok_or_else(|| format!("unknown mode \"{name}\""))?;
                send(session, Input::SetMode(mode))?;
                Ok(Some(json!({ "mode": mode.name() })))
            }
            "set_model" => {
                let wanted = body.get("model").and_then(Value::as_str);
                let name = wanted.filter(|name| *name != "default").unwrap_or(&open.model);
                if name.trim().is_empty() {
                    return Err("model is empty".into());
                }
                done(send(session, Input::SetModel(name.to_owned())))
            }
            "set_max_thinking_tokens" => {
                let thinking = match body.get("max_thinking_tokens") {
                    // Only how thinking is shown would change.
                    None => return Ok(None),
                    Some(Value::Null) => open.thinking,
                    Some(tokens) => match tokens.as_u64() {
                        Some(0) => Thinking::Disabled,
                        Some(tokens) => Thinking::Budget(u32::try_from(tokens).unwrap_or(u32::MAX)),
                        None => return Err("max_thinking_tokens is not a number of tokens".into()),
                    },
                };
                done(send(session, Input::SetThinking(thinking)))
            }
            "get_context_usage" => {
                let (report, servers) = (session.context(), session.mcp_status());
                Ok(Some(context_usage(&report, open.auto_compact, &servers)))
            }
            "get_settings" => Ok(Some(settings(session, self.opener.args.sdk.effort))),
            "apply_flag_settings" => done(apply_settings(open, body.get("settings"))),
            "rewind_files" => self.rewind_files(body),
            "rewind_conversation" => self.rewind_conversation(body),
            "stop_task" => self.stop_task(body),
            "cancel_async_message" => self.cancel_message(body),
            // The model still has to read the file before it changes it.
            "seed_read_state" => done(text(body, "path")),
            other => self.further(other, body),
        }
    }

    fn interrupt(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let cancel_queued = body.get("cancel_queued").and_then(Value::as_bool) == Some(true);
        // What the program named and no turn has taken yet.
        let waiting = self.sent.iter().filter(|sent| sent.is_named && sent.item.is_some());
        let waiting: Vec<(String, Option<InboundId>)> =
            waiting.map(|sent| (sent.uuid.clone(), sent.item.clone())).collect();
        match send(&open.session, Input::Interrupt { cancel_queued })? {
            InputReceipt::Interrupted { queued } => {
                let is_one = |item: &Option<InboundId>| {
                    queued.iter().any(|had| Some(&had.id) == item.as_ref())
                };
                let (still, gone): (Vec<_>, Vec<_>) =
                    waiting.into_iter().partition(|(_, item)| is_one(item));
                let uuids = |all: Vec<(String, _)>| -> Vec<String> {
                    all.into_iter().map(|(uuid, _)| uuid).collect()
                };
                let mut answer = json!({ "still_queued": uuids(still) });
                if cancel_queued {
                    answer["cancelled"] = uuids(gone).into();
                }
                Ok(Some(answer))
            }
            _ => Ok(None),
        }
    }

    fn rewind_files(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let dry_run = body.get("dry_run").and_then(Value::as_bool) == Some(true);
        let turn = match self.turn_of(text(body, "user_message_id")?) {
            Ok(turn) => turn,
            Err(why) if dry_run => return Ok(Some(json!({ "canRewind": false, "error": why }))),
            Err(why) => return Err(why),
        };
        let what = Rewinding { files: true, conversation: false };
        let rewind = Rewind { turn, what, dry_run, keep: Vec::new(), shown: None };
        let undone = match open.session.send(Input::Rewind(rewind)) {
            Ok(InputReceipt::Rewound(undone)) => undone,
            Ok(_) | Err(InputRefused::NothingToUndo(_)) => None,
            Err(why) if dry_run => {
                return Ok(Some(json!({ "canRewind": false, "error": why.to_string() })));
            }
            Err(why) => return Err(why.to_string()),
        };
        let (files, lines) =
            undone.map(|undone| (changed_files(&undone), undone.lines)).unwrap_or_default();
        Ok(Some(json!({
            "canRewind": true, "filesChanged": files, "insertions": lines.added,
            "deletions": lines.removed,
        })))
    }

    fn rewind_conversation(&mut self, body: &Value) -> Answer {
        let id = text(body, "user_message_id").or_else(|_| text(body, "message_uuid"))?;
        let turn = self.turn_of(id)?;
        let Some(open) = &mut self.open else { return Ok(None) };
        let what = Rewinding { files: false, conversation: true };
        let rewind = Rewind { turn, what, dry_run: false, keep: Vec::new(), shown: None };
        send(&open.session, Input::Rewind(rewind))?;
        open.record.rewind(turn);
        Ok(Some(json!({ "rewound": true })))
    }

    fn turn_of(&self, uuid: &str) -> Result<u32, String> {
        let turn = self.open.as_ref().and_then(|open| open.record.turn_of(uuid));
        turn.ok_or_else(|| format!("No file checkpoint found for message {uuid}"))
    }

    /// A task that is gone needs no stopping.
    fn stop_task(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let id = text(body, "task_id")?;
        let input = match open.frames.task(id) {
            Some((Some(job), _)) => Input::StopJob(JobId::new(job)),
            Some((None, Some(agent))) => Input::Agent { agent, input: AgentInput::Stop },
            Some((None, None)) => return Ok(Some(json!({}))),
            None => Input::StopJob(JobId::new(id)),
        };
        let _ = open.session.send(input);
        Ok(Some(json!({})))
    }

    fn cancel_message(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let uuid = text(body, "message_uuid")?;
        let item =
            self.sent.iter().find(|sent| sent.uuid == uuid).and_then(|sent| sent.item.clone());
        let cancelled =
            item.is_some_and(|item| open.session.send(Input::CancelQueued(Some(item))).is_ok());
        Ok(Some(json!({ "cancelled": cancelled })))
    }
}

fn frame(id: &str, answer: Answer) -> Value {
    match answer {
        Ok(body) => success(id, body),
        Err(why) => failure(id, &why),
    }
}

pub(super) fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, String> {
    body.get(name).and_then(Value::as_str).ok_or_else(|| format!("the request has no {name}"))
}

pub(super) fn send(session: &Session, input: Input) -> Result<InputReceipt, String> {
    session.send(input).map_err(|refused| refused.to_string())
}

fn done<T>(result: Result<T, String>) -> Answer {
    result.map(|_| None)
}

fn changed_files(undone: &Undone) -> Vec<PathBuf> {
    undone.changed().map(Path::to_owned).collect()
}

fn settings(session: &Session, effort: Option<Effort>) -> Value {
    let control = session.control();
    let SessionRules { allow, ask, deny } = control.rules;
    let effective = json!({
        "model": control.model.as_str(),
        "permissions": {
            "defaultMode": control.mode.name(), "allow": allow, "ask": ask, "deny": deny,
        },
    });
    let applied = json!({ "model": control.model.as_str(), "effort": effort.map(Effort::name) });
    json!({ "effective": effective, "sources": [], "applied": applied })
}

/// Settings that can change while a session runs.
fn apply_settings(open: &OpenSession, settings: Option<&Value>) -> Result<(), String> {
    let session = &open.session;
    let Some(Value::Object(settings)) = settings else {
        return Err("settings is not an object".into());
    };
    match settings.get("model") {
        Some(Value::String(model)) => send(session, Input::SetModel(model.clone())).map(drop)?,
        Some(Value::Null) => send(session, Input::SetModel(open.model.clone())).map(drop)?,
        _ => {}
    }
    if let Some(permissions) = settings.get("permissions") {
        let list = |name: &str| -> Option<Vec<String>> {
            let list = permissions.get(name)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let had = session.control().rules;
        let rules = SessionRules {
            allow: list("allow").unwrap_or(had.allow),
            ask: list("ask").unwrap_or(had.ask),
            deny: list("deny").unwrap_or(had.deny),
        };
        send(session, Input::SetRules(rules))?;
        if let Some(name) = permissions.get("defaultMode").and_then(Value::as_str) {
            let mode = mode_named(name).ok_or_else(|| format!("unknown mode \"{name}\""))?;
            send(session, Input::SetMode(mode))?;
        }
    }
    let variables = settings.get("env").and_then(Value::as_object).into_iter().flatten();
    let changes: Vec<(String, Option<String>)> =
        variables.map(|(name, value)| (name.clone(), value.as_str().map(str::to_owned))).collect();
    if !changes.is_empty() {
        send(session, Input::SetEnv(changes))?;
    }
    Ok(())
}
