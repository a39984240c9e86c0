//! A conversation with the program: on a real terminal, or through pipes.

use crate::support::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// What a terminal sends for these keys.
pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";

pub struct Talk {
    child: Child,
    input: Option<OwnedFd>,
    output: OwnedFd,
    /// The program's side of the terminal, kept open so that its modes outlive the program.
    terminal: Option<OwnedFd>,
    modes_before: Option<Termios>,
    seen: Vec<u8>,
    /// What was waited for so far ends here.
    at: usize,
}

/// How the program left, and everything it wrote.
#[derive(Debug)]
pub struct Left {
    pub code: Option<i32>,
    pub said: String,
}

impl Talk {
    /// In a session of its own, with the terminal as its controlling one, 80 columns wide.
    pub fn on_terminal(command: &Command) -> Self {
        Talk::on_terminal_of(command, 80)
    }

    /// The same, with this typed before the program was there to read it.
    pub fn on_terminal_with(command: &Command, typed: &str) -> Self {
        Talk::on_terminal_as(command, 80, typed)
    }

    pub fn on_terminal_of(command: &Command, columns: u16) -> Self {
        Talk::on_terminal_as(command, columns, "")
    }

    fn on_terminal_as(command: &Command, columns: u16, typed: &str) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let mut seen = Vec::new();
        if !typed.is_empty() {
            rustix::io::write(&ours, typed.as_bytes()).unwrap();
            // The terminal has it once it has shown it.
            let echoed = typed.replace('\n', "\r\n");
            while seen.len() < echoed.len() {
                let mut buffer = [0; 1024];
                let count = rustix::io::read(&ours, &mut buffer).unwrap();
                seen.extend_from_slice(&buffer[..count]);
            }
        }
        let mut wrapped = Command::new("setsid");
        wrapped.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        wrapped.env("TERM", "xterm-256color").current_dir(command.get_current_dir().unwrap());
        for (name, value) in command.get_envs() {
            wrapped.env(name, value.unwrap_or_default());
        }
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        let modes_before = Some(tcgetattr(&theirs).unwrap());
        let child = wrapped.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        let input = Some(ours.try_clone().unwrap());
        let at = seen.len();
        Talk { child, input, output: ours, terminal: Some(theirs), modes_before, seen, at }
    }

    /// Both outputs come through one pipe.
    pub fn on_pipes(mut command: Command) -> Self {
        let (output, theirs) = std::io::pipe().unwrap();
        command.stdin(Stdio::piped()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let mut child = command.spawn().unwrap();
        // Our copies of the writing end go with it, so that the end of the program is the end of the pipe.
        drop(command);
        let input = child.stdin.take().map(OwnedFd::from);
        Talk {
            child,
            input,
            output: output.into(),
            terminal: None,
            modes_before: None,
            seen: Vec::new(),
            at: 0,
        }
    }

    /// As `kill -9` does, and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn is_on_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    pub fn child(&self) -> &Child {
        &self.child
    }

    /// How the terminal treats what is typed and written.
    pub fn modes(&self) -> Termios {
        tcgetattr(self.terminal.as_ref().expect("a terminal")).unwrap()
    }

    /// The same before the program started.
    pub fn modes_before(&self) -> &Termios {
        self.modes_before.as_ref().expect("a terminal")
    }

    /// As a program does that draws on the whole screen.
    pub fn make_raw(&self) {
        let mut modes = self.modes();
        modes.make_raw();
        tcsetattr(self.terminal.as_ref().expect("a terminal"), OptionalActions::Now, &modes)
            .unwrap();
    }

    pub fn send(&self, text: impl AsRef<[u8]>) {
        let (mut rest, input) = (text.as_ref(), self.input.as_ref().expect("open input"));
        while !rest.is_empty() {
            let written = rustix::io::write(input, rest).unwrap();
            rest = &rest[written..];
        }
    }

    /// What is too long for the terminal to hold: it is written while the answer is read.
    pub fn send_long(&self, text: String) -> std::thread::JoinHandle<()> {
        let input = self.input.as_ref().expect("open input").try_clone().unwrap();
        std::thread::spawn(move || {
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                let written = rustix::io::write(&input, rest).unwrap();
                rest = &rest[written..];
            }
        })
    }

    pub fn send_line(&self, line: &str) {
        self.send(format!("{line}\n"));
    }

    /// The person stops the turn.
    pub fn interrupt(&self) {
        match self.is_on_terminal() {
            true => self.send(CTRL_C),
            false => crate::support::signal(&self.child, rustix::process::Signal::INT),
        }
    }

    /// Nothing more will be typed.
    pub fn end_input(&mut self) {
        match self.is_on_terminal() {
            true => self.send(CTRL_D),
            false => self.input = None,
        }
    }

    /// The terminal's window is closed.
    pub fn hang_up(&mut self) -> Option<i32> {
        (self.input, self.terminal) = (None, None);
        self.output = std::fs::File::open("/dev/null").unwrap().into();
        self.finish().code
    }

    /// Waits for all of these, in any order, behind everything waited for before.
    pub fn expect_all(&mut self, needles: &[&str]) {
        let begin = self.at;
        let mut end = begin;
        for needle in needles {
            self.at = begin;
            self.expect(needle);
            end = end.max(self.at);
        }
        self.at = end;
    }

    /// Waits for this text behind everything waited for before, and gives back all up to its end.
    pub fn expect(&mut self, needle: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let new = &self.seen[self.at..];
            if let Some(found) = find(new, needle.as_bytes()) {
                let end = self.at + found + needle.len();
                let text = String::from_utf8_lossy(&self.seen[self.at..end]).into_owned();
                self.at = end;
                return text;
            }
            let more = self.read();
            let late = Instant::now() > deadline;
            assert!(more && !late, "{needle:?} was never said in {:?}", self.said());
        }
    }

    /// Everything written so far.
    pub fn said(&mut self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Reads what is there; false at the end.
    fn read(&mut self) -> bool {
        let pause = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        let ended = self.child.try_wait().unwrap().is_some();
        let ready = {
            let mut fds = [PollFd::new(&self.output, PollFlags::IN)];
            poll(&mut fds, Some(&pause)).unwrap() > 0
        };
        if !ready {
            return !ended;
        }
        let mut buffer = [0; 64 << 10];
        match rustix::io::read(&self.output, &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::IO) => false,
            Ok(count) => {
                self.seen.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits until the program has left by itself.
    pub fn finish(&mut self) -> Left {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            let more = self.read();
            match self.child.try_wait().unwrap() {
                Some(status) if !more => break status,
                _ => {}
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                panic!("the program does not leave; it said {:?}", self.said());
            }
        };
        Left { code: status.code(), said: self.said() }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
