//! The limit of open files: ours is as high as it may be, that of commands is what it was.
//!
//! A process with many sessions needs more descriptors than the usual soft limit allows. Commands must not notice:
//! some programs misbehave with a high limit (`select`, loops over all numbers), which is why the soft one is low.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit before it was raised. A limit belongs to the process, and so does this.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises this process's soft limit of open files to the hard one; commands are still started with the soft limit
/// from before. Call it once, when the program starts. Returns how many files may be open now, if that is limited.
///
/// # Errors
/// If the kernel refuses; then the limit is what it was.
pub fn raise_open_file_limit() -> io::Result<Option<u64>> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(soft) = current else { return Ok(None) };
    if maximum.is_none_or(|hard| soft < hard) {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
        // A second call finds a raised limit, which is not the one to go back to.
        let _ = BEFORE.set(soft);
    }
    Ok(maximum)
}

/// The soft limit that commands start with; none if it is the same as ours.
pub(crate) fn limit_of_commands() -> Option<u64> {
    BEFORE.get().copied()
}

/// The same for a process that inherited a raised limit.
pub(crate) fn start_commands_with(soft: u64) {
    let _ = BEFORE.set(soft);
}
