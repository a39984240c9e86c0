//! A person answers a question with another input. It is judged like what the model wrote and finds its place among the
//! other calls again: calls that had nothing to do with the old input may be running.

use crate::call::Verdict;
use crate::hook_calls::{by_hook_again, text_of};
use crate::scheduler::{Call, CallState, Scheduler};
use ostler_core::event::{CallOutcome, NotRun};
use ostler_core::hook::EventName;
use ostler_core::ids::QuestionId;
use ostler_core::permission::{Access, By, Decision, Verdict as Ruled};
use ostler_core::session::{Entry, Verdict as Recorded, tell_changed_input};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// What a person made of a call.
pub(crate) struct ChangedInput {
    input: Value,
    /// What it touched when they said so; none if they said so to an earlier process: then the yes is gone with it.
    access: Option<Access>,
}

impl Scheduler {
    pub(crate) fn input_changed(&mut self, index: usize, input: Value, question: QuestionId) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.state = CallState::Waiting;
        call.change(&input);
        (call.asks, call.decided) = (None, None);
        let (name, via) = (call.name.clone(), call.via.clone());
        let judged = self.judge((&name, via.as_deref()), &input);
        let judged_at = self.agent.gate.changes();
        let (verdict, why) = match &judged {
            Ok(_) => (Recorded::Allow, said_yes().why()),
            Err(refused) => (Recorded::Deny, why_refused(&name, refused).why()),
        };
        if let Err(error) = self.record_change(index, (verdict, why), input, question) {
            return self.done(index, Verdict::store_failed(error));
        }
        let hears = self.agent.hooks.listens(EventName::PreToolUse, Some(&name));
        match (judged, self.calls.get_mut(index)) {
            (Ok((access, _)), Some(call)) => {
                call.access = access.clone();
                call.changed_access(access);
                call.judged_at = judged_at;
                call.hooks.pending = hears;
                call.allow_as_changed();
            }
            (Err(refused), _) => self.done(index, refusal(&name, *refused)),
            (Ok(_), None) => {}
        }
    }

    /// On record before it is scheduled: a process that resumes after a crash continues with the changed input.
    fn record_change(
        &self,
        index: usize,
        (verdict, why): (Recorded, String),
        input: Value,
        question: QuestionId,
    ) -> Result<(), ostler_core::ports::StoreError> {
        let Some(call) = self.calls.get(index) else { return Ok(()) };
        let (id, why) = (call.id.clone(), why + &call.hooks.record);
        let input = (verdict == Recorded::Allow).then_some(input);
        let question = Some(question);
        self.agent.journal.write(Entry::Decided { call: id, verdict, why, input, question })
    }

    /// A call whose input was changed before this process began: it is judged and asked about like new.
    pub(crate) fn resubmit_changed(&mut self, index: usize, input: &Value) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.change(input);
        if let CallState::Done(verdict) = &mut call.state {
            tell_changed_input(&mut verdict.output.content, input);
        }
    }
}

impl Call {
    fn change(&mut self, input: &Value) {
        self.changed = Some(ChangedInput { input: input.clone(), access: None });
        (self.input, self.is_changed) = (input.clone(), true);
    }

    fn changed_access(&mut self, access: Access) {
        if let Some(changed) = &mut self.changed {
            changed.access = Some(access);
        }
    }

    /// The person's yes holds: nothing of what they said yes to is different now.
    pub(crate) fn is_as_changed(&self) -> bool {
        self.changed.as_ref().is_some_and(|changed| {
            changed.input == self.input && changed.access.as_ref() == Some(&self.access)
        })
    }

    /// Every question about it is answered. The decision is on record.
    pub(crate) fn allow_as_changed(&mut self) {
        (self.asks, self.decided) = (None, None);
        self.decision = Arc::new(OnceLock::from(said_yes()));
    }

    /// What rules and hooks say of a call that is no longer what the person said yes to.
    pub(crate) fn no_longer_as_changed(&self, decision: Decision) -> Decision {
        match self.changed.is_some() && self.hooks.raised {
            true => by_hook_again(decision),
            false => decision,
        }
    }

    /// The result begins with what really ran. That of a call that asks the person says it by itself.
    pub(crate) fn tell_change(&self, verdict: &mut Verdict) {
        if let Some(changed) = &self.changed
            && self.access.person.is_none()
        {
            tell_changed_input(&mut verdict.output.content, &changed.input);
        }
    }
}

fn said_yes() -> Decision {
    Decision::of(Ruled::Allow, By::Person, "the user changed the input and said yes")
}

fn why_refused(tool: &str, refused: &Verdict) -> Decision {
    if let Some(refusal) = &refused.refusal {
        return refusal.clone();
    }
    let words = refused.output.shown.clone().unwrap_or_else(|| text_of(&refused.output));
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = format!("{tool} cannot be called with the changed input: {line}");
    Decision::of(Ruled::Deny, By::BuiltIn, why)
}

fn refusal(tool: &str, refused: Verdict) -> Verdict {
    match refused.outcome {
        CallOutcome::NotRun { why: NotRun::BadInput } => {
            Verdict::denied(why_refused(tool, &refused))
        }
        _ => refused,
    }
}
