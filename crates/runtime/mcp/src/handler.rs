//! What a server may ask of us, and what it tells us without being asked.
#![expect(deprecated, reason = "roots and sampling are part of the 2025 revisions")]

use crate::error::ServerError;
use crate::sampling::{NO_SAMPLING, SamplingAnswer, SamplingRequest, no_sampling, refused, result};
use ostler_core::ids::CallId;
use ostler_core::ports::{BoxFuture, Progress};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, ListRootsResult, NumberOrString,
    ProgressNotificationParam, ProgressToken, Root, RootsCapabilities, SamplingCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Forms that a person is shown at the same time; further ones are cancelled.
const MOST_FORMS: usize = 4;

/// Whom a server can turn to while one of its calls runs.
pub trait Counterpart: Send + Sync {
    /// The one for a call, if it makes a difference.
    fn of_call(&self, _id: &CallId, _tool: &str, _input: &Value) -> Option<Arc<dyn Counterpart>> {
        None
    }

    /// A form for a person.
    fn elicit(&self, form: Elicitation) -> BoxFuture<'static, ElicitationAnswer>;

    /// A text of the model, for a server that was allowed to ask for it. In words, why there is none.
    fn sample(
        &self,
        _request: SamplingRequest,
    ) -> BoxFuture<'static, Result<SamplingAnswer, String>> {
        Box::pin(std::future::ready(Err(NO_SAMPLING.to_owned())))
    }

    /// The directories that the session works in.
    fn roots(&self) -> Vec<PathBuf>;
}

/// A server wants to know something from a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    pub server: String,
    pub message: String,
    /// The schema of the wanted fields.
    pub schema: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    Accepted(Value),
    Declined,
    /// Nobody answered.
    Cancelled,
}

/// One per connection.
#[derive(Clone)]
pub(crate) struct Handler(Arc<HandlerShared>);

struct HandlerShared {
    server: String,
    /// The tools changed.
    pub(crate) changed: Notify,
    calls: Mutex<Calls>,
    forms: Semaphore,
    /// The server may ask for texts of the model, one at a time.
    samples: Option<Semaphore>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    followed: HashMap<String, (Arc<dyn Progress>, Arc<Notify>)>,
    /// The newest last.
    counterparts: Vec<OpenCall>,
}

/// A call that goes on.
#[derive(Clone)]
struct OpenCall {
    number: u64,
    counterpart: Arc<dyn Counterpart>,
    /// Nobody waits any more for what the server asks for in its name.
    ended: CancellationToken,
}

impl Handler {
    pub(crate) fn new(server: &str, may_sample: bool) -> Self {
        let (changed, calls, forms) = (Notify::new(), Mutex::default(), Semaphore::new(MOST_FORMS));
        let samples = may_sample.then(|| Semaphore::new(1));
        let server = server.to_owned();
        Handler(Arc::new(HandlerShared { server, changed, calls, forms, samples }))
    }

    pub(crate) async fn tools_changed(&self) {
        self.0.changed.notified().await;
    }

    pub(crate) fn note_change(&self) {
        self.0.changed.notify_one();
    }

    /// Progress with this token goes there until the guard is dropped.
    pub(crate) fn follow(&self, token: &ProgressToken, progress: Arc<dyn Progress>) -> Followed {
        let key = key_of(token);
        let news = Arc::new(Notify::new());
        self.calls().followed.insert(key.clone(), (progress, news.clone()));
        Followed { handler: self.clone(), key, news }
    }

    /// A call goes on.
    pub(crate) fn progressed(&self, params: &ProgressNotificationParam) {
        let followed = self.calls().followed.get(&key_of(&params.progress_token)).cloned();
        let Some((progress, news)) = followed else { return };
        news.notify_one();
        let amount = match params.total {
            Some(total) => format!("{} of {total}", params.progress),
            None => params.progress.to_string(),
        };
        match &params.message {
            Some(message) => {
                progress.tail(&format!("{} ({amount})", ServerError::quoted(message)));
            }
            None => progress.tail(&amount),
        }
    }

    /// What the server asks goes there until the guard is dropped.
    pub(crate) fn accompany(&self, counterpart: Arc<dyn Counterpart>) -> Accompanied {
        let mut calls = self.calls();
        calls.next += 1;
        let number = calls.next;
        let ended = CancellationToken::new();
        calls.counterparts.push(OpenCall { number, counterpart, ended: ended.clone() });
        drop(calls);
        Accompanied { handler: self.clone(), number, _ended: ended.drop_guard() }
    }

    /// The one whose call is the newest.
    fn open_call(&self) -> Option<OpenCall> {
        self.calls().counterparts.last().cloned()
    }

    pub(crate) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let (message, schema) = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                (message, serde_json::to_value(requested_schema).unwrap_or_default())
            }
            // A page in a browser is not something to open because a server says so.
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        let (Some(call), Ok(_shown)) = (self.open_call(), self.0.forms.try_acquire()) else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        let form = Elicitation {
            server: self.0.server.clone(),
            message: crate::metadata::text(&message, 2_000),
            schema,
        };
        let answer = tokio::select! {
            biased;
            () = call.ended.cancelled() => ElicitationAnswer::Cancelled,
            answer = call.counterpart.elicit(form) => answer,
        };
        match answer {
            ElicitationAnswer::Accepted(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            ElicitationAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    pub(crate) async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorData> {
        let samples = self.0.samples.as_ref().ok_or_else(no_sampling)?;
        let request = SamplingRequest::of(params).map_err(refused)?;
        let call = self.open_call();
        let call = call.ok_or_else(|| refused("none of your calls is running".into()))?;
        let Ok(_only) = samples.try_acquire() else {
            return Err(refused("another request of yours is not answered yet".into()));
        };
        let answer = tokio::select! {
            biased;
            () = call.ended.cancelled() => Err("the call has ended".to_owned()),
            answer = call.counterpart.sample(request) => answer,
        };
        answer.map(result).map_err(refused)
    }

    pub(crate) fn roots(&self) -> ListRootsResult {
        let roots = self.open_call().map(|call| call.counterpart.roots()).unwrap_or_default();
        let root = |path: PathBuf| Root::new(format!("file://{}", path.display()));
        ListRootsResult::new(roots.into_iter().map(root).collect())
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key_of(token: &ProgressToken) -> String {
    match &token.0 {
        NumberOrString::Number(number) => number.to_string(),
        NumberOrString::String(text) => text.to_string(),
    }
}

pub(crate) struct Followed {
    handler: Handler,
    key: String,
    news: Arc<Notify>,
}

impl Followed {
    /// Waits for the next progress.
    pub(crate) async fn next(&self) {
        self.news.notified().await;
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.handler.calls().followed.remove(&self.key);
    }
}

pub(crate) struct Accompanied {
    handler: Handler,
    number: u64,
    _ended: DropGuard,
}

impl Drop for Accompanied {
    fn drop(&mut self) {
        self.handler.calls().counterparts.retain(|call| call.number != self.number);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let mut forms = ElicitationCapability::default();
        forms.form = Some(FormElicitationCapability::default());
        capabilities.elicitation = Some(forms);
        capabilities.sampling = self.0.samples.as_ref().map(|_| SamplingCapability::default());
        let mut info = ClientConfig::new(
            capabilities,
            Implementation::new("ostler", env!("CARGO_PKG_VERSION")),
        );
        info.protocol_version = rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(refused("you took the request back".into())),
            answer = self.sample(params) => answer,
        }
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            biased;
            // Nobody reads an answer to a request that the server took back.
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            answer = self.elicit(request) => Ok(answer),
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note_change();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note_change();
    }
}
