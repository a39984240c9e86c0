//! The ledger of one session, behind core's port.

use crate::db::Db;
use crate::error::Error;
use crate::reserve::{Limits, Owner, scopes};
use crate::row::{Days, Row};
use crate::writer::{Job, Open, Writer};
use ostler_core::ledger::{Ask, Charged, Sum};
use ostler_core::ports::{Ledger, LedgerError, Reserved};
use ostler_core::time::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct Setup {
    pub path: PathBuf,
    pub owner: Owner,
    pub limits: Limits,
    pub days: Days,
    pub clock: Arc<dyn Clock>,
}

/// Dropped, it waits until what it was told is written.
pub struct FileLedger {
    setup: Setup,
    /// For reservations; opened when the first one is made.
    db: Mutex<Option<Db>>,
    open: Open,
    /// Reservations that are being made, and whether they were given back in the meantime.
    making: Mutex<BTreeMap<String, bool>>,
    writer: Writer,
}

impl FileLedger {
    pub fn new(setup: Setup) -> Self {
        let open = Open::default();
        let writer = Writer::start(&setup, open.clone());
        FileLedger { setup, db: Mutex::default(), open, making: Mutex::default(), writer }
    }

    /// Waits until everything told so far is written, or cannot be.
    pub fn flush(&self) {
        self.writer.flush();
    }

    fn reserve_in_file(&self, id: &str, agent: &str, ask: &Ask) -> Result<Reserved, Error> {
        let Setup { owner, limits, days, clock, .. } = &self.setup;
        let now = clock.now();
        let scopes = scopes(limits, owner, agent, &days(now));
        self.with_db(|db| db.reserve(id, &owner.session, &scopes, ask, now))
    }

    fn with_db<T>(&self, work: impl FnOnce(&mut Db) -> Result<T, Error>) -> Result<T, Error> {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        work(match &mut *db {
            Some(db) => db,
            none => none.insert(Db::open(&self.setup.path)?),
        })
    }

    /// A reservation that nobody will end runs out.
    fn send(&self, id: &str, job: Job) {
        if !self.writer.send(job) {
            self.open().remove(id);
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn making(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for FileLedger {
    fn is_limited(&self) -> bool {
        self.setup.limits.any()
    }

    fn reserve(&self, id: &str, agent: &str, ask: &Ask) -> Result<Reserved, LedgerError> {
        self.open().insert(id.to_owned());
        self.making().insert(id.to_owned(), false);
        let reserved = self.reserve_in_file(id, agent, ask);
        let given_back = self.making().remove(id).unwrap_or(false);
        let held = matches!(&reserved, Ok(reserved) if reserved.holds());
        if !held {
            self.open().remove(id);
        } else if given_back {
            // Nobody waited for the answer.
            self.release(id);
        }
        reserved.map_err(|error| error.for_engine(&self.setup.path))
    }

    fn sums(&self, agent: &str) -> Vec<(String, Sum)> {
        // What was spent a moment ago counts.
        self.flush();
        let standings = self.with_db(|db| {
            let Setup { owner, limits, days, clock, .. } = &self.setup;
            let now = clock.now();
            db.standings(limits, owner, agent, &days(now), now)
        });
        let standings = standings.unwrap_or_default().into_iter();
        standings.map(|standing| (standing.what, standing.sum)).collect()
    }

    fn release(&self, id: &str) {
        // What is not in the file yet cannot be taken out of it.
        if let Some(given_back) = self.making().get_mut(id) {
            *given_back = true;
            return;
        }
        self.send(id, Job::Release(id.to_owned()));
    }

    fn record(&self, charged: Charged) {
        let Owner { project, session } = self.setup.owner.clone();
        let day = (self.setup.days)(charged.charge.at);
        let id = charged.charge.id.clone();
        self.send(&id, Job::Record(Box::new(Row { day, project, session, charged })));
    }
}
