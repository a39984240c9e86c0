//! The commands that are running or ending, and what happens to them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::floor::Floors;
use super::launch::{Launcher, Setting, Streams};
use super::refused::Refused;
use super::strays::Tree;
use super::wrap::{Wrapped, Wrapper};
use crate::marks::{Mark, Marks};
use crate::sandbox::landlock::Place;
use crate::sandbox::pack;
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
    floors: Floors,
    wrapper: Wrapper,
}

struct Entry {
    /// Also the number of its group.
    pid: i32,
    mark: Mark,
    /// None when the client has dropped the command.
    control: Option<OwnedFd>,
    signalled: i32,
    ending: Option<Ending>,
    /// It runs inside bubblewrap.
    wrapped: Option<Wrapped>,
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
            floors: Floors::default(),
            wrapper: Wrapper::default(),
        }
    }

    pub(super) fn launch(
        &mut self,
        body: &[u8],
        streams: Streams,
    ) -> Result<(i32, Option<Wrapped>), Refused> {
        let broken = Failure { stage: Stage::Request, errno: libc::EPROTO };
        let request = wire::decode(body).ok_or(broken)?;
        self.started = self.started.wrapping_add(1);
        let mark = self.marks.number(self.started);
        let mut setting = Setting { mark: Some(mark), unblock: true, ..Setting::default() };
        let Some(packed) = request.sandbox else {
            return Ok((self.launcher.launch(&request, &streams, setting)?, None));
        };
        let order = pack::unpack(packed).ok_or(broken)?;
        if order.sandbox.layers.bubblewrap {
            let launcher = &mut self.launcher;
            let started = self.wrapper.launch(launcher, body, &request, &order, streams, mark)?;
            return Ok((started.0, Some(started.1)));
        }
        let floor = self.floors.make(&order.sandbox, Place::Bare, request.program);
        let floor = floor.map_err(Refused::sandbox)?;
        setting.floor = Some(&floor);
        Ok((self.launcher.launch(&request, &streams, setting)?, None))
    }

    /// Takes note of what [`Commands::launch`] has just started.
    pub(super) fn add(&mut self, pid: i32, control: OwnedFd, wrapped: Option<Wrapped>) {
        let mark = self.marks.number(self.started);
        let control = Some(control);
        let entry = Entry { pid, mark, control, signalled: 0, ending: None, wrapped };
        if entry.wrapped.is_none() {
            entry.report(Report::Started { pid });
        }
        self.list.push(entry);
    }

    pub(super) fn controls(&self) -> impl Iterator<Item = (i32, BorrowedFd<'_>)> {
        self.list.iter().filter_map(|entry| Some((entry.pid, entry.control.as_ref()?.as_fd())))
    }

    /// The wrapped commands of which it is not known yet whether they have started.
    pub(super) fn starting(&self) -> impl Iterator<Item = (i32, BorrowedFd<'_>)> {
        let wrapped = self.list.iter().filter_map(|entry| Some((entry, entry.wrapped.as_ref()?)));
        let starting = wrapped.filter(|(entry, wrapped)| {
            !wrapped.started && entry.ending.is_none() && entry.control.is_some()
        });
        starting.map(|(entry, wrapped)| (entry.pid, wrapped.pipe.as_fd()))
    }

    /// Takes what a wrapped command tells.
    pub(super) fn hear(&mut self, pid: i32) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.pid == pid) {
            entry.hear();
        }
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
        let wrapper = &mut self.wrapper;
        self.list.retain_mut(|entry| {
            let Some(ending) = &entry.ending else { return true };
            let gone = !left || (!strays.contains(&entry.mark) && entry.group_is_gone());
            if gone || now >= ending.deadline {
                // Before the report: nothing of ours may be found in the roots afterwards.
                if let Some(wrapped) = entry.wrapped.take() {
                    wrapper.release(wrapped);
                }
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
        if let (Some(entry), Some(ended)) = (entry, sys::reap(pid)) {
            let ended = entry.last_words().unwrap_or(ended);
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

    /// When all is gone: nothing of ours stays in the roots.
    pub(super) fn clean_up(&mut self) {
        let wrapped = self.list.drain(..).filter_map(|entry| entry.wrapped);
        wrapped.for_each(|wrapped| self.wrapper.release(wrapped));
    }

    pub(super) fn end_all_children(&self) {
        self.tree.end(&self.tree.direct());
    }
}

pub(super) fn report_failure(control: &OwnedFd, refused: &Refused) {
    let report = Report::Failed(refused.failure).encode();
    let words = refused.words.as_bytes();
    let words = words.get(..words.len().min(wire::MAX_WORDS)).unwrap_or_default();
    let _ = socket::send(control, &[&report, words], &[]);
}

impl Entry {
    fn hear(&mut self) {
        let Some(wrapped) = &mut self.wrapped else { return };
        while let Some(report) = wrapped.next() {
            match report {
                Report::Started { .. } => wrapped.started = true,
                Report::Exited(exit) => {
                    wrapped.ended = Some(exit.ended);
                    continue;
                }
                Report::Failed(failure) => {
                    let words = if failure.stage == Stage::Sandbox {
                        wrapped.words()
                    } else {
                        String::new()
                    };
                    if let Some(control) = self.control.take() {
                        report_failure(&control, &Refused { failure, words });
                    }
                    continue;
                }
            }
            if let Some(control) = &self.control {
                let started = Report::Started { pid: self.pid };
                let _ = socket::send(control, &[&started.encode()], &[]);
            }
        }
    }

    /// How a wrapped command ended, if it could still say so. If it has not even started,
    /// bubblewrap could not do its part.
    fn last_words(&mut self) -> Option<Ended> {
        self.hear();
        let wrapped = self.wrapped.as_ref()?;
        if !wrapped.started
            && let Some(control) = self.control.take()
        {
            report_failure(&control, &Refused::sandbox(wrapped.words()));
        }
        wrapped.ended
    }

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
