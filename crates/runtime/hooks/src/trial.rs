//! One hook tried out through its real path, with an event that never happened.

use crate::command::Runner;
use crate::fault::HookFault;
use crate::registry::{HookSetup, verdict};
use ostler_core::hook::{HookAction, HookOutcome, HookSpec, Stand, canary};
use std::time::{Duration, Instant};

/// What became of a try.
#[derive(Debug)]
pub struct HookTrial {
    /// How it ended: an exit code, a signal, a status.
    pub exit: String,
    /// It was started or reached, whatever became of it then.
    pub ran: bool,
    pub time: Duration,
    /// What it decided, in words; an error says what went wrong with it.
    pub verdict: Result<String, String>,
}

/// Runs the hook's command or sends to its address. `setup` says with what; its own hooks are not run.
pub async fn try_hook(spec: &HookSpec, setup: &HookSetup) -> HookTrial {
    let event = canary(spec.event, spec.matcher.example());
    let payload = setup.about.payload(&event, true).unwrap_or_default();
    let began = Instant::now();
    let (exit, answer) = match &spec.action {
        HookAction::Command { command, args } => {
            let runner = Runner {
                executor: setup.executor.clone(),
                environment: setup.environment.clone(),
                prepare: setup.prepare.clone(),
            };
            let line = (command.as_str(), args.as_deref());
            let ran = runner.run(spec, line, &setup.about, &event, &payload).await;
            (ran.exit, ran.answer)
        }
        HookAction::Http { url, secret, .. } => {
            let id = format!("canary-{}", setup.sender.given().ids.uuid());
            let (name, body) = (event.name().name(), payload.as_bytes());
            let sent = setup.sender.send(url, secret.as_ref(), name, &id, body, spec.limit());
            match sent.await {
                Err(why) => ("no answer".to_owned(), Err(HookFault::Failed(why))),
                Ok(reply) => (format!("status {}", reply.status), verdict(spec, &event, &reply)),
            }
        }
        HookAction::Unavailable { why, .. } => {
            ("not started".to_owned(), Err(HookFault::CannotStart(why.clone())))
        }
    };
    let ran = !matches!(answer, Err(HookFault::CannotStart(_)));
    let verdict = answer.map(|outcome| words(&outcome)).map_err(|fault| fault.to_string());
    HookTrial { exit, ran, time: began.elapsed(), verdict }
}

fn words(outcome: &HookOutcome) -> String {
    let furthest = outcome.reasons.iter().filter(|reason| reason.stand == outcome.stand);
    let why: Vec<&str> = furthest.map(|reason| reason.why.as_str()).collect();
    let why = why.join("; ");
    let mut words = match outcome.stand {
        Stand::Pass => vec!["passes".to_owned()],
        Stand::Ask => vec![format!("asks ({why})")],
        Stand::Defer => vec![format!("defers the call ({why})")],
        Stand::Block => vec![format!("blocks ({why})")],
        Stand::Prevent => vec![format!("ends the turn ({why})")],
    };
    if outcome.says_yes().is_some() {
        words.push("says yes".into());
    }
    if !outcome.changes.is_empty() {
        let fields: Vec<&str> = outcome.changes.keys().map(String::as_str).collect();
        words.push(format!("changes {}", fields.join(", ")));
    }
    if !outcome.context.is_empty() {
        words.push("adds context".into());
    }
    words.join(", ")
}
