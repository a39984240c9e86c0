//! Lines as standard input hands them over: through a pipe, from a file, or by a terminal whose typing we do not draw.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use std::io::{BufRead, Read};
use std::sync::mpsc::{Sender, channel};
use tokio::sync::mpsc;

/// A longer line is taken in pieces.
const MOST: u64 = 10 * 1024 * 1024;
/// Lines that are taken at once.
const MOST_AHEAD: usize = 1000;

pub struct Pipe {
    wanted: Sender<()>,
    came: mpsc::Receiver<String>,
    /// A line was asked for and has not come.
    waiting: bool,
    pub terminal: bool,
}

impl Pipe {
    pub fn new(terminal: bool) -> Self {
        let (wanted, wants) = channel();
        let (sender, came) = mpsc::channel(1);
        // Standard input has no cancellable read: a thread of its own waits for it and ends with the program.
        std::thread::spawn(move || {
            while wants.recv().is_ok() {
                let Some(line) = read() else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Pipe { wanted, came, waiting: false, terminal }
    }

    pub async fn next(&mut self) -> Option<String> {
        if !self.waiting {
            self.wanted.send(()).ok()?;
            self.waiting = true;
        }
        let line = self.came.recv().await;
        self.waiting = false;
        line
    }

    pub fn forget(&mut self) {
        if !self.terminal {
            return;
        }
        while self.came.try_recv().is_ok() {
            self.waiting = false;
        }
        // Failing means that the terminal is gone, and then no answer will come either.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }

    /// The lines that were typed up to now. Nobody is waiting for one.
    pub fn take_ahead(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while self.terminal && !self.waiting && lines.len() < MOST_AHEAD && is_ready() {
            match read() {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        lines
    }
}

/// A terminal is ready when a whole line has been typed.
fn is_ready() -> bool {
    let stdin = std::io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut waiting, Some(&now)).is_ok_and(|ready| ready > 0)
}

fn read() -> Option<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST).read_until(b'\n', &mut bytes);
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned()),
    }
}
