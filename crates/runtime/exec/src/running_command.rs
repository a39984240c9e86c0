//! A command that has been started: reads its output, watches its time, waits for its exit.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::capture::Capture;
use crate::command::{Command, OutputLimits};
use crate::connection::Link;
use crate::error::ExecError;
use crate::ladder::{Ladder, LadderStep};
use crate::progress::OutputProgress;
use crate::readable_descriptor::readable;
use crate::scope::Members;
use crate::socket;
use crate::status::{CommandReport, ExitStatus};
use crate::stop::{KILL, Stopper};
use crate::wire::{Exit, MAX_WORDS, ORDER_KILL, ORDER_TERMINATE, REPORT_SIZE, WireReport};

/// What one read takes at most: what a pipe holds by default.
const READ_SIZE: usize = 64 * 1024;

/// Our ends of a command's pipes.
pub(crate) struct Pipes {
    pub output: OwnedFd,
    pub errors: Option<OwnedFd>,
    /// Where the caller writes what the command reads.
    pub input: Option<OwnedFd>,
}

/// The streams of a command that somebody talks to. Dropping the input closes it.
#[derive(Debug)]
pub struct CommandPipes {
    pub input: pipe::Sender,
    pub output: pipe::Receiver,
}

/// A running command. Nothing of it happens in the background: its output is read and its time
/// limit kept while [`RunningCommand::wait`] is polled. Dropping it kills the command's group at once.
#[derive(Debug)]
pub struct RunningCommand {
    link: Arc<Link>,
    scope: Option<Arc<Members>>,
    control: Arc<Control>,
    /// None: the caller reads it.
    output: Option<AsyncFd<OwnedFd>>,
    errors: Option<AsyncFd<OwnedFd>>,
    pipes: Option<CommandPipes>,
    pid: i32,
    started: Instant,
    limits: OutputLimits,
    ladder: Ladder,
    stopper: Stopper,
    progress: Option<watch::Sender<OutputProgress>>,
}

impl CommandPipes {
    fn new(input: OwnedFd, output: OwnedFd) -> Result<Self, ExecError> {
        let doing = "talk to the command";
        let failed = |source| ExecError::Resources { doing, source };
        let input = pipe::Sender::from_owned_fd(input).map_err(failed)?;
        let output = pipe::Receiver::from_owned_fd(output).map_err(failed)?;
        Ok(CommandPipes { input, output })
    }
}

impl RunningCommand {
    pub(crate) fn new(
        link: Arc<Link>,
        scope: Option<Arc<Members>>,
        control: Arc<Control>,
        pipes: Pipes,
        pid: i32,
        command: &Command,
    ) -> Result<Self, ExecError> {
        let watch = |pipe| {
            let doing = "watch the command's output";
            readable(pipe).map_err(|source| ExecError::Resources { doing, source })
        };
        let (output, talk) = match pipes.input {
            Some(input) => (None, Some(CommandPipes::new(input, pipes.output)?)),
            None => (Some(watch(pipes.output)?), None),
        };
        let errors = pipes.errors.map(watch).transpose()?;
        let started = Instant::now();
        Ok(Self {
            link,
            scope,
            control,
            output,
            errors,
            pipes: talk,
            pid,
            started,
            limits: command.output,
            ladder: Ladder::new(started, command.time_limit, command.grace),
            stopper: Stopper::default(),
            progress: None,
        })
    }

    /// The process id, which is also the number of its process group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The streams of a command that was started with [`Command::piped`]; none the second time. The command still has
    /// to be waited for.
    pub fn take_pipes(&mut self) -> Option<CommandPipes> {
        self.pipes.take()
    }

    /// A handle to end the command in order while another task waits for it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The newest output, updated while the command is waited for.
    pub fn progress(&mut self) -> watch::Receiver<OutputProgress> {
        self.progress
            .get_or_insert_with(|| watch::Sender::new(OutputProgress::default()))
            .subscribe()
    }

    /// Waits for the exit of the command, not for the end of its pipe.
    pub async fn wait(self) -> Result<CommandReport, ExecError> {
        self.wait_with(|_| {}).await
    }

    /// As [`RunningCommand::wait`]; `sink` gets the output as it comes, up to its limit.
    pub async fn wait_with(mut self, sink: impl FnMut(&[u8])) -> Result<CommandReport, ExecError> {
        let mut intake =
            Intake::new(self.limits, sink, (self.progress.take(), self.output.is_none()));
        intake.errors =
            self.errors.as_ref().map(|_| Capture::new(self.limits.head, self.limits.tail));
        let mut errors_open = self.errors.is_some();
        let mut buffer = Vec::with_capacity(READ_SIZE);
        let mut buffer_of_errors = Vec::with_capacity(if errors_open { READ_SIZE } else { 0 });
        let (mut open, mut asked) = (!intake.shows_errors, 0);
        let timer = sleep_until(self.ladder.wake().unwrap_or(self.started));
        tokio::pin!(timer);
        let exit = loop {
            let step = tokio::select! {
                // The exit first and the output last: a command that floods us must not keep
                // its end or its time limit from being seen.
                biased;
                report = self.control.report() => match report {
                    Ok(Some(WireReport::Exited(exit))) if exit.signalled != 0 && self.is_closed() => {
                        return Err(ExecError::Closed);
                    }
                    Ok(Some(WireReport::Exited(exit))) => break exit,
                    _ => return Err(self.lost()),
                },
                level = self.stopper.above(asked) => {
                    asked = level;
                    let now = Instant::now();
                    if level == KILL { self.ladder.kill(now) } else { self.ladder.stop(now) }
                }
                limit = self.stopper.new_limit() => self.ladder.set_limit(self.started, limit),
                () = &mut timer, if self.ladder.wake().is_some() => self.ladder.time_up(Instant::now()),
                read = read_if_any(self.output.as_ref(), &mut buffer), if open => {
                    open = read.is_ok_and(|count| count > 0);
                    intake.take(&buffer);
                    if intake.is_over() { self.ladder.stop(Instant::now()) } else { LadderStep::Nothing }
                }
                read = read_if_any(self.errors.as_ref(), &mut buffer_of_errors), if errors_open => {
                    errors_open = read.is_ok_and(|count| count > 0);
                    intake.take_errors(&buffer_of_errors);
                    if intake.is_over() { self.ladder.stop(Instant::now()) } else { LadderStep::Nothing }
                }
            };
            match step {
                LadderStep::Nothing => continue,
                LadderStep::Limited => {}
                LadderStep::Terminate => self.control.order(ORDER_TERMINATE),
                LadderStep::Kill => self.control.order(ORDER_KILL),
                LadderStep::GiveUp => return Err(ExecError::Unkillable { pid: self.pid }),
            }
            if let Some(wake) = self.ladder.wake() {
                timer.as_mut().reset(wake);
            }
        };
        if let Some(output) = self.output.as_ref().filter(|_| open) {
            drain(output, &mut buffer, |bytes| intake.take(bytes));
        }
        if let Some(errors) = self.errors.as_ref().filter(|_| errors_open) {
            drain(errors, &mut buffer_of_errors, |bytes| intake.take_errors(bytes));
        }
        Ok(self.finished(exit, intake))
    }

    fn finished(&self, exit: Exit, intake: Intake<impl FnMut(&[u8])>) -> CommandReport {
        let killed = exit.signalled != 0;
        CommandReport {
            status: ExitStatus::of(exit),
            // A command that ended by itself before our signal reached it is not called killed.
            timed_out: killed && self.ladder.timed_out(),
            killed,
            output_capped: killed && intake.is_over(),
            exceeded: exit.exceeded,
            output: intake.capture.finish(),
            errors: intake.errors.map(Capture::finish),
            wall: self.started.elapsed(),
        }
    }

    fn is_closed(&self) -> bool {
        self.link.is_closed() || self.scope.as_ref().is_some_and(|scope| scope.is_ended())
    }

    fn lost(&self) -> ExecError {
        if self.is_closed() {
            return ExecError::Closed;
        }
        self.link.end_orphans();
        ExecError::SupervisorLost
    }
}

/// Where the bytes go.
struct Intake<F> {
    limits: OutputLimits,
    capture: Capture,
    errors: Option<Capture>,
    /// The progress shows the errors: the output is the caller's.
    shows_errors: bool,
    sink: F,
    progress: Option<watch::Sender<OutputProgress>>,
}

impl<F: FnMut(&[u8])> Intake<F> {
    fn new(
        limits: OutputLimits,
        sink: F,
        (progress, shows_errors): (Option<watch::Sender<OutputProgress>>, bool),
    ) -> Self {
        let capture = Capture::new(limits.head, limits.tail);
        Self { limits, capture, errors: None, shows_errors, sink, progress }
    }

    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let room = self.limits.sink.saturating_sub(self.capture.total());
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        if room > 0 {
            (self.sink)(&bytes[..room]);
        }
        self.capture.push(bytes);
        if let Some(progress) = &self.progress {
            progress.send_modify(|progress| progress.push(bytes));
        }
    }

    fn take_errors(&mut self, bytes: &[u8]) {
        if let Some(errors) = &mut self.errors {
            errors.push(bytes);
        }
        if let Some(progress) = self.progress.as_ref().filter(|_| self.shows_errors) {
            progress.send_modify(|progress| progress.push(bytes));
        }
    }

    fn is_over(&self) -> bool {
        let errors = self.errors.as_ref().map_or(0, Capture::total);
        self.capture.total() + errors > self.limits.total
    }
}

/// The control socket of one command.
#[derive(Debug)]
pub(crate) struct Control {
    socket: AsyncFd<OwnedFd>,
}

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self { socket: readable(socket)? })
    }

    /// The next report; None when the supervisor has closed the socket. Safe to cancel.
    pub(crate) async fn report(&self) -> io::Result<Option<WireReport>> {
        Ok(self.report_with_words().await?.map(|(report, _)| report))
    }

    /// As [`Control::report`], with the words that say why something failed.
    pub(crate) async fn report_with_words(&self) -> io::Result<Option<(WireReport, String)>> {
        let mut bytes = [0; REPORT_SIZE + MAX_WORDS];
        let read =
            self.socket.async_io(Interest::READABLE, |fd| socket::receive(fd, &mut bytes)).await;
        let length = read?;
        let packet = bytes.get(..length).and_then(|packet| packet.split_at_checked(REPORT_SIZE));
        let report = packet.and_then(|(report, words)| Some((WireReport::decode(report)?, words)));
        Ok(report.map(|(report, words)| (report, String::from_utf8_lossy(words).into_owned())))
    }

    // If it cannot be sent, the supervisor has let go of the command, and the next report says why.
    pub(crate) fn order(&self, order: u8) {
        let _ = socket::send(&self.socket, &[&[order]], &[]);
    }
}

/// Replaces the buffer's content by what the pipe holds. Zero bytes mean its end. Safe to cancel.
async fn read_some(pipe: &AsyncFd<OwnedFd>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        let mut guard = pipe.readable().await?;
        buffer.clear();
        let read = guard.try_io(|fd| Ok(rustix::io::read(fd, spare_capacity(buffer))?));
        if let Ok(read) = read {
            // A short read has emptied the pipe; asking again would only be told so.
            if buffer.len() < buffer.capacity() && !buffer.is_empty() {
                guard.clear_ready();
            }
            return read;
        }
    }
}

async fn read_if_any(pipe: Option<&AsyncFd<OwnedFd>>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    match pipe {
        Some(pipe) => read_some(pipe, buffer).await,
        None => std::future::pending().await,
    }
}

/// Takes what lies in the pipe now and nothing that comes later, so that a process which kept the
/// pipe cannot hold us.
fn drain(pipe: &AsyncFd<OwnedFd>, buffer: &mut Vec<u8>, mut take: impl FnMut(&[u8])) {
    let mut left = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
    while left > 0 {
        buffer.clear();
        match rustix::io::read(pipe, spare_capacity(buffer)) {
            Ok(count) if count > 0 => {
                take(buffer);
                left = left.saturating_sub(count as u64);
            }
            _ => break,
        }
    }
}
