//! Events of a turn: collected without hanging, and told in one line each.

use crate::render::{block, message, short, stop, terminal, usage, went};
use futures_util::StreamExt;
use ostler_core::event::{Event, Finished, words};
use ostler_core::ids::InboundId;
use ostler_core::view::View;
use ostler_engine::TurnStream;
use std::time::Duration;

/// Far more than any turn of a test takes; with paused time a turn that hangs reaches it at once.
const PATIENCE: Duration = Duration::from_secs(600);

/// Reads the turn to its end.
pub async fn collect(stream: TurnStream) -> Vec<Event> {
    let (mut stream, mut events) = (stream, Vec::new());
    loop {
        match tokio::time::timeout(PATIENCE, stream.next()).await {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return events,
            Err(_) => panic!("the turn hangs after:\n{}", trace(&events)),
        }
    }
}

/// Reads the turn up to the event whose line begins with `line`. Returns what was read, that event included.
pub async fn until(stream: &mut TurnStream, line: &str) -> Vec<Event> {
    until_all(stream, &[line]).await
}

/// Reads the turn until all of these were read, in whatever order they come.
pub async fn until_all(stream: &mut TurnStream, lines: &[&str]) -> Vec<Event> {
    let mut missing = lines.to_vec();
    let mut events = Vec::new();
    while !missing.is_empty() {
        match tokio::time::timeout(PATIENCE, stream.next()).await {
            Ok(Some(event)) => {
                let told = event_line(&event);
                missing.retain(|line| !told.starts_with(line));
                events.push(event);
            }
            Ok(None) => panic!("the turn ended without {missing:?}:\n{}", trace(&events)),
            Err(_) => panic!("the turn hangs before {missing:?}:\n{}", trace(&events)),
        }
    }
    events
}

/// How the turn ended.
pub fn finished(events: &[Event]) -> &Finished {
    match events.last() {
        Some(Event::Finished(finished)) => finished,
        _ => panic!("the turn did not finish:\n{}", trace(events)),
    }
}

/// One line per event.
pub fn trace(events: &[Event]) -> String {
    let lines: Vec<_> = events.iter().map(event_line).collect();
    lines.join("\n")
}

/// One line per message.
pub fn conversation(view: &View) -> String {
    let line = |said: &ostler_core::message::Message| {
        let who = if said.is_assistant() { "assistant" } else { "user" };
        format!("{who}: {}", message(said))
    };
    let lines: Vec<_> = view.messages().map(line).collect();
    lines.join("\n")
}

fn event_line(event: &Event) -> String {
    match event {
        Event::TurnStarted { turn, .. } => format!("turn {turn}"),
        Event::IterationStarted { n, model, why, .. } => {
            let why = why.map(|why| format!(" after {}", went(why))).unwrap_or_default();
            format!("iteration {n} {model}{why}")
        }
        Event::Retrying(retry) => {
            format!(
                "retrying {}/{} in {:?} {}",
                retry.attempt,
                retry.of,
                retry.wait,
                retry.kind.name()
            )
        }
        Event::AnswerStarted { message_id, .. } => format!("answer {message_id}"),
        Event::TextDelta { text } => format!("text {}", short(text)),
        Event::ThinkingDelta { text } => format!("thinking {}", short(text)),
        Event::BlockFinished { block: done } => format!("block {}", block(done)),
        Event::AnswerSealed { usage: used, cost, stop: why, .. } => {
            format!("sealed {} cost={} stop={}", usage(used), money(*cost), stop(why.as_ref()))
        }
        Event::AnswerDropped => "dropped".into(),
        Event::Went(why) => format!("went {}", went(*why)),
        Event::CallAsked { id, name, decision, .. } => {
            format!("asked {id} {name}: {}", decision.why())
        }
        Event::CallStarted { id, name, input } => {
            format!("started {id} {name} {}", short(&input.to_string()))
        }
        Event::CallProgress { id, tail } => format!("progress {id} {}", short(tail)),
        Event::CallFinished { result, outcome, .. } => {
            let denied = if outcome.is_denied() { " denied" } else { "" };
            format!("finished{denied} {}", block(result))
        }
        Event::Plan(plan) => format!("plan {}", short(&plan.lines())),
        Event::Compacting { trigger } => format!("compacting {trigger:?}"),
        Event::Compacted { receipt } => {
            format!("compacted {} dropped, {} kept", receipt.messages, receipt.kept)
        }
        Event::MessageAdded { text } => format!("added {}", short(text)),
        Event::Raw(raw) => format!("raw {}", short(raw.get())),
        Event::TeammateChanged(status) => format!("{} {}", status.name, status.words()),
        Event::MemoryChanged(change) => format!("memory {}", short(&change.to_string())),
        Event::Notice { level, notice } => {
            format!("notice {level:?} {}", short(&words::notice(notice)))
        }
        Event::PromptRefused { why } => format!("refused {}", short(why)),
        Event::TurnAbandoned => "abandoned".into(),
        Event::Queued(item) => format!("queued {} {:?} {}", item.id, item.when, short(&item.text)),
        Event::Delivered { ids } => format!("delivered {}", listed(ids)),
        Event::Dequeued { ids } => format!("dequeued {}", listed(ids)),
        Event::QuestionClosed { id, end } => format!("question {id} {end:?}"),
        Event::ControlChanged(control) => format!("control {control:?}"),
        Event::Closed { reason } => format!("closed {reason}"),
        Event::Unknown(event) => format!("unknown {}", short(&event.to_string())),
        Event::Finished(finished) => finished_line(finished),
    }
}

fn listed(ids: &[InboundId]) -> String {
    ids.iter().map(InboundId::as_str).collect::<Vec<_>>().join(",")
}

fn money(cost: Option<f64>) -> String {
    cost.map_or_else(|| "?".into(), |cost| format!("{cost:.6}"))
}

fn finished_line(finished: &Finished) -> String {
    let mut line = format!("end {} {}", terminal(finished.terminal), short(&finished.text));
    if let Some(error) = &finished.error {
        line.push_str(&format!(" error={}", short(error)));
    }
    let (used, cost) = (usage(&finished.usage), money(finished.cost));
    line.push_str(&format!(
        " iterations={} calls={} {used} cost={cost}",
        finished.iterations, finished.calls_run
    ));
    if !finished.denials.is_empty() {
        let denied: Vec<_> = finished.denials.iter().map(|denial| denial.id.as_str()).collect();
        line.push_str(&format!(" denied={}", denied.join(",")));
    }
    line
}
