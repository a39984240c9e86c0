//! How a descendant of a command is known: by a mark it cannot lose by accident.
//!
//! The mark is kept in the soft limit of real-time run time. Every descendant inherits it,
//! whatever it does to its session, group or environment, and reading it takes one system call.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::sys;

/// How often the list of processes is read: what forks while it is being ended is met again.
const ROUNDS: usize = 5;

/// Which command a process descends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessMark(u64);

impl ProcessMark {
    pub(crate) fn limit(self) -> u64 {
        self.0
    }
}

/// The marks of one supervisor. Its number is part of them, so that those of a supervisor inside
/// one of our commands are not taken for ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    base: u64,
}

impl Marks {
    pub(crate) fn new(supervisor: u32) -> Self {
        // Far above any limit that is ever set in earnest (these are microseconds), and below
        // "unlimited": having one changes nothing for the command.
        Self { base: (1 << 62) | (u64::from(supervisor) << 32) }
    }

    pub(crate) fn number(self, number: u32) -> ProcessMark {
        ProcessMark(self.base | u64::from(number))
    }

    pub(crate) fn of(self, pid: i32) -> Option<ProcessMark> {
        sys::realtime_limit(pid).filter(|limit| limit >> 32 == self.base >> 32).map(ProcessMark)
    }

    /// Kills every process that bears one of these marks: for the client, when the supervisor is
    /// dead. Only while that is not reaped, or its number may already be another supervisor's.
    /// False if there were still some after the last look.
    pub(crate) fn end_all(self) -> bool {
        (0..ROUNDS).any(|_| {
            let marked = sys::numbers_in("/proc").into_iter().filter(|pid| self.of(*pid).is_some());
            marked.filter(|pid| self.end(*pid)).count() == 0
        })
    }

    fn end(self, pid: i32) -> bool {
        let pid_handle = Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let Some(Ok(handle)) = pid_handle else { return false };
        // Looked at again now that we hold it: the number may have changed its owner before.
        self.of(pid).is_some() && pidfd_send_signal(&handle, Signal::KILL).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_commands_and_supervisors_apart_and_are_no_ordinary_limit() {
        let (one, other) = (Marks::new(4711), Marks::new(4712));
        assert_ne!(one.number(1), one.number(2));
        assert_ne!(one.number(1), other.number(1));
        // The largest number of a process and of a command stay below "unlimited".
        let last = Marks::new(1 << 22).number(u32::MAX).limit();
        assert!(last > 1 << 62 && last < u64::MAX / 2);
        assert_eq!(one.of(std::process::id() as i32), None, "we bear no mark of these");
    }

    #[test]
    fn only_the_marked_are_ended() {
        use std::os::unix::process::ExitStatusExt;
        let marks = Marks::new(3_999_999);
        let sleep = |prefix: String| {
            let text = format!("{prefix} exec sleep 60");
            std::process::Command::new("/bin/bash").args(["-c", &text]).spawn().unwrap()
        };
        let mut marked = sleep(format!("ulimit -S -R {};", marks.number(7).limit()));
        let mut other = sleep(format!("ulimit -S -R {};", Marks::new(3_999_998).number(7).limit()));
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while marks.of(marked.id() as i32) != Some(marks.number(7)) {
            assert!(std::time::Instant::now() < deadline, "the mark is not set");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        marks.end_all();
        assert_eq!(marked.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(other.try_wait().unwrap().is_none(), "one of another supervisor");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
