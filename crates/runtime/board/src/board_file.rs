//! The file: opening it, its format, and transactions.

use crate::bell::Bell;
use crate::error::{BoardError, Refusal};
use crate::group_commit::GroupCommit;
use crate::limits::Limits;
use crate::mailbox::SharedBoard;
use crate::overview::BoardOverview;
use crate::registry::Registry;
use ostler_core::time::Clock;
use ostler_database::{beside, open_if, patient};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");
const FORMAT: i64 = 1;
/// Marks our files among all SQLite files: "OsBd".
const APPLICATION: i64 = 0x4f73_4264;
/// How long one process waits for the transactions of others: first in short steps, since each takes well under a
/// millisecond, then in longer ones; ten seconds in all.
const SHORT_WAITS: i32 = 100;
const MOST_WAITS: i32 = 2_100;
const SHORT_WAIT: Duration = Duration::from_micros(200);
const LONG_WAIT: Duration = Duration::from_millis(5);

/// What a board is opened with.
#[derive(Clone)]
pub struct Setup {
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
}

/// An open board with its mailboxes. Not shared between threads: each opens its own.
pub struct BoardFile {
    pub(crate) path: PathBuf,
    /// Which file it was when it was opened.
    identity: (u64, u64),
    pub(crate) connection: Connection,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    bell: Arc<Bell>,
    commits: Arc<GroupCommit>,
}

static COMMITS: Registry<GroupCommit> = Registry::new();

/// Whether a change has to be on disk before it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    Synced,
    /// Survives the process, not a power failure.
    Written,
}

/// Why a transaction did not happen.
pub(crate) enum Abort {
    Sqlite(rusqlite::Error),
    Refused(Refusal),
}

impl From<rusqlite::Error> for Abort {
    fn from(error: rusqlite::Error) -> Self {
        Abort::Sqlite(error)
    }
}

impl From<Refusal> for Abort {
    fn from(refusal: Refusal) -> Self {
        Abort::Refused(refusal)
    }
}

pub(crate) type Done<T> = Result<T, Abort>;

impl BoardFile {
    /// Opens the file, or creates it, readable by its owner alone.
    ///
    /// # Errors
    /// If it cannot be read and written, is damaged, belongs to another program or is of a newer version.
    pub fn open(path: &Path, setup: Setup) -> Result<Self, BoardError> {
        let connection = open_if(path, Duration::from_secs(10), may_be_ours);
        let mut connection = connection.map_err(BoardError::opening(path))?;
        connection.busy_handler(Some(wait)).map_err(BoardError::of(path))?;
        let bell = Bell::of(&beside(path, ".bell")).map_err(BoardError::io(path))?;
        let key = path.canonicalize().map_err(BoardError::io(path))?;
        let identity = identity(path).map_err(BoardError::io(path))?;
        let commits = COMMITS.get_or_make(&key, GroupCommit::default);
        let Setup { clock, limits } = setup;
        let path = path.to_owned();
        let mut file = BoardFile { path, identity, connection, clock, limits, bell, commits };
        file.prepare()?;
        Ok(file)
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now().0
    }

    fn prepare(&mut self) -> Result<(), BoardError> {
        let path = self.path.clone();
        if self.is_ours()? {
            return Ok(());
        }
        let is_foreign = self.change(Durability::Synced, |tx, _| {
            // Another process may have been here in the meantime.
            if !may_be_ours(tx)? {
                return Ok(true);
            }
            if pragma(tx, "application_id")? == APPLICATION {
                return Ok(false);
            }
            tx.execute_batch(SCHEMA)?;
            tx.pragma_update(None, "application_id", APPLICATION)?;
            tx.pragma_update(None, "user_version", FORMAT)?;
            Ok(false)
        })?;
        if is_foreign { Err(BoardError::foreign(&path)) } else { Ok(()) }
    }

    fn is_ours(&self) -> Result<bool, BoardError> {
        let read = |name: &str| {
            patient(|| pragma(&self.connection, name)).map_err(BoardError::of(&self.path))
        };
        if read("application_id")? != APPLICATION {
            return Ok(false);
        }
        match read("user_version")? {
            FORMAT => Ok(true),
            format => Err(BoardError::TooNew { path: self.path.clone(), format }),
        }
    }

    /// One transaction that nobody writes beside: what is read in it still holds when it is written. It is told the time
    /// when it has begun: whoever waited for others must not act in the past. Everybody who waits is woken.
    pub(crate) fn change<T: Send + 'static>(
        &mut self,
        durability: Durability,
        act: impl FnOnce(&Transaction<'_>, u64) -> Done<T> + Send + 'static,
    ) -> Result<T, BoardError> {
        let done = self.change_in_silence(durability, act)?;
        self.bell.ring();
        Ok(done)
    }

    /// The same, where only the transaction shows whether anything changed. If not, nobody is woken: whoever waits looks
    /// again when it is woken, and would wake all others in turn.
    pub(crate) fn change_if_needed<T: Send + 'static>(
        &mut self,
        durability: Durability,
        act: impl FnOnce(&Transaction<'_>, u64) -> Done<(T, bool)> + Send + 'static,
    ) -> Result<T, BoardError> {
        let (done, has_changed) = self.change_in_silence(durability, act)?;
        if has_changed {
            self.bell.ring();
        }
        Ok(done)
    }

    /// The same, where nobody waits for it.
    pub(crate) fn change_in_silence<T: Send + 'static>(
        &mut self,
        durability: Durability,
        act: impl FnOnce(&Transaction<'_>, u64) -> Done<T> + Send + 'static,
    ) -> Result<T, BoardError> {
        let clock = self.clock.clone();
        let act = move |tx: &Transaction<'_>| act(tx, clock.now().0);
        self.check_identity()?;
        let done = self.commits.perform(&mut self.connection, &self.path, durability, act)?;
        // Only then is the change in the file that others see.
        self.check_identity()?;
        Ok(done)
    }

    /// SQLite would go on with a file that nobody else sees any more.
    fn check_identity(&self) -> Result<(), BoardError> {
        match identity(&self.path) {
            Ok(found) if found == self.identity => Ok(()),
            Ok(_) => Err(BoardError::gone(&self.path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(BoardError::gone(&self.path)),
            Err(error) => Err(BoardError::io(&self.path)(error)),
        }
    }

    /// Several reads that see the same state.
    pub(crate) fn read<T>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>) -> Done<T>,
    ) -> Result<T, BoardError> {
        self.check_identity()?;
        let failed = BoardError::of(&self.path);
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Deferred);
        match act(&tx.map_err(&failed)?) {
            Ok(done) => Ok(done),
            Err(Abort::Refused(refusal)) => Err(refusal.into()),
            Err(Abort::Sqlite(error)) => Err(failed(error)),
        }
    }
}

impl SharedBoard for BoardFile {
    fn bell(&self) -> Arc<Bell> {
        self.bell.clone()
    }

    fn overview(&mut self) -> Result<BoardOverview, BoardError> {
        self.look_over()
    }
}

/// Also true for a file in which nothing is yet.
fn may_be_ours(connection: &Connection) -> rusqlite::Result<bool> {
    if pragma(connection, "application_id")? == APPLICATION {
        return Ok(true);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 && pragma(connection, "user_version")? == 0 {
        return Ok(true);
    }
    // Another process may have made the board between these reads.
    Ok(pragma(connection, "application_id")? == APPLICATION)
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let found = path.metadata()?;
    Ok((found.dev(), found.ino()))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn wait(tries: i32) -> bool {
    let pause = if tries < SHORT_WAITS { SHORT_WAIT } else { LONG_WAIT };
    std::thread::sleep(pause);
    tries < MOST_WAITS
}

/// The next number of a counter.
pub(crate) fn count(tx: &Transaction<'_>, name: &str, by: u64) -> rusqlite::Result<u64> {
    let sql = "INSERT INTO counters (name, value) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value";
    tx.prepare_cached(sql)?.query_row((name, signed(by)), |row| row.get::<_, i64>(0)).map(unsigned)
}

pub(crate) fn counter(tx: &Transaction<'_>, name: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(max(value), 0) FROM counters WHERE name = ?1";
    tx.prepare_cached(sql)?.query_row([name], |row| row.get::<_, i64>(0)).map(unsigned)
}

/// SQLite has signed integers only.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
