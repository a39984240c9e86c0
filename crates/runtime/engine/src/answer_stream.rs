//! One model request while its answer arrives. Every event is counted for the bill and folded into the answer here, and
//! nowhere else; callers decide only what to show and what to do with the calls.

use crate::payment::Payment;
use futures_util::StreamExt;
use ostler_core::answer::Answer;
use ostler_core::ledger::Usage;
use ostler_core::message::Block;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, Request, Retry, StopReason};
use ostler_core::ports::{ModelStream, StoreError};
use ostler_core::view::View;
use serde_json::value::RawValue;

/// Providers may leave the name out; an answer with a name is one that has begun.
const UNNAMED: &str = "unnamed";

pub(crate) struct AnswerStream {
    stream: ModelStream,
    answer: Answer,
    payment: Payment,
    /// The conversation that the answer continues: its calls get names that are new there.
    view: View,
}

/// What arrived, after the answer has absorbed it.
pub(crate) enum AnswerPart {
    Retrying(Retry),
    Started {
        message_id: String,
        request_id: Option<String>,
        usage: Usage,
    },
    Text(String),
    Thinking(String),
    /// A complete block; a call has the name it keeps.
    Block(Block),
    /// A call whose input cannot be used.
    CutCall(Block),
    Note(String),
    Raw(Box<RawValue>),
    /// The answer is complete.
    Ended(StopReason),
    /// Nothing more comes, and the answer is not complete.
    Failed(ModelError),
}

impl AnswerStream {
    /// Sends the request when `next` is first called. `payment` is the one of this request.
    pub(crate) fn new(payment: Payment, request: Request) -> Self {
        let view = request.view.clone();
        let stream = payment.agent().model.stream(request);
        AnswerStream { stream, answer: Answer::default(), payment, view }
    }

    /// Waits for the next part. Cancel-safe.
    ///
    /// # Errors
    /// If a failed try cannot be written to the log.
    pub(crate) async fn next(&mut self) -> Result<AnswerPart, StoreError> {
        match self.stream.next().await {
            Some(Ok(event)) => self.absorb(event),
            Some(Err(error)) => {
                self.payment.failed();
                Ok(AnswerPart::Failed(error))
            }
            None => {
                self.payment.failed();
                Ok(AnswerPart::Failed(ended_early()))
            }
        }
    }

    pub(crate) fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Gives the connection back.
    pub(crate) fn close(self) -> (Answer, Payment) {
        (self.answer, self.payment)
    }

    fn absorb(&mut self, event: ModelEvent) -> Result<AnswerPart, StoreError> {
        let answer = &mut self.answer;
        Ok(match event {
            ModelEvent::Retrying(retry) => {
                self.payment.tried(retry.wait)?;
                AnswerPart::Retrying(retry)
            }
            ModelEvent::Note(text) => AnswerPart::Note(text),
            ModelEvent::Raw(raw) => AnswerPart::Raw(raw),
            ModelEvent::Started { message_id, request_id, usage } => {
                self.payment.began(usage);
                let message_id = if message_id.is_empty() { UNNAMED.into() } else { message_id };
                answer.message_id.clone_from(&message_id);
                answer.usage = usage;
                AnswerPart::Started { message_id, request_id, usage }
            }
            ModelEvent::Text(text) => {
                self.payment.has_content();
                answer.text(&text);
                AnswerPart::Text(text)
            }
            ModelEvent::Thinking(text) => {
                self.payment.has_content();
                AnswerPart::Thinking(text)
            }
            ModelEvent::Block(block) => {
                self.payment.has_content();
                AnswerPart::Block(answer.block(block, &self.view))
            }
            ModelEvent::Cut { id, name, raw } => {
                self.payment.has_content();
                AnswerPart::CutCall(answer.cut_call(id, name, &raw, &self.view))
            }
            ModelEvent::Ended { stop, usage } => {
                self.payment.counted(usage);
                answer.usage = usage;
                answer.stop = Some(stop.clone());
                AnswerPart::Ended(stop)
            }
        })
    }
}

fn ended_early() -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, "the model's stream ended before the answer did")
}
