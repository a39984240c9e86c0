//! Sends what waits in the queues: in order, each event until it was taken, and never in the way of anybody.

use crate::queue::{QueueError, QueueMark, QueueRecord, WebhookQueue};
use crate::webhook_request::Sender;
use ostler_core::hook::{EventName, HookSecret};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// One try.
const LIMIT: Duration = Duration::from_secs(10);
/// The first wait after a failure; doubled up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How often it is looked whether another process has finished delivering.
const BUSY_WAIT: Duration = Duration::from_secs(1);
/// Tries of an event that the receiver says it will never take.
const REFUSALS: u32 = 3;

/// The queues of this process's webhooks and the tasks that empty them.
pub struct Delivery {
    endpoints: Vec<Arc<Endpoint>>,
}

struct Endpoint {
    queue: WebhookQueue,
    secret: Option<HookSecret>,
    sender: Sender,
    /// There is something new.
    wake: Notify,
    /// Do not wait any longer.
    hurry: Notify,
    state: watch::Sender<DeliveryState>,
    started: AtomicBool,
    told_full: AtomicBool,
    /// Events that the receiver did not want.
    refused: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryState {
    Busy,
    Empty,
    /// So many failures in a row.
    Failing(u32),
}

impl Delivery {
    pub(crate) fn new(
        folder: PathBuf,
        endpoints: Vec<(String, Option<HookSecret>)>,
        sender: Sender,
    ) -> Self {
        let mut all: Vec<Arc<Endpoint>> = Vec::new();
        for (url, secret) in endpoints {
            if !all.iter().any(|had| had.queue.url == url) {
                let endpoint =
                    Endpoint::new(WebhookQueue::of(&folder, &url), secret, sender.clone());
                all.push(Arc::new(endpoint));
            }
        }
        // What an earlier process left behind waits for nobody.
        if tokio::runtime::Handle::try_current().is_ok() {
            let waits = |endpoint: &&Arc<Endpoint>| matches!(endpoint.queue.next(), Ok(Some(_)));
            all.iter().filter(waits).for_each(|endpoint| endpoint.start());
        }
        Delivery { endpoints: all }
    }

    /// The event is on disk when this returns.
    pub(crate) fn enqueue(
        &self,
        url: &str,
        event: EventName,
        body: &str,
    ) -> Result<(), QueueError> {
        let endpoint = self.endpoints.iter().find(|endpoint| endpoint.queue.url == url);
        let Some(endpoint) = endpoint else {
            return Err(QueueError::Io("its URL is unknown".into()));
        };
        let id = endpoint.sender.given().ids.uuid();
        let record = QueueRecord { id, event: event.name().to_owned(), body: body.to_owned() };
        match endpoint.queue.add(&record) {
            // Said once; it would be said at every event.
            Err(QueueError::Full) if endpoint.told_full.swap(true, Ordering::Relaxed) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                endpoint.told_full.store(false, Ordering::Relaxed);
                endpoint.start();
                Ok(())
            }
        }
    }

    /// Each queue is empty, or was tried once more in vain.
    pub(crate) async fn flushed(&self) {
        for endpoint in &self.endpoints {
            let mut state = endpoint.state.subscribe();
            let now = *state.borrow_and_update();
            endpoint.hurry.notify_one();
            let over = |state: &DeliveryState| match (now, *state) {
                // Something may have come in the moment in which it was found empty.
                (_, DeliveryState::Empty) => !matches!(endpoint.queue.next(), Ok(Some(_))),
                (DeliveryState::Failing(before), DeliveryState::Failing(after)) => after > before,
                (_, DeliveryState::Failing(_)) => true,
                (_, DeliveryState::Busy) => false,
            };
            let _ = state.wait_for(over).await;
        }
    }
}

impl Endpoint {
    fn new(queue: WebhookQueue, secret: Option<HookSecret>, sender: Sender) -> Self {
        Endpoint {
            queue,
            secret,
            sender,
            wake: Notify::new(),
            hurry: Notify::new(),
            state: watch::Sender::new(DeliveryState::Empty),
            started: AtomicBool::new(false),
            told_full: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        }
    }

    fn start(self: &Arc<Self>) {
        // A receiver that fails is not tried more often because there is more to tell it.
        self.state.send_if_modified(|state| {
            let idle = *state == DeliveryState::Empty;
            if idle {
                *state = DeliveryState::Busy;
            }
            idle
        });
        self.wake.notify_one();
        if !self.started.swap(true, Ordering::Relaxed) {
            let endpoint = self.clone();
            tokio::spawn(async move { endpoint.work().await });
        }
    }

    async fn work(&self) {
        let mut failures = 0;
        loop {
            match self.drain(&mut failures).await {
                Drained::Empty => {
                    self.state.send_replace(DeliveryState::Empty);
                    self.wake.notified().await;
                }
                Drained::Failed(_) => {
                    self.state.send_replace(DeliveryState::Failing(failures));
                    self.pause(self.backoff(failures)).await;
                }
                // Somebody else sends what we add.
                Drained::Elsewhere => self.pause(BUSY_WAIT).await,
            }
        }
    }

    fn backoff(&self, failures: u32) -> Duration {
        backoff(failures, (self.sender.given().jitter)())
    }

    async fn pause(&self, wait: Duration) {
        tokio::select! {
            () = self.hurry.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    /// Sends until nothing waits or something fails. The right to deliver is given back before any wait.
    async fn drain(&self, failures: &mut u32) -> Drained {
        let lock = match self.queue.try_deliver() {
            Ok(Some(lock)) => lock,
            Ok(None) => return Drained::Elsewhere,
            Err(error) => {
                *failures += 1;
                return Drained::Failed(error.to_string());
            }
        };
        let drained = loop {
            let (record, mark) = match self.queue.next() {
                Ok(Some(next)) => next,
                Ok(None) => break Drained::Empty,
                Err(error) => {
                    *failures += 1;
                    break Drained::Failed(error.to_string());
                }
            };
            match self.send(&record, mark, *failures).await {
                Ok(()) => *failures = 0,
                Err(why) => {
                    *failures += 1;
                    break Drained::Failed(why);
                }
            }
        };
        drop(lock);
        drained
    }

    async fn send(
        &self,
        record: &QueueRecord,
        mark: QueueMark,
        failures: u32,
    ) -> Result<(), String> {
        let QueueRecord { id, event, body } = record;
        let (url, secret) = (&self.queue.url, self.secret.as_ref());
        let reply = self.sender.send(url, secret, event, id, body.as_bytes(), LIMIT).await?;
        match reply.status {
            200..300 => self.queue.taken(mark).map_err(|error| error.to_string()),
            // About this very event; the others behind it does not have to wait forever.
            400 | 413 | 422 if failures + 1 >= REFUSALS => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                self.queue.refused(record, mark).map_err(|error| error.to_string())
            }
            status => Err(format!("it answered with status {status}")),
        }
    }
}

enum Drained {
    Empty,
    Failed(String),
    Elsewhere,
}

/// With up to half of it more or less, so that many senders do not come back at once.
fn backoff(failures: u32, jitter: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(10));
    doubled.min(LONGEST_WAIT).mul_f64(0.5 + jitter.clamp(0.0, 1.0))
}

/// What became of one queue.
#[derive(Debug)]
pub struct Delivered {
    pub url: String,
    pub sent: u64,
    /// Put aside in `refused.jsonl`, because the receiver did not want them.
    pub refused: u64,
    pub waiting: u64,
    pub error: Option<String>,
}

/// Sends what waits for these addresses, each until it fails three times in a row.
pub async fn deliver_all(
    folder: &Path,
    endpoints: &[(String, Option<HookSecret>)],
    sender: &Sender,
) -> Vec<Delivered> {
    let mut all = Vec::new();
    for (url, secret) in endpoints {
        let endpoint = Endpoint::new(WebhookQueue::of(folder, url), secret.clone(), sender.clone());
        all.push(delivered(&endpoint).await);
    }
    all
}

async fn delivered(endpoint: &Endpoint) -> Delivered {
    let before = endpoint.queue.waiting();
    let (mut failures, mut error) = (0, None);
    if before > 0 {
        for _ in 0..REFUSALS {
            error = match endpoint.drain(&mut failures).await {
                Drained::Empty => None,
                Drained::Failed(why) => Some(why),
                Drained::Elsewhere => Some("another process is delivering".into()),
            };
            if error.is_none() {
                break;
            }
            tokio::time::sleep(endpoint.backoff(failures.max(1))).await;
        }
    }
    let waiting = endpoint.queue.waiting();
    let url = endpoint.queue.url.clone();
    let refused = endpoint.refused.load(Ordering::Relaxed);
    let sent = before.saturating_sub(waiting).saturating_sub(refused);
    Delivered { url, sent, refused, waiting, error }
}

/// Goes back to an event, or to the oldest that is kept; it and all behind it are sent again. False: it is not there.
///
/// # Errors
/// If the queue cannot be used, or another process delivers.
pub fn replay(folder: &Path, url: &str, from: Option<&str>) -> Result<bool, String> {
    let queue = WebhookQueue::of(folder, url);
    match queue.try_deliver() {
        Ok(Some(_lock)) => queue.rewind(from).map_err(|error| error.to_string()),
        Ok(None) => Err("another process is delivering to it".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_are_spread() {
        for failures in [1, 2, 5, 100] {
            let middle = FIRST_WAIT.saturating_mul(1 << (failures - 1).min(10)).min(LONGEST_WAIT);
            let wait = |jitter: f64| backoff(failures, jitter);
            assert_eq!([wait(0.0), wait(0.5), wait(1.0)], [middle / 2, middle, middle * 3 / 2]);
            assert_eq!(wait(f64::INFINITY), wait(1.0));
        }
    }
}
