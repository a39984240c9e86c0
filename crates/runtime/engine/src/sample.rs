//! One answer: streams it, and hands each call to the scheduler the moment its block is complete.

use crate::payment::{Paid, Payment};
use crate::run::Turn;
use futures_util::StreamExt;
use ostler_core::answer::Answer;
use ostler_core::event::{Event, NotRun, Notice};
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Change, Purpose};
use ostler_core::message::Block;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason};
use ostler_core::ports::StoreError;
use ostler_core::texts;
use ostler_core::turn::{Continue, Outcome, SampleEnd, State};
use std::time::Duration;

/// The longest wait before a broken stream is asked again.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

impl Turn {
    pub(crate) async fn sample(
        &mut self,
        state: &State,
        fallback: bool,
        stream_retry: u8,
    ) -> Outcome {
        let request = self.request(state, fallback);
        let model = request.model.clone();
        let backed_off = self.backed_off(stream_retry).await;
        let reserved = self.reserved.take().ok_or(SampleEnd::Cancelled);
        let reserved = match backed_off.and(reserved) {
            Ok(reserved) => reserved,
            Err(end) => return Outcome::Sampled { message: None, cut: false, end },
        };
        let inbox = self.agent.inbox();
        self.begin_iteration(state, &model).await;
        let purpose = self.purpose(state, fallback);
        let task = self.task.clone();
        let mut payment = Payment::new(self.agent.clone(), &request, reserved, purpose, task);
        let mut answer = Answer::default();
        let mut stream = self.agent.model.stream(request);
        let mut store_failed = false;
        let end = loop {
            tokio::select! {
                biased;
                () = self.interrupt.cancelled() => break SampleEnd::Cancelled,
                // Nothing is lost that a person has seen: the next try knows what they said.
                () = inbox.steered(), if answer.message_id.is_empty() => break SampleEnd::Redirected,
                // Before the calls: an answer ends, but a call may always have something more to say.
                event = stream.next() => {
                    let event = event.unwrap_or_else(|| Err(ended_early()));
                    if let Err(error) = count(&event, &mut payment) {
                        self.tally.store_failed(error.to_string());
                        store_failed = true;
                        break SampleEnd::Cancelled;
                    }
                    if let Some(end) = self.absorb(event, &mut answer, state, &model).await {
                        break end;
                    }
                }
                happened = self.tools.happened(), if self.tools.is_busy() => {
                    if self.tell(happened).await.is_err() {
                        store_failed = true;
                        break SampleEnd::Cancelled;
                    }
                }
            }
        };
        // The connection is given back before anything waits for the calls.
        drop(stream);
        self.tally.api_time(payment.elapsed());
        let ended = answer.stop.is_some();
        if self.spend(payment, &model, ended).await.is_err() || store_failed {
            return Outcome::StoreFailed;
        }
        self.sealing = (!answer.message_id.is_empty()).then(|| (answer.usage, answer.stop.clone()));
        let cut = answer.is_cut();
        Outcome::Sampled { message: answer.into_message(&model), cut, end }
    }

    async fn begin_iteration(&self, state: &State, model: &ModelId) {
        let started = Event::IterationStarted {
            n: state.iteration,
            model: model.clone(),
            why: state.last,
            window: Some(self.agent.pressure(&state.view, model).window),
        };
        self.out.emit(started).await;
    }

    async fn absorb(
        &mut self,
        event: Result<ModelEvent, ModelError>,
        answer: &mut Answer,
        state: &State,
        model: &ModelId,
    ) -> Option<SampleEnd> {
        match event {
            Ok(ModelEvent::Retrying(retry)) => self.out.emit(Event::Retrying(retry)).await,
            Ok(ModelEvent::Note(text)) => self.notice(Notice::Provider { text }).await,
            Ok(ModelEvent::Raw(raw)) => self.out.emit(Event::Raw(raw)).await,
            Ok(ModelEvent::Started { message_id, request_id, usage }) => {
                // Gateways may leave it out; an answer with a name is one that has begun.
                let message_id = if message_id.is_empty() { "unnamed".into() } else { message_id };
                answer.message_id.clone_from(&message_id);
                answer.usage = usage;
                let model = model.clone();
                self.out.emit(Event::AnswerStarted { message_id, request_id, model, usage }).await;
            }
            Ok(ModelEvent::Text(text)) => {
                answer.text(&text);
                self.out.emit(Event::TextDelta { text }).await;
            }
            Ok(ModelEvent::Thinking(text)) => self.out.emit(Event::ThinkingDelta { text }).await,
            Ok(ModelEvent::Block(block)) => {
                let block = answer.block(block, &state.view);
                self.out.emit(Event::BlockFinished { block: block.clone() }).await;
                if let Block::ToolUse { id, name, input } = block {
                    self.tools.submit(id, name, input);
                }
            }
            Ok(ModelEvent::Cut { id, name, raw }) => {
                let block = answer.cut_call(id, name, &raw, &state.view);
                self.out.emit(Event::BlockFinished { block: block.clone() }).await;
                if let Block::ToolUse { id, name, input } = block {
                    self.tools.submit_unusable(id, name, input, texts::CUT_CALL, NotRun::CutOff);
                }
            }
            Ok(ModelEvent::Ended { stop, usage }) => {
                answer.usage = usage;
                answer.stop = Some(stop.clone());
                self.tally.stopped(Some(stop.clone()));
                return Some(self.end_of(stop, answer).await);
            }
            Err(error) => return Some(self.failed(error, answer)),
        }
        None
    }

    async fn end_of(&self, stop: StopReason, answer: &Answer) -> SampleEnd {
        match stop {
            StopReason::Refusal { .. } => SampleEnd::Refused,
            StopReason::MaxTokens => SampleEnd::MaxOutput,
            StopReason::WindowExceeded => SampleEnd::WindowFull,
            StopReason::PauseTurn => SampleEnd::Paused,
            _ if answer.is_empty() => SampleEnd::Empty,
            StopReason::Other(reason) => {
                self.notice(Notice::UnknownStopReason { reason }).await;
                SampleEnd::EndOfTurn
            }
            StopReason::ToolUse if self.tools.call(0).is_none() => {
                self.notice(Notice::NoCallMade).await;
                SampleEnd::EndOfTurn
            }
            StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence => {
                SampleEnd::EndOfTurn
            }
        }
    }

    fn failed(&mut self, error: ModelError, answer: &Answer) -> SampleEnd {
        let kind = error.kind;
        self.tally.failed(error);
        match answer.message_id.is_empty() {
            true => SampleEnd::Failed(kind),
            false => SampleEnd::Broken(kind),
        }
    }

    /// Whatever becomes of the answer, its tokens are paid for.
    pub(crate) async fn spend(
        &mut self,
        payment: Payment,
        model: &ModelId,
        ended: bool,
    ) -> Result<(), ()> {
        match payment.settle(ended) {
            Ok(None) => Ok(()),
            Ok(Some(Paid { usage, cost, broken, estimated })) => {
                self.tally.spent(model, usage, cost);
                if estimated && !std::mem::replace(&mut self.told_of_estimate, true) {
                    let (model, prompt_tokens) = (model.clone(), usage.prompt());
                    let output_tokens = usage.output;
                    self.notice(Notice::UsageEstimated { model, prompt_tokens, output_tokens })
                        .await;
                }
                // That room was made has been told.
                if let Some(broken) = broken.filter(|one| one.change != Change::MadeRoom) {
                    self.notice(Notice::CacheBroken(broken)).await;
                }
                Ok(())
            }
            Err(error) => {
                self.tally.store_failed(error.to_string());
                Err(())
            }
        }
    }

    /// What this request is to the conversation.
    fn purpose(&self, state: &State, fallback: bool) -> Purpose {
        match state.last {
            _ if fallback => Purpose::Fallback,
            Some(
                Continue::StreamRetry { .. }
                | Continue::EmptyRetry { .. }
                | Continue::MaxOutputTokensEscalate
                | Continue::ImageDropRetry
                | Continue::ThinkingDropRetry
                | Continue::CollapseDrainRetry { .. }
                | Continue::ReactiveCompactRetry,
            ) => Purpose::Retry,
            _ => self.agent.meter.purpose,
        }
    }

    /// Waits before a broken stream is asked again; an interrupt ends the wait, and so does a person who has more to say.
    async fn backed_off(&self, attempt: u8) -> Result<(), SampleEnd> {
        let inbox = self.agent.inbox();
        if inbox.is_steered() {
            return Err(SampleEnd::Redirected);
        }
        if attempt == 0 {
            return Ok(());
        }
        let factor = 1u32 << u32::from(attempt - 1).min(6);
        let wait = self.agent.settings.stream_backoff.saturating_mul(factor).min(LONGEST_BACKOFF);
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => Err(SampleEnd::Cancelled),
            () = inbox.steered() => Err(SampleEnd::Redirected),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }
}

/// What the model's events say about tokens and tries.
pub(crate) fn count(
    event: &Result<ModelEvent, ModelError>,
    payment: &mut Payment,
) -> Result<(), StoreError> {
    match event {
        Ok(ModelEvent::Retrying(retry)) => payment.tried(retry.wait)?,
        Ok(ModelEvent::Started { usage, .. }) => payment.began(*usage),
        Ok(ModelEvent::Ended { usage, .. }) => payment.counted(*usage),
        Ok(
            ModelEvent::Text(_)
            | ModelEvent::Thinking(_)
            | ModelEvent::Block(_)
            | ModelEvent::Cut { .. },
        ) => payment.has_content(),
        Ok(ModelEvent::Note(_) | ModelEvent::Raw(_)) | Err(_) => {}
    }
    Ok(())
}

fn ended_early() -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, "the model's stream ended before the answer did")
}
