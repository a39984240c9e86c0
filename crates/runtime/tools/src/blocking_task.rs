//! File work off the runtime's threads: it has a time limit, and it is told when nobody waits any more.

use ostler_core::tool::ToolOutput;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A file system that does not answer cannot be interrupted, only left alone after this much more.
const GRACE: Duration = Duration::from_secs(5);

/// Asked from time to time by work that may take long.
#[derive(Clone)]
pub struct TaskStop {
    dropped: Arc<AtomicBool>,
    deadline: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStopped {
    /// The call was given up: nobody reads the output.
    Dropped,
    OutOfTime,
}

impl TaskStop {
    pub fn reached(&self) -> Option<TaskStopped> {
        if self.dropped.load(Ordering::Relaxed) {
            Some(TaskStopped::Dropped)
        } else {
            (Instant::now() >= self.deadline).then_some(TaskStopped::OutOfTime)
        }
    }

    /// The output of work that must not begin its effect any more.
    pub fn check(&self) -> Result<(), ToolOutput> {
        match self.reached() {
            None => Ok(()),
            Some(TaskStopped::Dropped) => {
                Err(ToolOutput::error("Stopped before anything was changed."))
            }
            Some(TaskStopped::OutOfTime) => Err(ToolOutput::error(
                "The file system was too slow; nothing was changed. Try again.",
            )),
        }
    }

    #[cfg(test)]
    pub fn never() -> Self {
        TaskStop { dropped: Arc::default(), deadline: Instant::now() + Duration::from_secs(3600) }
    }

    #[cfg(test)]
    pub fn now() -> Self {
        TaskStop { dropped: Arc::default(), deadline: Instant::now() }
    }
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub async fn blocking(
    limit: Duration,
    work: impl FnOnce(&TaskStop) -> ToolOutput + Send + 'static,
) -> ToolOutput {
    let dropped = Arc::new(AtomicBool::new(false));
    let _told = SetOnDrop(Arc::clone(&dropped));
    let stop = TaskStop { dropped, deadline: Instant::now() + limit };
    let work = tokio::task::spawn_blocking(move || work(&stop));
    match tokio::time::timeout(limit + GRACE, work).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => ToolOutput::error(format!(
            "This is a fault of the tool itself, not of the call: {error}"
        )),
        Err(_) => ToolOutput::error(format!(
            "The file system did not answer within {} s. Check what was done before trying again.",
            (limit + GRACE).as_secs()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_learns_that_nobody_waits() {
        let (started, mut is_started) = tokio::sync::mpsc::channel(1);
        let (ended, mut has_ended) = tokio::sync::mpsc::channel(1);
        let work = blocking(Duration::from_secs(60), move |stop| {
            started.blocking_send(()).unwrap();
            while stop.reached().is_none() {
                std::thread::yield_now();
            }
            ended.blocking_send(stop.reached()).unwrap();
            ToolOutput::default()
        });
        tokio::select! {
            _ = work => panic!("it ends only when dropped"),
            _ = is_started.recv() => {}
        }
        assert_eq!(has_ended.recv().await, Some(Some(TaskStopped::Dropped)));
    }

    #[tokio::test]
    async fn a_panic_is_an_output() {
        let output = blocking(Duration::from_secs(60), |_| panic!("odd")).await;
        assert!(output.is_error);
    }

    #[test]
    fn time_runs_out() {
        assert_eq!(TaskStop::now().reached(), Some(TaskStopped::OutOfTime));
        assert!(TaskStop::now().check().is_err());
        assert_eq!(TaskStop::never().reached(), None);
    }
}
