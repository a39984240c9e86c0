//! A command while it runs: its call waits for it, or hands it over to a job.

use crate::JobOutput;
use crate::text::tail;
use ostler_core::ports::{BoxFuture, ToolContext};
use ostler_exec::{
    Capture, Command, CommandReport, ExecError, Executor, OutputLimits, OutputProgress, Stopper,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Of the output, this much is kept from each end. The text is made of it while it is still held, so all of it counts
/// twice.
const KEPT: usize = 2 << 20;
/// A command that writes more is ended.
const TOTAL: u64 = 1 << 30;

/// The output is kept here, so that a command can be handed over with what it wrote.
pub(super) const LIMITS: OutputLimits =
    OutputLimits { head: 0, tail: 0, sink: u64::MAX, total: TOTAL };

/// Characters of the newest output shown while a command runs, and how often.
const PROGRESS: usize = 2_000;
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

/// Dropping it kills the command.
pub(super) struct Execution {
    waiting: BoxFuture<'static, Result<CommandReport, ExecError>>,
    newest: watch::Receiver<OutputProgress>,
    stopper: Stopper,
    pid: i32,
    sink: Arc<Mutex<Sink>>,
}

/// Where the output goes.
enum Sink {
    Memory(Capture),
    File(Arc<Mutex<JobOutput>>),
}

/// A command that its call no longer waits for.
pub(super) struct HandedOver {
    /// Without its output.
    pub(super) waiting: BoxFuture<'static, Result<CommandReport, ExecError>>,
    pub(super) stopper: Stopper,
    pub(super) output: Arc<Mutex<JobOutput>>,
    pub(super) pid: i32,
}

impl Execution {
    pub(super) async fn start(executor: &Executor, command: Command) -> Result<Self, ExecError> {
        let mut running = executor.spawn(command).await?;
        let (newest, stopper, pid) = (running.progress(), running.stopper(), running.pid());
        let sink = Arc::new(Mutex::new(Sink::Memory(Capture::new(KEPT, KEPT))));
        let into = Arc::clone(&sink);
        let waiting = Box::pin(running.wait_with(move |bytes| locked(&into).push(bytes)));
        Ok(Execution { waiting, newest, stopper, pid, sink })
    }

    /// Waits for the end, and hands on the newest output meanwhile. Cancel-safe.
    pub(super) async fn finished(&mut self, cx: &ToolContext) -> Result<CommandReport, ExecError> {
        let newest = self.newest.clone();
        let mut report = tokio::select! {
            finished = &mut self.waiting => finished?,
            never = show_progress(newest, cx) => match never {},
        };
        if let Sink::Memory(capture) = &mut *locked(&self.sink) {
            report.output = std::mem::replace(capture, Capture::new(0, 0)).finish();
        }
        Ok(report)
    }

    /// Its time is over: it is ended as any command is at its limit.
    pub(super) fn end_by_time(&self) {
        self.stopper.set_limit(Duration::ZERO);
    }

    /// What it wrote and will write goes to the file.
    pub(super) fn hand_over(self, output: JobOutput) -> HandedOver {
        let output = Arc::new(Mutex::new(output));
        {
            let mut sink = locked(&self.sink);
            let before = std::mem::replace(&mut *sink, Sink::File(Arc::clone(&output)));
            if let Sink::Memory(capture) = before {
                let (before, mut output) = (capture.finish(), locked(&output));
                output.push(before.head());
                output.skip(before.dropped());
                output.push(before.tail());
            }
        }
        HandedOver { waiting: self.waiting, stopper: self.stopper, output, pid: self.pid }
    }
}

impl Sink {
    fn push(&mut self, bytes: &[u8]) {
        match self {
            Sink::Memory(capture) => capture.push(bytes),
            Sink::File(output) => locked(output).push(bytes),
        }
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From time to time, however fast the output comes.
async fn show_progress(
    mut newest: watch::Receiver<OutputProgress>,
    cx: &ToolContext,
) -> std::convert::Infallible {
    while newest.changed().await.is_ok() {
        let text = newest.borrow_and_update().text();
        cx.progress.tail(tail(&text, PROGRESS));
        tokio::time::sleep(PROGRESS_PAUSE).await;
    }
    std::future::pending().await
}
