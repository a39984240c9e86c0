//! The connection to one supervisor process.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags};
use tokio::io::Interest;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::ExecError;
use crate::marks::Marks;
use crate::readable_descriptor::readable;
use crate::socket;
use crate::wire::{GREETING, UNTIL_EMPTY};

/// How long a supervisor may take to say hello.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take to end everything after it was told to; a little more than it allows itself.
const END_LIMIT: Duration = Duration::from_secs(15);

/// Requests on their way at once. The socket's buffer holds several times as many, so sending
/// never has to wait.
const STARTS_AT_ONCE: usize = 64;

/// The program that calls [`supervise`](crate::supervise), with the arguments that make it do so.
#[derive(Debug, Clone)]
pub struct SupervisorProgram {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

impl SupervisorProgram {
    /// The running binary itself, also if its file was replaced meanwhile.
    pub fn this_binary(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: "/proc/self/exe".into(), args: args.into_iter().map(Into::into).collect() }
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    channel: OwnedFd,
    process: Mutex<Child>,
    closed: AtomicBool,
    /// What it left when it died is gone.
    orphans_ended: AtomicBool,
    pub(crate) starts: Semaphore,
}

impl Link {
    /// Starts a supervisor and waits for its greeting. One that dies before greeting has run
    /// nothing (a signal to our process group can hit it that early), so a second one may be tried.
    pub(crate) async fn start(program: &SupervisorProgram) -> Result<Self, ExecError> {
        let first = Self::launch(program)?;
        match first.greeting().await {
            Ok(true) => return Ok(first),
            Ok(false) => {}
            Err(error) => return Err(refused(program, error.to_string())),
        }
        let second = Self::launch(program)?;
        match second.greeting().await {
            Ok(true) => Ok(second),
            Ok(false) => {
                Err(refused(program, "it ended without a greeting; is it a supervisor?".into()))
            }
            Err(error) => Err(refused(program, error.to_string())),
        }
    }

    // The socket travels as standard input: that needs no code between fork and exec in this
    // possibly large and threaded process. Its output goes nowhere, so that it cannot keep a pipe
    // of ours open.
    fn launch(program: &SupervisorProgram) -> Result<Self, ExecError> {
        let resources =
            |source| ExecError::Resources { doing: "open a socket to the supervisor", source };
        let (channel, theirs) = socket::pair().map_err(resources)?;
        let process = std::process::Command::new(&program.program)
            .args(&program.args)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| refused(program, error.to_string()))?;
        Ok(Self {
            channel,
            process: Mutex::new(process),
            closed: AtomicBool::new(false),
            orphans_ended: AtomicBool::new(false),
            starts: Semaphore::new(STARTS_AT_ONCE),
        })
    }

    /// False if it died first.
    async fn greeting(&self) -> io::Result<bool> {
        let channel = readable(self.channel.try_clone()?)?;
        let mut text = [0; 64];
        let read = channel.async_io(Interest::READABLE, |fd| socket::receive(fd, &mut text));
        let length = match timeout(GREETING_LIMIT, read).await {
            Ok(read) => read?,
            Err(_) => {
                let _ = self.process().kill();
                let seconds = GREETING_LIMIT.as_secs();
                return Err(io::Error::other(format!(
                    "no greeting within {seconds} s; is it a supervisor?"
                )));
            }
        };
        match text.get(..length) {
            Some([]) => Ok(false),
            Some(greeting) if greeting == GREETING => Ok(true),
            _ => Err(io::Error::other("it has another protocol version; use the same build")),
        }
    }

    /// Hands over a request. An error means that it has not arrived.
    pub(crate) fn send(&self, flags: u8, body: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        socket::send(&self.channel, &[&[flags], body], fds)
    }

    pub(crate) fn is_lost(&self) -> bool {
        socket::is_hung_up(&self.channel)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process().id()
    }

    /// Kills a supervisor that does not answer.
    pub(crate) fn abandon(&self) {
        let _ = self.process().kill();
    }

    /// Ends what a dead supervisor has left. Its commands were set to die with it, but not what
    /// they have started.
    pub(crate) fn end_orphans(&self) {
        // Held so that the supervisor is not reaped meanwhile, which would free its number.
        let process = self.process();
        // Everybody who waited for a command of it comes here, and one look at all processes is enough.
        if !self.orphans_ended.load(Ordering::Acquire) {
            let is_dead = self.is_lost();
            let all_gone = Marks::new(process.id()).end_all();
            self.orphans_ended.store(is_dead && all_gone, Ordering::Release);
        }
    }

    /// Waits until nothing is left of a scope whose commands were ordered to end.
    pub(crate) async fn emptied(&self, scope: u64) -> Result<(), ExecError> {
        let resources = |source| ExecError::Resources { doing: "wait for commands to end", source };
        let (answer, theirs) = socket::pair().map_err(resources)?;
        let answer = readable(answer).map_err(resources)?;
        let empty = async {
            let _permit = self.starts.acquire().await;
            if self.send(UNTIL_EMPTY, &scope.to_ne_bytes(), &[theirs.as_fd()]).is_ok() {
                drop(theirs);
                // Nothing is ever written to it, so this is its end.
                let _ = answer.readable().await;
            }
        };
        if timeout(END_LIMIT, empty).await.is_err() {
            return Err(ExecError::StillEnding { seconds: END_LIMIT.as_secs() });
        }
        if !self.is_closed() && self.is_lost() {
            self.end_orphans();
        }
        Ok(())
    }

    /// Tells the supervisor to end everything, and waits until it has.
    pub(crate) async fn close(&self) -> Result<(), ExecError> {
        self.hang_up();
        let still_ending = ExecError::StillEnding { seconds: END_LIMIT.as_secs() };
        match timeout(END_LIMIT, self.ended()).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(still_ending),
        }
    }

    fn hang_up(&self) {
        self.closed.store(true, Ordering::Release);
        let _ = rustix::net::shutdown(&self.channel, rustix::net::Shutdown::Both);
    }

    async fn ended(&self) -> io::Result<()> {
        if self.process().try_wait()?.is_some() {
            return Ok(());
        }
        // Not reaped yet, so the number is still that process.
        let pid = i32::try_from(self.pid())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::NotFound)?;
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        let _ = readable(handle)?.readable().await?;
        self.process().wait()?;
        Ok(())
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Child> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.is_closed() && self.is_lost() {
            self.end_orphans();
        }
        self.hang_up();
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        // Somebody has to reap it when it has ended everything, and a drop cannot wait. Once per
        // run at most, and it costs nothing if the whole program is about to end.
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let _ = std::thread::Builder::new()
            .name("reap-supervisor".into())
            .spawn(move || rustix::process::waitpid(pid, rustix::process::WaitOptions::empty()));
    }
}

fn refused(program: &SupervisorProgram, reason: String) -> ExecError {
    ExecError::SupervisorStart { program: program.program.clone(), reason }
}
