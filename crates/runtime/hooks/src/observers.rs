//! Observers: readers of the event stream. They log, count and time; what they do changes nothing.

use ostler_core::event::{Envelope, Event, Finished, Level, Notice, words};
use ostler_core::ids::SessionId;
use ostler_core::message::{Block, ResultPart};
use ostler_core::time::Clock;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of one session's log, and the number of logs that are kept.
const MOST_BYTES: u64 = 16 << 20;
const MOST_LOGS: usize = 200;
/// Characters of an input or a message.
const PREVIEW: usize = 200;

/// Everything that watches one session.
pub struct Observer {
    log: Option<EventLog>,
    stats: ToolStats,
}

impl Observer {
    pub fn new(log: Option<EventLog>) -> Self {
        Observer { log, stats: ToolStats::default() }
    }

    pub fn see(&mut self, envelope: &Envelope) {
        if let Event::CallFinished { name, outcome, result, took_ms, .. } = &envelope.event {
            let took = took_ms.map(Duration::from_millis);
            self.stats.call(name, is_error(result), outcome.is_denied(), took);
        }
        let mut line = line(envelope);
        if let (false, Some(fields)) =
            (envelope.agent.is_root(), line.as_mut().and_then(Value::as_object_mut))
        {
            fields.insert("agent".into(), envelope.agent.to_string().into());
        }
        self.write(line);
    }

    pub fn stats(&self) -> &ToolStats {
        &self.stats
    }

    /// The session is over.
    pub fn finish(&mut self) {
        if !self.stats.tools.is_empty() {
            self.write(Some(json!({ "event": "statistics", "tools": self.stats.as_json() })));
        }
    }

    fn write(&mut self, line: Option<Value>) {
        if let (Some(log), Some(line)) = (&mut self.log, line) {
            log.write(line);
        }
    }
}

/// Calls, errors and time of each tool.
#[derive(Clone, Debug, Default)]
pub struct ToolStats {
    tools: BTreeMap<String, OneTool>,
}

#[derive(Clone, Debug, Default)]
struct OneTool {
    calls: u64,
    errors: u64,
    refused: u64,
    time: Duration,
    longest: Duration,
}

impl ToolStats {
    fn call(&mut self, name: &str, error: bool, refused: bool, took: Option<Duration>) {
        let tool = self.tools.entry(name.to_owned()).or_default();
        tool.calls += 1;
        tool.errors += u64::from(error && !refused);
        tool.refused += u64::from(refused);
        let took = took.unwrap_or_default();
        tool.time += took;
        tool.longest = tool.longest.max(took);
    }

    /// One line each: `Bash: 3 calls, 1 failed, 1.2 s (longest 0.9 s)`.
    pub fn lines(&self) -> Vec<String> {
        let line = |(name, tool): (&String, &OneTool)| {
            let calls = ostler_core::text::counted(tool.calls, "call");
            let mut parts = vec![calls];
            if tool.errors > 0 {
                parts.push(format!("{} failed", tool.errors));
            }
            if tool.refused > 0 {
                parts.push(format!("{} refused", tool.refused));
            }
            let (all, longest) = (tool.time.as_secs_f64(), tool.longest.as_secs_f64());
            parts.push(format!("{all:.1} s (longest {longest:.1} s)"));
            format!("{name}: {}", parts.join(", "))
        };
        self.tools.iter().map(line).collect()
    }

    fn as_json(&self) -> Value {
        let tool = |(name, tool): (&String, &OneTool)| {
            let value = json!({
                "calls": tool.calls, "errors": tool.errors, "refused": tool.refused,
                "ms": millis(tool.time), "longest_ms": millis(tool.longest),
            });
            (name.clone(), value)
        };
        Value::Object(self.tools.iter().map(tool).collect())
    }
}

/// `events/<session>.jsonl`. Where it cannot be written there is none; nothing else suffers.
pub struct EventLog {
    file: File,
    written: u64,
    clock: Arc<dyn Clock>,
}

impl EventLog {
    pub fn open(folder: &Path, session: &SessionId, clock: Arc<dyn Clock>) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if session.as_str().is_empty() || !session.as_str().chars().all(plain) {
            return None;
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
        let path = folder.join(format!("{session}.jsonl"));
        if !path.exists() {
            forget_oldest(folder);
        }
        let file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).ok()?;
        let written = file.metadata().ok()?.len();
        Some(EventLog { file, written, clock })
    }

    fn write(&mut self, mut line: Value) {
        if self.written >= MOST_BYTES {
            return;
        }
        if let Some(fields) = line.as_object_mut() {
            let at = i64::try_from(self.clock.now().0).unwrap_or(i64::MAX);
            let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
            let at = at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
            fields.insert("at".into(), at.into());
        }
        let mut text = line.to_string();
        text.push('\n');
        self.written += text.len() as u64;
        if self.written >= MOST_BYTES {
            text.push_str("{\"event\":\"log_full\"}\n");
        }
        let _ = self.file.write_all(text.as_bytes());
    }
}

/// Newest first.
pub fn event_logs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let dated = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_log = path.extension().is_some_and(|ending| ending == "jsonl");
        is_log.then_some((entry.metadata().ok()?.modified().ok()?, path))
    };
    let mut all: Vec<_> = entries.filter_map(dated).collect();
    all.sort();
    all.into_iter().rev().map(|(_, path)| path).collect()
}

fn forget_oldest(folder: &Path) {
    for old in event_logs(folder).into_iter().skip(MOST_LOGS - 1) {
        let _ = fs::remove_file(old);
    }
}

/// What is worth a line.
fn line(envelope: &Envelope) -> Option<Value> {
    Some(match &envelope.event {
        Event::TurnStarted { turn } => {
            json!({ "event": "turn_started", "session": envelope.session.as_str(), "turn": turn })
        }
        Event::IterationStarted { n, model, .. } => {
            json!({ "event": "request", "n": n, "model": model.as_str() })
        }
        Event::Retrying(retry) => json!({
            "event": "retrying", "attempt": retry.attempt, "error": preview(&retry.message),
        }),
        Event::Went(why) => json!({ "event": "transition", "reason": why.name() }),
        Event::CallAsked { name, decision, .. } => {
            json!({ "event": "call_asked", "tool": name, "why": preview(&decision.why()) })
        }
        Event::CallStarted { id, name, input } => json!({
            "event": "call_started", "tool": name, "id": id.as_str(), "input": preview(&input.to_string()),
        }),
        Event::CallFinished { id, name, outcome, result, took_ms, .. } => {
            let (length, said) = output(result);
            let error = is_error(result).then_some(said);
            json!({
                "event": "call_finished", "tool": name, "id": id.as_str(), "output_length": length,
                "error": error, "denied": outcome.is_denied(), "ms": took_ms, "outcome": outcome,
            })
        }
        Event::Notice { notice: notice @ Notice::SlowCall { .. }, .. } => {
            json!({ "event": "slow_call", "text": words::notice(notice) })
        }
        Event::Notice { level: Level::Warning, notice } => {
            let text = preview(&words::notice(notice));
            json!({ "event": "notice", "text": text, "code": notice.code() })
        }
        Event::Finished(finished) => turn_finished(finished),
        _ => return None,
    })
}

fn turn_finished(finished: &Finished) -> Value {
    json!({
        "event": "turn_finished", "reason": finished.terminal.name(), "error": finished.error.as_deref().map(preview),
        "requests": finished.iterations, "calls": finished.calls_run, "cost_usd": finished.cost,
    })
}

fn is_error(result: &Block) -> bool {
    matches!(result, Block::ToolResult { is_error: true, .. })
}

/// Its length, and how it begins.
fn output(result: &Block) -> (usize, String) {
    let Block::ToolResult { content, .. } = result else { return (0, String::new()) };
    let text = |part: &ResultPart| match part {
        ResultPart::Text { text } => (text.len(), preview(text)),
        ResultPart::Image(image) => (image.data.len(), format!("[{} image]", image.media)),
    };
    let parts: Vec<_> = content.iter().map(text).collect();
    let first = parts.first().map(|(_, text)| text.clone()).unwrap_or_default();
    (parts.iter().map(|(length, _)| length).sum(), first)
}

fn preview(text: &str) -> String {
    let mut shown: String = text.chars().take(PREVIEW).collect();
    if text.chars().nth(PREVIEW).is_some() {
        shown.push('…');
    }
    shown
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "observers_tests.rs"]
mod tests;
