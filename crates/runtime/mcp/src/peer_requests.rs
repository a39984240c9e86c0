//! What a server asks of us, bounded: one that asks faster than it reads our answers is not listened to.

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests of a server that wait for an answer, or whose answer it has not read.
const MOST: usize = 64;

#[derive(Clone, Default)]
pub(crate) struct PeerRequests(Arc<Mutex<HashMap<RequestId, Stage>>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    /// Its answer is on the way.
    Answered,
}

impl PeerRequests {
    /// False: the message is left out. It is a request too many, or has the id of one that is not answered yet.
    pub(crate) fn admits(&self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut open = self.open();
                let is_new = open.len() < MOST && !open.contains_key(&request.id);
                if is_new {
                    open.insert(request.id.clone(), Stage::Asked);
                }
                is_new
            }
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(it) = &notification.notification
                    && let Some(id) = &it.params.request_id
                {
                    let mut open = self.open();
                    // Whoever takes a request back gets no answer.
                    if open.get(id) == Some(&Stage::Asked) {
                        open.remove(id);
                    }
                }
                true
            }
            _ => true,
        }
    }

    /// The request that this message answers.
    pub(crate) fn answered_by(&self, message: &TxJsonRpcMessage<RoleClient>) -> Option<RequestId> {
        let id = match message {
            JsonRpcMessage::Response(response) => response.id.clone(),
            JsonRpcMessage::Error(error) => error.id.clone()?,
            _ => return None,
        };
        self.open().insert(id.clone(), Stage::Answered);
        Some(id)
    }

    /// The server has its answer, or will never have it.
    pub(crate) fn end(&self, id: &RequestId) {
        self.open().remove(id);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, Stage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn from_server(message: Value) -> RxJsonRpcMessage<RoleClient> {
        serde_json::from_value(message).unwrap()
    }

    fn ping(id: usize) -> RxJsonRpcMessage<RoleClient> {
        from_server(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
    }

    fn cancel(id: usize) -> RxJsonRpcMessage<RoleClient> {
        let params = json!({"requestId": id});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        from_server(message)
    }

    fn pong(id: usize) -> TxJsonRpcMessage<RoleClient> {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).unwrap()
    }

    #[test]
    fn a_server_that_reads_no_answers_is_not_listened_to() {
        let requests = PeerRequests::default();
        assert!((0..MOST).all(|id| requests.admits(&ping(id))));
        assert!(!requests.admits(&ping(MOST)));
        let id = requests.answered_by(&pong(3)).unwrap();
        assert!(!requests.admits(&ping(MOST)), "the answer was not read yet");
        // Nor does it help to take the request back.
        assert!(requests.admits(&cancel(3)));
        assert!(!requests.admits(&ping(MOST)));
        requests.end(&id);
        assert!(requests.admits(&ping(MOST)));
        assert!(!requests.admits(&ping(MOST + 1)));
    }

    #[test]
    fn a_request_that_is_taken_back_makes_room() {
        let requests = PeerRequests::default();
        assert!((0..MOST).all(|id| requests.admits(&ping(id))));
        assert!(requests.admits(&cancel(5)) && requests.admits(&ping(MOST)));
    }

    #[test]
    fn an_id_counts_once_until_it_is_answered() {
        let requests = PeerRequests::default();
        assert!(requests.admits(&ping(1)) && !requests.admits(&ping(1)));
        let id = requests.answered_by(&pong(1)).unwrap();
        requests.end(&id);
        assert!(requests.admits(&ping(1)));
        let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        assert!(requests.admits(&from_server(notice)));
    }
}
