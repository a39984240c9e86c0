//! Ends an agent when another terminal asks for it. The request comes through a FIFO in the directory of its job.

use ostler_core::ports::JobWork;
use ostler_store::JobFolder;
use std::sync::Arc;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::sync::watch;

/// Listens until the job is over. If that is impossible, the agent can still be stopped in its own session.
pub(super) fn stop_on_request(
    folder: &JobFolder,
    work: Arc<dyn JobWork>,
    mut over: watch::Receiver<bool>,
) {
    let Some(requests) = listen(folder) else { return };
    tokio::spawn(async move {
        tokio::select! {
            Ok(()) = requests.readable() => work.stop(),
            _ = over.wait_for(|over| *over) => {}
        }
    });
}

/// Also open for writing, so that a writer that leaves does not end the stream.
fn listen(folder: &JobFolder) -> Option<Receiver> {
    let path = folder.stop_requests().ok()?;
    OpenOptions::new().read_write(true).open_receiver(path).ok()
}
