//! Lines the person types. Each is read when somebody waits for it, not before: what is typed ahead stays where it can
//! still be thrown away.

use rustix::termios::{QueueSelector, tcflush};
use std::io::{BufRead, IsTerminal, Read};
use std::sync::mpsc::{Sender, channel};
use tokio::sync::mpsc;

/// A longer line is taken in pieces.
const MOST: u64 = 10 * 1024 * 1024;

pub struct Lines {
    wanted: Sender<()>,
    came: mpsc::Receiver<String>,
    /// A line was asked for and has not come.
    waiting: bool,
    terminal: bool,
}

impl Lines {
    pub fn of_standard_input() -> Self {
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
        Lines { wanted, came, waiting: false, terminal: std::io::stdin().is_terminal() }
    }

    /// The next line, or none at the end of input. Cancel-safe: a line that nobody waits for any more goes to the next
    /// who asks.
    pub async fn next(&mut self) -> Option<String> {
        if !self.waiting {
            self.wanted.send(()).ok()?;
            self.waiting = true;
        }
        let line = self.came.recv().await;
        self.waiting = false;
        line
    }

    /// What was typed before a question was shown is no answer to it. A pipe knows no before.
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

    /// Whether the terminal shows what is typed.
    pub fn are_echoed(&self) -> bool {
        self.terminal
    }
}

fn read() -> Option<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST).read_until(b'\n', &mut bytes);
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned()),
    }
}
