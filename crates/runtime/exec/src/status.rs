//! How a command ended.

use std::fmt;
use std::time::Duration;

use crate::capture::Captured;
use crate::limits::Exceeded;
use crate::signals::signal_name;
use crate::wire::{CommandEnded, Exit};

/// The end of a process as the system told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Code(i32),
    Signal { number: i32, name: &'static str },
}

impl ExitStatus {
    pub fn success(self) -> bool {
        self == ExitStatus::Code(0)
    }

    fn signal(number: i32) -> Self {
        ExitStatus::Signal { number, name: signal_name(number) }
    }

    // A command that answers our TERM with `exit 0` did not finish its work; telling the caller
    // "0" would make a kill look like success.
    pub(crate) fn of(exit: Exit) -> Self {
        match exit.ended {
            CommandEnded::Code(0) if exit.signalled != 0 => Self::signal(exit.signalled),
            CommandEnded::Code(code) => ExitStatus::Code(code),
            CommandEnded::Signal(number) => Self::signal(number),
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitStatus::Code(code) => write!(f, "exit code {code}"),
            ExitStatus::Signal { number, name } => write!(f, "signal {name} ({number})"),
        }
    }
}

/// A command that has ended, with everything kept of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReport {
    pub status: ExitStatus,
    /// Its time limit ran out and that is why it was ended.
    pub timed_out: bool,
    /// We signalled it while it was running, for whatever reason.
    pub killed: bool,
    /// It wrote more than [`OutputLimits::total`](crate::OutputLimits::total) and was ended for it.
    pub output_capped: bool,
    /// A limit of all its processes together that it ran into.
    pub exceeded: Option<Exceeded>,
    pub output: Captured,
    /// Standard error, if it was asked for separately.
    pub errors: Option<Captured>,
    pub wall: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_what_happened_except_that_a_kill_is_never_success() {
        let check = |ended, signalled, expected: &str| {
            let exit = Exit { ended, signalled, exceeded: None };
            assert_eq!(ExitStatus::of(exit).to_string(), expected);
        };
        check(CommandEnded::Code(0), 0, "exit code 0");
        check(CommandEnded::Code(3), 0, "exit code 3");
        check(CommandEnded::Signal(11), 0, "signal SEGV (11)");
        check(CommandEnded::Code(0), 15, "signal TERM (15)");
        check(CommandEnded::Code(7), 15, "exit code 7");
        check(CommandEnded::Signal(9), 15, "signal KILL (9)");
    }
}
