//! The supervisor: a small process that starts commands and outlives none of them.
//!
//! One thread, one loop, no timers but the bound on an ending command and the look at what limited
//! commands use. Orders come over sockets
//! only; signals are blocked. When the client's socket closes, for whatever reason, everything
//! below us is killed and we exit.

mod cgroup;
mod commands;
mod floor;
mod inner_process;
mod launch;
mod limit_watch;
mod refusal;
mod strays;
mod wrap;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use crate::wire::{
    self, BODY_IN_FILE, INLINE_BODY, LaunchStage, MAX_BODY, UNTIL_EMPTY, WITH_ERRORS, WITH_INPUT,
    WITH_SCRIPT, WireFailure,
};
use crate::{socket, sys};
use commands::{CommandTable, Started};
use launch::Streams;
use refusal::LaunchRefusal;

/// How long the end of everything may take; what is left then cannot be killed by us.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How often the end of everything looks again if no child reports its end.
const END_ROUND: Duration = Duration::from_millis(20);

/// Exit codes; only a person who runs the supervisor by hand sees them.
const EXIT_NOT_STARTED_BY_US: i32 = 2;
const EXIT_FAULT: i32 = 70;

/// The main function of the supervisor process. Call it first thing in `main`, before any thread
/// exists and any file is open: it closes all descriptors but its socket, which it expects as
/// standard input.
pub fn supervise() -> ! {
    if let Some(numbers) = inner_process::numbers() {
        std::process::exit(inner_process::run(&numbers));
    }
    let code = match Supervisor::set_up() {
        Ok(mut supervisor) => supervisor.run(),
        Err(_) => EXIT_NOT_STARTED_BY_US,
    };
    std::process::exit(code)
}

struct Supervisor {
    /// None after it was closed.
    channel: Option<OwnedFd>,
    signals: OwnedFd,
    commands: CommandTable,
    buffer: Vec<u8>,
}

/// What a wait has found.
struct Ready {
    children: bool,
    requests: bool,
    /// The commands whose control socket has something to say.
    orders: Vec<i32>,
    /// The wrapped commands that have started, or could not.
    starts: Vec<i32>,
}

impl Supervisor {
    fn set_up() -> io::Result<Self> {
        let kind = rustix::net::sockopt::socket_type(io::stdin())?;
        if kind != rustix::net::SocketType::SEQPACKET {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let channel = sys::take_channel()?;
        let signals = sys::mute_signals()?;
        // It fails only for the leader of a group, which has no terminal to lose either way: it was
        // then started by hand or by a wrapper that did it already.
        let _ = rustix::process::setsid();
        // For people who look at `ps`; re-executed through /proc we would be called "exe".
        let _ = rustix::thread::set_name(c"exec-supervisor");
        let pid = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(pid))?;
        rustix::process::chdir("/")?;
        rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        let commands = CommandTable::new(pid.as_raw_nonzero().get());
        socket::send(&channel, &[wire::GREETING], &[])?;
        Ok(Self { channel: Some(channel), signals, commands, buffer: vec![0; INLINE_BODY + 1] })
    }

    fn run(&mut self) -> i32 {
        // Whatever goes wrong here, what we have started is ended before we are.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.serve()));
        self.end_everything();
        match outcome {
            Ok(Ok(())) => 0,
            _ => EXIT_FAULT,
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            let ready = self.wait()?;
            if ready.children {
                self.drain_signals();
            }
            // Ends before orders: a command that has ended is not signalled any more.
            let overdue =
                self.commands.next_deadline().is_some_and(|deadline| deadline <= Instant::now());
            if ready.children || overdue || !ready.orders.is_empty() {
                self.commands.collect();
            }
            self.commands.watch();
            for pid in ready.starts {
                self.commands.hear(pid);
            }
            for pid in ready.orders {
                self.commands.obey(pid);
            }
            if ready.requests && !self.accept()? {
                return Ok(());
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let channel = self.channel.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let controls: Vec<_> = self.commands.controls().collect();
        let starting: Vec<_> = self.commands.starting().collect();
        let mut fds = Vec::with_capacity(controls.len() + starting.len() + 2);
        fds.push(PollFd::new(channel, PollFlags::IN));
        fds.push(PollFd::new(&self.signals, PollFlags::IN));
        let others = controls.iter().chain(&starting);
        fds.extend(others.map(|(_, fd)| PollFd::new(fd, PollFlags::IN)));
        let wakes = [self.commands.next_deadline(), self.commands.next_look()];
        let timeout = wakes.into_iter().flatten().min().map(until);
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let (ours, theirs) = fds.split_at(2);
        let (of_controls, of_starting) = theirs.split_at(controls.len());
        let heard = |list: &[(i32, BorrowedFd<'_>)], fds: &[PollFd<'_>]| -> Vec<i32> {
            list.iter().zip(fds).filter(|(_, fd)| ready(fd)).map(|((pid, _), _)| *pid).collect()
        };
        Ok(Ready {
            requests: ours.first().is_some_and(ready),
            children: ours.get(1).is_some_and(ready),
            orders: heard(&controls, of_controls),
            starts: heard(&starting, of_starting),
        })
    }

    fn drain_signals(&self) {
        let mut infos = [0; 4 * size_of::<libc::signalfd_siginfo>()];
        // One read is enough: SIGCHLD is not queued, so there is at most one.
        let _ = rustix::io::read(&self.signals, &mut infos);
    }

    /// Takes one request. False when the client is gone.
    fn accept(&mut self) -> io::Result<bool> {
        let Some(channel) = &self.channel else { return Ok(false) };
        let packet = match socket::receive_with_fds(channel, &mut self.buffer) {
            Ok(packet) if packet.length == 0 => return Ok(false),
            Ok(packet) if packet.truncated => return Err(io::ErrorKind::InvalidData.into()),
            Ok(packet) => packet,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        let mut fds = packet.fds.into_iter();
        // Without a control socket there is nobody to answer; closing the rest tells the client.
        let Some(control) = fds.next() else { return Ok(true) };
        let (flags, body) =
            self.buffer.split_first().map_or((0, &[][..]), |(flags, rest)| (*flags, rest));
        let body = body.get(..packet.length - 1).unwrap_or_default();
        if flags == UNTIL_EMPTY {
            if let Ok(scope) = body.try_into() {
                self.commands.close_when_empty(u64::from_ne_bytes(scope), control);
            }
            return Ok(true);
        }
        match start(&mut self.commands, flags, body, fds) {
            Ok(started) => self.commands.add(started, control),
            Err(refused) => commands::report_failure(&control, &refused),
        }
        Ok(true)
    }

    /// Kills all there is below us, in rounds, until nothing is left or the time is up.
    fn end_everything(&mut self) {
        // If we end by a fault of our own, the client must not continue sending requests.
        self.channel = None;
        self.commands.kill_all();
        let deadline = Instant::now() + END_LIMIT;
        while self.commands.reap_all() && Instant::now() < deadline {
            self.commands.end_all_children();
            let mut fds = [PollFd::new(&self.signals, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&until(Instant::now() + END_ROUND)));
            self.drain_signals();
        }
        self.commands.clean_up();
    }
}

fn start(
    commands: &mut CommandTable,
    flags: u8,
    inline: &[u8],
    mut fds: impl Iterator<Item = OwnedFd>,
) -> Result<Started, LaunchRefusal> {
    let missing = WireFailure { stage: LaunchStage::Descriptors, errno: libc::EMFILE };
    let output = fds.next().ok_or(missing)?;
    let mut given = |flag: u8| match flags & flag {
        0 => Ok(None),
        _ => fds.next().map(Some).ok_or(missing),
    };
    let (script, input, errors) = (given(WITH_SCRIPT)?, given(WITH_INPUT)?, given(WITH_ERRORS)?);
    let streams = Streams { output, script, input, errors };
    let Some(file) = given(BODY_IN_FILE)? else {
        return commands.launch(inline, streams);
    };
    let body = read_whole(&file, MAX_BODY).map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(libc::E2BIG);
        WireFailure { stage: LaunchStage::Request, errno }
    })?;
    commands.launch(&body, streams)
}

/// What a memory file holds, if that is not more than allowed.
pub(crate) fn read_whole(file: &OwnedFd, most: usize) -> io::Result<Vec<u8>> {
    let size = usize::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(usize::MAX);
    if size > most {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let mut body = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = body.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(body)
}

/// The time from now to an instant, for poll.
fn until(instant: Instant) -> Timespec {
    let left = instant.saturating_duration_since(Instant::now());
    Timespec { tv_sec: left.as_secs().min(3600) as i64, tv_nsec: left.subsec_nanos().into() }
}
