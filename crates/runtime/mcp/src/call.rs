//! One call of a tool, from the request to its end.

use crate::connection::{Connection, protocol_fault};
use crate::error::ServerError;
use crate::handler::{Counterpart, Followed};
use crate::server::Server;
use crate::status::ServerState;
use ostler_core::ports::Progress;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientRequest, InputRequest, InputRequiredResult, InputResponses, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Map, Value};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often a server may ask for more before it answers.
const MOST_ROUNDS: usize = 10;
/// Questions in one round.
const MOST_REQUESTS: usize = 10;
/// The longest call, however much news there is of it.
const LONGEST_CALL: Duration = Duration::from_secs(4 * 60 * 60);
/// How long a server may take to read that a call is cancelled.
const FAREWELL: Duration = Duration::from_secs(10);

/// A call to be made.
pub struct ServerCall {
    pub tool: String,
    pub input: Map<String, Value>,
    pub progress: Arc<dyn Progress>,
    pub counterpart: Option<Arc<dyn Counterpart>>,
}

pub type CallEnd = Result<CallToolResult, ServerError>;

impl Server {
    /// Calls a tool once. Dropping the future cancels the call.
    pub async fn call(self: &Arc<Self>, call: ServerCall) -> CallEnd {
        let connection = self.connect().await?;
        let _asked = call.counterpart.clone().map(|one| connection.handler.accompany(one));
        let mut params = CallToolRequestParams::new(call.tool.clone());
        params.arguments = Some(call.input.clone());
        let mut waits: u32 = 0;
        for _ in 0..MOST_ROUNDS {
            let result = self.round(&connection, params.clone(), &call.progress).await;
            let result = result.inspect_err(|error| self.note_missing_login(error))?;
            let asked = match result {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(asked) => asked,
                _ => return Err(ServerError::Protocol("it answers something else".into())),
            };
            if asked.input_requests.as_ref().is_none_or(|requests| requests.is_empty()) {
                // It only wants to be asked again later.
                tokio::time::sleep(Duration::from_millis(250 << waits.min(5))).await;
                waits += 1;
            }
            params.request_state.clone_from(&asked.request_state);
            params.input_responses = responses(&connection, asked).await?;
        }
        Err(ServerError::Protocol(format!("it asked for more input {MOST_ROUNDS} times")))
    }

    fn note_missing_login(&self, error: &ServerError) {
        if matches!(error, ServerError::NeedsAuth(_)) {
            self.is_now(ServerState::NeedsAuth, Some(error.to_string()));
        }
    }

    async fn round(
        &self,
        connection: &Connection,
        params: CallToolRequestParams,
        progress: &Arc<dyn Progress>,
    ) -> Result<ServerResult, ServerError> {
        let limit = self.config().call_limit;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = connection.peer().send_cancellable_request(request, options).await;
        let handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(fault(connection, &error, limit).await),
        };
        let news = connection.handler.follow(&handle.progress_token, progress.clone());
        let peer = connection.peer().clone();
        let mut abandoned = AbandonedCall(Some((peer, handle.id.clone())));
        let Some(answer) = answered(handle.rx, &news, limit).await else {
            return Err(ServerError::CallSilent(limit.as_secs()));
        };
        abandoned.0 = None;
        match answer.unwrap_or(Err(ServiceError::TransportClosed)) {
            Ok(answer) => Ok(answer),
            Err(error) => Err(fault(connection, &error, limit).await),
        }
    }
}

/// None: for too long there was neither an answer nor news. It does not wait until the server knows: one that reads
/// nothing never does.
async fn answered<T>(
    mut answer: oneshot::Receiver<T>,
    news: &Followed,
    limit: Duration,
) -> Option<Result<T, oneshot::error::RecvError>> {
    let mut end = pin!(tokio::time::sleep(LONGEST_CALL));
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return Some(answer),
            () = &mut end => return None,
            () = tokio::time::sleep(limit) => return None,
            () = news.next() => {}
        }
    }
}

async fn fault(connection: &Connection, error: &ServiceError, limit: Duration) -> ServerError {
    if let Some(needed) = connection.needs_auth() {
        return needed;
    }
    match error {
        ServiceError::Timeout { .. } => ServerError::CallSilent(limit.as_secs()),
        ServiceError::TransportClosed => ServerError::Ended(connection.last_words().await),
        ServiceError::TransportSend(_) if connection.is_program() => {
            ServerError::Ended(connection.last_words().await)
        }
        other => protocol_fault(other),
    }
}

/// What a person and the session say to a server that needs more to answer.
async fn responses(
    connection: &Connection,
    asked: InputRequiredResult,
) -> Result<Option<InputResponses>, ServerError> {
    let requests = asked.input_requests.unwrap_or_default();
    if requests.len() > MOST_REQUESTS {
        return Err(ServerError::Protocol("it asks for too much at once".into()));
    }
    let mut answers = InputResponses::default();
    for (key, request) in requests {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(connection.handler.elicit(request.params).await)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(connection.handler.roots()),
            InputRequest::CreateMessage(request) => {
                let answer = connection.handler.sample(request.params).await;
                serde_json::to_value(
                    answer.map_err(|error| ServerError::Refused(error.message.into_owned()))?,
                )
            }
            _ => return Err(ServerError::Protocol("it asks for something unknown".into())),
        };
        let answer = answer.map_err(|error| ServerError::Protocol(error.to_string()))?;
        answers.insert(key, answer);
    }
    Ok((!answers.is_empty()).then_some(answers))
}

/// Tells the server that nobody waits any more.
struct AbandonedCall(Option<(Peer<RoleClient>, RequestId)>);

impl Drop for AbandonedCall {
    fn drop(&mut self) {
        let Some((peer, id)) = self.0.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let reason = Some("the call was cancelled".to_owned());
        runtime.spawn(async move {
            let param = CancelledNotificationParam::new(Some(id), reason);
            let _ = tokio::time::timeout(FAREWELL, peer.notify_cancelled(param)).await;
        });
    }
}
