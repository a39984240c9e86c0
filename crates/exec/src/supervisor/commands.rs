//! The commands that are running or ending, and what happens to them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpid,
};

use super::launch::{Launcher, Streams};
use super::strays::Tree;
use crate::marks::{Mark, Marks};
use crate::socket;
use crate::sys::{self, Children};
use crate::wire::{self, Ended, Exit, Failure, ORDER_KILL, ORDER_TERMINATE, Report, Stage};

/// How long the report of an exit waits for the killed rest of the command to be gone.
const SETTLE_LIMIT: Duration = Duration::from_millis(200);

pub(super) struct Commands {
    launcher: Launcher,
    tree: Tree,
    marks: Marks,
    list: Vec<Entry>,
    started: u32,
}

struct Entry {
    /// Also the number of its group.
    pid: i32,
    mark: Mark,
    /// None when the client has dropped the command.
    control: Option<OwnedFd>,
    signalled: i32,
    ending: Option<Ending>,
}

/// The command itself has ended; what it left behind is being ended.
struct Ending {
    ended: Ended,
    deadline: Instant,
}

impl Commands {
    pub(super) fn new(own_pid: i32) -> Self {
        Self {
            launcher: Launcher::new(own_pid),
            tree: Tree::new(own_pid),
            marks: Marks::new(own_pid.unsigned_abs()),
            list: Vec::new(),
            started: 0,
        }
    }

    pub(super) fn launch(&mut self, body: &[u8], streams: &Streams) -> Result<i32, Failure> {
        let request =
            wire::decode(body).ok_or(Failure { stage: Stage::Request, errno: libc::EPROTO })?;
        self.started = self.started.wrapping_add(1);
        self.launcher.launch(&request, streams, self.marks.number(self.started))
    }

    /// Takes note of what [`Commands::launch`] has just started.
    pub(super) fn add(&mut self, pid: i32, control: OwnedFd) {
        let mark = self.marks.number(self.started);
        let entry = Entry { pid, mark, control: Some(control), signalled: 0, ending: None };
        entry.report(Report::Started { pid });
        self.list.push(entry);
    }

    pub(super) fn controls(&self) -> impl Iterator<Item = (i32, BorrowedFd<'_>)> {
        self.list.iter().filter_map(|entry| Some((entry.pid, entry.control.as_ref()?.as_fd())))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.list.iter().filter_map(|entry| Some(entry.ending.as_ref()?.deadline)).min()
    }

    /// Reads one order of the client; a closed socket is the order to kill.
    pub(super) fn obey(&mut self, pid: i32) {
        let Some(entry) = self.list.iter_mut().find(|entry| entry.pid == pid) else { return };
        let Some(control) = &entry.control else { return };
        let mut order = [0; 1];
        match socket::receive(control, &mut order) {
            Ok(1) if order == [ORDER_TERMINATE] => entry.terminate(),
            Ok(1) if order == [ORDER_KILL] => entry.kill(),
            Ok(1) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => {
                entry.control = None;
                entry.kill();
            }
        }
    }

    /// Reaps what has ended, ends what was left behind, reports what is complete.
    pub(super) fn collect(&mut self) {
        let left = self.reap_all();
        let strays = if left { self.sweep() } else { Vec::new() };
        let now = Instant::now();
        self.list.retain(|entry| {
            let Some(ending) = &entry.ending else { return true };
            let gone = !left || (!strays.contains(&entry.mark) && entry.group_is_gone());
            if gone || now >= ending.deadline {
                entry.report(Report::Exited(Exit {
                    ended: ending.ended,
                    signalled: entry.signalled,
                }));
                return false;
            }
            true
        });
    }

    /// Reaps all children that have ended. False when no child is left at all.
    pub(super) fn reap_all(&mut self) -> bool {
        loop {
            match sys::look_for_ended() {
                Children::Ended(pid) => self.reap(pid),
                Children::AllRunning => return true,
                Children::None => return false,
            }
        }
    }

    fn reap(&mut self, pid: i32) {
        let entry = self.list.iter_mut().find(|entry| entry.pid == pid && entry.ending.is_none());
        // The group is killed while the unreaped leader still holds its number.
        if let Some(entry) = &entry {
            entry.signal(Signal::KILL);
        }
        let status = Pid::from_raw(pid)
            .and_then(|pid| waitpid(Some(pid), WaitOptions::empty()).ok().flatten());
        if let (Some(entry), Some((_, status))) = (entry, status) {
            let ended = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Ended::Code(code),
                (None, signal) => Ended::Signal(signal.unwrap_or(0)),
            };
            entry.ending = Some(Ending { ended, deadline: Instant::now() + SETTLE_LIMIT });
        }
    }

    /// Ends children of ours that belong to no running command, and says whose they were. One
    /// that bears no mark may belong to any command, so it is left until none is running.
    fn sweep(&self) -> Vec<Mark> {
        let running: Vec<_> = self.list.iter().filter(|entry| entry.ending.is_none()).collect();
        let mut strays = Vec::new();
        let mut marks = Vec::new();
        for pid in self.tree.direct() {
            if running.iter().any(|entry| entry.pid == pid) {
                continue;
            }
            match self.marks.of(pid) {
                Some(mark) if running.iter().any(|entry| entry.mark == mark) => continue,
                None if !running.is_empty() => continue,
                mark => marks.extend(mark),
            }
            strays.push(pid);
        }
        if !strays.is_empty() {
            self.tree.end(&strays);
        }
        marks
    }

    /// Kills every group and hangs up on the clients, who then know that we are ending.
    pub(super) fn kill_all(&mut self) {
        for entry in &mut self.list {
            entry.kill();
            entry.control = None;
        }
    }

    pub(super) fn end_all_children(&self) {
        self.tree.end(&self.tree.direct());
    }
}

impl Entry {
    fn terminate(&mut self) {
        if self.ending.is_none() {
            if self.signalled == 0 {
                self.signalled = libc::SIGTERM;
            }
            self.signal(Signal::TERM);
            // A stopped process acts on it only after it goes on.
            self.signal(Signal::CONT);
        }
    }

    fn kill(&mut self) {
        if self.ending.is_none() {
            self.signalled = libc::SIGKILL;
            self.signal(Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.pid).filter(|_| self.pid > 1) {
            let _ = kill_process_group(group, signal);
        }
    }

    fn group_is_gone(&self) -> bool {
        Pid::from_raw(self.pid)
            .is_none_or(|group| test_kill_process_group(group) == Err(Errno::SRCH))
    }

    fn report(&self, report: Report) {
        if let Some(control) = &self.control {
            let _ = socket::send(control, &[&report.encode()], &[]);
        }
    }
}
