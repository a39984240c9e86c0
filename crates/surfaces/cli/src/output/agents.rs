//! Lines about agents that the session started: one when an agent begins, one when it ends, and what a person should know
//! in between.

use super::cost::dollars;
use super::usage::thousands;
use super::visible_text::visible;
use ostler::{CallOutcome, Envelope, Event, Finished, Level, TeammatePhase, words};

/// None: nothing to say.
pub fn line(envelope: &Envelope) -> Option<String> {
    let said = match &envelope.event {
        Event::TurnStarted { .. } => "started".to_owned(),
        Event::Finished(finished) => end(finished),
        // One that came to its end has said so.
        Event::Closed { reason } if reason == "stopped" => "stopped".to_owned(),
        Event::Notice { level: Level::Warning, notice } => words::notice(notice),
        Event::CallFinished {
            name,
            outcome: CallOutcome::Denied { .. },
            decision: Some(decision),
            ..
        } => words::refusal(name, decision),
        // Its turns say the rest.
        Event::TeammateChanged(status) if is_news(status.phase) => match &status.why {
            Some(why) => format!("{}: {}", status.words(), visible(why)),
            None => visible(&status.words()),
        },
        _ => return None,
    };
    Some(format!("{}: {said}", name(envelope)))
}

fn is_news(phase: TeammatePhase) -> bool {
    matches!(phase, TeammatePhase::Waiting | TeammatePhase::Parked | TeammatePhase::Stopped)
}

/// `explorer-1`, or `general-1/explorer-1` for one that an agent started.
fn name(envelope: &Envelope) -> String {
    visible(&envelope.agent.names().join("/"))
}

fn end(finished: &Finished) -> String {
    let how = match words::failure(finished) {
        None => "finished".to_owned(),
        Some(_) => format!("failed: {}", finished.terminal.words()),
    };
    let calls = match finished.calls_run {
        1 => "1 call".to_owned(),
        more => format!("{more} calls"),
    };
    let usage = &finished.usage;
    let tokens = format!("{} in, {} out", thousands(usage.prompt()), thousands(usage.output));
    let cost = finished.cost.map(|cost| format!(" · {}", dollars(cost))).unwrap_or_default();
    format!("{how} · {calls} · {tokens}{cost}")
}
