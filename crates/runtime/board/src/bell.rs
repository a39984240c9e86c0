//! Wakes whoever waits for a change of the board, in this process and in others.
//!
//! On a file, a ring changes the times of a small file next to the board; inotify tells every process that watches it. A process
//! has one watch and one thread for a board, however many wait for it: instances of inotify are few. Where there is no
//! inotify, a wait is a poll.

use crate::registry::{Registry, lock};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{CWD, Mode, OFlags, Timestamps, futimens, openat};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without inotify, and should a ring ever be missed.
const POLL: Duration = Duration::from_millis(10);
const GLANCE: Duration = Duration::from_secs(1);

static BELLS: Registry<Bell> = Registry::new();

/// One per board and process.
pub struct Bell {
    rings: Arc<Rings>,
    rope: Rope,
}

/// How other processes ring, and hear us.
enum Rope {
    File {
        file: OwnedFd,
        /// Ends the watching thread.
        end: Option<Arc<OwnedFd>>,
    },
    /// A server tells everybody.
    Server { _watch: Box<dyn Send + Sync> },
}

/// Rings for those who wait in this process.
#[derive(Clone)]
pub struct Ringer(Arc<Rings>);

impl Ringer {
    pub fn ring(&self) {
        self.0.ring();
    }
}

#[derive(Default)]
struct Rings {
    heard: Mutex<u64>,
    changed: Condvar,
}

/// What had been heard at one moment: waiting with it misses nothing that happened since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

impl Bell {
    pub(crate) fn of(path: &Path) -> io::Result<Arc<Bell>> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(CWD, path, flags, Mode::from_raw_mode(0o600))?;
        let key = path.canonicalize()?;
        Ok(BELLS.get_or_make(&key, || {
            let rings = Arc::<Rings>::default();
            let end = watch(&key, &rings).ok();
            Bell { rings, rope: Rope::File { file, end } }
        }))
    }

    /// A bell that is rung by what `watch` starts; its result is dropped together with the bell.
    pub fn on_a_server(watch: impl FnOnce(Ringer) -> Box<dyn Send + Sync>) -> Bell {
        let rings = Arc::<Rings>::default();
        let _watch = watch(Ringer(rings.clone()));
        Bell { rings, rope: Rope::Server { _watch } }
    }

    pub(crate) fn ring(&self) {
        self.rings.ring();
        let Rope::File { file, .. } = &self.rope else { return };
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        // If it fails, others see the change when they next look by themselves.
        let _ = futimens(file, &Timestamps { last_access: now, last_modification: now });
    }

    /// To be taken before looking at the board.
    pub fn ticket(&self) -> Ticket {
        Ticket(*lock(&self.rings.heard))
    }

    /// False where there is no inotify: then a wait is a poll, and changes by other processes do not ring.
    pub fn hears_others(&self) -> bool {
        !matches!(self.rope, Rope::File { end: None, .. })
    }

    /// Waits until something changed after the ticket, and for this long at most. May return early: look at the board.
    pub fn wait(&self, ticket: Ticket, most: Duration) {
        let longest = match &self.rope {
            Rope::File { end: None, .. } => POLL,
            Rope::File { .. } | Rope::Server { .. } => GLANCE,
        };
        let until = Instant::now() + most.min(longest);
        let mut heard = lock(&self.rings.heard);
        while *heard == ticket.0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.rings.changed.wait_timeout(heard, left);
            heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if let Rope::File { end: Some(end), .. } = &self.rope {
            let _ = rustix::io::write(end.as_ref(), &1_u64.to_ne_bytes());
        }
    }
}

impl Rings {
    fn ring(&self) {
        *lock(&self.heard) += 1;
        self.changed.notify_all();
    }
}

fn watch(path: &Path, rings: &Arc<Rings>) -> io::Result<Arc<OwnedFd>> {
    let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    add_watch(&inotify, path, WatchFlags::ATTRIB)?;
    let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
    let (ended, rings) = (end.clone(), rings.clone());
    let thread = std::thread::Builder::new().name("board-bell".into());
    thread.stack_size(64 * 1024).spawn(move || listen(&inotify, &ended, &rings))?;
    Ok(end)
}

fn listen(inotify: &OwnedFd, ended: &OwnedFd, rings: &Rings) {
    loop {
        let mut fds = [PollFd::new(inotify, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        let [_, end] = &fds;
        if !end.revents().is_empty() {
            return;
        }
        drain(inotify);
        rings.ring();
    }
}

/// How often it rang does not matter.
fn drain(inotify: &OwnedFd) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(inotify, &mut buffer);
    while reader.next().is_ok() {}
}
