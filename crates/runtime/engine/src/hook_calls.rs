//! Calls and their hooks: what a hook answered before a call, and what hooks get after it.

use crate::agent::Agent;
use crate::call::Verdict;
use crate::hooks::{context, messages};
use crate::replaced_result::replaced;
use crate::scheduler::{Call, CallState, Scheduler};
use crate::texts;
use ostler_core::event::Notice;
use ostler_core::hook::{EventName, HookEvent, HookOutcome, Stand};
use ostler_core::ids::{CallId, QuestionId};
use ostler_core::message::{Block, Message};
use ostler_core::permission::{By, Decision, Mode, Reason, Verdict as Ruled};
use ostler_core::session::Verdict as Recorded;
use ostler_core::tool::ToolOutput;
use serde_json::{Value, json};
use std::time::Duration;

/// Characters of an input that is quoted in a sentence.
const MOST: usize = 2000;

/// What the hooks of a call have answered so far.
#[derive(Default)]
pub(crate) struct HookAnswers {
    /// Hooks listen before this call and have not answered.
    pub(crate) pending: bool,
    /// Hooks listen before or after it, so it does not run while its answer may still be discarded.
    pub(crate) after_seal: bool,
    /// A hook wants a person to look, whatever the rules say.
    pub(crate) raised: bool,
    /// For the record of the decision.
    pub(crate) record: String,
    /// For the model, after the results.
    pub(crate) notes: Vec<String>,
}

/// A task of the scheduler that has ended.
pub(crate) enum TaskEnd {
    /// Hooks were asked before the call.
    HooksAsked(Box<HookOutcome>),
    Ran(Box<Verdict>),
    /// A person answered the question about the call with another input.
    InputChanged(Value, QuestionId),
    /// Hooks got the event after the call.
    HooksTold(Box<HookOutcome>),
}

impl TaskEnd {
    pub(crate) fn ran(verdict: Verdict) -> Self {
        TaskEnd::Ran(Box::new(verdict))
    }
}

impl Scheduler {
    /// Asks the hooks that listen before the call.
    pub(crate) fn ask_hooks(&mut self, index: usize) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.state = CallState::AskingHooks;
        let event = HookEvent::PreToolUse {
            tool_name: call.name.clone(),
            tool_input: call.input.clone(),
            tool_use_id: call.id.to_string(),
        };
        let agent = self.agent.clone();
        self.running.spawn(async move {
            (index, TaskEnd::HooksAsked(Box::new(agent.hooks.fire(event).await)))
        });
    }

    pub(crate) fn task_ended(&mut self, index: usize, ended: TaskEnd) {
        match ended {
            TaskEnd::HooksAsked(outcome) => self.hooks_asked(index, *outcome),
            TaskEnd::Ran(verdict) => self.call_ran(index, *verdict),
            TaskEnd::HooksTold(outcome) => self.hooks_told(index, *outcome),
            TaskEnd::InputChanged(input, question) => self.input_changed(index, input, question),
        }
    }

    fn hooks_asked(&mut self, index: usize, outcome: HookOutcome) {
        self.notices.extend(messages(&outcome));
        let Some(call) = self.calls.get_mut(index) else { return };
        call.hooks.pending = false;
        call.state = CallState::Waiting;
        let (why, said) = (outcome.why(), outcome.feedback());
        let added = outcome.context.iter().map(|text| context("PreToolUse", text));
        call.hooks.notes.extend(added);
        call.hooks.record = record(&outcome);
        match outcome.stand {
            Stand::Prevent => {
                let text = texts::HOOK_ENDED.replace("{why}", &why);
                self.refuse(index, Verdict::denied_saying(text, by_hook(why.clone(), said)));
                self.ended_by.get_or_insert(why);
            }
            Stand::Defer => self.deferred = true,
            Stand::Block => self.refuse(index, Verdict::denied(by_hook(why, said))),
            Stand::Ask | Stand::Pass => {
                let rewritten = outcome.rewritten(&call.input);
                if let Some(input) = rewritten {
                    call.rewrite(input);
                }
                if !self.judge_again(index) {
                    return;
                }
                if outcome.stand == Stand::Ask {
                    self.raise(index, why, said);
                }
            }
        }
    }

    fn refuse(&mut self, index: usize, verdict: Verdict) {
        if let (Some(call), Some(refusal)) = (self.calls.get_mut(index), &verdict.refusal) {
            let why = format!("{}{}", refusal.why(), call.hooks.record);
            call.decided = Some((Recorded::Deny, why));
        }
        self.done(index, verdict);
    }

    /// What will run is judged like what the model wrote: a hook may have changed the call, or what its names lead to.
    /// False: it will not run.
    pub(crate) fn judge_again(&mut self, index: usize) -> bool {
        let Some(call) = self.calls.get(index) else { return false };
        match self.judge((&call.name, call.via.as_deref()), &call.input) {
            Ok((access, decision)) => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.access = access;
                    match call.is_as_changed() {
                        true => call.allow_as_changed(),
                        false => call.set_decision(call.no_longer_as_changed(decision)),
                    }
                }
                true
            }
            Err(verdict) => {
                // What was decided before is void.
                if let Some(call) = self.calls.get_mut(index) {
                    call.void_decision();
                }
                self.refuse(index, *verdict);
                false
            }
        }
    }

    fn raise(&mut self, index: usize, why: String, said: String) {
        if self.agent.gate.mode() == Mode::DontAsk {
            let why = format!("{why}, and this mode does not ask");
            return self.refuse(index, Verdict::denied(by_hook(why, said)));
        }
        let Some(call) = self.calls.get_mut(index) else { return };
        call.hooks.raised = true;
        // Somebody looked: they wrote it.
        if call.is_as_changed() {
            return;
        }
        let reasons = call.asks.take().map(|decision| decision.reasons).unwrap_or_default();
        let before = Decision { verdict: Ruled::Ask, reasons, offer: Vec::new() };
        call.set_decision(raised(before, of_hook(why, Some(said))));
    }

    /// Reports a finished call to hooks that listen; until then the call is not over.
    fn call_ran(&mut self, index: usize, verdict: Verdict) {
        let event = self.calls.get(index).and_then(|call| {
            let told = verdict.has_run() && call.hooks.after_seal;
            let took = verdict.took.unwrap_or_default();
            let of = (&call.id, call.name.as_str(), &call.input);
            told.then(|| event_after(&self.agent, of, took, &verdict.output)).flatten()
        });
        let (Some(event), Some(call)) = (event, self.calls.get_mut(index)) else {
            return self.done(index, verdict);
        };
        call.state = CallState::TellingHooks(Box::new(verdict));
        let agent = self.agent.clone();
        self.running.spawn(async move {
            (index, TaskEnd::HooksTold(Box::new(agent.hooks.fire(event).await)))
        });
    }

    /// It has run: the model gets the objection, and the turn may end.
    fn hooks_told(&mut self, index: usize, outcome: HookOutcome) {
        self.notices.extend(messages(&outcome));
        let Some(call) = self.calls.get_mut(index) else { return };
        let mut verdict = match std::mem::replace(&mut call.state, CallState::Waiting) {
            CallState::TellingHooks(verdict) => *verdict,
            other => return call.state = other,
        };
        if outcome.stand >= Stand::Ask {
            call.hooks.notes.push(objection(&call.name, &outcome));
        }
        if let Some((hook, value)) = &outcome.result {
            match replaced(&verdict.output, value.clone()) {
                Some(output) => verdict.output = output,
                None => self.notices.push_back(Notice::Hook {
                    text: format!(
                        "the hook {hook} replaces the result of {} with something that is no result; the result stays as it is",
                        call.name
                    ),
                }),
            }
        }
        let failed = verdict.output.is_error;
        let name = if failed { EventName::PostToolUseFailure } else { EventName::PostToolUse };
        let added = outcome.context.iter().map(|text| context(name.name(), text));
        call.hooks.notes.extend(added);
        if outcome.stand == Stand::Prevent {
            self.ended_by.get_or_insert(outcome.why());
        }
        self.done(index, verdict);
    }

    /// What hooks add for the model, in the order of the calls.
    pub(crate) fn hook_notes(&self) -> impl Iterator<Item = &String> {
        self.calls.iter().flat_map(|call| &call.hooks.notes)
    }

    /// The same as a message.
    pub(crate) fn notes(&self) -> Vec<Message> {
        let notes = self.hook_notes();
        let blocks = notes.map(|text| Block::Text { text: text.clone(), meta: true });
        let content: Vec<Block> = blocks.collect();
        if content.is_empty() { Vec::new() } else { vec![Message::User { content }] }
    }
}

impl Call {
    fn rewrite(&mut self, input: Value) {
        let shown: String = input.to_string().chars().take(MOST).collect();
        let note = texts::HOOK_REWRITTEN.replace("{tool}", &self.name).replace("{input}", &shown);
        self.hooks.notes.push(note);
        self.hooks.record.push_str(&format!("; it runs as {shown}"));
        (self.input, self.is_changed) = (input, true);
    }
}

/// The event that hooks get after a call, if any listens.
fn event_after(
    agent: &Agent,
    (id, name, input): (&CallId, &str, &Value),
    took: Duration,
    output: &ToolOutput,
) -> Option<HookEvent> {
    let failed = output.is_error;
    let event = if failed { EventName::PostToolUseFailure } else { EventName::PostToolUse };
    if !agent.hooks.listens(event, Some(name)) {
        return None;
    }
    let (tool_name, tool_input) = (name.to_owned(), input.clone());
    let (tool_use_id, duration_ms) = (id.to_string(), millis(took));
    Some(match failed {
        true => HookEvent::PostToolUseFailure {
            tool_name,
            tool_input,
            tool_use_id,
            error: text_of(output),
            is_interrupt: false,
            duration_ms,
        },
        false => HookEvent::PostToolUse {
            tool_name,
            tool_input,
            tool_response: json!({ "content": text_of(output), "detail": output.detail }),
            tool_use_id,
            duration_ms,
        },
    })
}

/// `said`: the words of the hooks themselves.
pub(crate) fn by_hook(why: String, said: String) -> Decision {
    let reasons = vec![of_hook(why, Some(said))];
    Decision { verdict: Ruled::Deny, reasons, offer: Vec::new() }
}

fn of_hook(why: String, said: Option<String>) -> Reason {
    Reason { said, ..Reason::new(By::Hook, why) }
}

/// A question of a hook, whatever the rules say. No rule answers for a hook, so none is offered.
fn raised(decision: Decision, by: Reason) -> Decision {
    let mut reasons = match decision.verdict {
        Ruled::Ask => decision.reasons,
        _ => Vec::new(),
    };
    reasons.insert(0, by);
    Decision { verdict: Ruled::Ask, reasons, offer: Vec::new() }
}

/// The hook that wanted a person to look wants it still.
pub(crate) fn by_hook_again(decision: Decision) -> Decision {
    raised(decision, of_hook("a hook wants you to look at this call".into(), None))
}

fn objection(tool: &str, outcome: &HookOutcome) -> String {
    texts::HOOK_OBJECTION.replace("{tool}", tool).replace("{why}", &outcome.why())
}

/// `; heard by X and Y; changed by X`
fn record(outcome: &HookOutcome) -> String {
    let mut text = format!("; heard by {}", outcome.heard.join(" and "));
    if !outcome.changed_by.is_empty() {
        text.push_str(&format!("; changed by {}", outcome.changed_by.join(" and ")));
    }
    text
}

pub(crate) fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|part| match part {
        ostler_core::message::ResultPart::Text { text } => Some(text.as_str()),
        ostler_core::message::ResultPart::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
