//! The server as its owner sees it: start, ask what came, stop.

use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};

use crate::billing::Bill;
use crate::connection;
use crate::error::ServerError;
use crate::gates::{ReplyGate, within};
use crate::log::LogEntry;
use crate::record::{Recorded, ServedOutcome};
use crate::script::Script;
use crate::state::ServerShared;

/// A running server. It stops, and frees its port, when dropped.
pub struct ModelServer {
    addr: SocketAddr,
    shared: Arc<ServerShared>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    stopped: Option<oneshot::Receiver<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts on a free port of 127.0.0.1. No runtime is needed.
    pub fn start(script: Script) -> Result<Self, ServerError> {
        Self::start_on((Ipv4Addr::LOCALHOST, 0).into(), script)
    }

    /// Starts on that loopback address.
    pub fn start_on(addr: SocketAddr, script: Script) -> Result<Self, ServerError> {
        if !addr.ip().is_loopback() {
            return Err(ServerError::NotLoopback(addr));
        }
        script.check()?;
        let listening = |source| ServerError::Listen { addr, source };
        let listener = StdListener::bind(addr).map_err(listening)?;
        listener.set_nonblocking(true).map_err(listening)?;
        let addr = listener.local_addr().map_err(listening)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name("model-server-reply")
            .build()
            .map_err(ServerError::Thread)?;
        let shared = Arc::new(ServerShared::new(script));
        let (stop, stopping) = oneshot::channel();
        let (done, stopped) = oneshot::channel();
        let (handle, served) = (runtime.handle().clone(), shared.clone());
        let thread = std::thread::Builder::new()
            .name("model-server".into())
            .spawn(move || {
                run(runtime, listener, served, stopping);
                // Nobody may be listening any more.
                let _ = done.send(());
            })
            .map_err(ServerError::Thread)?;
        let (stop, stopped, thread) = (Some(stop), Some(stopped), Some(thread));
        Ok(Self { addr, shared, runtime: handle, stop, stopped, thread })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The requests for a message, in the order of arrival.
    pub fn requests(&self) -> Vec<Arc<Recorded>> {
        self.traffic().into_iter().filter(|recorded| recorded.is_message()).collect()
    }

    /// Every request, also those for other paths.
    pub fn traffic(&self) -> Vec<Arc<Recorded>> {
        self.shared.lock().records.iter().map(|kept| kept.recorded.clone()).collect()
    }

    /// Waits until at least that many requests for a message have come.
    pub async fn wait_for_requests(
        &self,
        count: usize,
        limit: Duration,
    ) -> Result<Vec<Arc<Recorded>>, ServerError> {
        let shared = self.shared.clone();
        let came = async move {
            let enough = || (shared.lock().messages >= count).then_some(());
            shared.changed.until(enough).await;
        };
        let seen = || format!("{} came", self.shared.lock().messages);
        within(&self.runtime, limit, format!("{count} requests"), came, seen).await?;
        Ok(self.requests())
    }

    /// How the response to that request (by its `number`) ended; waits until it has.
    pub async fn outcome(
        &self,
        number: usize,
        limit: Duration,
    ) -> Result<ServedOutcome, ServerError> {
        let shared = self.shared.clone();
        let ended = async move {
            let outcome = || shared.lock().kept(number).and_then(|kept| kept.outcome);
            shared.changed.until(outcome).await
        };
        let seen = || "it has not ended".to_owned();
        within(&self.runtime, limit, format!("the end of response {number}"), ended, seen).await
    }

    /// Every refusal that no script asked for: broken rules, unmet expectations, a script at its end.
    pub fn rejected(&self) -> Vec<String> {
        self.shared.lock().rejected.clone()
    }

    /// How many messages continued the one before in the same role.
    pub fn merged_roles(&self) -> u64 {
        self.shared.lock().merged_roles
    }

    /// How many thinking blocks came while thinking was disabled.
    pub fn idle_thinking(&self) -> u64 {
        self.shared.lock().idle_thinking
    }

    /// From now on every request is logged; see `log_entry`.
    pub fn follow(&self) {
        self.shared.lock().log.get_or_insert_default();
    }

    /// The n-th request whose response has ended since `follow`, from 0; waits until it has. For a reader who is far
    /// behind, the oldest that is left.
    pub async fn log_entry(&self, n: usize) -> Arc<LogEntry> {
        let entry = || self.shared.lock().log.as_ref().and_then(|log| log.entry(n));
        self.shared.changed.until(entry).await
    }

    /// Waits until every response has ended; false if that takes longer.
    pub async fn idle(&self, limit: Duration) -> bool {
        let shared = self.shared.clone();
        let ended = async move {
            let all = || shared.lock().records.iter().all(|kept| kept.outcome.is_some());
            shared.changed.until(|| all().then_some(())).await;
        };
        let seen = || "some have not".to_owned();
        within(&self.runtime, limit, "the end of all responses".into(), ended, seen).await.is_ok()
    }

    /// The same as `log_entry` without waiting.
    pub fn logged(&self, n: usize) -> Option<Arc<LogEntry>> {
        self.shared.lock().log.as_ref().and_then(|log| log.entry(n))
    }

    /// What the answers so far cost, as the provider would bill them.
    pub fn bill(&self) -> Bill {
        self.shared.lock().bill.clone()
    }

    /// Lets time pass for the prompt cache: entries grow old.
    pub fn pass(&self, time: Duration) {
        self.shared.lock().ahead += time;
    }

    /// The gate of that name; replies that name it wait there.
    pub fn gate(&self, name: impl Into<String>) -> ReplyGate {
        let (gates, runtime) = (self.shared.gates.clone(), self.runtime.clone());
        ReplyGate { gates, runtime, name: name.into() }
    }

    /// Stops serving; open connections are closed. Dropping does the same and blocks for it.
    pub async fn shutdown(mut self) {
        self.stop.take();
        if let Some(stopped) = self.stopped.take() {
            // An error means that the thread is gone, which is what we wait for.
            let _ = stopped.await;
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // Short: the thread waits for nothing but this signal. A panic in it was reported there.
            let _ = thread.join();
        }
    }
}

fn run(
    runtime: Runtime,
    listener: StdListener,
    shared: Arc<ServerShared>,
    stopping: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        tokio::select! {
            () = accept(listener, shared) => {}
            _ = stopping => {}
        }
    });
    // Drops all connections; does not wait for code that computes a reply.
    runtime.shutdown_background();
}

async fn accept(listener: StdListener, shared: Arc<ServerShared>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let permits = Arc::new(Semaphore::new(shared.script.limits.connections));
    let mut count = 0;
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = connection::serve(stream, shared.clone(), count);
                count += 1;
                tokio::spawn(async move {
                    served.await;
                    drop(permit);
                });
            }
            // Out of descriptors, or a client that left: neither is a reason to stop.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
