//! What the server knows, and the decision what a request gets.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::billing::{Bill, BillLine};
use crate::cache::{Cache, CacheRow};
use crate::gates::{GateSignal, Gates};
use crate::http::Incoming;
use crate::log::Log;
use crate::record::{Recorded, RequestVerdict, Route, ServedOutcome, route};
use crate::reply::{self, Ids, Resolved, Response};
use crate::script::{
    Compute, OnEnd, Point, Reply, ReplyBody, Script, ScriptSource, ScriptStep, ScriptedAnswer,
    Times, check,
};
use crate::sent_thinking::SentThinking;
use crate::validate::{self, Learned, ValidationError, invalid};

const MOST_RECORDS: usize = 65_536;
const MOST_REJECTIONS: usize = 1_000;

pub(crate) struct ServerShared {
    pub script: Script,
    pub gates: Arc<Gates>,
    pub changed: GateSignal,
    state: Mutex<ServerState>,
}

/// What changes while serving. Locked for short, never across an await.
#[derive(Default)]
pub(crate) struct ServerState {
    used: Vec<u32>,
    ids: Ids,
    cache: Cache,
    /// How far the cache's clock is ahead of the real one.
    pub ahead: Duration,
    pub bill: Bill,
    sent: SentThinking,
    pub records: VecDeque<KeptRecords>,
    kept_bytes: usize,
    pub arrived: usize,
    pub messages: usize,
    pub rejected: Vec<String>,
    pub merged_roles: u64,
    pub idle_thinking: u64,
    /// None: nobody follows.
    pub log: Option<Log>,
}

pub(crate) struct KeptRecords {
    pub recorded: Arc<Recorded>,
    pub outcome: Option<ServedOutcome>,
}

/// A request that passed the checks.
pub(crate) struct Asked {
    model: String,
    stream: bool,
    tool_ids: HashSet<String>,
    row: CacheRow,
}

pub(crate) enum ReplyDecision {
    Ready(Response),
    /// The reply is Rust code; the caller runs it where it may block.
    Ask {
        compute: Compute,
        recorded: Arc<Recorded>,
        asked: Box<Asked>,
    },
}

enum Granted {
    Reply { step: Option<usize>, source: ScriptSource, asked: Box<Asked> },
    Tokens(u64),
    Alive,
}

pub(crate) fn request_id(number: usize) -> String {
    format!("req_{:012}", number + 1)
}

impl ServerShared {
    pub fn new(script: Script) -> Self {
        let state = ServerState { used: vec![0; script.steps.len()], ..ServerState::default() };
        let (gates, changed) = (Arc::default(), GateSignal::default());
        Self { script, gates, changed, state: Mutex::new(state) }
    }

    pub fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a request, records it, and says what it gets.
    pub fn decide(
        &self,
        incoming: Incoming,
        connection: u64,
        arrived: Instant,
    ) -> (usize, ReplyDecision) {
        let granted = self.judge(&incoming);
        let (verdict, step) = match &granted {
            Ok(Granted::Reply { step, .. }) => (RequestVerdict::Accepted, *step),
            Ok(_) => (RequestVerdict::Accepted, None),
            Err(ValidationError { status, message, .. }) => {
                (RequestVerdict::Refused { status: *status, message: message.clone() }, None)
            }
        };
        let recorded = self.lock().record(
            Recorded {
                number: 0,
                connection,
                method: incoming.method,
                path: incoming.target,
                headers: incoming.headers,
                body: incoming.body,
                body_dropped: false,
                arrived,
                verdict,
                step,
                parsed: OnceLock::new(),
            },
            self.script.limits.record_bytes,
        );
        self.changed.bump();
        let number = recorded.number;
        let id = request_id(number);
        let decision = match granted {
            Err(ValidationError { status, kind, message }) => {
                ReplyDecision::Ready(Response::error(status, kind, &message, &id))
            }
            Ok(Granted::Alive) => {
                ReplyDecision::Ready(Response::plain(200, "", Default::default(), &id).bodiless())
            }
            Ok(Granted::Tokens(tokens)) => {
                let body = json!({"input_tokens": tokens}).to_string().into();
                ReplyDecision::Ready(Response::plain(200, "application/json", body, &id))
            }
            Ok(Granted::Reply { source: ScriptSource::Fixed(reply), asked, .. }) => {
                ReplyDecision::Ready(self.render(&reply, &asked, number))
            }
            Ok(Granted::Reply { source: ScriptSource::Computed(compute), asked, .. }) => {
                ReplyDecision::Ask { compute, recorded, asked }
            }
        };
        (number, decision)
    }

    fn judge(&self, incoming: &Incoming) -> Result<Granted, ValidationError> {
        let route = route(&incoming.target);
        match (incoming.method.as_str(), route) {
            ("HEAD", Route::Root) => return Ok(Granted::Alive),
            ("POST", Route::Messages | Route::CountTokens) => {}
            (method, _) => {
                let path = incoming.target.split('?').next().unwrap_or_default();
                let message = format!("Not Found: {method} {path}");
                return Err(ValidationError { status: 404, kind: "not_found_error", message });
            }
        }
        self.judge_body(incoming, route)
            .inspect_err(|refusal| self.lock().reject(refusal.message.clone()))
    }

    fn judge_body(&self, incoming: &Incoming, route: Route) -> Result<Granted, ValidationError> {
        let Script { rules, usage, .. } = &self.script;
        validate::check_headers(&incoming.headers, rules)?;
        let json = validate::parse(&incoming.body)?;
        let row = CacheRow::of(&json);
        let tokens = row.tokens(usage);
        let mut state = self.lock();
        let learned = validate::check_body(&json, &incoming.headers, route, rules, &state.sent)?;
        let Learned { tool_ids, merged_roles, idle_thinking } = learned;
        if route == Route::CountTokens {
            return Ok(Granted::Tokens(tokens));
        }
        state.merged_roles += merged_roles;
        state.idle_thinking += idle_thinking;
        if let Some(window) = rules.window {
            fits(tokens, &json, window)?;
        }
        let (step, source) = state.choose(&self.script, &json, incoming)?;
        let asked = Asked {
            model: json.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            stream: json.get("stream").and_then(Value::as_bool).unwrap_or(false),
            tool_ids,
            row,
        };
        Ok(Granted::Reply { step, source, asked: Box::new(asked) })
    }

    /// A reply for that request. One that cannot be sent becomes a recorded refusal.
    pub fn render(&self, reply: &Reply, asked: &Asked, number: usize) -> Response {
        let id = request_id(number);
        let sendable = check::reply_of(reply).and_then(|()| {
            let ReplyBody::Answer(answer) = &reply.body else {
                return reply::respond(reply, None, asked.stream, &id);
            };
            let unheard = reply.cut.as_ref().is_some_and(|cut| cut.after == Point::Request);
            let (resolved, ideal) = self.resolve(answer, asked, unheard);
            let response = reply::respond(reply, Some(&resolved), asked.stream, &id)?;
            if !unheard && let Some(told) = BillLine::by(&response, &resolved, asked.stream) {
                let mut state = self.lock();
                let at = state.clock();
                state.bill.add(number, &asked.model, at, told, ideal, &self.script.prices);
            }
            Ok(response)
        });
        sendable.unwrap_or_else(|what| {
            let message = format!("the computed reply cannot be sent: {what}");
            self.lock().reject(message.clone());
            Response::error(400, "invalid_request_error", &message, &id)
        })
    }

    /// The answer with its usage, and what an ideal client would have read from the cache.
    fn resolve(&self, answer: &ScriptedAnswer, asked: &Asked, unheard: bool) -> (Resolved, u64) {
        let Script { usage: rule, model, .. } = &self.script;
        let mut state = self.lock();
        let now = state.clock();
        let (usage, ideal) = match unheard {
            true => Default::default(),
            false => {
                let ideal = state.cache.ideal(&asked.row, rule, now);
                (state.cache.charge(&asked.row, rule, now), ideal)
            }
        };
        let model = model.as_deref().unwrap_or(&asked.model);
        let (rate, taken) = (rule.output_per_byte, &asked.tool_ids);
        let resolved = reply::resolve(answer, &mut state.ids, taken, model, usage, rate);
        state.sent.remember(&resolved, &asked.model);
        (resolved, ideal)
    }

    /// What came was no request.
    pub fn unreadable(&self, status: u16, message: String) {
        let mut state = self.lock();
        if let Some(log) = &mut state.log {
            log.unreadable(status, &message);
        }
        state.reject(message);
        drop(state);
        self.changed.bump();
    }

    /// `status`: of the response.
    pub fn finish(&self, number: usize, outcome: ServedOutcome, status: Option<u16>) {
        let mut state = self.lock();
        if let Some(kept) = state.kept_mut(number) {
            kept.outcome = Some(outcome);
            let recorded = Arc::clone(&kept.recorded);
            let ServerState { log, bill, .. } = &mut *state;
            if let Some(log) = log {
                let row = bill.row(number).cloned();
                log.ended(&recorded, status, outcome, row);
            }
        }
        drop(state);
        self.changed.bump();
    }
}

impl ServerState {
    /// The time as the cache sees it.
    fn clock(&self) -> Instant {
        Instant::now() + self.ahead
    }

    pub fn reject(&mut self, message: String) {
        // The first refusals tell the cause; the later ones only repeat it.
        if self.rejected.len() < MOST_REJECTIONS {
            self.rejected.push(message);
        }
    }

    /// The first step that is left and fits.
    fn choose(
        &mut self,
        script: &Script,
        json: &Value,
        incoming: &Incoming,
    ) -> Result<(Option<usize>, ScriptSource), ValidationError> {
        let Incoming { headers, body, .. } = incoming;
        let fits = |step: &ScriptStep| step.when.mismatch(json, headers, body).is_none();
        let left = |at: usize, step: &ScriptStep| match step.times {
            Times::Forever => true,
            Times::Count(times) => self.used.get(at).is_some_and(|used| *used < times),
        };
        let mut steps = script.steps.iter().enumerate();
        let found = steps.find(|(at, step)| left(*at, step) && fits(step));
        let repeated = || script.steps.iter().enumerate().rev().find(|(_, step)| fits(step));
        let (at, step) = match (found, &script.on_end) {
            (Some(found), _) => found,
            (None, OnEnd::Text(text)) => {
                return Ok((None, ScriptSource::Fixed(Box::new(crate::builders::text(text)))));
            }
            (None, OnEnd::RepeatLast) => repeated().ok_or_else(no_step)?,
            (None, OnEnd::Error) => return Err(no_step()),
        };
        if let Some(mismatch) = step.expect.mismatch(json, headers, body) {
            return Err(invalid(format!("step {} does not match: {mismatch}", at + 1)));
        }
        if let Some(used) = self.used.get_mut(at) {
            *used = used.saturating_add(1);
        }
        Ok((Some(at), step.source.clone()))
    }

    fn record(&mut self, mut recorded: Recorded, most_bytes: usize) -> Arc<Recorded> {
        recorded.number = self.arrived;
        self.arrived += 1;
        self.messages += usize::from(recorded.is_message());
        self.kept_bytes += recorded.body.len();
        let recorded = Arc::new(recorded);
        self.records.push_back(KeptRecords { recorded: recorded.clone(), outcome: None });
        if self.records.len() > MOST_RECORDS
            && let Some(oldest) = self.records.pop_front()
        {
            self.kept_bytes -= oldest.recorded.body.len();
        }
        let mut heavy = self.records.iter_mut().filter(|kept| !kept.recorded.body.is_empty());
        while self.kept_bytes > most_bytes {
            let Some(oldest) = heavy.next() else { break };
            self.kept_bytes -= oldest.recorded.body.len();
            oldest.recorded = Arc::new(oldest.recorded.without_body());
        }
        recorded
    }

    pub fn kept(&self, number: usize) -> Option<&KeptRecords> {
        let first = self.arrived - self.records.len();
        self.records.get(number.checked_sub(first)?)
    }

    fn kept_mut(&mut self, number: usize) -> Option<&mut KeptRecords> {
        let first = self.arrived - self.records.len();
        self.records.get_mut(number.checked_sub(first)?)
    }
}

fn no_step() -> ValidationError {
    invalid("the script has no step left for this request")
}

fn fits(tokens: u64, json: &Value, window: u64) -> Result<(), ValidationError> {
    if tokens > window {
        return Err(invalid(format!("prompt is too long: {tokens} tokens > {window} maximum")));
    }
    let answer = json.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    if tokens.saturating_add(answer) > window {
        return Err(invalid(format!(
            "input length and `max_tokens` exceed context limit: {tokens} + {answer} > {window}, decrease input length or `max_tokens` and try again"
        )));
    }
    Ok(())
}
