//! The first process inside bubblewrap: it starts the command under the floor, passes the order
//! to end on to it, and tells how it ended. When it exits, the kernel ends all that is left in its
//! process namespace.

use std::os::fd::OwnedFd;

use super::floor::Floors;
use super::launch::{Launcher, Setting, Streams};
use super::refused::Refused;
use crate::sandbox::landlock::Place;
use crate::sandbox::pack;
use crate::sys::{self, Children};
use crate::wire::{self, Ended, Exit, Failure, Report, Stage};

/// The argument that makes a supervisor program the first process inside.
pub(super) const INSIDE: &str = "--inside";

/// What a person who runs this by hand sees.
const EXIT_NOT_STARTED_BY_US: i32 = 2;
const EXIT_COMMAND_NOT_STARTED: i32 = 125;

struct Given {
    plan: OwnedFd,
    status: OwnedFd,
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
    let Given { plan, status, errors, script } = given;
    let tell = |report: Report, words: &str| {
        let _ = rustix::io::write(&status, &report.encode());
        if !words.is_empty() {
            let _ = rustix::io::write(sys::standard_error(), words.as_bytes());
        }
    };
    match start(&plan, errors, script) {
        Ok(pid) => {
            tell(Report::Started { pid }, "");
            sys::let_go_of_streams();
            let ended = wait_for(pid);
            tell(Report::Exited(Exit { ended, signalled: 0, exceeded: None }), "");
            0
        }
        Err(refused) => {
            tell(Report::Failed(refused.failure), &refused.words);
            EXIT_COMMAND_NOT_STARTED
        }
    }
}

fn take(numbers: &str) -> Option<Given> {
    let numbers: Vec<i32> = numbers.split(',').map(|n| n.parse().unwrap_or(-1)).collect();
    // What bubblewrap has left open leads outside, past what is mounted here.
    sys::keep_to_ourselves(&numbers);
    let mut numbers = numbers.into_iter();
    let mut next = || sys::adopt(numbers.next()?);
    let (plan, status, errors) = (next()?, next()?, next()?);
    let script = next();
    Some(Given { plan, status, errors, script })
}

fn start(plan: &OwnedFd, errors: OwnedFd, script: Option<OwnedFd>) -> Result<i32, Refused> {
    let broken = || Refused::from(Failure { stage: Stage::Request, errno: libc::EPROTO });
    sys::block_signals().map_err(|error| Refused::sandbox(error.to_string()))?;
    let body = super::read_body(plan).map_err(|_| broken())?;
    let request = wire::decode(&body).ok_or_else(broken)?;
    let order = request.sandbox.and_then(pack::unpack).ok_or_else(broken)?;
    let floor = Floors::default().make(&order.sandbox, Place::Inside, request.program);
    let floor = floor.map_err(Refused::sandbox)?;
    let output = sys::adopt(1).ok_or_else(broken)?;
    // Standard input is in its place already.
    let streams = Streams { output, script, input: None, errors: Some(errors) };
    let own_pid = rustix::process::getpid().as_raw_nonzero().get();
    let mut launcher = Launcher::new(own_pid);
    let setting = Setting { floor: Some(&floor), unblock: true, alone: true, ..Setting::default() };
    Ok(launcher.launch(&request, &streams, setting)?)
}

/// Waits for the command, reaping whatever else ends here meanwhile.
fn wait_for(pid: i32) -> Ended {
    loop {
        match sys::next_signal() {
            libc::SIGCHLD => {
                while let Children::Ended(child) = sys::look_for_ended() {
                    match sys::reap(child) {
                        Some(ended) if child == pid => return ended,
                        _ => {}
                    }
                }
            }
            signal @ (libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT) => {
                sys::signal_group(pid, signal);
                // A stopped process acts on it only after it goes on.
                sys::signal_group(pid, libc::SIGCONT);
            }
            _ => {}
        }
    }
}
