//! The ledger of one session, behind core's port.

use crate::completeness::Fill;
use crate::db::Db;
use crate::error::Error;
use crate::reserve::{Owner, ReservationOwner, SharedLimits};
use crate::row::{Days, LedgerRow};
use crate::shared_ledger::{Account, Binding, LedgerParts, SharedLedger};
use crate::writer::{Work, WriterJob};
use ostler_core::ledger::{Ask, Charged, Sum};
use ostler_core::ports::{Ledger, LedgerError, Reserved};
use ostler_core::time::Clock;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct LedgerSetup {
    pub path: PathBuf,
    pub owner: Owner,
    pub limits: SharedLimits,
    pub days: Days,
    pub clock: Arc<dyn Clock>,
    /// How a new file learns what was spent before; asked for only where there are limits.
    pub fill: Option<Fill>,
}

/// Dropped, it waits until what it was told is written.
pub struct FileLedger {
    binding: Binding,
    account: Arc<Account>,
    /// Reservations that are being made, and whether they were given back in the meantime.
    making: Mutex<BTreeMap<String, bool>>,
    shared: Arc<LedgerParts>,
}

impl FileLedger {
    /// A ledger that shares its file with nobody in this process; see [`SharedLedger::bind`].
    pub fn new(setup: LedgerSetup) -> Self {
        let LedgerSetup { path, owner, limits, days, clock, fill } = setup;
        SharedLedger::new(path, clock).bind(Binding { owner, limits, days, fill })
    }

    pub(crate) fn bound(shared: Arc<LedgerParts>, binding: Binding) -> Self {
        let account = Arc::new(Account::new(binding.owner.session.clone()));
        shared.file.admit(account.clone());
        // Where there is no room for it now, the first row says the same.
        shared.writer.send(WriterJob::Begin(account.clone()));
        FileLedger { binding, account, making: Mutex::default(), shared }
    }

    /// Waits until everything told so far is written, or cannot be.
    pub fn flush(&self) {
        self.shared.writer.flush();
    }

    fn reserve_in_file(&self, id: &str, agent: &str, ask: &Ask) -> Result<Reserved, Error> {
        let Binding { owner, limits, days, .. } = &self.binding;
        let now = self.shared.file.clock.now();
        let whose = ReservationOwner { id, owner, agent, day: &days(now) };
        self.with_sums(|db| db.reserve(&whose, limits, ask, now))
    }

    /// A sum is worth nothing before it has what was spent earlier.
    fn with_sums<T>(&self, work: impl Fn(&mut Db) -> Result<T, Error>) -> Result<T, Error> {
        self.shared.file.with_db(&self.account.told, |db, _| {
            match &self.binding.fill {
                Some(fill) if db.is_incomplete()? => db.complete(|db| fill(db))?,
                _ => {}
            }
            work(db)
        })
    }

    /// A reservation that nobody will end runs out.
    fn send(&self, id: &str, work: Work) {
        let is_row = work.is_row();
        if !self.shared.writer.send(WriterJob::Write(self.account.clone(), work)) {
            if is_row {
                self.account.told.missed("too many rows are waiting to be written");
            }
            self.account.open().remove(id);
        }
    }

    fn making(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FileLedger {
    fn drop(&mut self) {
        self.shared.file.dismiss(&self.account);
        self.shared.writer.end(&self.account);
    }
}

impl Ledger for FileLedger {
    fn is_limited(&self) -> bool {
        self.binding.limits.any()
    }

    fn reserve(&self, id: &str, agent: &str, ask: &Ask) -> Result<Reserved, LedgerError> {
        self.account.open().insert(id.to_owned());
        self.making().insert(id.to_owned(), false);
        let reserved = self.reserve_in_file(id, agent, ask);
        let given_back = self.making().remove(id).unwrap_or(false);
        let held = matches!(&reserved, Ok(reserved) if reserved.holds());
        if !held {
            self.account.open().remove(id);
        } else if given_back {
            // Nobody waited for the answer.
            self.release(id);
        }
        reserved.map_err(|error| error.for_engine(&self.shared.file.path))
    }

    fn sums(&self, agent: &str) -> Vec<(String, Sum)> {
        // What was spent a moment ago counts.
        self.flush();
        let standings = self.with_sums(|db| {
            let Binding { owner, limits, days, .. } = &self.binding;
            let now = self.shared.file.clock.now();
            db.standings(limits, owner, agent, &days(now), now)
        });
        let standings = standings.unwrap_or_default().into_iter();
        standings.map(|standing| (standing.what, standing.sum)).collect()
    }

    fn trouble(&self) -> Vec<String> {
        self.shared.writer.flush_soon();
        self.account.told.take()
    }

    fn release(&self, id: &str) {
        // What is not in the file yet cannot be taken out of it.
        if let Some(given_back) = self.making().get_mut(id) {
            *given_back = true;
            return;
        }
        self.send(id, Work::Release(id.to_owned()));
    }

    fn record(&self, charged: Charged) {
        let Owner { project, session } = self.binding.owner.clone();
        let day = (self.binding.days)(charged.charge.at);
        let id = charged.charge.id.clone();
        self.send(&id, Work::Record(Box::new(LedgerRow { day, project, session, charged })));
    }
}
