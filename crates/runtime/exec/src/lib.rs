//! Runs child processes: every child of the product starts here.
//!
//! Two processes share this crate. The *supervisor* is a small single-threaded process that forks
//! the commands and ends everything below it when its socket closes; the [`Executor`] is the
//! client that starts it on the first command and talks to it.
//!
//! Invariants:
//! - **No command outlives us.** The supervisor is a child subreaper and sees our death, however
//!   it comes, as the end of its socket; then it kills every descendant, escaped daemons included.
//! - **What a command leaves in the background ends with it**: the rest of its process group at
//!   once, and processes that left the group as soon as they are found. An exit is reported when
//!   these are gone (or after a short bound).
//! - **A command is waited for by its exit, never by the end of its pipe.**
//! - **Dropping is killing.** A dropped [`RunningCommand`] closes its control socket; the supervisor
//!   answers with SIGKILL to the group.
//! - **One supervisor, many sessions.** Each has a [`CommandScope`]; ending one ends its commands and what
//!   they have started, and leaves those of other scopes alone.
//! - **A kept command ends with its keeper**, a process of its own that is the client of a supervisor of its own
//!   ([`KeptCommand`]).
//! - **Never success after a kill**: a command that we signalled is not reported as exit code 0.
//! - **Bounded**: captured output, request size, restarts, and each wait for something foreign.
//! - No descriptor leaks into a command: everything is close-on-exec from its creation.
//! - **No command runs without its sandbox**: a requested layer that is not available is an error.
//!   What each layer guarantees is in `docs/sandbox.md`.
//!
//! Linux only. Deliberately absent: reading our own environment (the caller passes it in), a PATH
//! search (programs are absolute paths), interpreting terminal output, what is said to a command over
//! its pipes ([`CommandPipes`]), and deciding *whether* a command may run.
//!
//! Known limits: if client and supervisor are killed in the same moment, commands die but what
//! they have started lives on, unless they run inside bubblewrap. A start that hangs in the kernel
//! (a dead network file system) delays those of all scopes, and after half a minute costs them the
//! supervisor. A process that became another
//! user (`sudo`) cannot be killed by an ordinary user's supervisor.

mod capture;
mod command;
mod command_bytes;
mod connection;
mod descriptors;
mod detached_program;
mod environment;
mod error;
mod executor;
mod group_signal;
mod keeper;
mod ladder;
mod limits;
mod marks;
mod memory_file;
mod other_process;
mod progress;
mod readable_descriptor;
mod removal_watch;
mod restarts;
mod running_command;
mod sandbox;
mod scope;
mod signals;
mod socket;
mod status;
mod stop;
mod supervisor;
mod sys;
mod terminal;
mod wire;

pub use capture::{Capture, Captured};
pub use command::{Command, MAX_INPUT, OutputLimits, ProcessLimits, bash, find_bash};
pub use connection::SupervisorProgram;
pub use descriptors::raise_open_file_limit;
pub use detached_program::start_detached;
pub use environment::{allowed_environment, is_model_variable, without_secrets};
pub use error::ExecError;
pub use executor::Executor;
pub use group_signal::{GroupSignal, signal_group};
pub use keeper::{KeeperChannel, KeptCommand};
pub use limits::{
    Exceeded, Mechanism, default_file_size, default_memory, limit_mechanism, oom_kills,
};
pub use other_process::OtherProcess;
pub use progress::OutputProgress;
pub use removal_watch::RemovalWatch;
pub use running_command::{CommandPipes, RunningCommand};
pub use sandbox::available_layers::AvailableLayers;
pub use sandbox::denial::{DeniedAct, Layer, SandboxDenial, denial_hint};
pub use sandbox::follow::follow;
pub use sandbox::self_test::self_test;
pub use sandbox::{Bounds, Layers, Sandbox};
pub use scope::CommandScope;
pub use signals::signal_name;
pub use status::{CommandReport, ExitStatus};
pub use stop::Stopper;
pub use supervisor::supervise;
pub use terminal::strip_terminal;
