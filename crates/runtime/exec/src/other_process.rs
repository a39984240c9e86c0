//! A process that another one started: whether it runs, its end, and signals to it.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::group_signal::GroupSignal;
use crate::readable_descriptor::readable;

/// Holds on to a process: whoever gets its number later is not taken for it.
#[derive(Debug)]
pub struct OtherProcess {
    pid: i32,
    handle: OwnedFd,
}

impl OtherProcess {
    /// The process that has this number now. Whether it is the one that is meant has to be checked after this.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(pid: i32) -> io::Result<Self> {
        let number = Pid::from_raw(pid).filter(|_| pid > 1).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(OtherProcess { pid, handle: pidfd_open(number, PidfdFlags::empty())? })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// To this process alone, not to its group. Nothing happens if it has ended.
    pub fn signal(&self, signal: GroupSignal) {
        let signals: &[Signal] = match signal {
            // A stopped process acts on it only after it continues.
            GroupSignal::Terminate => &[Signal::TERM, Signal::CONT],
            GroupSignal::Kill => &[Signal::KILL],
        };
        for signal in signals {
            let _ = pidfd_send_signal(&self.handle, *signal);
        }
    }

    /// Comes back when it has ended. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the runtime cannot watch it.
    pub async fn ended(&self) -> io::Result<()> {
        let handle = readable(self.handle.try_clone()?)?;
        handle.readable().await.map(|_| ())
    }

    /// Blocks until it has ended. False: it had not, in this time.
    pub fn wait(&self, patience: Duration) -> bool {
        let seconds = patience.as_secs().min(3600) as i64;
        let timeout = Timespec { tv_sec: seconds, tv_nsec: patience.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn an_end_is_seen_and_a_stopped_process_is_ended_too() {
        for signal in [GroupSignal::Terminate, GroupSignal::Kill] {
            let mut child = std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap();
            let process = OtherProcess::open(child.id() as i32).unwrap();
            assert!(!process.wait(Duration::ZERO));
            pidfd_send_signal(&process.handle, Signal::STOP).unwrap();
            process.signal(signal);
            assert!(process.wait(Duration::from_secs(60)));
            assert!(child.wait().unwrap().signal().is_some());
            // The number is free now, and nobody else is signalled.
            process.signal(signal);
        }
        assert!(OtherProcess::open(0).is_err() && OtherProcess::open(i32::MAX).is_err());
    }
}
