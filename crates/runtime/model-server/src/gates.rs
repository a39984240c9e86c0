//! Named points where a reply waits until a test lets it continue: overlap is proved without clocks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::error::ServerError;

/// How long `reached` waits before it says that nothing came.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tells everyone who waits that something has changed.
pub(crate) struct GateSignal(watch::Sender<u64>);

impl Default for GateSignal {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl GateSignal {
    pub fn bump(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Waits until the condition gives something. It is asked again after every change.
    pub async fn until<T>(&self, mut condition: impl FnMut() -> Option<T>) -> T {
        let mut changes = self.0.subscribe();
        loop {
            if let Some(found) = condition() {
                return found;
            }
            // The sender lives as long as `self`, so this ends only by a change.
            let _ = changes.changed().await;
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct GateState {
    arrived: u64,
    permits: u64,
    open: bool,
}

#[derive(Default)]
pub(crate) struct Gates {
    states: Mutex<BTreeMap<String, GateState>>,
    changed: GateSignal,
}

impl Gates {
    fn with<T>(&self, name: &str, change: impl FnOnce(&mut GateState) -> T) -> T {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        change(states.entry(name.to_owned()).or_default())
    }

    pub async fn pass(&self, name: &str) {
        self.with(name, |gate| gate.arrived += 1);
        self.changed.bump();
        let leave = || {
            self.with(name, |gate| {
                let free = gate.open || gate.permits > 0;
                gate.permits -= u64::from(free && !gate.open);
                free.then_some(())
            })
        };
        self.changed.until(leave).await;
    }

    fn describe(&self) -> String {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let came: Vec<String> = states
            .iter()
            .filter(|(_, gate)| gate.arrived > 0)
            .map(|(name, gate)| format!("`{name}` {} times", gate.arrived))
            .collect();
        if came.is_empty() {
            return "no gate was reached".into();
        }
        format!("reached so far: {}", came.join(", "))
    }
}

/// The test's side of a gate.
#[derive(Clone)]
pub struct ReplyGate {
    pub(crate) gates: Arc<Gates>,
    pub(crate) runtime: Handle,
    pub(crate) name: String,
}

impl ReplyGate {
    /// Waits until a reply stands, or has stood, at the gate.
    pub async fn reached(&self) -> Result<(), ServerError> {
        self.reached_times(1).await
    }

    /// Waits until replies have come to the gate that many times in all.
    pub async fn reached_times(&self, times: u64) -> Result<(), ServerError> {
        let (gates, name) = (self.gates.clone(), self.name.clone());
        let what = format!("gate `{name}` to be reached {times} times");
        let came = async move {
            let enough = || gates.with(&name, |gate| gate.arrived >= times).then_some(());
            gates.changed.until(enough).await;
        };
        within(&self.runtime, PATIENCE, what, came, || self.gates.describe()).await
    }

    /// Lets one reply pass, now or when it comes.
    pub fn release(&self) {
        self.gates.with(&self.name, |gate| gate.permits += 1);
        self.gates.changed.bump();
    }

    /// Lets every reply pass from now on.
    pub fn open(&self) {
        self.gates.with(&self.name, |gate| gate.open = true);
        self.gates.changed.bump();
    }
}

/// Waits on the server's own clock: a test may have paused its own.
pub(crate) async fn within<T: Send + 'static>(
    runtime: &Handle,
    limit: Duration,
    what: String,
    future: impl Future<Output = T> + Send + 'static,
    seen: impl FnOnce() -> String,
) -> Result<T, ServerError> {
    match runtime.spawn(async move { tokio::time::timeout(limit, future).await }).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(_)) => Err(ServerError::Waited { waited: limit, what, seen: seen() }),
        Err(_) => Err(ServerError::Stopped),
    }
}
