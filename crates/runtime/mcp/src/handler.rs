//! What a server may ask of us, and what it tells us without being asked.
#![expect(deprecated, reason = "roots and sampling are part of the 2025 revisions")]

use crate::error::ServerError;
use ostler_core::ids::CallId;
use ostler_core::ports::{BoxFuture, Progress};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
    ErrorData, FormElicitationCapability, Implementation, ListRootsResult, NumberOrString,
    ProgressNotificationParam, ProgressToken, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};

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
}

#[derive(Default)]
struct Calls {
    next: u64,
    followed: HashMap<String, (Arc<dyn Progress>, Arc<Notify>)>,
    /// The newest last.
    counterparts: Vec<(u64, Arc<dyn Counterpart>)>,
}

impl Handler {
    pub(crate) fn new(server: &str) -> Self {
        let (changed, calls, forms) = (Notify::new(), Mutex::default(), Semaphore::new(MOST_FORMS));
        Handler(Arc::new(HandlerShared { server: server.to_owned(), changed, calls, forms }))
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
        calls.counterparts.push((number, counterpart));
        drop(calls);
        Accompanied { handler: self.clone(), number }
    }

    /// The one whose call is the newest.
    fn counterpart(&self) -> Option<Arc<dyn Counterpart>> {
        self.calls().counterparts.last().map(|(_, counterpart)| counterpart.clone())
    }

    pub(crate) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let (message, schema) = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                (message, serde_json::to_value(requested_schema).unwrap_or_default())
            }
            // A page in a browser is not something to open because a server says so.
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        let (Some(counterpart), Ok(_shown)) = (self.counterpart(), self.0.forms.try_acquire())
        else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        let form = Elicitation {
            server: self.0.server.clone(),
            message: crate::metadata::text(&message, 2_000),
            schema,
        };
        match counterpart.elicit(form).await {
            ElicitationAnswer::Accepted(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            ElicitationAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    pub(crate) fn roots(&self) -> ListRootsResult {
        let roots = self.counterpart().map(|one| one.roots()).unwrap_or_default();
        let root = |path: PathBuf| Root::new(format!("file://{}", path.display()));
        ListRootsResult::new(roots.into_iter().map(root).collect())
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn no_sampling() -> ErrorData {
    let why = "this client does not let servers use its model".to_owned();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
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
}

impl Drop for Accompanied {
    fn drop(&mut self) {
        self.handler.calls().counterparts.retain(|(number, _)| *number != self.number);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let mut forms = ElicitationCapability::default();
        forms.form = Some(FormElicitationCapability::default());
        capabilities.elicitation = Some(forms);
        let mut info = ClientConfig::new(
            capabilities,
            Implementation::new("ostler", env!("CARGO_PKG_VERSION")),
        );
        info.protocol_version = rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(no_sampling())
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
