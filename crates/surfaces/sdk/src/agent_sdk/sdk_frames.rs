//! Envelopes as the frames that the SDKs read. One for each block and each result, and no frame that they would not expect.

use super::api_errors::retry_word;
use super::live_session::LiveSession;
use super::message_frames::without_line;
use super::task_frames::{SystemFrame, TaskFrames};
use super::turn_result::{Totals, TurnCount};
use crate::agent_answers::AgentAnswers;
use crate::stream_json::Answering;
use ostler::{
    AgentPath, Block, CallId, CallOutcome, Continue, Envelope, Event, IdSource, InboundSource,
    Level, NotRun, Notice, QueuedItem, Receipt, ResultPart, Retry, StructuredOutput, Timestamp,
    ToolKind, changed_input_line, words,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Notices that wait for a turn.
const MOST_EARLY: usize = 100;

const BUDGET_SPENT: CallOutcome = CallOutcome::NotRun { why: NotRun::BudgetSpent };

#[derive(Clone, Default)]
pub struct FrameOptions {
    /// Also what is not complete yet.
    pub partial: bool,
    /// What agents write, too.
    pub forward_subagent_text: bool,
    pub structured: Option<Arc<StructuredOutput>>,
    pub max_budget_usd: Option<f64>,
    /// The mode at the start.
    pub mode: String,
}

pub struct SdkFrames {
    pub(super) options: FrameOptions,
    pub(super) session: String,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) answer: Answering,
    pub(super) agents: AgentAnswers,
    pub(super) turn: TurnCount,
    pub(super) totals: Totals,
    pub(super) tasks: TaskFrames,
    /// Items of the inbox that report the end of a task.
    pub(super) reports: HashSet<String>,
    /// What the running answer has written of a block that is not complete.
    pub(super) unfinished: String,
    pub(super) paths: HashMap<CallId, AgentPath>,
    /// What was to be told before the turn began.
    pub(super) early: Vec<Value>,
    /// What running calls were started with.
    pub(super) inputs: HashMap<CallId, Value>,
    /// Calls that the program denied while it ended the turn, and what it said.
    stopped: HashMap<CallId, String>,
    /// The end of a block, which its frame comes before.
    block_end: Option<Value>,
    /// What agents wrote and the program did not want to hear, for their transcripts.
    pub(super) unsaid: Vec<Value>,
    /// When the running compaction began.
    compacting: Option<u64>,
    /// By all compactions.
    dropped_tokens: u64,
}

impl SdkFrames {
    pub fn new(session: &str, ids: Arc<dyn IdSource>, options: FrameOptions) -> Self {
        SdkFrames {
            options,
            session: session.to_owned(),
            ids,
            answer: Answering::default(),
            agents: AgentAnswers::default(),
            turn: TurnCount::default(),
            totals: Totals::default(),
            tasks: TaskFrames::default(),
            reports: HashSet::new(),
            unfinished: String::new(),
            paths: HashMap::new(),
            early: Vec::new(),
            inputs: HashMap::new(),
            stopped: HashMap::new(),
            block_end: None,
            unsaid: Vec::new(),
            compacting: None,
            dropped_tokens: 0,
        }
    }

    /// The message that the running turn, or the next one, answers: its name, if the program gave it one, and where it
    /// comes from.
    pub fn answering(&mut self, uuid: Option<&str>, origin: Option<&Value>) {
        let begins = self.turn.requests == 0;
        self.turn.user_uuids.extend(uuid.map(str::to_owned));
        if self.turn.origin.is_none() && begins {
            self.turn.origin = origin.cloned();
        }
    }

    /// A request of the running turn was sent.
    pub fn has_requested(&self) -> bool {
        self.turn.requests > 0
    }

    /// A message of the program, told back to it.
    pub fn replay(
        &self,
        content: &Value,
        (uuid, origin): (&str, Option<&Value>),
        at: Timestamp,
    ) -> Value {
        let mut frame = self.user(content, None, at);
        if let Some(fields) = frame.as_object_mut() {
            fields.insert("uuid".into(), uuid.into());
            fields.insert("isReplay".into(), true.into());
            fields.extend(origin.map(|origin| ("origin".to_owned(), origin.clone())));
        }
        frame
    }

    /// What a program may stop by this name: a job, or the agent of a call.
    pub fn task(&self, id: &str) -> Option<(Option<String>, Option<AgentPath>)> {
        let (call, job) = self.tasks.known(id)?;
        Some((job, self.paths.get(&call).cloned()))
    }

    /// The agent that a call started: its path, its kind and what it is for.
    pub fn agent_of(&self, call: &str) -> Option<(&AgentPath, Option<&str>, &str)> {
        let call = CallId::new(call);
        let (kind, description) = self.tasks.about(&call).unwrap_or((None, ""));
        Some((self.paths.get(&call)?, kind, description))
    }

    /// The program denies a call and ends the turn: whichever the call hears of first, it was denied.
    pub fn stopped(&mut self, call: &CallId, why: &str) {
        self.stopped.insert(call.clone(), why.to_owned());
    }

    /// Frames that only transcripts have.
    pub fn take_unsaid(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.unsaid)
    }

    pub fn event(&mut self, envelope: &Envelope, live: &dyn LiveSession) -> Vec<Value> {
        self.agents.see(envelope);
        if let Event::CallStarted { id, input, .. } = &envelope.event {
            self.inputs.insert(id.clone(), input.clone());
        }
        match envelope.agent.is_root() {
            true => {
                let mut end = self.block_end.take();
                let mut all = match &envelope.event {
                    Event::BlockFinished { .. } => Vec::new(),
                    _ => end.take().into_iter().collect(),
                };
                all.extend(self.root(envelope, live));
                all.extend(end);
                all
            }
            false => self.below(envelope, live),
        }
    }

    /// A frame of the type `system`.
    pub fn system(&self, subtype: &str, fields: Value) -> Value {
        let mut all = Map::new();
        all.insert("type".into(), "system".into());
        all.insert("subtype".into(), subtype.into());
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        self.named(Value::Object(all))
    }

    /// Adds what every line carries.
    pub(super) fn named(&self, mut frame: Value) -> Value {
        if let Some(fields) = frame.as_object_mut() {
            fields.insert("session_id".into(), self.session.as_str().into());
            fields.insert("uuid".into(), self.ids.uuid().into());
        }
        frame
    }

    pub(super) fn systems(&self, frames: impl IntoIterator<Item = SystemFrame>) -> Vec<Value> {
        frames.into_iter().map(|(subtype, fields)| self.system(subtype, fields)).collect()
    }

    fn root(&mut self, envelope: &Envelope, live: &dyn LiveSession) -> Vec<Value> {
        let at = envelope.at.0;
        match &envelope.event {
            Event::TurnStarted { .. } => {
                self.begin_turn(at);
                let mut all = vec![self.init(live)];
                all.append(&mut self.early);
                all
            }
            Event::IterationStarted { .. } => {
                self.turn.requests += 1;
                let since = self.since(at);
                self.turn.request_ms.get_or_insert(since);
                self.answer = Answering::default();
                let status = || self.system("status", json!({ "status": "requesting" }));
                self.options.partial.then(status).into_iter().collect()
            }
            Event::Retrying(retry) => vec![self.retrying(retry)],
            Event::AnswerSealed { usage, .. } => {
                self.turn.used += *usage;
                Vec::new()
            }
            event @ Event::AnswerStarted { .. } => {
                let since = self.since(at);
                self.turn.first_event_ms.get_or_insert(since);
                self.answer = Answering::of(event).unwrap_or_default();
                self.unfinished.clear();
                Vec::new()
            }
            Event::TextDelta { text } => {
                self.first_token(at);
                self.unfinished.push_str(text);
                Vec::new()
            }
            Event::ThinkingDelta { .. } => {
                self.first_token(at);
                Vec::new()
            }
            Event::BlockFinished { block } => {
                self.first_token(at);
                vec![self.block(block)]
            }
            Event::AnswerDropped => {
                self.unfinished.clear();
                self.turn.open_calls.clear();
                Vec::new()
            }
            Event::Went(why) => self.went(*why, live),
            _ => self.beside_answers(envelope, live),
        }
    }

    /// Calls, and what happens around turns.
    fn beside_answers(&mut self, envelope: &Envelope, live: &dyn LiveSession) -> Vec<Value> {
        let at = envelope.at.0;
        match &envelope.event {
            Event::CallFinished { .. } => self.call_finished(envelope, live),
            Event::Queued(item) => self.queued(item, live, at),
            Event::Delivered { ids } => {
                let is_report = ids.iter().any(|id| self.reports.remove(id.as_str()));
                self.turn.by_task |= is_report && self.turn.requests == 0;
                Vec::new()
            }
            Event::Compacting { .. } => {
                self.compacting = Some(at);
                vec![self.system("status", json!({ "status": "compacting" }))]
            }
            Event::Compacted { receipt } => self.compacted(receipt, at),
            Event::MessageAdded { text } => {
                self.turn.messages += 1;
                vec![self.synthetic(text, envelope.at)]
            }
            Event::ControlChanged(control) => self.mode_told(control.mode.name()),
            Event::Raw(raw) if self.options.partial => self.partial(raw, at),
            Event::Notice { level, notice } => {
                let frames = self.notice(*level, notice);
                // A turn begins with its own frame.
                if self.turn.began.is_none() {
                    let room = MOST_EARLY.saturating_sub(self.early.len());
                    self.early.extend(frames.into_iter().take(room));
                    return Vec::new();
                }
                frames
            }
            Event::PromptRefused { why } => self.refused(why, envelope.at, live),
            Event::Finished(finished) => self.finished(finished, envelope.at, live),
            _ => Vec::new(),
        }
    }

    fn call_finished(&mut self, envelope: &Envelope, live: &dyn LiveSession) -> Vec<Value> {
        let Event::CallFinished { id, outcome, result, detail, decision, name, .. } =
            &envelope.event
        else {
            return Vec::new();
        };
        let input = self.inputs.remove(id).unwrap_or_default();
        // Claude Code ends the turn before such a call has a result.
        if *outcome == BUDGET_SPENT {
            self.turn.open_calls.retain(|(open, ..)| open != id);
            return Vec::new();
        }
        self.turn.messages += 1;
        let denied = self.stopped.remove(id).filter(|_| !outcome.is_denied());
        let said = denied.map(|why| self.denied_result(id, name, why));
        // The program knows what it has made of the input; only the model has to be told.
        let result = &without_line(said.as_ref().unwrap_or(result), &changed_input_line(&input));
        let call = (live.tool(name).kind, &input);
        let mut all = vec![self.tool_result(*outcome, result, detail.as_ref(), call, envelope)];
        all.extend(self.denied(id, name, *outcome, (decision.as_deref(), result)));
        let jobs = live.jobs();
        let job = jobs.iter().find(|job| job.record.call == *id && job.end.is_none());
        // The first word of an agent in the background may come later.
        let agent = detail.as_ref().and_then(|detail| detail["session"].as_str());
        if let Some((job, agent)) = job.zip(agent) {
            let agent = (agent, Some(job.record.id.to_string()));
            let begun = self.tasks.agent_started(id, &input, agent, envelope.at.0);
            all.extend(self.systems(begun));
        }
        let frames = self.tasks.call_finished(id, *outcome, job, envelope.at.0);
        self.turn.open_calls.retain(|(open, ..)| open != id);
        let changes = job.is_some();
        self.turn.searches += u64::from(
            live.tool(name).kind == ToolKind::Searches && *outcome == CallOutcome::Succeeded,
        );
        all.extend(self.systems(frames));
        all.extend(changes.then(|| self.background()));
        all
    }

    /// A piece of an answer. The end of a block waits for the frame of the block.
    fn partial(&mut self, raw: &RawValue, at: u64) -> Vec<Value> {
        let event = json!({ "type": "stream_event", "event": raw, "parent_tool_use_id": null });
        let mut frame = self.named(event);
        match frame["event"]["type"].as_str() {
            Some("ping") => return vec![frame],
            Some("message_start") => frame["ttft_ms"] = self.since(at).into(),
            _ => {}
        }
        self.turn.in_events.tell(&self.turn.user_uuids, &mut frame);
        if frame["event"]["type"] == "content_block_stop" {
            self.block_end = Some(frame);
            return Vec::new();
        }
        vec![frame]
    }

    /// Other things of the session change with the same event.
    fn mode_told(&mut self, mode: &str) -> Vec<Value> {
        if std::mem::replace(&mut self.options.mode, mode.to_owned()) == mode {
            return Vec::new();
        }
        vec![self.system("status", json!({ "status": null, "permissionMode": mode }))]
    }

    /// The result of a call that was denied when the turn ended.
    fn denied_result(&mut self, id: &CallId, name: &str, why: String) -> Block {
        let call = self.turn.open_calls.iter().find(|(open, ..)| open == id);
        let input = call.map(|(.., input)| input.clone()).unwrap_or_default();
        let denial = json!({ "tool_name": name, "tool_use_id": id.as_str(), "tool_input": input });
        self.turn.denials.push(denial);
        let content = vec![ResultPart::Text { text: why }];
        Block::ToolResult { id: id.clone(), content, is_error: true }
    }

    fn since(&self, at: u64) -> u64 {
        at.saturating_sub(self.turn.began.unwrap_or(at))
    }

    fn first_token(&mut self, at: u64) {
        let since = self.since(at);
        self.turn.first_token_ms.get_or_insert(since);
    }

    fn begin_turn(&mut self, at: u64) {
        let TurnCount { user_uuids, by_task, origin, .. } = std::mem::take(&mut self.turn);
        self.turn =
            TurnCount { began: Some(at), user_uuids, by_task, origin, ..TurnCount::default() };
    }

    fn retrying(&self, retry: &Retry) -> Value {
        let wait = u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX);
        let fields = json!({
            "attempt": retry.attempt, "max_retries": retry.of, "retry_delay_ms": wait,
            "error_status": retry.status, "error": retry_word(retry.kind),
        });
        self.system("api_retry", fields)
    }

    fn went(&mut self, why: Continue, live: &dyn LiveSession) -> Vec<Value> {
        match why {
            Continue::EmptyRetry { .. } => self.turn.messages += 1,
            Continue::ModelFallback => {
                let facts = live.facts();
                if let [(primary, _), (fallback, _), ..] = facts.models.as_slice() {
                    let (original, other) = (primary.as_str(), fallback.as_str());
                    let fields = json!({
                        "trigger": "overloaded", "original_model": original,
                        "fallback_model": other,
                        "content": format!("{original} is not available; going on with {other}"),
                    });
                    return vec![self.system("model_fallback", fields)];
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn queued(&mut self, item: &QueuedItem, live: &dyn LiveSession, at: u64) -> Vec<Value> {
        let InboundSource::Job { id, .. } = &item.source else { return Vec::new() };
        self.reports.insert(item.id.as_str().to_owned());
        let jobs = live.jobs();
        let job = jobs.iter().find(|job| job.record.id.as_str() == id);
        let Some((job, end)) = job.and_then(|job| Some((job, job.end.as_ref()?))) else {
            return Vec::new();
        };
        let frames = self.tasks.job_ended(job, end, at);
        let mut all = self.systems(frames);
        if !all.is_empty() {
            all.push(self.background());
        }
        all
    }

    /// What goes on in the background, all of it.
    pub fn background(&self) -> Value {
        let tasks = self.tasks.in_background();
        self.system("background_tasks_changed", json!({ "tasks": tasks }))
    }

    fn compacted(&mut self, receipt: &Receipt, at: u64) -> Vec<Value> {
        self.dropped_tokens += receipt.before.saturating_sub(receipt.after);
        let began = self.compacting.take().unwrap_or(at);
        let metadata = json!({
            "trigger": receipt.trigger.name(), "pre_tokens": receipt.before,
            "post_tokens": receipt.after, "duration_ms": at.saturating_sub(began),
            "cumulative_dropped_tokens": self.dropped_tokens, "kept_messages": receipt.kept,
        });
        vec![
            self.system("status", json!({ "status": null, "compact_result": "success" })),
            self.system("compact_boundary", json!({ "compact_metadata": metadata })),
        ]
    }

    fn notice(&self, level: Level, notice: &Notice) -> Vec<Value> {
        let text = words::notice(notice);
        match notice {
            Notice::NotCompacted(_) => {
                let fields =
                    json!({ "status": null, "compact_result": "failed", "compact_error": text });
                vec![self.system("status", fields)]
            }
            Notice::SlowCall { id, name, seconds } => vec![self.named(json!({
                "type": "tool_progress", "tool_use_id": id.as_str(), "tool_name": name,
                "parent_tool_use_id": null, "elapsed_time_seconds": seconds,
            }))],
            _ => {
                let fields = json!({
                    "content": text, "level": level.name(), "code": notice.code(),
                });
                vec![self.system("informational", fields)]
            }
        }
    }
}
