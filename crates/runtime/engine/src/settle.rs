//! Waits for the calls of a sealed answer and answers all of them.

use crate::budget;
use crate::hook_calls::millis;
use crate::run::Turn;
use crate::scheduler::Happened;
use crate::signals::Signal;
use ostler_core::event::{Denial, Event};
use ostler_core::message::Message;
use ostler_core::ports::{Recorder, Reminder};
use ostler_core::session::Entry;
use ostler_core::todo;
use ostler_core::turn::{Outcome, ToolsEnd};
use ostler_core::view::View;
use std::sync::Arc;

impl Turn {
    /// `view` ends with the answer whose calls these are.
    pub(crate) async fn settle(&mut self, view: &View) -> Outcome {
        match self.settled().await {
            Ok(end) => {
                let plan = self.agent.journal.plan();
                let mut extra = self.tools.notes();
                extra.extend(self.reminders(view).await);
                if matches!(end, ToolsEnd::Finished | ToolsEnd::Redirected) {
                    extra.extend(todo::reminder(&plan, view, self.tools.known()));
                }
                Outcome::ToolsSettled { results: self.tools.results(), extra, end }
            }
            Err(()) => Outcome::StoreFailed,
        }
    }

    /// What somebody wants to add, now that the calls are done. They look at files, so no other turn waits for them.
    async fn reminders(&self, view: &View) -> Vec<Message> {
        let reminders = self.agent.context.reminders.clone();
        if reminders.is_empty() {
            return Vec::new();
        }
        let (seen, view) = (self.tools.seen(), view.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let add = |reminder: &Arc<dyn Reminder>| reminder.after_calls(&seen, &view);
            let texts: Vec<String> = reminders.iter().flat_map(add).collect();
            (texts, reminders.iter().flat_map(|reminder| reminder.notices()).collect::<Vec<_>>())
        });
        let Ok((texts, notices)) = asked.await else { return Vec::new() };
        self.notices(notices).await;
        texts.into_iter().map(Message::meta).collect()
    }

    async fn settled(&mut self) -> Result<ToolsEnd, ()> {
        let early = self.record_early_results()?;
        let inbox = self.agent.inbox();
        self.tools.redirected = inbox.is_steered();
        // An interrupted answer starts nothing more, and neither does one that exceeded the budget.
        if !self.interrupt.is_cancelled() {
            match budget::is_exceeded(&self.agent) {
                true => self.tools.budget_spent = true,
                false => self.tools.seal(),
            }
        }
        for index in early {
            self.show_result(index).await?;
        }
        while self.tools.is_busy() {
            tokio::select! {
                biased;
                () = self.interrupt.cancelled() => break,
                // What runs continues; the rest is skipped.
                () = inbox.steered(), if !self.tools.redirected => self.tools.redirected = true,
                happened = self.tools.happened() => self.report_signal(happened).await?,
            }
        }
        // An interrupt and an end leave nothing to continue with; what a person wants instead comes first, too.
        let goes_on = !self.interrupt.is_cancelled() && !self.tools.redirected;
        self.tools.deferred &= goes_on && self.tools.ended_by.is_none();
        self.tools.stop().await;
        self.waited |= self.tools.has_waited();
        while let Some(happened) = self.tools.untold() {
            self.report_signal(happened).await?;
        }
        if self.interrupt.is_cancelled() {
            return Ok(ToolsEnd::Cancelled);
        }
        match self.tools.ended_by.take() {
            Some(why) => {
                self.tally.hook_stopped(why);
                Ok(ToolsEnd::HookStopped)
            }
            None if self.tools.budget_spent => Ok(ToolsEnd::BudgetSpent),
            None if self.tools.deferred => Ok(ToolsEnd::Deferred),
            None if self.tools.redirected => Ok(ToolsEnd::Redirected),
            None => Ok(ToolsEnd::Finished),
        }
    }

    /// Passes on what a call said or did; a result goes to the log once its answer is there.
    pub(crate) async fn report_signal(&mut self, happened: Happened) -> Result<(), ()> {
        match happened {
            Happened::Signal(signal) => self.tell_signal(signal).await,
            Happened::Finished(index) => self.tell_finished(index).await?,
            Happened::Notice(notice) => self.notice(notice).await,
            Happened::Idle => {}
        }
        Ok(())
    }

    async fn tell_signal(&self, signal: Signal) {
        let index = match &signal {
            Signal::Started(index) | Signal::Asked(index, _) | Signal::Progress(index, _) => *index,
            Signal::Notice(notice) => return self.notice(notice.clone()).await,
        };
        let Some(call) = self.tools.call(index) else { return };
        let (id, name) = (call.id.clone(), call.name.clone());
        let event = match signal {
            Signal::Started(_) => Event::CallStarted { id, name, input: call.input.clone() },
            Signal::Asked(_, question) => {
                let decision = Box::new(question.decision.clone());
                Event::CallAsked { id, name, decision, question: Some(question) }
            }
            Signal::Progress(_, tail) => Event::CallProgress { id, tail },
            Signal::Notice(_) => return,
        };
        self.out.emit(event).await;
    }

    /// What is shown is in the log, so that it is known after a crash. A result that comes before its answer
    /// is there has to wait.
    async fn tell_finished(&mut self, index: usize) -> Result<(), ()> {
        if !self.recording {
            self.unrecorded.push(index);
            return Ok(());
        }
        self.record_result(index)?;
        self.show_result(index).await
    }

    async fn show_result(&mut self, index: usize) -> Result<(), ()> {
        let Some(call) = self.tools.call(index) else { return Ok(()) };
        let (Some(result), Some(verdict)) = (call.result(), call.verdict()) else { return Ok(()) };
        let denial = verdict.refusal.clone().map(|decision| Denial {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            decision,
        });
        self.tally.call(verdict.has_run(), denial);
        if let Some(error) = &verdict.store_error {
            self.tally.store_failed(error.to_string());
            return Err(());
        }
        let event = Event::CallFinished {
            id: call.id.clone(),
            name: call.name.clone(),
            outcome: verdict.outcome,
            decision: call.decision().cloned().map(Box::new),
            result,
            shown: verdict.output.shown.clone(),
            detail: verdict.output.detail.clone(),
            took_ms: verdict.took.map(millis),
            input: call.is_changed.then(|| Box::new(call.input.clone())),
        };
        let notices = verdict.output.notices.clone();
        self.out.emit(event).await;
        self.notices(notices).await;
        self.tell_plan().await;
        Ok(())
    }

    async fn tell_plan(&mut self) {
        let plan = self.agent.journal.plan();
        if !Arc::ptr_eq(&plan, &self.plan) {
            self.plan = plan.clone();
            self.out.emit(Event::Plan(plan)).await;
        }
    }

    fn record_result(&mut self, index: usize) -> Result<(), ()> {
        if let Some((call, verdict, why)) = self.tools.take_decided(index) {
            let written = self.agent.journal.write(Entry::decided(call, verdict, why));
            written.map_err(|error| self.tally.store_failed(error.to_string()))?;
        }
        let Some(call) = self.tools.call(index) else { return Ok(()) };
        let Some(result) = call.result() else { return Ok(()) };
        let (name, seen) = (call.name.clone(), call.seen());
        let written = self.agent.journal.finished(result, seen.clone());
        written.map_err(|error| self.tally.store_failed(error.to_string()))?;
        if let Some(tool) = self.tools.toolbox.get(&name) {
            tool.recorded(&seen);
        }
        Ok(())
    }

    /// Results that came while the answer was still open: now in the log, and to be shown.
    fn record_early_results(&mut self) -> Result<Vec<usize>, ()> {
        self.recording = true;
        let early = std::mem::take(&mut self.unrecorded);
        for index in &early {
            self.record_result(*index)?;
        }
        Ok(early)
    }
}
