//! A keeper: a process of its own for one command that is to outlive its client.
//!
//! It is this program in another role, leads a session of its own, and runs the command through an
//! [`Executor`](crate::Executor) as the client would have. So the command ends with the keeper, however that dies.
//!
//! ```text
//! channel (SEQPACKET)   client → keeper   the order, in a memory file
//!                       keeper → client   S and the number of the command | F and why it was not started
//!                       client → keeper   K: it may outlive us
//! ```
//!
//! Until it is confirmed, the end of the channel is the end of the command: whoever started it could not write down
//! that it runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::connection::SupervisorProgram;
use crate::other_process::OtherProcess;
use crate::readable_descriptor::readable;
use crate::{memory_file, socket, supervisor, sys};

/// How long the start may take: that of the keeper, of its supervisor and of the command.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a keeper waits for its order.
const ORDER_LIMIT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
/// The longest order.
const MAX_ORDER: usize = 256 << 20;
const MAX_ANSWER: usize = 4096;

const ORDER: u8 = b'O';
const STARTED: u8 = b'S';
const FAILED: u8 = b'F';
const CONFIRMED: u8 = b'K';

/// A keeper whose command runs. Dropped before it was [confirmed](KeptCommand::confirm), both end.
#[derive(Debug)]
pub struct KeptCommand {
    channel: OwnedFd,
    keeper: i32,
    command: i32,
}

impl KeptCommand {
    /// Starts a keeper with an order, and waits until its command runs. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Why the command does not run, in words.
    pub async fn start(program: &SupervisorProgram, order: &[u8]) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its supervisor could not be started ({error})");
        let (channel, keeper) = launch(program, order).map_err(failed)?;
        let watched = channel.try_clone().and_then(readable).map_err(failed)?;
        let mut answer = [0; MAX_ANSWER];
        let read = watched.async_io(Interest::READABLE, |fd| socket::receive(fd, &mut answer));
        let length = match timeout(START_LIMIT, read).await {
            Ok(read) => read.map_err(failed)?,
            Err(_) => {
                keeper.signal(crate::GroupSignal::Kill);
                return Err(format!("it did not start within {} seconds", START_LIMIT.as_secs()));
            }
        };
        let keeper = keeper.pid();
        match answer.get(..length).and_then(|answer| answer.split_first()) {
            Some((&STARTED, number)) => {
                let number = number.try_into().map(i32::from_ne_bytes);
                let command = number.map_err(|_| "its supervisor is another build".to_owned())?;
                Ok(KeptCommand { channel, keeper, command })
            }
            Some((&FAILED, words)) => Err(String::from_utf8_lossy(words).into_owned()),
            _ => Err("its supervisor ended before the command was started".to_owned()),
        }
    }

    /// From now on the command outlives us. It cannot be told whether the keeper still lives.
    pub fn confirm(&self) {
        let _ = socket::send(&self.channel, &[&[CONFIRMED]], &[]);
    }

    /// The number of the keeper.
    pub fn keeper(&self) -> i32 {
        self.keeper
    }

    /// The number of the command, and of its group.
    pub fn command(&self) -> i32 {
        self.command
    }
}

fn launch(program: &SupervisorProgram, order: &[u8]) -> io::Result<(OwnedFd, OtherProcess)> {
    let (channel, theirs) = socket::pair()?;
    let order = memory_file::sealed(order)?;
    // Before there is anybody to read it: the socket holds it.
    socket::send(&channel, &[&[ORDER]], &[order.as_fd()])?;
    let mut process = std::process::Command::new(&program.program)
        .args(&program.args)
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let opened = i32::try_from(process.id()).map_err(io::Error::other).and_then(OtherProcess::open);
    let Ok(keeper) = opened else {
        let _ = process.kill().and_then(|()| process.wait());
        return Err(io::Error::other("it ended at once"));
    };
    let watched = OtherProcess::open(keeper.pid())?;
    // Somebody has to reap it if we outlive it.
    tokio::spawn(async move {
        let _ = watched.ended().await;
        let _ = process.wait();
    });
    Ok((channel, keeper))
}

/// The keeper's end of the channel.
#[derive(Debug)]
pub struct KeeperChannel {
    channel: OwnedFd,
}

impl KeeperChannel {
    /// Makes this process a keeper: it leaves the terminal and every descriptor behind. Call it first thing in `main`,
    /// before any thread exists and any file is open. Gives the order.
    ///
    /// # Errors
    /// If this process was not started as a keeper.
    pub fn take() -> io::Result<(Self, Vec<u8>)> {
        let kind = rustix::net::sockopt::socket_type(io::stdin())?;
        if kind != rustix::net::SocketType::SEQPACKET {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let channel = sys::take_channel()?;
        // It fails only for the leader of a group, which has no terminal to lose.
        let _ = rustix::process::setsid();
        let _ = rustix::thread::set_name(c"job-keeper");
        rustix::process::chdir("/")?;
        let mut fds = [PollFd::new(&channel, PollFlags::IN)];
        poll(&mut fds, Some(&ORDER_LIMIT))?;
        let mut kind = [0; 1];
        let packet = socket::receive_with_fds(&channel, &mut kind)?;
        let file = packet.fds.into_iter().next().filter(|_| kind == [ORDER]);
        let file = file.ok_or(io::ErrorKind::InvalidData)?;
        let order = supervisor::read_whole(&file, MAX_ORDER)?;
        Ok((KeeperChannel { channel }, order))
    }

    /// The command runs.
    pub fn started(&self, command: i32) {
        let _ = socket::send(&self.channel, &[&[STARTED], &command.to_ne_bytes()], &[]);
    }

    /// The command was not started.
    pub fn failed(&self, why: &str) {
        let words = why.as_bytes();
        let words = words.get(..words.len().min(MAX_ANSWER - 1)).unwrap_or_default();
        let _ = socket::send(&self.channel, &[&[FAILED], words], &[]);
    }

    /// Comes back when the client has decided: true, the command outlives it; false, the client is gone.
    pub async fn confirmed(&self) -> bool {
        let watch = || -> io::Result<AsyncFd<OwnedFd>> { readable(self.channel.try_clone()?) };
        let Ok(watched) = watch() else { return false };
        let mut word = [0; 1];
        let read = watched.async_io(Interest::READABLE, |fd| socket::receive(fd, &mut word));
        matches!(read.await, Ok(1)) && word == [CONFIRMED]
    }
}
