//! A request beside the conversation: a summary, a title. Reserved, sent and paid for like any other.

use crate::agent::Agent;
use crate::answer_stream::{AnswerPart, AnswerStream};
use crate::budget::{self, OwnBudget};
use crate::payment::Payment;
use ostler_core::event::words;
use ostler_core::ledger::Usage;
use ostler_core::message::Message;
use ostler_core::model::{ModelError, Request, StopReason};
use ostler_core::ports::StoreError;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct SideAnswer {
    pub message: Option<Message>,
    pub stop: StopReason,
    pub usage: Usage,
    pub cost: Option<f64>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum SideRequestError {
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
pub async fn side_request(
    agent: &Arc<Agent>,
    request: Request,
    task: Option<String>,
) -> Result<SideAnswer, SideRequestError> {
    asked(agent, None, request, task).await
}

/// The same within a budget of its own, which is never exceeded.
///
/// # Errors
/// As [`side_request`].
pub async fn side_request_within(
    agent: &Arc<Agent>,
    budget: OwnBudget<'_>,
    request: Request,
) -> Result<SideAnswer, SideRequestError> {
    asked(agent, Some(budget), request, None).await
}

async fn asked(
    agent: &Arc<Agent>,
    within: Option<OwnBudget<'_>>,
    mut request: Request,
    task: Option<String>,
) -> Result<SideAnswer, SideRequestError> {
    let wanted = request.max_output;
    let reservation = budget::reserve_from(agent, within, &request, wanted).await;
    let reservation = reservation
        .map_err(|refused| SideRequestError::Budget(words::notice(&refused.notice())))?;
    request.max_output = reservation.output;
    let model = request.model.clone();
    let payment = Payment::new(agent.clone(), &request, reservation, task);
    let mut stream = AnswerStream::new(payment, request);
    let ended = loop {
        match stream.next().await? {
            AnswerPart::Ended(stop) => break Ok(stop),
            AnswerPart::Failed(error) => break Err(error),
            _ => {}
        }
    };
    let (answer, payment) = stream.close();
    let paid = payment.settle(ended.is_ok())?;
    let (usage, cost) = paid.map_or((Usage::default(), None), |paid| (paid.usage, paid.cost));
    Ok(SideAnswer { message: answer.into_message(&model), stop: ended?, usage, cost })
}
