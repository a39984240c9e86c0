//! What we ask of the program that drives us: each request is a line, and waits for the line that answers it.

use crate::frames::line;
use ostler::IdSource;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Requests that may wait for an answer at the same time.
const MOST_OPEN: usize = 10_000;

/// Cloning copies a pointer.
#[derive(Clone)]
pub struct Callbacks {
    shared: Arc<CallbackDesk>,
}

struct CallbackDesk {
    ids: Arc<dyn IdSource>,
    /// Lines for standard output. Whoever prints takes them at once.
    out: mpsc::UnboundedSender<String>,
    table: Mutex<OpenCallbacks>,
}

#[derive(Default)]
struct OpenCallbacks {
    open: HashMap<String, WaitingCallback>,
    /// Nobody can answer any more.
    is_closed: bool,
}

struct WaitingCallback {
    answer: oneshot::Sender<Result<Value, String>>,
    /// A question about a permission, as it was asked.
    question: Option<Value>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackFailure {
    /// The program says so.
    Failed(String),
    TimedOut(Duration),
    /// Standard input was closed.
    Closed,
}

impl std::fmt::Display for CallbackFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallbackFailure::Failed(why) => write!(f, "failed: {why}"),
            CallbackFailure::TimedOut(limit) => {
                write!(f, "did not answer within {} s", limit.as_secs_f64())
            }
            CallbackFailure::Closed => f.write_str("cannot answer: the input stream is closed"),
        }
    }
}

impl Callbacks {
    pub fn new(ids: Arc<dyn IdSource>, out: mpsc::UnboundedSender<String>) -> Self {
        let table = Mutex::default();
        Callbacks { shared: Arc::new(CallbackDesk { ids, out, table }) }
    }

    /// Sends a request and waits for its answer. Dropping the future takes it back.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(
        &self,
        request: Value,
        limit: Option<Duration>,
    ) -> Result<Value, CallbackFailure> {
        let (id, answer) = self.open(request)?;
        let mut open = OpenCallback { callbacks: self, id: Some(id) };
        let answered = match limit {
            Some(limit) => tokio::time::timeout(limit, answer)
                .await
                .map_err(|_| CallbackFailure::TimedOut(limit))?,
            None => answer.await,
        };
        open.id = None;
        match answered {
            Ok(answer) => answer.map_err(CallbackFailure::Failed),
            Err(_) => Err(CallbackFailure::Closed),
        }
    }

    fn open(
        &self,
        request: Value,
    ) -> Result<(String, oneshot::Receiver<Result<Value, String>>), CallbackFailure> {
        let id = self.shared.ids.uuid();
        let (answer, answered) = oneshot::channel();
        let mut table = self.table();
        if table.is_closed {
            return Err(CallbackFailure::Closed);
        }
        if table.open.len() >= MOST_OPEN {
            return Err(CallbackFailure::Failed("too many requests are open".into()));
        }
        let is_question = request["subtype"] == "can_use_tool";
        let frame = json!({ "type": "control_request", "request_id": id, "request": request });
        let question = is_question.then(|| frame.clone());
        table.open.insert(id.clone(), WaitingCallback { answer, question });
        let _ = self.shared.out.send(line(&frame));
        Ok((id, answered))
    }

    /// An answer came. One that nobody waits for is dropped.
    pub fn answer(&self, id: &str, answer: Result<Value, String>) {
        let open = self.table().open.remove(id);
        if let Some(open) = open {
            let _ = open.answer.send(answer);
        }
    }

    /// The questions about permissions that wait for an answer, as they were asked.
    pub fn questions(&self) -> Vec<Value> {
        self.table().open.values().filter_map(|open| open.question.clone()).collect()
    }

    /// No answer can come any more: whoever waits gets a failure.
    pub fn close(&self) {
        let mut table = self.table();
        table.is_closed = true;
        table.open.clear();
    }

    fn table(&self) -> MutexGuard<'_, OpenCallbacks> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is dropped before its answer came is taken back.
struct OpenCallback<'a> {
    callbacks: &'a Callbacks,
    id: Option<String>,
}

impl Drop for OpenCallback<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if self.callbacks.table().open.remove(&id).is_some() {
            let frame = json!({ "type": "control_cancel_request", "request_id": id });
            let _ = self.callbacks.shared.out.send(line(&frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::CountingIds;

    fn rig() -> (Callbacks, mpsc::UnboundedReceiver<String>) {
        let (out, lines) = mpsc::unbounded_channel();
        (Callbacks::new(Arc::new(CountingIds::default()), out), lines)
    }

    fn id_of(line: &str) -> String {
        let frame: Value = serde_json::from_str(line).unwrap();
        frame["request_id"].as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn an_answer_finds_its_request() {
        let (callbacks, mut lines) = rig();
        let first = callbacks.ask(json!({"n": 1}), None);
        let second = callbacks.ask(json!({"n": 2}), None);
        let answering = async {
            let ids = [id_of(&lines.recv().await.unwrap()), id_of(&lines.recv().await.unwrap())];
            callbacks.answer(&ids[1], Ok(json!("two")));
            callbacks.answer(&ids[0], Err("one".into()));
            callbacks.answer("unknown", Ok(Value::Null));
        };
        let (first, second, ()) = tokio::join!(first, second, answering);
        assert_eq!(callbacks.questions(), Vec::<Value>::new());
        assert_eq!(first, Err(CallbackFailure::Failed("one".into())));
        assert_eq!(second, Ok(json!("two")));
    }

    #[tokio::test]
    async fn what_is_not_waited_for_any_more_is_taken_back() {
        let (callbacks, mut lines) = rig();
        let late = callbacks.ask(json!({}), Some(Duration::ZERO)).await;
        assert_eq!(late, Err(CallbackFailure::TimedOut(Duration::ZERO)));
        let asked = lines.recv().await.unwrap();
        let cancelled = lines.recv().await.unwrap();
        assert!(cancelled.contains("control_cancel_request"));
        assert_eq!(id_of(&asked), id_of(&cancelled));
    }

    #[tokio::test]
    async fn questions_can_be_told_again_while_they_wait() {
        let (callbacks, mut lines) = rig();
        let question = callbacks.ask(json!({"subtype": "can_use_tool"}), None);
        let other = callbacks.ask(json!({"subtype": "hook_callback"}), None);
        let answering = async {
            let asked = [lines.recv().await.unwrap(), lines.recv().await.unwrap()];
            let told: Vec<Value> =
                asked.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(callbacks.questions(), told[..1]);
            asked.iter().for_each(|line| callbacks.answer(&id_of(line), Ok(Value::Null)));
            assert_eq!(callbacks.questions(), Vec::<Value>::new());
        };
        let _ = tokio::join!(question, other, answering);
    }

    #[tokio::test]
    async fn a_closed_stream_fails_those_who_wait_and_those_who_come() {
        let (callbacks, _lines) = rig();
        let waiting = callbacks.ask(json!({}), None);
        let (waited, ()) = tokio::join!(waiting, async { callbacks.close() });
        assert_eq!(waited, Err(CallbackFailure::Closed));
        assert_eq!(callbacks.ask(json!({}), None).await, Err(CallbackFailure::Closed));
    }
}
