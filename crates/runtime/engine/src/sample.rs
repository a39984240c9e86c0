//! One answer: streams it, and hands each call to the scheduler the moment its block is complete.

use crate::answer_stream::{AnswerPart, AnswerStream};
use crate::payment::{Paid, Payment};
use crate::run::Turn;
use ostler_core::answer::Answer;
use ostler_core::event::{Event, NotRun, Notice};
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Change, Purpose};
use ostler_core::message::Block;
use ostler_core::model::{ModelError, StopReason};
use ostler_core::prompt_texts;
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
        let task = self.task.clone();
        let payment = Payment::new(self.agent.clone(), &request, reserved, task);
        let mut stream = AnswerStream::new(payment, request);
        let mut store_failed = false;
        let end = loop {
            tokio::select! {
                biased;
                () = self.interrupt.cancelled() => break SampleEnd::Cancelled,
                // Nothing is lost that a person has seen: the next try knows what they said.
                () = inbox.steered(), if stream.answer().message_id.is_empty() => break SampleEnd::Redirected,
                // Polled before the calls: an answer ends, but calls could produce output without end.
                part = stream.next() => match part {
                    Ok(part) => {
                        if let Some(end) = self.pass_on(part, stream.answer(), &model).await {
                            break end;
                        }
                    }
                    Err(error) => {
                        self.tally.store_failed(error.to_string());
                        store_failed = true;
                        break SampleEnd::Cancelled;
                    }
                },
                happened = self.tools.happened(), if self.tools.is_busy() => {
                    if self.report_signal(happened).await.is_err() {
                        store_failed = true;
                        break SampleEnd::Cancelled;
                    }
                }
            }
        };
        // The connection is given back before anything waits for the calls.
        let (answer, payment) = stream.close();
        let source = payment.purpose();
        self.tally.api_time(payment.elapsed());
        let ended = answer.stop.is_some();
        if self.spend(payment, &model, ended).await.is_err() || store_failed {
            return Outcome::StoreFailed;
        }
        self.sealing =
            (!answer.message_id.is_empty()).then(|| (answer.usage, answer.stop.clone(), source));
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

    /// Shows what arrived and starts its calls. Some: the answer is over.
    async fn pass_on(
        &mut self,
        part: AnswerPart,
        answer: &Answer,
        model: &ModelId,
    ) -> Option<SampleEnd> {
        match part {
            AnswerPart::Retrying(retry) => self.out.emit(Event::Retrying(retry)).await,
            AnswerPart::Note(text) => self.notice(Notice::Provider { text }).await,
            AnswerPart::Raw(raw) => self.out.emit(Event::Raw(raw)).await,
            AnswerPart::Started { message_id, request_id, usage } => {
                let model = model.clone();
                self.out.emit(Event::AnswerStarted { message_id, request_id, model, usage }).await;
            }
            AnswerPart::Text(text) => self.out.emit(Event::TextDelta { text }).await,
            AnswerPart::Thinking(text) => self.out.emit(Event::ThinkingDelta { text }).await,
            AnswerPart::Block(block) => {
                self.out.emit(Event::BlockFinished { block: block.clone() }).await;
                if let Block::ToolUse { id, name, input, via } = block {
                    self.tools.submit(id, name, via, input);
                }
            }
            AnswerPart::CutCall(block) => {
                self.out.emit(Event::BlockFinished { block: block.clone() }).await;
                if let Block::ToolUse { id, name, input, .. } = block {
                    self.tools.submit_unusable(
                        id,
                        name,
                        input,
                        prompt_texts::CUT_CALL,
                        NotRun::CutOff,
                    );
                }
            }
            AnswerPart::Ended(stop) => {
                self.tally.stopped(Some(stop.clone()));
                return Some(self.end_of(stop, answer).await);
            }
            AnswerPart::Failed(error) => return Some(self.failed(error, answer)),
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
                // The notice about the room that was made is out.
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
    pub(crate) fn purpose(&self, state: &State, fallback: bool) -> Purpose {
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
