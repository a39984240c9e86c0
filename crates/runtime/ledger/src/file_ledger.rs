//! The ledger of one session, behind core's port.

use crate::broken::heal;
use crate::complete::Fill;
use crate::db::Db;
use crate::error::Error;
use crate::reserve::{Limits, Owner, Whose};
use crate::row::{Days, Row};
use crate::told::Told;
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
    /// How a new file learns what was spent before; asked for only where there are limits.
    pub fill: Option<Fill>,
}

/// Dropped, it waits until what it was told is written.
pub struct FileLedger {
    setup: Setup,
    /// For reservations; opened when the first one is made.
    db: Mutex<Option<Db>>,
    open: Open,
    /// Reservations that are being made, and whether they were given back in the meantime.
    making: Mutex<BTreeMap<String, bool>>,
    told: Arc<Told>,
    writer: Writer,
}

impl FileLedger {
    pub fn new(setup: Setup) -> Self {
        let (open, told) = (Open::default(), Arc::new(Told::default()));
        let writer = Writer::start(&setup, open.clone(), told.clone());
        FileLedger { setup, db: Mutex::default(), open, making: Mutex::default(), told, writer }
    }

    /// Waits until everything told so far is written, or cannot be.
    pub fn flush(&self) {
        self.writer.flush();
    }

    fn reserve_in_file(&self, id: &str, agent: &str, ask: &Ask) -> Result<Reserved, Error> {
        let Setup { owner, limits, days, clock, .. } = &self.setup;
        let now = clock.now();
        let whose = Whose { id, owner, agent, day: &days(now) };
        self.with_db(|db| db.reserve(&whose, limits, ask, now))
    }

    fn with_db<T>(&self, work: impl Fn(&mut Db) -> Result<T, Error>) -> Result<T, Error> {
        let path = &self.setup.path;
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match db.take() {
            // One that was removed since is of no use to others.
            Some(open) if path.exists() => open,
            _ => Db::open(path)?,
        };
        let open = db.insert(open);
        match self.complete(open).and_then(|()| work(open)) {
            Err(error) if error.is_damage() => {
                *db = None;
                let new = db.insert(heal(path)?);
                self.complete(new).and_then(|()| work(new))
            }
            done => done,
        }
    }

    /// A sum is worth nothing before it has what was spent earlier.
    fn complete(&self, db: &mut Db) -> Result<(), Error> {
        if let Some(words) = db.set_aside() {
            self.told.tell(words);
        }
        match &self.setup.fill {
            Some(fill) if db.is_incomplete()? => db.complete(|db| fill(db)),
            _ => Ok(()),
        }
    }

    /// A reservation that nobody will end runs out.
    fn send(&self, id: &str, job: Job) {
        let is_row = matches!(job, Job::Record(_));
        if !self.writer.send(job) {
            if is_row {
                self.told.missed("too much waits to be written");
            }
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

    fn trouble(&self) -> Vec<String> {
        self.writer.flush_soon();
        self.told.take()
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
