//! Values as short lines, for whole-value comparison that a person can read.

use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::model::StopReason;
use ostler_core::session::{Entry, Verdict};
use ostler_core::turn::{Continue, Terminal};

/// Longer texts are cut: a snapshot shows which text it is, not all of it.
const SHOWN: usize = 70;

pub(crate) fn short(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", cut.replace('\n', "⏎"))
}

pub(crate) fn block(block: &Block) -> String {
    match block {
        Block::Text { text, meta: false } => short(text),
        Block::Text { text, meta: true } => format!("meta {}", short(text)),
        Block::Thinking { text, .. } => format!("thinking {}", short(text)),
        Block::Redacted { .. } => "redacted".into(),
        Block::Provider(part) => format!("part of {}", part.author),
        Block::Image(_) => "image".into(),
        Block::ToolUse { id, name, input, .. } => {
            format!("call {id} {name} {}", short(&input.to_string()))
        }
        Block::ToolResult { id, content, is_error } => {
            let kind = if *is_error { "error" } else { "ok" };
            let parts: Vec<_> = content.iter().map(part).collect();
            format!("{id} {kind} {}", parts.join(" + "))
        }
    }
}

fn part(part: &ResultPart) -> String {
    match part {
        ResultPart::Text { text } => short(text),
        ResultPart::Image(_) => "image".into(),
    }
}

pub(crate) fn message(message: &Message) -> String {
    let blocks: Vec<_> = message.blocks().iter().map(block).collect();
    blocks.join(" | ")
}

pub(crate) fn stop(stop: Option<&StopReason>) -> String {
    match stop {
        None => "none".into(),
        Some(StopReason::EndTurn) => "end_turn".into(),
        Some(StopReason::ToolUse) => "tool_use".into(),
        Some(StopReason::MaxTokens) => "max_tokens".into(),
        Some(StopReason::StopSequence) => "stop_sequence".into(),
        Some(StopReason::PauseTurn) => "pause_turn".into(),
        Some(StopReason::Refusal { .. }) => "refusal".into(),
        Some(StopReason::WindowExceeded) => "window_exceeded".into(),
        Some(StopReason::Other(reason)) => format!("other({reason})"),
    }
}

pub(crate) fn went(why: Continue) -> String {
    match why {
        Continue::MaxOutputTokensRecovery { attempt }
        | Continue::StreamRetry { attempt }
        | Continue::PauseResume { attempt }
        | Continue::EmptyRetry { attempt } => format!("{} {attempt}", why.name()),
        Continue::CollapseDrainRetry { drained } => format!("{} {drained}", why.name()),
        _ => why.name().into(),
    }
}

pub(crate) fn terminal(terminal: Terminal) -> String {
    match terminal {
        Terminal::ModelError(kind) => format!("model_error({})", kind.name()),
        other => other.name().into(),
    }
}

pub(crate) fn usage(usage: &Usage) -> String {
    format!("in={} out={}", usage.prompt(), usage.output)
}

pub(crate) fn entry_line(entry: &Entry) -> String {
    match entry {
        Entry::Opened { session, .. } => format!("opened {session}"),
        Entry::Prompt { message: prompt, .. } => format!("prompt {}", message(prompt)),
        Entry::Answer { message: answer, stop: why } => {
            format!("answer {} stop={}", message(answer), stop(why.as_ref()))
        }
        Entry::Note { message: note, .. } => format!("note {}", message(note)),
        Entry::Inbound(item) => format!("inbound {} {}", item.id, message(&item.body)),
        Entry::Asked { question, .. } => format!("asked {} {}", question.id, question.call),
        Entry::Withdrawn { inbound, questions } => {
            let inbound = inbound.iter().map(ToString::to_string);
            let questions = questions.iter().map(ToString::to_string);
            format!("withdrawn {}", inbound.chain(questions).collect::<Vec<_>>().join(" "))
        }
        Entry::Control(control) => format!("control {}", control.model),
        Entry::Detached { job } => format!("detached {} {}", job.id, job.call),
        Entry::Went { why } => format!("went {}", went(*why)),
        Entry::CallStarted { id } => format!("call_started {id}"),
        Entry::CallFinished { result, .. } => format!("call_finished {}", block(result)),
        Entry::Decided { call, verdict, why, .. } => {
            let verdict = if *verdict == Verdict::Allow { "allow" } else { "deny" };
            format!("decided {call} {verdict}: {why}")
        }
        Entry::Snapshot { call, path, .. } => format!("snapshot {call} {}", path.display()),
        Entry::Checkpoint { call, before, after, only, .. } => {
            let after = after.map(|after| after.to_string()).unwrap_or_default();
            let only = if only.is_empty() { String::new() } else { format!(" only {only:?}") };
            format!("checkpoint {call} {before}..{after}{only}")
        }
        Entry::Rewound { turn, .. } => format!("rewound {turn}"),
        Entry::RewindUndone { .. } => "rewind undone".into(),
        Entry::Planned { plan } => format!("planned {}", short(&plan.lines())),
        Entry::Spent { model, usage: used, .. } => format!("spent {model} {}", usage(used)),
        Entry::Elided { stage, results, .. } => format!("elided {stage:?} {}", results.len()),
        Entry::Collapsed { stories, .. } => format!("collapsed {}", stories.len()),
        Entry::Boundary(boundary) => {
            let receipt = &boundary.receipt;
            format!("boundary {} dropped, {} kept", receipt.messages, receipt.kept)
        }
        Entry::End { terminal: end, .. } => format!("end {}", terminal(*end)),
        Entry::Agent(agent) => format!("agent {} {:?}", agent.name, agent.state),
        Entry::Teammate { status, .. } => format!("teammate {} {}", status.name, status.words()),
        Entry::TeammatePlan { plan, .. } => {
            format!("plan of {} for {} {}", plan.teammate, plan.task, plan.state.name())
        }
    }
}
