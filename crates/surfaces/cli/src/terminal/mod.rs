//! The person's terminal while a line session has it: keys instead of lines, and the way back.
//!
//! A terminal that collects lines by itself cuts them at 4 095 bytes, ends a pasted text at its first line and types arrow
//! keys as escape sequences. So it is told to hand over every key and to show none: the line is drawn here, also what was
//! typed ahead, once somebody waits for it.

mod drawing;
mod keys;
mod line;

pub use drawing::Drawing;
pub use keys::{Key, Keys};
pub use line::{Effect, Line};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use unicode_width::UnicodeWidthChar;

/// The terminal as it was found, until it is given back.
static FOUND: Mutex<Option<Found>> = Mutex::new(None);

#[derive(Clone)]
struct Found {
    modes: Termios,
    /// It was told to mark the beginning and the end of a paste.
    brackets: bool,
}

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
const BRACKETS_ON: &str = "\u{1b}[?2004h";
const BRACKETS_OFF: &str = "\u{1b}[?2004l";
/// In place of a character that would make the terminal send a signal.
const NO_CHARACTER: u8 = 0;

pub struct Terminal {
    wanted: Sender<()>,
    came: mpsc::Receiver<()>,
    /// Somebody waits for keys, or did, and none came yet.
    waiting: bool,
    /// It understands escape sequences.
    pub obeys: bool,
}

impl Terminal {
    /// None if standard input is no terminal.
    pub fn take(obeys: bool) -> Option<Self> {
        let modes = tcgetattr(std::io::stdin()).ok()?;
        let (wanted, wants) = channel();
        let (sender, came) = mpsc::channel(1);
        // It only waits and takes nothing, so that whoever gives up waiting leaves the keys to the next.
        std::thread::spawn(move || {
            while wants.recv().is_ok() {
                wait_for_input(None);
                if sender.blocking_send(()).is_err() {
                    return;
                }
            }
        });
        *found() = Some(Found { modes, brackets: obeys });
        let terminal = Terminal { wanted, came, waiting: false, obeys };
        terminal.set_up();
        Some(terminal)
    }

    fn set_up(&self) {
        apply(during_session);
        if self.obeys {
            show(BRACKETS_ON);
        }
    }

    /// Somebody waits for a line, until this is dropped.
    pub fn reading(&self) -> Reading {
        apply(while_reading);
        Reading
    }

    /// Some of what was typed; none at the end. Cancel-safe.
    pub async fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            if wait_for_input(Some(NOW)) {
                return read_some();
            }
            if !self.waiting {
                self.wanted.send(()).ok()?;
                self.waiting = true;
            }
            self.came.recv().await?;
            self.waiting = false;
        }
    }

    /// What was typed up to now, without waiting.
    pub fn read_ready(&self) -> Vec<u8> {
        let mut typed = Vec::new();
        while typed.len() <= keys::MOST && wait_for_input(Some(NOW)) {
            let Some(bytes) = read_some() else { break };
            typed.extend(bytes);
        }
        typed
    }

    /// Ctrl+Z while a line is typed: the terminal goes back to the shell until it lets us continue.
    pub fn suspend(&self) {
        let kept = found().clone();
        restore();
        // Where nobody could let us continue, the kernel does not stop us.
        let _ = kill_current_process_group(Signal::TSTP);
        *found() = kept;
        self.set_up();
        apply(while_reading);
    }
}

pub struct Reading;

impl Drop for Reading {
    fn drop(&mut self) {
        apply(during_session);
    }
}

/// The terminal as it was found, for a command that reads lines itself, until this is dropped.
pub struct Lent;

pub fn lend() -> Lent {
    apply(|_| {});
    Lent
}

impl Drop for Lent {
    fn drop(&mut self) {
        apply(during_session);
    }
}

/// Gives the terminal back as it was found. Does nothing if it was not taken.
pub fn restore() {
    let Some(Found { modes, brackets }) = found().take() else { return };
    if brackets {
        show(BRACKETS_OFF);
    }
    // Failing means that the terminal is gone.
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &modes);
}

/// How wide the screen is.
pub fn columns() -> usize {
    let size = tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// How high it is.
pub fn rows() -> usize {
    let size = tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24)
}

/// As much of a line as fits so many columns.
pub fn cut(line: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    line.chars().take_while(fits).collect()
}

fn found() -> MutexGuard<'static, Option<Found>> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Once it was given back it is left alone.
fn apply(change: fn(&mut Termios)) {
    if let Some(Found { modes, .. }) = found().as_ref() {
        let mut modes = modes.clone();
        change(&mut modes);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &modes);
    }
}

fn during_session(modes: &mut Termios) {
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ECHO);
    let changes = InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR | InputModes::ISTRIP;
    modes.input_modes.remove(changes);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    // Ctrl+C stays a signal. This one would end us with the terminal in this state.
    modes.special_codes[SpecialCodeIndex::VQUIT] = NO_CHARACTER;
}

/// Ctrl+Z comes as a key, so that the terminal is in order when the shell has it.
fn while_reading(modes: &mut Termios) {
    during_session(modes);
    modes.special_codes[SpecialCodeIndex::VSUSP] = NO_CHARACTER;
}

/// Something can be read, or the end is there. Without a limit it waits for that.
fn wait_for_input(limit: Option<Timespec>) -> bool {
    let stdin = std::io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let ready = rustix::io::retry_on_intr(|| poll(&mut waiting, limit.as_ref()));
    ready.is_ok_and(|ready| ready > 0)
}

/// None at the end.
fn read_some() -> Option<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(std::io::stdin(), &mut bytes));
    bytes.truncate(read.ok()?);
    Some(bytes).filter(|bytes| !bytes.is_empty())
}

fn show(text: &str) {
    // Whoever writes next finds out that nobody reads any more.
    let _ = crate::output::printer::print(text);
}
