//! A ledger in a temporary directory, a clock that can be set, and rows.

use ostler_core::ids::IdSource;
use ostler_core::ledger::{Ask, Charge, ChargeStatus, Charged, Price, Purpose, Usage};
use ostler_core::time::{Clock, Timestamp};
use ostler_ledger::{
    Binding, Days, Db, FileLedger, LedgerRow, LedgerSetup, Owner, SharedLedger, SharedLimits,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub const PRICE: Price =
    Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };

pub const DAY_MS: u64 = 86_400_000;

#[derive(Debug, Default)]
pub struct SetClock(AtomicU64);

impl SetClock {
    pub fn at(ms: u64) -> Arc<Self> {
        Arc::new(SetClock(AtomicU64::new(ms)))
    }

    pub fn pass(&self, ms: u64) {
        self.0.fetch_add(ms, SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(SeqCst))
    }
}

/// Names that no other engine gives.
pub struct Named(pub String, pub AtomicU64);

impl Named {
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Named(name.into(), AtomicU64::new(0)))
    }
}

impl IdSource for Named {
    fn uuid(&self) -> String {
        format!("{}-{}", self.0, self.1.fetch_add(1, SeqCst))
    }
}

/// Days as numbers, from 0.
pub fn days() -> Days {
    Arc::new(|at: Timestamp| format!("{:04}", at.0 / DAY_MS))
}

pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn file(&self) -> PathBuf {
        self.0.path().join("ledger.db")
    }

    pub fn ledger(&self, session: &str, limits: SharedLimits, clock: Arc<dyn Clock>) -> FileLedger {
        ledger_at(&self.file(), session, limits, clock)
    }

    pub fn rows(&self) -> Vec<LedgerRow> {
        rows_at(&self.file())
    }
}

pub fn ledger_at(
    path: &Path,
    session: &str,
    limits: SharedLimits,
    clock: Arc<dyn Clock>,
) -> FileLedger {
    let owner = Owner { project: "/p".into(), session: session.into() };
    FileLedger::new(LedgerSetup {
        path: path.into(),
        owner,
        limits,
        days: days(),
        clock,
        fill: None,
    })
}

/// The ledger of one of the sessions that share a file.
pub fn bound(shared: &SharedLedger, session: &str, limits: SharedLimits) -> FileLedger {
    let owner = Owner { project: "/p".into(), session: session.into() };
    shared.bind(Binding { owner, limits, days: days(), fill: None })
}

pub fn rows_at(path: &Path) -> Vec<LedgerRow> {
    let mut rows = Vec::new();
    Db::open(path).unwrap().each(Timestamp(0), None, |row| rows.push(row)).unwrap();
    rows
}

pub fn ask(wanted: u32) -> Ask {
    Ask { price: PRICE, prompt: 1_000, wanted, thinking: 0, patient: false }
}

pub fn charged(id: &str, at: u64, usage: Usage, cost: Option<f64>) -> Charged {
    let charge = Charge {
        id: id.into(),
        at: Timestamp(at),
        agent: "main".into(),
        task: Some("build it".into()),
        tool: None,
        purpose: Purpose::Answer,
        status: ChargeStatus::Ok,
        latency_ms: 10,
        first_byte_ms: Some(3),
        price: cost.map(|_| PRICE),
        broken: None,
    };
    Charged { model: "m".into(), usage, cost, charge }
}
