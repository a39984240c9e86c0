//! The first call of every program that uses Ostler.

use crate::error::Error;
use crate::jobs::{KEEPER_ROLE, keep_job};
use ostler_exec::SupervisorProgram;

/// How the supervisor's copy of the program knows its role.
pub(crate) const ROLE: &str = "__ostler-supervisor";

/// Proof that [`init`] ran: commands are started by a second copy of this program, which must know its role.
pub struct Init {
    pub(crate) supervisor: SupervisorProgram,
}

/// Call it first in `main`. In the copy of the program that is a supervisor, or keeps a job, it does not return.
pub fn init() -> Init {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(role) if role == ROLE => ostler_exec::supervise(),
        Some(role) if role == KEEPER_ROLE => keep_job(words.next()),
        _ => {}
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
