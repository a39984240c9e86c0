//! A signal to the processes of a command that another process started.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupSignal {
    Terminate,
    Kill,
}

/// Whoever calls this knows that the number still belongs to the process it means.
///
/// # Errors
/// If the group is gone or belongs to another user.
pub fn signal_group(leader: i32, signal: GroupSignal) -> io::Result<()> {
    // The groups 0 and 1 mean something else.
    let group = Pid::from_raw(leader).filter(|_| leader > 1);
    let group = group.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let signal = match signal {
        GroupSignal::Terminate => Signal::TERM,
        GroupSignal::Kill => Signal::KILL,
    };
    Ok(kill_process_group(group, signal)?)
}
