//! The commands that are running or ending, and what happens to them.

use std::cell::LazyCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::cgroup::{Group, Groups};
use super::floor::Floors;
use super::launch::{Launcher, Setting, Streams};
use super::limit_watch::LimitWatch;
use super::refusal::LaunchRefusal;
use super::strays::{self, ProcessTree};
use super::wrap::{BubbleWrapper, Wrapped};
use crate::limits::Exceeded;
use crate::marks::{Marks, ProcessMark};
use crate::sandbox::landlock::RulePlace;
use crate::sandbox::pack;
use crate::socket;
use crate::sys::{self, Children};
use crate::wire::{
    self, CommandEnded, Exit, LaunchStage, ORDER_KILL, ORDER_TERMINATE, WireFailure, WireReport,
};

/// How long the report of an exit waits for the killed rest of the command to be gone.
const SETTLE_LIMIT: Duration = Duration::from_millis(200);

pub(super) struct CommandTable {
    launcher: Launcher,
    tree: ProcessTree,
    marks: Marks,
    list: Vec<CommandEntry>,
    /// What outlived the report of its command's exit.
    leftovers: Vec<Leftover>,
    /// Closed when nothing of the scope is left.
    waiting_for_scopes: Vec<(u64, OwnedFd)>,
    started: u32,
    floors: Floors,
    wrapper: BubbleWrapper,
    groups: Groups,
    own_pid: i32,
}

/// A command that has just been started.
pub(super) struct Started {
    pid: i32,
    scope: u64,
    wrapped: Option<Wrapped>,
    group: Option<Group>,
    watch: Option<LimitWatch>,
}

struct CommandEntry {
    /// Also the number of its group.
    pid: i32,
    scope: u64,
    mark: ProcessMark,
    /// None when the client has dropped the command.
    control: Option<OwnedFd>,
    signalled: i32,
    ending: Option<EndingCommand>,
    /// It runs inside bubblewrap.
    wrapped: Option<Wrapped>,
    group: Option<Group>,
    /// None where its group limits it, or nothing does.
    watch: Option<LimitWatch>,
    exceeded: Option<Exceeded>,
}

/// Processes of a reported command that were killed and are not gone yet.
struct Leftover {
    scope: u64,
    group: i32,
    mark: ProcessMark,
}

/// The command itself has ended; what it left behind is being ended.
struct EndingCommand {
    ended: CommandEnded,
    deadline: Instant,
}

impl CommandTable {
    pub(super) fn new(own_pid: i32) -> Self {
        Self {
            launcher: Launcher::new(own_pid),
            tree: ProcessTree::new(own_pid),
            marks: Marks::new(own_pid.unsigned_abs()),
            list: Vec::new(),
            leftovers: Vec::new(),
            waiting_for_scopes: Vec::new(),
            started: 0,
            floors: Floors::default(),
            wrapper: BubbleWrapper::default(),
            groups: Groups::default(),
            own_pid,
        }
    }

    pub(super) fn launch(
        &mut self,
        body: &[u8],
        streams: Streams,
    ) -> Result<Started, LaunchRefusal> {
        let broken = WireFailure { stage: LaunchStage::Request, errno: libc::EPROTO };
        let request = wire::decode(body).ok_or(broken)?;
        self.started = self.started.wrapping_add(1);
        let group = self.groups.make(self.own_pid, self.started, &request.limits);
        let group = group.map_err(LaunchRefusal::sandbox)?;
        let started = self.launch_in(body, &request, streams, group.as_ref());
        match started {
            Ok((pid, wrapped)) => {
                let watch = if group.is_some() { None } else { LimitWatch::new(&request.limits) };
                let scope = request.origin.scope;
                Ok(Started { pid, scope, wrapped, group, watch })
            }
            Err(refused) => {
                group.map(|group| self.groups.release(group));
                Err(refused)
            }
        }
    }

    fn launch_in(
        &mut self,
        body: &[u8],
        request: &wire::WireRequest<'_>,
        streams: Streams,
        group: Option<&Group>,
    ) -> Result<(i32, Option<Wrapped>), LaunchRefusal> {
        let broken = WireFailure { stage: LaunchStage::Request, errno: libc::EPROTO };
        let mark = self.marks.number(self.started);
        let group = group.map(|group| group.join.as_fd());
        let (unblock, dies_with_us) = (true, true);
        let mut setting =
            Setting { mark: Some(mark), unblock, dies_with_us, group, ..Setting::default() };
        let Some(packed) = request.sandbox else {
            return Ok((self.launcher.launch(request, &streams, setting)?, None));
        };
        let order = pack::unpack(packed).ok_or(broken)?;
        if order.sandbox.layers.bubblewrap {
            let launcher = &mut self.launcher;
            let started = self.wrapper.launch(launcher, body, request, &order, streams, setting)?;
            return Ok((started.0, Some(started.1)));
        }
        let floor = self.floors.make(&order.sandbox, RulePlace::Bare, request.program);
        let floor = floor.map_err(LaunchRefusal::sandbox)?;
        setting.floor = Some(&floor);
        Ok((self.launcher.launch(request, &streams, setting)?, None))
    }

    /// Takes note of what [`CommandTable::launch`] has just started.
    pub(super) fn add(&mut self, started: Started, control: OwnedFd) {
        let mark = self.marks.number(self.started);
        let Started { pid, scope, wrapped, group, watch } = started;
        let (control, signalled, ending, exceeded) = (Some(control), 0, None, None);
        let entry = CommandEntry {
            pid,
            scope,
            mark,
            control,
            signalled,
            ending,
            wrapped,
            group,
            watch,
            exceeded,
        };
        if entry.wrapped.is_none() {
            entry.report(WireReport::Started { pid });
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

    /// When the next look at what a command uses is due.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let running = self.list.iter().filter(|entry| entry.ending.is_none());
        running.filter_map(|entry| Some(entry.watch.as_ref()?.next)).min()
    }

    /// Kills the commands that use more than they may.
    pub(super) fn watch(&mut self) {
        let now = Instant::now();
        let (tree, marks) = (&self.tree, self.marks);
        // What has left its parents is a child of ours by now. Read once for all that is looked at.
        let children = LazyCell::new(|| {
            let children = tree.direct().into_iter();
            children.map(|pid| (pid, marks.of(pid))).collect::<Vec<_>>()
        });
        for entry in self.list.iter_mut().filter(|entry| entry.ending.is_none()) {
            let Some(watch) = entry.watch.as_mut().filter(|watch| watch.next <= now) else {
                continue;
            };
            let of_entry = |(pid, mark): &&(i32, Option<ProcessMark>)| {
                *mark == Some(entry.mark) && *pid != entry.pid
            };
            let strays = children.iter().filter(of_entry).map(|(pid, _)| *pid);
            let roots: Vec<i32> = [entry.pid].into_iter().chain(strays).collect();
            if let Some(exceeded) = watch.look(tree, &roots) {
                entry.watch = None;
                entry.exceeded = Some(exceeded);
                entry.kill();
            }
        }
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
        let (wrapper, groups) = (&mut self.wrapper, &mut self.groups);
        let leftovers = &mut self.leftovers;
        let is_gone = |mark: &ProcessMark, group: i32| {
            !left || (!strays.contains(mark) && group_is_gone(group))
        };
        leftovers.retain(|leftover| !is_gone(&leftover.mark, leftover.group));
        self.list.retain_mut(|entry| {
            let Some(ending) = &entry.ending else { return true };
            let gone = is_gone(&entry.mark, entry.pid);
            if gone || now >= ending.deadline {
                if !gone {
                    let (scope, group, mark) = (entry.scope, entry.pid, entry.mark);
                    leftovers.push(Leftover { scope, group, mark });
                }
                // Before the report: nothing of ours may be found in the roots afterwards.
                if let Some(wrapped) = entry.wrapped.take() {
                    wrapper.release(wrapped);
                }
                let ended = ending.ended;
                let in_group = entry.group.take().and_then(|group| groups.release(group));
                let exceeded = entry.exceeded.or(in_group);
                let signalled = entry.signalled;
                entry.report(WireReport::Exited(Exit { ended, signalled, exceeded }));
                return false;
            }
            true
        });
        self.answer_empty_scopes();
    }

    /// Closes the socket as soon as no command of the scope is left, nor what it has started.
    pub(super) fn close_when_empty(&mut self, scope: u64, socket: OwnedFd) {
        self.waiting_for_scopes.push((scope, socket));
        self.answer_empty_scopes();
    }

    fn answer_empty_scopes(&mut self) {
        let (list, leftovers) = (&self.list, &self.leftovers);
        self.waiting_for_scopes.retain(|(scope, _)| {
            list.iter().any(|entry| entry.scope == *scope)
                || leftovers.iter().any(|leftover| leftover.scope == *scope)
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
            entry.ending = Some(EndingCommand { ended, deadline: Instant::now() + SETTLE_LIMIT });
        }
    }

    /// Ends children of ours that belong to no running command, and says whose they were. One
    /// that bears no mark may belong to any command that is older than itself, so it is left until
    /// none of those is running.
    fn sweep(&self) -> Vec<ProcessMark> {
        let running: Vec<_> = self.list.iter().filter(|entry| entry.ending.is_none()).collect();
        let oldest = LazyCell::new(|| {
            running.iter().map(|entry| strays::start_of(entry.pid).unwrap_or(0)).min()
        });
        let may_be_of_running = |pid: i32| match (*oldest, strays::start_of(pid)) {
            (Some(oldest), Some(start)) => oldest <= start,
            (oldest, _) => oldest.is_some(),
        };
        let mut strays = Vec::new();
        let mut marks = Vec::new();
        for pid in self.tree.direct() {
            if running.iter().any(|entry| entry.pid == pid) {
                continue;
            }
            match self.marks.of(pid) {
                Some(mark) if running.iter().any(|entry| entry.mark == mark) => continue,
                None if may_be_of_running(pid) => continue,
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
        for entry in self.list.drain(..) {
            if let Some(wrapped) = entry.wrapped {
                self.wrapper.release(wrapped);
            }
            if let Some(group) = entry.group {
                self.groups.release(group);
            }
        }
        self.groups.clean_up();
    }

    pub(super) fn end_all_children(&self) {
        self.tree.end(&self.tree.direct());
    }
}

pub(super) fn report_failure(control: &OwnedFd, refused: &LaunchRefusal) {
    let report = WireReport::Failed(refused.failure).encode();
    let words = refused.words.as_bytes();
    let words = words.get(..words.len().min(wire::MAX_WORDS)).unwrap_or_default();
    let _ = socket::send(control, &[&report, words], &[]);
}

fn group_is_gone(group: i32) -> bool {
    Pid::from_raw(group).is_none_or(|group| test_kill_process_group(group) == Err(Errno::SRCH))
}

impl CommandEntry {
    fn hear(&mut self) {
        let Some(wrapped) = &mut self.wrapped else { return };
        while let Some(report) = wrapped.next() {
            match report {
                WireReport::Started { .. } => wrapped.started = true,
                WireReport::Exited(exit) => {
                    wrapped.ended = Some(exit.ended);
                    continue;
                }
                WireReport::Failed(failure) => {
                    let words = if failure.stage == LaunchStage::Sandbox {
                        wrapped.words()
                    } else {
                        String::new()
                    };
                    if let Some(control) = self.control.take() {
                        report_failure(&control, &LaunchRefusal { failure, words });
                    }
                    continue;
                }
            }
            if let Some(control) = &self.control {
                let started = WireReport::Started { pid: self.pid };
                let _ = socket::send(control, &[&started.encode()], &[]);
            }
        }
    }

    /// How a wrapped command ended, if it could still say so. If it has not even started,
    /// bubblewrap could not do its part.
    fn last_words(&mut self) -> Option<CommandEnded> {
        self.hear();
        let wrapped = self.wrapped.as_ref()?;
        if !wrapped.started
            && let Some(control) = self.control.take()
        {
            report_failure(&control, &LaunchRefusal::sandbox(wrapped.words()));
        }
        wrapped.ended
    }

    fn terminate(&mut self) {
        if self.ending.is_none() {
            if self.signalled == 0 {
                self.signalled = libc::SIGTERM;
            }
            self.signal(Signal::TERM);
            // A stopped process acts on it only after it continues.
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

    fn report(&self, report: WireReport) {
        if let Some(control) = &self.control {
            let _ = socket::send(control, &[&report.encode()], &[]);
        }
    }
}
