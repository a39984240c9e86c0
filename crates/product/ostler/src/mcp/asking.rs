//! How many servers are being asked what they offer.

use tokio::sync::watch;

/// Counts while it lives.
pub(super) struct Asking(watch::Sender<usize>);

impl Asking {
    pub(super) fn begin(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Asking(count.clone())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
