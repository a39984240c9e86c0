//! The first process inside bubblewrap: it starts the command under the floor, passes the order
//! to end on to it, and tells how it ended. When it exits, the kernel ends all that is left in its
//! process namespace. It exits when the supervisor is dead, and starts nothing if that was so
//! before: the kernel's own signal for a dead parent comes too late for whoever asks for it late.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::floor::Floors;
use super::launch::{Launcher, Setting, Streams};
use super::refusal::LaunchRefusal;
use crate::sandbox::landlock::RulePlace;
use crate::sandbox::pack;
use crate::sys::{self, Children};
use crate::wire::{self, CommandEnded, Exit, LaunchStage, WireFailure, WireReport};

/// The argument that makes a supervisor program the first process inside.
pub(super) const INSIDE: &str = "--inside";

/// What a person who runs this by hand sees.
const EXIT_NOT_STARTED_BY_US: i32 = 2;
const EXIT_COMMAND_NOT_STARTED: i32 = 125;
const EXIT_SUPERVISOR_DEAD: i32 = 137;

struct InnerStart {
    plan: OwnedFd,
    status: OwnedFd,
    /// Hangs up when the supervisor dies.
    life: OwnedFd,
    errors: OwnedFd,
    script: Option<OwnedFd>,
}

/// The descriptors, if this process was started to be inside.
pub(super) fn numbers() -> Option<String> {
    let mut words = sys::own_words().into_iter().rev();
    let (last, before) = (words.next()?, words.next()?);
    (before == INSIDE.as_bytes()).then(|| String::from_utf8_lossy(&last).into_owned())
}

pub(super) fn run(numbers: &str) -> i32 {
    let Some(given) = take(numbers) else { return EXIT_NOT_STARTED_BY_US };
    let InnerStart { plan, status, life, errors, script } = given;
    if is_hung_up(&life) {
        return EXIT_COMMAND_NOT_STARTED;
    }
    let tell = |report: WireReport, words: &str| {
        let _ = rustix::io::write(&status, &report.encode());
        if !words.is_empty() {
            let _ = rustix::io::write(sys::standard_error(), words.as_bytes());
        }
    };
    match start(&plan, errors, script) {
        Ok((pid, signals)) => {
            tell(WireReport::Started { pid }, "");
            sys::let_go_of_streams();
            let Some(ended) = wait_for(pid, &signals, &life) else { return EXIT_SUPERVISOR_DEAD };
            tell(WireReport::Exited(Exit { ended, signalled: 0, exceeded: None }), "");
            0
        }
        Err(refused) => {
            tell(WireReport::Failed(refused.failure), &refused.words);
            EXIT_COMMAND_NOT_STARTED
        }
    }
}

fn take(numbers: &str) -> Option<InnerStart> {
    let numbers: Vec<i32> = numbers.split(',').map(|n| n.parse().unwrap_or(-1)).collect();
    // What bubblewrap has left open leads outside, past what is mounted here.
    sys::keep_to_ourselves(&numbers);
    let mut numbers = numbers.into_iter();
    let mut next = || sys::adopt(numbers.next()?);
    let (plan, status, life, errors) = (next()?, next()?, next()?, next()?);
    let script = next();
    Some(InnerStart { plan, status, life, errors, script })
}

/// The command, and where signals to this process are read from now on.
fn start(
    plan: &OwnedFd,
    errors: OwnedFd,
    script: Option<OwnedFd>,
) -> Result<(i32, OwnedFd), LaunchRefusal> {
    let broken =
        || LaunchRefusal::from(WireFailure { stage: LaunchStage::Request, errno: libc::EPROTO });
    let signals =
        sys::block_signals().map_err(|error| LaunchRefusal::sandbox(error.to_string()))?;
    let body = super::read_whole(plan, wire::MAX_BODY).map_err(|_| broken())?;
    let request = wire::decode(&body).ok_or_else(broken)?;
    let order = request.sandbox.and_then(pack::unpack).ok_or_else(broken)?;
    let floor = Floors::default().make(&order.sandbox, RulePlace::Inside, request.program);
    let floor = floor.map_err(LaunchRefusal::sandbox)?;
    let output = sys::adopt(1).ok_or_else(broken)?;
    // Standard input is in its place already.
    let streams = Streams { output, script, input: None, errors: Some(errors) };
    let own_pid = rustix::process::getpid().as_raw_nonzero().get();
    let mut launcher = Launcher::new(own_pid);
    let (unblock, alone, dies_with_us) = (true, true, true);
    let setting =
        Setting { floor: Some(&floor), unblock, alone, dies_with_us, ..Setting::default() };
    Ok((launcher.launch(&request, &streams, setting)?, signals))
}

/// Waits for the command, reaping whatever else ends here meanwhile. None if the supervisor is dead.
fn wait_for(pid: i32, signals: &OwnedFd, life: &OwnedFd) -> Option<CommandEnded> {
    loop {
        let mut fds = [life, signals].map(|fd| PollFd::new(fd, PollFlags::IN));
        let _ = poll(&mut fds, None);
        if is_hung_up(life) {
            return None;
        }
        match sys::next_signal(signals) {
            Some(libc::SIGCHLD) => {
                while let Children::Ended(child) = sys::look_for_ended() {
                    match sys::reap(child) {
                        Some(ended) if child == pid => return Some(ended),
                        _ => {}
                    }
                }
            }
            Some(signal @ (libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT)) => {
                sys::signal_group(pid, signal);
                // A stopped process acts on it only after it continues.
                sys::signal_group(pid, libc::SIGCONT);
            }
            _ => {}
        }
    }
}

/// Nothing is written to it, so whatever can be read is its end.
fn is_hung_up(life: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(life, PollFlags::IN)];
    !matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
}
