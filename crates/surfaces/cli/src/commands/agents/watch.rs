//! `ostler agents --watch`: shows the tree again whenever it has changed.

use super::{Everybody, shown};
use crate::args::agents::AgentsArgs;
use crate::exit::Code;
use crate::output::paint::understands_escapes;
use crate::terminal;
use anyhow::Result;
use ostler_profile::Environment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use std::io::{IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that is killed changes no file, so the locks are looked at now and then.
const LOOK: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// Changes that come so soon after each other are shown together.
const TOGETHER: Duration = Duration::from_millis(200);
/// Directories of projects that are watched; what happens in others is seen at the next look.
const MOST_FOLDERS: usize = 1_000;
const CLEAR: &str = "\x1b[H\x1b[J";

pub fn run(environment: &Environment, home: &Path, args: &AgentsArgs) -> Result<Code> {
    let drawn = std::io::stdout().is_terminal() && understands_escapes() && !args.json;
    let changes = Changes::new(home)?;
    let mut last: Option<Everybody> = None;
    loop {
        // Watched before it is looked at, so that nothing falls in between.
        changes.watch();
        let view = Everybody::now(environment, home, args.all)?;
        // Where it is drawn again in place, times go on.
        if drawn || last.as_ref() != Some(&view) {
            let text = shown(&view, args)?;
            let text = if drawn { fitting(&text) } else { text };
            let mut out = std::io::stdout().lock();
            match (drawn, args.json || last.is_none()) {
                (true, _) => write!(out, "{CLEAR}{text}")?,
                (false, true) => write!(out, "{text}")?,
                (false, false) => write!(out, "\n{text}")?,
            }
            out.flush()?;
            last = Some(view);
        }
        changes.wait()?;
    }
}

/// No line longer than the screen is wide, and no more of them than it is high.
fn fitting(text: &str) -> String {
    let (columns, rows) = (terminal::columns(), terminal::rows());
    let lines = text.lines().take(rows.saturating_sub(1).max(1));
    lines.map(|line| terminal::cut(line, columns) + "\n").collect()
}

struct Changes {
    queue: OwnedFd,
    sessions: PathBuf,
    events: PathBuf,
}

impl Changes {
    fn new(home: &Path) -> Result<Self> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let (sessions, events) = (home.join("sessions"), home.join("events"));
        Ok(Changes { queue: inotify::init(flags)?, sessions, events })
    }

    /// Watching the same directory twice does nothing; one that cannot be watched is looked at all the same.
    fn watch(&self) {
        let below = std::fs::read_dir(&self.sessions).into_iter().flatten().flatten();
        let folders = below.map(|entry| entry.path()).filter(|path| path.is_dir());
        let flags = inotify::WatchFlags::MODIFY
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::ONLYDIR;
        let own = [self.sessions.clone(), self.events.clone()];
        for folder in own.into_iter().chain(folders.take(MOST_FOLDERS)) {
            let _ = inotify::add_watch(&self.queue, &folder, flags);
        }
    }

    fn wait(&self) -> Result<()> {
        let mut fds = [PollFd::new(&self.queue, PollFlags::IN)];
        match poll(&mut fds, Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            more => more.map(drop)?,
        }
        std::thread::sleep(TOGETHER);
        let mut buffer = [0; 4096];
        while rustix::io::read(&self.queue, &mut buffer).is_ok_and(|read| read > 0) {}
        Ok(())
    }
}
