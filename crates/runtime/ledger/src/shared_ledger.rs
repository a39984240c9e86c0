//! One ledger file as all sessions of a process use it: one connection, one thread that writes.

use crate::completeness::Fill;
use crate::damaged_file::heal;
use crate::db::Db;
use crate::error::Error;
use crate::file_ledger::FileLedger;
use crate::ledger_warnings::LedgerWarnings;
use crate::reserve::{Owner, SharedLimits};
use crate::row::Days;
use crate::writer::Writer;
use ostler_core::time::Clock;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes the ledgers of sessions. Cloning it is cheap, and so is a ledger made by it: neither has a thread or a
/// connection of its own. When the last of them is dropped, what they were told is written.
#[derive(Clone)]
pub struct SharedLedger {
    parts: Arc<LedgerParts>,
}

/// What a session brings to the ledger it shares.
pub struct Binding {
    pub owner: Owner,
    pub limits: SharedLimits,
    pub days: Days,
    /// How a new file learns what was spent before; asked for only where there are limits.
    pub fill: Option<Fill>,
}

pub(crate) struct LedgerParts {
    pub(crate) file: Arc<LedgerFile>,
    pub(crate) writer: Writer,
}

impl SharedLedger {
    pub fn new(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let (path, connection, accounts) = (path.into(), Mutex::default(), Mutex::default());
        let file = Arc::new(LedgerFile { path, clock, connection, accounts });
        let writer = Writer::start(file.clone());
        SharedLedger { parts: Arc::new(LedgerParts { file, writer }) }
    }

    /// The ledger of one session.
    pub fn bind(&self, binding: Binding) -> FileLedger {
        FileLedger::bound(self.parts.clone(), binding)
    }
}

/// The file and the connection to it. Whoever uses the connection has it alone.
pub(crate) struct LedgerFile {
    pub(crate) path: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    connection: Mutex<Connection>,
    /// The sessions that take part.
    accounts: Mutex<Vec<Arc<Account>>>,
}

#[derive(Default)]
struct Connection {
    /// Opened when there is something to read or write.
    db: Option<Db>,
    /// How often it was opened: what was written to an earlier file need not be in this one.
    opened: u64,
}

impl LedgerFile {
    /// Works on the open file; on a new one in its place if it turns out to be damaged. `work` also gets the number of
    /// this opening, from one on.
    pub(crate) fn with_db<T>(
        &self,
        told: &LedgerWarnings,
        mut work: impl FnMut(&mut Db, u64) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let Connection { db, opened } = &mut *connection;
        let open = match db.take() {
            // One that was removed since is of no use to others.
            Some(open) if self.path.exists() => open,
            _ => {
                *opened += 1;
                Db::open(&self.path)?
            }
        };
        let open = db.insert(open);
        told.set_aside(open);
        match work(open, *opened) {
            Err(error) if error.is_damage() => {
                *db = None;
                *opened += 1;
                let new = db.insert(heal(&self.path)?);
                told.set_aside(new);
                work(new, *opened)
            }
            done => done,
        }
    }

    /// The number of the opening that is in use; zero before the first.
    pub(crate) fn opening(&self) -> u64 {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).opened
    }

    pub(crate) fn admit(&self, account: Arc<Account>) {
        self.accounts().push(account);
    }

    /// From here on nobody renews its reservations.
    pub(crate) fn dismiss(&self, account: &Arc<Account>) {
        self.accounts().retain(|other| !Arc::ptr_eq(other, account));
    }

    /// Keeps the reservations of all sessions alive.
    pub(crate) fn renew(&self) {
        let accounts = self.accounts().clone();
        let open = accounts.iter().map(|account| account.open().clone());
        let ids: Vec<String> = open.flatten().collect();
        if let Some(first) = accounts.first().filter(|_| !ids.is_empty()) {
            let now = self.clock.now();
            // A lease that cannot be renewed runs out; at worst one request is not counted in time.
            let _ = self.with_db(&first.told, |db, _| db.renew(&ids, now));
        }
    }

    fn accounts(&self) -> MutexGuard<'_, Vec<Arc<Account>>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One session among those that share the file, as the writer knows it.
pub(crate) struct Account {
    pub(crate) session: String,
    pub(crate) told: LedgerWarnings,
    /// Reservations of this session.
    open: Mutex<BTreeSet<String>>,
    /// In which opening of the file it was written down that the session's log may know more; zero is in none.
    marked: AtomicU64,
}

impl Account {
    pub(crate) fn new(session: String) -> Self {
        let (told, open, marked) = (LedgerWarnings::default(), Mutex::default(), AtomicU64::new(0));
        Account { session, told, open, marked }
    }

    pub(crate) fn open(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_marked(&self, opening: u64) {
        self.marked.store(opening, Ordering::Relaxed);
    }

    pub(crate) fn is_marked(&self, opening: u64) -> bool {
        opening > 0 && self.marked.load(Ordering::Relaxed) == opening
    }
}

#[cfg(test)]
#[path = "shared_ledger_tests.rs"]
mod tests;
