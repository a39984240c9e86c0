//! The ledger of a home directory: who writes to it, and what it says.

use crate::calendar::Calendar;
use crate::error::Error;
use crate::host::Host;
use crate::session_options::SessionOptions;
use crate::subagents::Lineage;
use crate::system::{SystemClock, SystemIds};
use ostler_core::ids::SessionId;
use ostler_core::ledger::Purpose;
use ostler_core::ports::{Ledger, NoLedger};
use ostler_core::session::Entry;
use ostler_core::time::{Clock, Timestamp};
use ostler_engine::{Journal, Meter};
use ostler_ledger::{
    Binding, BudgetStatus, CostReport, Days, Db, Fill, LedgerRow, Owner, ReportKey, SharedLedger,
    SharedLimits, Trouble, rows_of,
};
use ostler_store::FileStore;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "ledger.db";

/// One writer for all sessions of a home.
pub(crate) fn shared_ledger(home: &Path) -> SharedLedger {
    SharedLedger::new(home.join(FILE), Arc::new(SystemClock))
}

pub(crate) fn meter(
    host: &Host,
    options: &SessionOptions,
    cwd: &Path,
    journal: &Journal,
    lineage: Option<&Lineage>,
) -> Meter {
    // What agents spend is spent by the session that a person began.
    let root = lineage.map_or(journal.log().id(), |lineage| &lineage.root);
    let limits = host.options().budgets;
    let ledger: Arc<dyn Ledger> = match host.ledger().zip(host.home()) {
        None => Arc::new(NoLedger),
        Some((ledger, home)) => Arc::new(ledger.bind(Binding {
            owner: Owner { project: cwd.display().to_string(), session: root.to_string() },
            limits,
            days: days(&host.options().calendar),
            fill: limits.any().then(|| fill(home)),
        })),
    };
    let mut meter = Meter::new(ledger, Arc::new(SystemIds));
    if let Some(agent) = &options.agent {
        meter.agent.clone_from(agent);
    }
    meter.task.clone_from(&options.task);
    if let Some(lineage) = lineage {
        meter.path = lineage.path.clone();
        meter.purpose = Purpose::Subagent;
    }
    meter.resumed(journal.earlier())
}

/// Logs that cannot be read are passed over; `ostler cost --rebuild` names them.
fn fill(home: &Path) -> Fill {
    let home = home.to_owned();
    Arc::new(move |db: &mut Db| match read_all(&home, db) {
        Ok(_) => Ok(()),
        Err(Error::Ledger(error)) => Err(error),
        Err(error) => {
            let (path, why) = (home.join(FILE), error.to_string());
            Err(ostler_ledger::Error::File { path, why, trouble: Trouble::Other })
        }
    })
}

fn days(calendar: &Calendar) -> Days {
    let calendar = calendar.clone();
    Arc::new(move |at: Timestamp| calendar.day(at))
}

/// What to ask the ledger for.
#[derive(Clone, Debug)]
pub struct CostQuery {
    pub home: PathBuf,
    pub cwd: PathBuf,
    pub by: ReportKey,
    pub since_ms: u64,
    /// Of this session alone.
    pub session: Option<String>,
    pub budgets: SharedLimits,
}

/// What it says.
#[derive(Clone, Debug)]
pub struct Costs {
    pub report: CostReport,
    /// With `ReportKey::Request`: each of them, in the order they were sent.
    pub rows: Vec<LedgerRow>,
    pub standings: Vec<BudgetStatus>,
    /// What happened to the ledger.
    pub notices: Vec<String>,
}

/// Logs of agents of one session that are read.
const MOST_AGENTS: usize = 100_000;
/// Requests that are shown one by one.
const MOST_ROWS: usize = 10_000;

/// Asks the ledger, after telling it what sessions that ended badly have in their logs.
///
/// # Errors
/// If the ledger cannot be used.
pub fn costs(query: &CostQuery) -> Result<Costs, Error> {
    let store = FileStore::new(&query.home)?;
    let mut db = Db::open(&query.home.join(FILE))?;
    let mut notices = Vec::from_iter(db.set_aside());
    if db.is_incomplete()? {
        db.complete(|db| read_all(&query.home, db).map(|(_, unread)| notices.extend(unread)))?;
    }
    for session in db.unsettled()? {
        let settled = [session.clone()];
        match index(&store, &mut db, &SessionId::new(session), &settled) {
            // A log that cannot be read does not hide what the others say; `--rebuild` names it.
            Ok(_) | Err(Error::Store(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut report = CostReport::builder(query.by);
    let mut rows = Vec::new();
    db.each(Timestamp(query.since_ms), query.session.as_deref(), |row| {
        report.add(&row);
        if query.by == ReportKey::Request && rows.len() < MOST_ROWS {
            rows.push(row);
        }
    })?;
    let now = SystemClock.now();
    let owner = Owner {
        project: query.cwd.display().to_string(),
        session: query.session.clone().unwrap_or_default(),
    };
    let mut budgets = query.budgets;
    // The agent was not named.
    if query.session.is_none() {
        budgets.agent = None;
    }
    let standings = db.standings(&budgets, &owner, "main", &Calendar::default().day(now), now)?;
    Ok(Costs { report: report.finish(), rows, standings, notices })
}

/// Tells the ledger everything that the logs of this home hold; how many requests were new to it.
///
/// # Errors
/// If the ledger cannot be used. Logs that cannot be read are named and passed over.
pub fn rebuild_ledger(home: &Path) -> Result<(u64, Vec<String>), Error> {
    let mut db = Db::open(&home.join(FILE))?;
    let mut notices = Vec::from_iter(db.set_aside());
    let mut new = 0;
    db.complete(|db| -> Result<(), Error> {
        let (rows, unread) = read_all(home, db)?;
        new = rows;
        notices.extend(unread);
        Ok(())
    })?;
    Ok((new, notices))
}

/// Whether there is such a session, or was one that cost something.
///
/// # Errors
/// If there is none, or its log cannot be looked for.
pub fn cost_of_session(found: &Costs, home: &Path, session: &str) -> Result<(), Error> {
    if found.report.total.requests > 0 {
        return Ok(());
    }
    FileStore::new(home)?.peek(&SessionId::new(session))?;
    Ok(())
}

fn read_all(home: &Path, db: &mut Db) -> Result<(u64, Vec<String>), Error> {
    let store = FileStore::new(home)?;
    let (mut new, mut notices) = (0, Vec::new());
    for session in store.all()? {
        // Some of them are open: they stay marked.
        match index(&store, db, &session, &[]) {
            Ok(rows) => new += rows,
            Err(Error::Store(error)) => notices.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok((new, notices))
}

/// With the agents that it started. A session whose log is gone has nothing more to tell.
fn index(
    store: &FileStore,
    db: &mut Db,
    session: &SessionId,
    settled: &[String],
) -> Result<u64, Error> {
    let days = days(&Calendar::default());
    let (mut rows, mut known, mut next) = (Vec::new(), HashSet::new(), vec![session.clone()]);
    while let Some(session) = next.pop().filter(|_| known.len() < MOST_AGENTS) {
        if !known.insert(session.clone()) {
            continue;
        }
        let entries = match store.peek(&session) {
            Err(ostler_core::ports::StoreError::NotFound(_)) => Vec::new(),
            entries => entries?,
        };
        rows.extend(rows_of(&entries, &days));
        next.extend(entries.into_iter().filter_map(|entry| match entry {
            Entry::Agent(agent) => Some(agent.session),
            _ => None,
        }));
    }
    Ok(db.index(&rows, settled)?)
}
