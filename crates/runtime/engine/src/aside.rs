//! A request beside the conversation: a summary, a title. Reserved, sent and paid for like any other.

use crate::agent::Agent;
use crate::budget;
use crate::payment::Payment;
use futures_util::StreamExt;
use ostler_core::answer::Answer;
use ostler_core::ledger::{Purpose, Usage};
use ostler_core::message::Message;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, Request, StopReason};
use ostler_core::ports::StoreError;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Aside {
    pub message: Option<Message>,
    pub stop: StopReason,
    pub usage: Usage,
    pub cost: Option<f64>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum AsideError {
    /// Not sent: in words, why.
    #[error("{0}")]
    Budget(String),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Asks once and waits for the whole answer. `max_output` of the request is what is wanted; the budget may allow less.
/// Dropping the future ends the request; what was answered until then is paid for.
///
/// # Errors
/// If the budget does not allow it, the model fails, or the log refuses the record.
pub async fn aside(
    agent: &Arc<Agent>,
    mut request: Request,
    purpose: Purpose,
    task: Option<String>,
) -> Result<Aside, AsideError> {
    let wanted = request.max_output;
    let reservation = budget::reserve(agent, &request, wanted).await;
    let reservation = reservation.map_err(|refused| AsideError::Budget(refused.words()))?;
    request.max_output = reservation.output;
    let model = request.model.clone();
    let mut payment = Payment::new(agent.clone(), &request, reservation, purpose, task);
    let (mut answer, view) = (Answer::default(), request.view.clone());
    let mut stream = agent.model.stream(request);
    let stop = loop {
        match stream.next().await {
            Some(Ok(ModelEvent::Retrying(retry))) => payment.tried(retry.wait)?,
            Some(Ok(ModelEvent::Started { usage, .. })) => payment.began(usage),
            Some(Ok(ModelEvent::Text(text))) => {
                payment.has_content();
                answer.text(&text);
            }
            Some(Ok(ModelEvent::Block(block))) => {
                payment.has_content();
                answer.block(block, &view);
            }
            Some(Ok(ModelEvent::Ended { stop, usage })) => {
                payment.counted(usage);
                break stop;
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                payment.settle(false)?;
                return Err(error.into());
            }
            None => {
                payment.settle(false)?;
                let words = "the model's stream ended before the answer did";
                return Err(ModelError::new(ModelErrorKind::Protocol, words).into());
            }
        }
    };
    drop(stream);
    let paid = payment.settle(true)?;
    let (usage, cost) = paid.map_or((Usage::default(), None), |paid| (paid.usage, paid.cost));
    Ok(Aside { message: answer.into_message(&model), stop, usage, cost })
}
