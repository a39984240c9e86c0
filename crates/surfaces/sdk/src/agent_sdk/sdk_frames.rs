//! Envelopes as the frames that the SDKs read. One for each block and each result, and no frame that they would not expect.

use super::api_errors::retry_word;
use super::live_session::LiveSession;
use super::task_frames::{SystemFrame, TaskFrames};
use super::turn_result::{Totals, TurnCount};
use crate::agent_answers::AgentAnswers;
use crate::frames;
use crate::stream_json::Answering;
use ostler::{
    AgentPath, Block, CallId, CallOutcome, Continue, Envelope, Event, IdSource, InboundSource,
    Level, NotRun, Notice, QueuedItem, Receipt, ResultPart, Retry, StructuredOutput, Timestamp,
    ToolKind, words,
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
    inputs: HashMap<CallId, Value>,
    /// Calls that the program denied while it ended the turn, and what it said.
    stopped: HashMap<CallId, String>,
    /// The end of a block, which its frame comes before.
    block_end: Option<Value>,
    /// What agents wrote and the program did not want to hear, for their transcripts.
    unsaid: Vec<Value>,
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
        }
    }

    /// The message that the running turn, or the next one, answers.
    pub fn answering(&mut self, uuid: &str) {
        self.turn.user_uuids.push(uuid.to_owned());
    }

    /// A request of the running turn was sent.
    pub fn has_requested(&self) -> bool {
        self.turn.requests > 0
    }

    /// A message of the program, told back to it.
    pub fn replay(&self, content: &Value, uuid: &str, at: Timestamp) -> Value {
        let mut frame = self.user(content, None, at);
        if let Some(fields) = frame.as_object_mut() {
            fields.insert("uuid".into(), uuid.into());
            fields.insert("isReplay".into(), true.into());
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

    fn systems(&self, frames: impl IntoIterator<Item = SystemFrame>) -> Vec<Value> {
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
                self.turn.first_token_ms.get_or_insert(since);
                self.answer = Answering::of(event).unwrap_or_default();
                self.unfinished.clear();
                Vec::new()
            }
            Event::TextDelta { text } => {
                self.unfinished.push_str(text);
                Vec::new()
            }
            Event::BlockFinished { block } => vec![self.block(block)],
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
            Event::CallStarted { id, name, input }
                if live.tool(name).kind == ToolKind::Delegates =>
            {
                let frame = self.tasks.agent_started(id, input, at);
                self.systems([frame])
            }
            Event::CallFinished { .. } => self.call_finished(envelope, live),
            Event::Queued(item) => self.queued(item, live, at),
            Event::Delivered { ids } => {
                let is_report = ids.iter().any(|id| self.reports.remove(id.as_str()));
                self.turn.by_task |= is_report && self.turn.requests == 0;
                Vec::new()
            }
            Event::Compacting { .. } => {
                vec![self.system("status", json!({ "status": "compacting" }))]
            }
            Event::Compacted { receipt } => self.compacted(receipt),
            Event::MessageAdded { text } => {
                self.turn.messages += 1;
                vec![self.synthetic(text, envelope.at)]
            }
            Event::ControlChanged(control) => self.mode_told(control.mode.name()),
            Event::Raw(raw) if self.options.partial => self.partial(raw),
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
        let result = said.as_ref().unwrap_or(result);
        let call = (live.tool(name).kind, &input);
        let mut all = vec![self.tool_result(*outcome, result, detail.as_ref(), call, envelope)];
        all.extend(self.denied(id, name, *outcome, (decision.as_deref(), result)));
        let jobs = live.jobs();
        let job = jobs.iter().find(|job| job.record.call == *id && job.end.is_none());
        let frames = self.tasks.call_finished(id, *outcome, job, envelope.at.0);
        self.turn.open_calls.retain(|(open, ..)| open != id);
        let changes = job.is_some();
        all.extend(self.systems(frames));
        all.extend(changes.then(|| self.background()));
        all
    }

    /// A piece of an answer. The end of a block waits for the frame of the block.
    fn partial(&mut self, raw: &RawValue) -> Vec<Value> {
        let event = json!({ "type": "stream_event", "event": raw, "parent_tool_use_id": null });
        let frame = self.named(event);
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

    /// Of an agent what it does, and what it writes where that is wanted.
    fn below(&mut self, envelope: &Envelope, live: &dyn LiveSession) -> Vec<Value> {
        let Some(parent) = &envelope.parent else { return Vec::new() };
        self.paths.entry(parent.clone()).or_insert_with(|| envelope.agent.clone());
        match &envelope.event {
            Event::TurnStarted { .. } => {
                let task = self.agents.task(envelope).map(str::to_owned);
                task.map(|task| self.task_prompt(&task, envelope)).into_iter().collect()
            }
            Event::BlockFinished { block } => {
                let is_call = matches!(block, Block::ToolUse { .. });
                let answer = self.agents.answer(envelope);
                let frame = self.assistant(&frames::block(block), answer, Some(parent));
                match is_call || self.options.forward_subagent_text {
                    true => vec![frame],
                    false => {
                        self.unsaid.push(frame);
                        Vec::new()
                    }
                }
            }
            Event::AnswerSealed { usage, .. } => {
                self.tasks.agent_spent(parent, usage);
                self.turn.had_agents = true;
                Vec::new()
            }
            Event::CallFinished { id, name, outcome, result, detail, .. } => {
                let call = (live.tool(name).kind, &self.inputs.remove(id).unwrap_or_default());
                let detail = detail.as_ref();
                let mut all = vec![self.tool_result(*outcome, result, detail, call, envelope)];
                let progress = self.tasks.agent_called(parent, name, envelope.at.0);
                all.extend(self.systems(progress));
                all
            }
            _ => Vec::new(),
        }
    }

    fn since(&self, at: u64) -> u64 {
        at.saturating_sub(self.turn.began.unwrap_or(at))
    }

    fn begin_turn(&mut self, at: u64) {
        let (user_uuids, by_task) = (std::mem::take(&mut self.turn.user_uuids), self.turn.by_task);
        self.turn = TurnCount { began: Some(at), user_uuids, by_task, ..TurnCount::default() };
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

    fn compacted(&self, receipt: &Receipt) -> Vec<Value> {
        let metadata = json!({
            "trigger": receipt.trigger.name(), "pre_tokens": receipt.before,
            "post_tokens": receipt.after,
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
