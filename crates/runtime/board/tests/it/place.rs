//! A board of some backend, opened as often as a test wants: each handle is as good as a process.

use crate::memory_board::{Fault, MemoryBoard, World};
use ostler_board::{Board, BoardFile, Limits, MailId, Mailbox, NewMail, Setup};
use ostler_core::time::{Clock, Timestamp};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const LEASE: Duration = Duration::from_secs(60);

pub trait Store: Board + Mailbox {}
impl<T: Board + Mailbox> Store for T {}

/// Time passes when a test says so.
pub struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub type Opening = Box<dyn Fn(Limits) -> Box<dyn Store> + Sync>;

/// Whether an action wakes those who wait.
pub type Witness = Box<dyn Fn(&mut dyn FnMut()) -> bool + Sync>;

/// Everything a case needs to know of a backend.
pub struct Place {
    clock: Arc<HandClock>,
    open: Opening,
    witness: Witness,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    /// With a clock that the backend is to use.
    pub fn of(witness: Witness, opening: impl FnOnce(Arc<HandClock>) -> Opening) -> Place {
        let clock = clock();
        Place { open: opening(clock.clone()), witness, clock, _folder: None }
    }

    pub fn is_woken_by(&self, act: &mut dyn FnMut()) -> bool {
        (self.witness)(act)
    }

    pub fn open(&self) -> Box<dyn Store> {
        self.open_with(Limits::default())
    }

    pub fn open_with(&self, limits: Limits) -> Box<dyn Store> {
        (self.open)(limits)
    }

    pub fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.clock.0.fetch_add(millis, Ordering::SeqCst);
    }

    pub fn now(&self) -> u64 {
        self.clock.now().0
    }
}

fn clock() -> Arc<HandClock> {
    Arc::new(HandClock(AtomicU64::new(1_000_000)))
}

pub fn open_file(path: &Path, clock: Arc<dyn Clock>) -> BoardFile {
    BoardFile::open(path, Setup { clock, limits: Limits::default() }).unwrap()
}

pub fn sqlite() -> Place {
    let (clock, folder) = (clock(), tempfile::tempdir().unwrap());
    let (path, hand) = (folder.path().join("board.db"), clock.clone());
    let open: Opening = Box::new(move |limits| {
        Box::new(BoardFile::open(&path, Setup { clock: hand.clone(), limits }).unwrap())
    });
    let bell = folder.path().join("board.db.bell");
    Place { clock, open, witness: Box::new(move |act| touches(&bell, act)), _folder: Some(folder) }
}

/// A ring sets the times of the file, for those who wait in this process as in others.
fn touches(bell: &Path, act: &mut dyn FnMut()) -> bool {
    let file = std::fs::File::options().write(true).open(bell).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    act();
    file.metadata().unwrap().modified().unwrap() != std::time::UNIX_EPOCH
}

/// The simplest thing that keeps the rules, or breaks one of them on purpose.
pub fn memory(fault: Option<Fault>) -> Place {
    let world = Arc::new(Mutex::new(World::default()));
    let (rings, counted) = (|world: &Mutex<World>| world.lock().unwrap().rings, world.clone());
    let witness: Witness = Box::new(move |act| {
        let before = rings(&counted);
        act();
        rings(&counted) != before
    });
    Place::of(witness, |clock| {
        Box::new(move |limits| {
            Box::new(MemoryBoard { world: world.clone(), clock: clock.clone(), limits, fault })
        })
    })
}

/// A new mail with an id that no other has, in any process.
pub fn mail(from: &str, to: &str, text: impl Into<String>) -> NewMail {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    NewMail::new(MailId(format!("m{}-{number}", std::process::id())), from, to, text)
}
