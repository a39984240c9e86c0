//! The first call of every program that uses Ostler.

use crate::error::Error;
use ostler_exec::SupervisorProgram;

/// How the supervisor's copy of the program knows its role.
const ROLE: &str = "__ostler-supervisor";

/// Proof that [`init`] ran: commands are started by a second copy of this program, which must know its role.
pub struct Init {
    pub(crate) supervisor: SupervisorProgram,
}

/// Call it first in `main`. In the supervisor's copy of the program it does not return.
pub fn init() -> Init {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ROLE) {
        ostler_exec::supervise();
    }
    Init { supervisor: SupervisorProgram::this_binary([ROLE]) }
}

/// Threads for work that blocks, such as waiting for a disk: enough for the calls of a busy session, and no more however
/// many sessions there are.
const BLOCKING_THREADS: usize = 20;

/// Runs a future to its end on a runtime of its own: for programs that have none. A program that has one says itself how
/// many threads may block there; tokio's default is 512.
///
/// # Errors
/// If the runtime cannot be made.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(BLOCKING_THREADS).build();
    Ok(runtime.map_err(|error| Error::Runtime(error.to_string()))?.block_on(future))
}
