//! The client's front door: starts the supervisor when it is needed and hands it commands.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pipe::PipeFlags;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::command::Command;
use crate::connection::{Link, SupervisorProgram};
use crate::descriptors;
use crate::error::ExecError;
use crate::memory_file;
use crate::restarts::{Restarts, TooMany};
use crate::running_command::{Control, Pipes, RunningCommand};
use crate::sandbox::available_layers::{self, AvailableLayers, PLACES, Probed};
use crate::sandbox::pack::{self, Order};
use crate::scope::{CommandScope, Members};
use crate::socket;
use crate::status::CommandReport;
use crate::wire::{
    self, BODY_IN_FILE, CommandOrigin, INLINE_BODY, NO_SCOPE, WITH_ERRORS, WITH_INPUT, WITH_SCRIPT,
    WireReport,
};

/// How long the start of one command may take. The supervisor starts them one after the other; if
/// it does not answer for this long it hangs in the kernel (a dead network file system).
const START_LIMIT: Duration = Duration::from_secs(30);

/// How often the sandbox of a command is tried to be set up.
const TRIES: u32 = 3;

/// Runs commands through one supervisor. Clones and scopes share it; when the last clone and the
/// last [`RunningCommand`] are gone, so is the supervisor and all it has started.
#[derive(Debug, Clone)]
pub struct Executor {
    shared: Arc<ExecutorShared>,
    /// Commands belong to this scope; to none with the executor that [`Executor::new`] gave.
    scope: Option<Arc<Members>>,
}

#[derive(Debug)]
struct ExecutorShared {
    program: SupervisorProgram,
    /// Where bubblewrap is looked for.
    places: Vec<PathBuf>,
    state: Mutex<ExecutorState>,
    probed: OnceCell<Probed>,
    next_scope: AtomicU64,
}

#[derive(Debug)]
struct ExecutorState {
    slot: Arc<ConnectionSlot>,
    restarts: Restarts,
    closed: bool,
}

/// The place of one supervisor, filled by the first command that needs it.
type ConnectionSlot = OnceCell<Arc<Link>>;

/// Why a request was not taken.
enum ConnectRefusal {
    /// It never reached the supervisor, which is dead; another one may get it.
    NotDelivered,
    Failed(ExecError),
}

impl Executor {
    /// Starts nothing yet. Commands need a tokio runtime with I/O and time.
    pub fn new(program: SupervisorProgram) -> Self {
        Self::with_bubblewrap_in(PLACES.map(PathBuf::from).to_vec(), program)
    }

    /// As [`Executor::new`], with other places to look for bubblewrap in. Nobody but the
    /// administrator should be able to write there.
    pub fn with_bubblewrap_in(places: Vec<PathBuf>, program: SupervisorProgram) -> Self {
        let state =
            ExecutorState { slot: Arc::default(), restarts: Restarts::default(), closed: false };
        let (state, probed) = (Mutex::new(state), OnceCell::new());
        let next_scope = AtomicU64::new(NO_SCOPE + 1);
        let shared = ExecutorShared { program, places, state, probed, next_scope };
        Self { shared: Arc::new(shared), scope: None }
    }

    /// A scope of its own for commands that end together. Costs nothing while it runs none.
    pub fn scope(&self) -> CommandScope {
        let number = self.shared.next_scope.fetch_add(1, Ordering::Relaxed);
        let members = Arc::new(Members::new(number));
        let executor = Self { shared: self.shared.clone(), scope: Some(members.clone()) };
        CommandScope::new(executor, members)
    }

    /// Starts the supervisor now instead of with the first command, to save that command the time.
    pub async fn start(&self) -> Result<(), ExecError> {
        self.link().await.map(drop)
    }

    /// Starts a command. It runs until it ends, [`RunningCommand::wait`] ends it, or it is dropped.
    pub async fn spawn(&self, command: Command) -> Result<RunningCommand, ExecError> {
        let Some(sandbox) = &command.sandbox else {
            return self.spawn_within(&command, None).await;
        };
        let mut order = Order { sandbox: sandbox.as_ref().clone(), bubblewrap: None };
        if sandbox.layers.bubblewrap {
            let probed = self.probed().await;
            if let Err(reason) = &probed.found.bubblewrap {
                return Err(ExecError::Sandbox { reason: reason.clone() });
            }
            order.bubblewrap = probed.bubblewrap.clone();
        }
        self.spawn_held(&command, &order).await
    }

    /// Starts a command in a sandbox, again if what was to be mounted has gone meanwhile: a socket was closed, a
    /// directory removed. Nothing has been run then.
    pub(crate) async fn spawn_held(
        &self,
        command: &Command,
        order: &Order,
    ) -> Result<RunningCommand, ExecError> {
        for _ in 1..TRIES {
            match self.spawn_within(command, Some(order)).await {
                Err(ExecError::Sandbox { reason }) if reason.starts_with("bwrap:") => {}
                other => return other,
            }
        }
        self.spawn_within(command, Some(order)).await
    }

    async fn spawn_within(
        &self,
        command: &Command,
        order: Option<&Order>,
    ) -> Result<RunningCommand, ExecError> {
        let sandbox = order.map(pack::pack).unwrap_or_default();
        let scope = self.scope.as_ref().map_or(NO_SCOPE, |scope| scope.number);
        let origin = CommandOrigin { scope, soft_open_files: descriptors::limit_of_commands() };
        let body = wire::encode(command, origin, &sandbox)?;
        loop {
            let (slot, link) = self.link().await?;
            match begin(link, self.scope.as_ref(), command, &body).await {
                Ok(running) => return Ok(running),
                Err(ConnectRefusal::Failed(error)) => return Err(error),
                // Each time round is a death, and those are counted.
                Err(ConnectRefusal::NotDelivered) => self.replace(&slot),
            }
        }
    }

    /// Runs a command to its end. `sink` gets the output as it comes, up to
    /// [`OutputLimits::sink`](crate::OutputLimits::sink). Dropping the future kills the command.
    pub async fn run(
        &self,
        command: Command,
        sink: impl FnMut(&[u8]),
    ) -> Result<CommandReport, ExecError> {
        self.spawn(command).await?.wait_with(sink).await
    }

    /// Which layers of the sandbox this machine has. Found out once; bubblewrap by running it.
    pub async fn probe(&self) -> AvailableLayers {
        self.probed().await.found.clone()
    }

    /// The same, where it was found out already.
    pub fn probed_layers(&self) -> Option<AvailableLayers> {
        self.shared.probed.get().map(|probed| probed.found.clone())
    }

    // Boxed because to find out is to run a command, which asks what was found out.
    async fn probed(&self) -> &Probed {
        let places = &self.shared.places;
        // In no scope: the end of one must not be taken for what the machine can do.
        let executor = Self { shared: self.shared.clone(), scope: None };
        let probe = || async move { Box::pin(available_layers::probe(&executor, places)).await };
        self.shared.probed.get_or_init(probe).await
    }

    /// Ends everything that runs here and waits until it is gone: the supervisor and all scopes, or,
    /// with the executor of a scope, that scope alone. Running commands fail with
    /// [`ExecError::Closed`], and so does every later one.
    pub async fn shutdown(&self) -> Result<(), ExecError> {
        match &self.scope {
            Some(scope) => self.end_scope(scope).await,
            None => self.end_all().await,
        }
    }

    async fn end_scope(&self, scope: &Members) -> Result<(), ExecError> {
        scope.end();
        let slot = self.state().slot.clone();
        match slot.get() {
            Some(link) => link.emptied(scope.number).await,
            None => Ok(()),
        }
    }

    async fn end_all(&self) -> Result<(), ExecError> {
        let slot = {
            let mut state = self.state();
            state.closed = true;
            state.slot.clone()
        };
        match slot.get() {
            Some(link) => link.close().await,
            None => Ok(()),
        }
    }

    /// The process id of the supervisor, if one was started.
    pub fn supervisor_pid(&self) -> Option<u32> {
        self.state().slot.get().map(|link| link.pid())
    }

    async fn link(&self) -> Result<(Arc<ConnectionSlot>, Arc<Link>), ExecError> {
        let slot = {
            let mut state = self.state();
            if state.closed || self.scope.as_ref().is_some_and(|scope| scope.is_ended()) {
                return Err(ExecError::Closed);
            }
            if let Err(TooMany { deaths, wait }) = state.restarts.check(Instant::now()) {
                return Err(ExecError::SupervisorGivenUp { deaths, seconds: wait.as_secs() + 1 });
            }
            state.slot.clone()
        };
        let start = || async { Link::start(&self.shared.program).await.map(Arc::new) };
        let link = slot.get_or_try_init(start).await?.clone();
        Ok((slot, link))
    }

    fn replace(&self, dead: &Arc<ConnectionSlot>) {
        let mut state = self.state();
        // Several commands may have found out; it has died only once.
        if Arc::ptr_eq(&state.slot, dead) {
            state.restarts.note_death(Instant::now());
            state.slot = Arc::default();
        }
    }

    fn state(&self) -> MutexGuard<'_, ExecutorState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn begin(
    link: Arc<Link>,
    scope: Option<&Arc<Members>>,
    command: &Command,
    body: &[u8],
) -> Result<RunningCommand, ConnectRefusal> {
    // Held until the supervisor has answered: bounds what lies in the socket.
    let permit =
        link.starts.acquire().await.map_err(|_| ConnectRefusal::Failed(ExecError::Closed))?;
    let (control, pipes) = hand_over(&link, scope, command, body)?;
    let first = match timeout(START_LIMIT, control.report_with_words()).await {
        Ok(first) => first,
        Err(_) => {
            link.abandon();
            link.end_orphans();
            return Err(ConnectRefusal::Failed(ExecError::SupervisorLost));
        }
    };
    drop(permit);
    let scope_ended = scope.is_some_and(|scope| scope.is_ended());
    let error = match first {
        _ if scope_ended => ExecError::Closed,
        Ok(Some((WireReport::Started { pid }, _))) => {
            let scope = scope.cloned();
            let running = RunningCommand::new(link, scope, control, pipes, pid, command);
            return running.map_err(ConnectRefusal::Failed);
        }
        Ok(Some((WireReport::Failed(failure), words))) => {
            let bytes = body.len() + command.script.as_ref().map_or(0, Vec::len);
            let (program, cwd) = (command.program.clone(), command.cwd.clone());
            ExecError::from_failure(failure, program, cwd, bytes, words)
        }
        _ if link.is_closed() => ExecError::Closed,
        _ if link.is_lost() => {
            link.end_orphans();
            ExecError::SupervisorLost
        }
        // Alive, but it dropped the request: it had no descriptor left to receive ours.
        _ => ExecError::Resources {
            doing: "hand the command to the supervisor",
            source: io::Error::from_raw_os_error(libc::EMFILE),
        },
    };
    Err(ConnectRefusal::Failed(error))
}

/// Makes the command's sockets and pipe, sends their other ends away with the request, and closes
/// them here.
fn hand_over(
    link: &Link,
    scope: Option<&Arc<Members>>,
    command: &Command,
    body: &[u8],
) -> Result<(Arc<Control>, Pipes), ConnectRefusal> {
    let resources = |source| {
        ConnectRefusal::Failed(ExecError::Resources {
            doing: "open a pipe for the command",
            source,
        })
    };
    let (output, theirs_output) = output_pipe().map_err(resources)?;
    let (control, theirs_control) = socket::pair().map_err(resources)?;
    let control = Arc::new(Control::new(control).map_err(resources)?);
    let with_errors = command.separate_errors || command.piped;
    let errors = with_errors.then(output_pipe).transpose().map_err(resources)?;
    let (errors, theirs_errors) = errors.unzip();
    let script =
        command.script.as_deref().map(memory_file::sealed).transpose().map_err(resources)?;
    let (ours_input, input) = match &command.input {
        _ if command.piped => {
            let (ours, theirs) = input_pipe().map_err(resources)?;
            (Some(ours), Some(theirs))
        }
        Some(input) => (None, Some(memory_file::sealed(input).map_err(resources)?)),
        None => (None, None),
    };
    let (inline, file) = if body.len() > INLINE_BODY {
        (&[][..], Some(memory_file::sealed(body).map_err(resources)?))
    } else {
        (body, None)
    };
    let mut flags = 0;
    let mut fds = vec![theirs_control.as_fd(), theirs_output.as_fd()];
    for (flag, fd) in [
        (WITH_SCRIPT, &script),
        (WITH_INPUT, &input),
        (WITH_ERRORS, &theirs_errors),
        (BODY_IN_FILE, &file),
    ] {
        if let Some(fd) = fd {
            flags |= flag;
            fds.push(fd.as_fd());
        }
    }
    let send = || link.send(flags, inline, &fds);
    let sent = scope.map_or_else(|| Some(send()), |scope| scope.start(&control, send));
    match sent.ok_or(ConnectRefusal::Failed(ExecError::Closed))? {
        Ok(()) => Ok((control, Pipes { output, errors, input: ours_input })),
        Err(_) if link.is_closed() => Err(ConnectRefusal::Failed(ExecError::Closed)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET)) => {
            Err(ConnectRefusal::NotDelivered)
        }
        Err(source) => Err(ConnectRefusal::Failed(ExecError::Resources {
            doing: "hand the command to the supervisor",
            source,
        })),
    }
}

/// Only our end is non-blocking: the flag belongs to each end, and programs expect to be able to
/// write without it.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&read, OFlags::NONBLOCK)?;
    Ok((read, write))
}

/// The same the other way round, for a command that is written to while it runs.
fn input_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&write, OFlags::NONBLOCK)?;
    Ok((write, read))
}
