//! Which call may start when. Calls begin while the model still talks, if they change nothing.

use crate::agent::Agent;
use crate::call::{self, Job, PendingQuestion, Verdict};
use crate::changed_input::ChangedInput;
use crate::hook_calls::{HookAnswers, TaskEnd};
use crate::signals::{CallProgress, Signal, Signals};
use crate::start_rule::{Slot, Stage, runs_beside_others, startable};
use crate::texts;
use crate::toolbox::Toolbox;
use ostler_core::event::{CallOutcome, NotRun, Notice};
use ostler_core::hook::EventName;
use ostler_core::ids::CallId;
use ostler_core::late_tools::USE_TOOL;
use ostler_core::message::Block;
use ostler_core::permission::{Access, Decision, Verdict as Ruled};
use ostler_core::session::Verdict as Recorded;
use ostler_core::tool::{Seen, ToolOutput};
use ostler_core::tool_facts::KnownTools;
use serde_json::Value;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) struct Scheduler {
    pub(crate) agent: Arc<Agent>,
    /// The tools of the running iteration, whatever came or went since.
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) calls: Vec<Call>,
    pub(crate) running: JoinSet<(usize, TaskEnd)>,
    signals: Arc<Signals>,
    /// Done, and not yet reported.
    ready: VecDeque<usize>,
    /// Goes when the newest question is answered.
    last_question: Option<oneshot::Receiver<()>>,
    sealed: bool,
    /// What hooks want the person to know, not yet reported.
    pub(crate) notices: VecDeque<Notice>,
    /// Why a hook ended the turn: nothing more is started.
    pub(crate) ended_by: Option<String>,
    /// The user said something else: nothing more is started.
    pub(crate) redirected: bool,
    /// The answer spent the rest of the budget: nothing is started.
    pub(crate) budget_spent: bool,
    /// A hook deferred a call: nothing more is started, and what has not started stays open.
    pub(crate) deferred: bool,
}

pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    /// The tool that the model named instead.
    pub(crate) via: Option<String>,
    pub(crate) input: Value,
    pub(crate) access: Access,
    /// Why a person must say yes first, and what else the question says.
    pub(crate) asks: Option<Decision>,
    /// What was decided without a person, until it is on record.
    pub(crate) decided: Option<(Recorded, String)>,
    pub(crate) hooks: HookAnswers,
    /// What a person made of it.
    pub(crate) changed: Option<ChangedInput>,
    /// The input is not what the model wrote.
    pub(crate) is_changed: bool,
    pub(crate) state: CallState,
    /// The state of the gate that it was judged by.
    pub(crate) judged_at: u64,
    /// When the tool itself began; empty while the call still waits for an answer or for the disk.
    began: Arc<OnceLock<Instant>>,
    /// Who let it run.
    pub(crate) decision: Arc<OnceLock<Decision>>,
}

pub(crate) enum CallState {
    Waiting,
    /// Hooks that listen before the call are being asked.
    AskingHooks,
    Running {
        tail: Arc<Mutex<String>>,
        /// No other command that changes something may run at the same time.
        alone: bool,
    },
    /// It ran, and hooks are getting the event.
    TellingHooks(Box<Verdict>),
    Done(Box<Verdict>),
}

pub(crate) enum Happened {
    Signal(Signal),
    Finished(usize),
    Notice(Notice),
    /// Nothing is left that could happen by itself.
    Idle,
}

impl Scheduler {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        Scheduler {
            toolbox: agent.tools.current(),
            agent,
            calls: Vec::new(),
            running: JoinSet::new(),
            signals: Arc::default(),
            ready: VecDeque::new(),
            last_question: None,
            sealed: false,
            notices: VecDeque::new(),
            ended_by: None,
            redirected: false,
            budget_spent: false,
            deferred: false,
        }
    }

    /// What the tools of the iteration declare.
    pub(crate) fn known(&self) -> &KnownTools {
        self.toolbox.known()
    }

    /// Takes a complete call. What cannot run is answered at once.
    pub(crate) fn submit(&mut self, id: CallId, name: String, via: Option<String>, input: Value) {
        let name = self.toolbox.known().first_name(&name).to_owned();
        let judged = self.judge((&name, via.as_deref()), &input);
        match judged {
            Ok((access, decision)) => {
                let after_seal = self.agent.hooks.hears_of(&name);
                let pending =
                    after_seal && self.agent.hooks.listens(EventName::PreToolUse, Some(&name));
                let mut call = Call::new(id, name, input, access, CallState::Waiting);
                call.via = via;
                call.judged_at = self.agent.gate.changes();
                call.hooks = HookAnswers { pending, after_seal, ..HookAnswers::default() };
                call.set_decision(decision);
                self.calls.push(call);
                self.start_what_can();
            }
            Err(verdict) => self.answered(id, name, input, *verdict),
        }
    }

    /// A call that is answered without being run.
    pub(crate) fn submit_unusable(
        &mut self,
        id: CallId,
        name: String,
        input: Value,
        text: &str,
        why: NotRun,
    ) {
        self.answered(id, name, input, Verdict::not_run(ToolOutput::misuse(text), why));
    }

    pub(crate) fn answered(&mut self, id: CallId, name: String, input: Value, verdict: Verdict) {
        self.ready.push_back(self.calls.len());
        self.keep(id, name, input, verdict);
    }

    /// A call whose result is on record already.
    pub(crate) fn keep(&mut self, id: CallId, name: String, input: Value, verdict: Verdict) {
        let decided = verdict.refusal.as_ref().map(|refusal| (Recorded::Deny, refusal.why()));
        let state = CallState::Done(Box::new(verdict));
        self.calls.push(Call { decided, ..Call::new(id, name, input, Access::nothing(), state) });
    }

    pub(crate) fn judge(
        &self,
        (name, via): (&str, Option<&str>),
        input: &Value,
    ) -> Result<(Access, Decision), Box<Verdict>> {
        let Some(tool) = self.toolbox.get(name) else {
            return Err(Box::new(no_tool(&self.toolbox, name)));
        };
        // Every tool is foreign here, also before it runs.
        let access = catch_unwind(AssertUnwindSafe(|| tool.access(input).map_err(Box::new)));
        let access = match access {
            Ok(Ok(access)) => access,
            Ok(Err(misuse)) => {
                return Err(Box::new(Verdict::not_run(*misuse, NotRun::BadInput)));
            }
            Err(_) => return Err(Box::new(Verdict::panicked(name, None))),
        };
        let decision = self.agent.gate.judge_via((name, via), input, &access);
        match decision.verdict {
            Ruled::Allow | Ruled::Ask => Ok((access, decision)),
            Ruled::Deny => Err(Box::new(Verdict::denied(decision))),
        }
    }

    /// The answer is complete and on disk: calls that change something may start now.
    pub(crate) fn seal(&mut self) {
        self.sealed = true;
        self.start_what_can();
    }

    /// Some call of the answer may change something.
    pub(crate) fn has_changing(&self) -> bool {
        self.calls.iter().any(|call| !call.access.is_harmless())
    }

    /// The answer was thrown away, or is settled; its calls are gone with it.
    pub(crate) fn discard(&mut self) {
        if !self.calls.is_empty() {
            let toolbox = self.toolbox.clone();
            *self = Scheduler { toolbox, ..Scheduler::new(self.agent.clone()) };
        }
    }

    /// Something may still happen by itself.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.is_empty() || !self.notices.is_empty() || !self.running.is_empty()
    }

    pub(crate) fn call(&self, index: usize) -> Option<&Call> {
        self.calls.get(index)
    }

    /// A decision that is not on record yet.
    pub(crate) fn take_decided(&mut self, index: usize) -> Option<(CallId, Recorded, String)> {
        let call = self.calls.get_mut(index)?;
        let (verdict, why) = call.decided.take()?;
        Some((call.id.clone(), verdict, why))
    }

    /// Waits for the next thing a call says or does. Cancel-safe. Only when busy.
    pub(crate) async fn happened(&mut self) -> Happened {
        loop {
            if let Some(happened) = self.untold() {
                return happened;
            }
            tokio::select! {
                biased;
                signal = self.signals.next() => return Happened::Signal(signal),
                joined = self.running.join_next() => match joined {
                    Some(Ok((index, ended))) => {
                        self.task_ended(index, ended);
                        self.start_what_can();
                        if !self.is_busy() {
                            return Happened::Idle;
                        }
                    }
                    // Panics are caught inside; only an aborted task ends like this.
                    Some(Err(_)) => {}
                    None => std::future::pending::<()>().await,
                },
            }
        }
    }

    /// What has happened and was not reported yet. The output of a call comes before its end.
    pub(crate) fn untold(&mut self) -> Option<Happened> {
        let signal = self.signals.take().map(Happened::Signal);
        let notice = || self.notices.pop_front().map(Happened::Notice);
        signal.or_else(notice).or_else(|| self.ready.pop_front().map(Happened::Finished))
    }

    pub(crate) fn done(&mut self, index: usize, mut verdict: Verdict) {
        if let Some(call) = self.calls.get_mut(index) {
            call.tell_change(&mut verdict);
            call.state = CallState::Done(Box::new(verdict));
            self.ready.push_back(index);
        }
    }

    /// Stops what still runs. Afterwards every call has a verdict.
    pub(crate) async fn stop(&mut self) {
        self.running.abort_all();
        while let Some(joined) = self.running.join_next().await {
            // It was over before it could be stopped: what it gave back counts.
            match joined {
                Ok((index, TaskEnd::Ran(verdict))) => self.done(index, *verdict),
                Ok((index, ended @ TaskEnd::HooksTold(_))) => self.task_ended(index, ended),
                Ok((_, TaskEnd::HooksAsked(_) | TaskEnd::InputChanged(..))) | Err(_) => {}
            }
        }
        for index in 0..self.calls.len() {
            let Some(call) = self.calls.get_mut(index) else { continue };
            let verdict = match std::mem::replace(&mut call.state, CallState::Waiting) {
                done @ CallState::Done(_) => {
                    call.state = done;
                    continue;
                }
                CallState::TellingHooks(verdict) => Some(*verdict),
                CallState::Running { tail, .. } => {
                    call.began.get().map(|since| stopped_verdict(*since, &tail))
                }
                CallState::Waiting | CallState::AskingHooks if self.deferred => continue,
                CallState::Waiting | CallState::AskingHooks => None,
            };
            let verdict = verdict.unwrap_or_else(|| self.not_started());
            self.done(index, verdict);
        }
    }

    fn not_started(&self) -> Verdict {
        let (text, why) = match &self.ended_by {
            Some(why) => (texts::HOOK_ENDED.replace("{why}", why), NotRun::HookEndedTurn),
            None if self.redirected => return Verdict::redirected(),
            None if self.budget_spent => (texts::BUDGET_SPENT.to_owned(), NotRun::BudgetSpent),
            None => (texts::NOT_STARTED.to_owned(), NotRun::Interrupted),
        };
        Verdict::not_run(ToolOutput::error(text), why)
    }

    /// The results so far in call order.
    pub(crate) fn results(&self) -> Vec<Block> {
        self.calls.iter().filter_map(Call::result).collect()
    }

    /// What all calls showed.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.calls.iter().flat_map(Call::seen).collect()
    }

    /// What has not started is judged by the rules and the mode as they are now.
    fn judge_what_waits(&mut self) {
        let now = self.agent.gate.changes();
        // What a person changed may touch something else by now: it waits for other calls.
        let stale = |call: &Call| {
            let may_differ = call.judged_at != now || call.changed.is_some();
            matches!(call.state, CallState::Waiting) && may_differ
        };
        for index in 0..self.calls.len() {
            let Some(call) = self.calls.get_mut(index).filter(|call| stale(call)) else { continue };
            call.judged_at = now;
            let raised = call.asks.clone().filter(|_| call.hooks.raised);
            if self.judge_again(index)
                && let (Some(call), Some(raised)) = (self.calls.get_mut(index), raised)
            {
                // No rule and no mode answers for a hook.
                call.set_decision(raised);
            }
        }
    }

    fn start_what_can(&mut self) {
        self.judge_what_waits();
        let settings = &self.agent.settings;
        let is_over = self.ended_by.is_some() || self.redirected || self.deferred;
        // What the answer costs is known at its end.
        let after_the_answer = settings.after_the_answer
            || (settings.budget_may_be_exceeded && self.agent.budget.is_limited());
        if (after_the_answer && !self.sealed) || is_over {
            return;
        }
        let room = settings.max_parallel_calls.max(1).saturating_sub(self.running.len());
        let slots: Vec<_> = self.calls.iter().map(Call::slot).collect();
        for index in startable(&slots, self.sealed, room) {
            match self.calls.get(index) {
                Some(call) if call.hooks.pending => self.ask_hooks(index),
                _ => self.start(index),
            }
        }
    }

    fn start(&mut self, index: usize) {
        let slots: Vec<_> = self.calls.iter().map(Call::slot).collect();
        let beside_others = runs_beside_others(&slots, index);
        let Some(call) = self.calls.get_mut(index) else { return };
        let Some(tool) = self.toolbox.get(&call.name) else { return };
        let tail = Arc::new(Mutex::new(String::new()));
        let progress = CallProgress { index, signals: self.signals.clone(), last: tail.clone() };
        let asks = call.asks.clone().map(|decision| {
            let (answered, next) = oneshot::channel();
            PendingQuestion { decision, before: self.last_question.replace(next), answered }
        });
        // What changes something has its decision on record before it does.
        let decided = if call.access.is_harmless() { None } else { call.decided.take() };
        let job = Job {
            id: call.id.clone(),
            name: call.name.clone(),
            via: call.via.clone(),
            input: call.input.clone(),
            access: call.access.clone(),
            beside_others,
            asks,
            decided,
            raised: call.hooks.raised,
            record: call.hooks.record.clone(),
            tool: tool.clone(),
            progress: Arc::new(progress),
            began: call.began.clone(),
            decision: call.decision.clone(),
        };
        call.state = CallState::Running { tail, alone: !beside_others };
        let (agent, signals) = (self.agent.clone(), self.signals.clone());
        self.running.spawn(async move { (index, call::perform(agent, job, index, signals).await) });
    }
}

/// No tool has this name, or it is the one that calls others, and names none.
fn no_tool(toolbox: &Toolbox, name: &str) -> Verdict {
    let (text, why) = match toolbox.is_late() && name == USE_TOOL {
        true => (texts::USE_TOOL_MISUSE.to_owned(), NotRun::BadInput),
        false => (texts::UNKNOWN_TOOL.replace("{name}", name), NotRun::UnknownTool),
    };
    let known = toolbox.names().join(", ");
    Verdict::not_run(ToolOutput::misuse(text.replace("{known}", &known)), why)
}

fn stopped_verdict(since: Instant, tail: &Mutex<String>) -> Verdict {
    let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    let tail = if tail.is_empty() { String::new() } else { format!(" Last output:\n{tail}") };
    let took = since.elapsed();
    let seconds = format!("{:.1}", took.as_secs_f64());
    let text = texts::STOPPED.replace("{seconds}", &seconds).replace("{tail}", &tail);
    Verdict { outcome: CallOutcome::Stopped, ..Verdict::ran(ToolOutput::error(text), took) }
}

impl Call {
    fn new(id: CallId, name: String, input: Value, access: Access, state: CallState) -> Self {
        Call {
            id,
            name,
            via: None,
            input,
            access,
            asks: None,
            decided: None,
            hooks: HookAnswers::default(),
            changed: None,
            is_changed: false,
            state,
            judged_at: 0,
            began: Arc::default(),
            decision: Arc::default(),
        }
    }

    /// Allowed, or to be asked about.
    pub(crate) fn set_decision(&mut self, decision: Decision) {
        self.decision = Arc::default();
        (self.asks, self.decided) = match decision.verdict {
            Ruled::Allow => {
                let why = format!("{}{}", decision.why(), self.hooks.record);
                self.decision = Arc::new(OnceLock::from(decision));
                (None, Some((Recorded::Allow, why)))
            }
            _ => (Some(decision), None),
        };
    }

    pub(crate) fn void_decision(&mut self) {
        (self.decided, self.decision) = (None, Arc::default());
    }

    /// Who refused it, or let it run.
    pub(crate) fn decision(&self) -> Option<&Decision> {
        let refusal = self.verdict().and_then(|verdict| verdict.refusal.as_ref());
        refusal.or_else(|| self.decision.get())
    }

    fn slot(&self) -> Slot<'_> {
        let stage = match self.state {
            CallState::Waiting => Stage::Waiting,
            CallState::AskingHooks | CallState::Running { .. } | CallState::TellingHooks(_) => {
                Stage::Running
            }
            CallState::Done(_) => Stage::Done,
        };
        let asks = self.asks.is_some() || self.hooks.after_seal;
        let alone = matches!(self.state, CallState::Running { alone: true, .. });
        Slot { access: &self.access, asks, hooks_pending: self.hooks.pending, stage, alone }
    }

    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        match &self.state {
            CallState::Done(verdict) => Some(verdict),
            _ => None,
        }
    }

    pub(crate) fn result(&self) -> Option<Block> {
        let output = &self.verdict()?.output;
        let (content, is_error) = (output.content.clone(), output.is_error);
        Some(Block::ToolResult { id: self.id.clone(), content, is_error })
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.verdict().map(|verdict| verdict.output.seen.clone()).unwrap_or_default()
    }
}
