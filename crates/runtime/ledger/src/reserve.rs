//! Sums that processes share: reading them and reserving in them is one transaction.

use crate::db::Db;
use crate::error::Error;
use crate::row::{LedgerRow, found, insert, signed, spent};
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Ask, Charge, ChargeStatus, Charged, Grant, Purpose, Sum, Usage, grant};
use ostler_core::ports::Reserved;
use ostler_core::text::dollars;
use ostler_core::time::Timestamp;
use rusqlite::{Transaction, params};

/// How long a reservation lives after its process last spoke of it.
pub const LEASE_MS: u64 = 90_000;

/// US dollars; none is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedLimits {
    /// Of everything, on one calendar day.
    pub day: Option<f64>,
    /// Of one working directory, forever.
    pub project: Option<f64>,
    /// Of one agent in one session.
    pub agent: Option<f64>,
}

impl SharedLimits {
    pub fn any(&self) -> bool {
        self.day.is_some() || self.project.is_some() || self.agent.is_some()
    }
}

/// Who spends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub project: String,
    pub session: String,
}

/// A sum with its name in the file and in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BudgetScope {
    pub(crate) name: String,
    pub(crate) words: &'static str,
    pub(crate) limit: f64,
}

pub(crate) fn scopes(
    limits: &SharedLimits,
    owner: &Owner,
    agent: &str,
    day: &str,
) -> Vec<BudgetScope> {
    let scope = |limit: Option<f64>, name: String, words| {
        limit.map(|limit| BudgetScope { name, words, limit })
    };
    [
        scope(limits.day, day_scope(day), "the budget of the day"),
        scope(limits.project, project_scope(&owner.project), "the budget of this project"),
        scope(limits.agent, agent_scope(&owner.session, agent), "the budget of this agent"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every sum that a row counts for, limited or not: a limit may come later.
pub(crate) fn scopes_of(row: &LedgerRow) -> [String; 3] {
    scopes_named(&row.day, &row.project, &row.session, &row.charged.charge.agent)
}

pub(crate) fn scopes_named(day: &str, project: &str, session: &str, agent: &str) -> [String; 3] {
    [day_scope(day), project_scope(project), agent_scope(session, agent)]
}

fn day_scope(day: &str) -> String {
    format!("day:{day}")
}

fn project_scope(project: &str) -> String {
    format!("project:{project}")
}

fn agent_scope(session: &str, agent: &str) -> String {
    format!("agent:{session}/{agent}")
}

/// Whose a reservation is.
pub(crate) struct ReservationOwner<'a> {
    pub(crate) id: &'a str,
    pub(crate) owner: &'a Owner,
    pub(crate) agent: &'a str,
    pub(crate) day: &'a str,
}

impl Db {
    pub(crate) fn reserve(
        &mut self,
        whose: &ReservationOwner<'_>,
        limits: &SharedLimits,
        ask: &Ask,
        now: Timestamp,
    ) -> Result<Reserved, Error> {
        let ReservationOwner { id, owner: Owner { project, session }, agent, day } = whose;
        let scopes = &scopes(limits, whose.owner, agent, day);
        self.change(|tx| {
            expire(tx, now)?;
            let mut sums = Vec::with_capacity(scopes.len());
            for scope in scopes {
                sums.push(sum(tx, scope)?);
            }
            let answer = grant(&sums, ask);
            let short = match answer {
                Grant::No { sum } => scopes.get(sum).map(|scope| short(scope, sums.get(sum))),
                Grant::Wait | Grant::Yes { .. } => None,
            };
            if let Grant::Yes { amount, .. } = answer {
                let sql = "INSERT OR REPLACE INTO holds (id, scope, amount, until, session, at, day, project, agent)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
                let mut insert = tx.prepare_cached(sql)?;
                for BudgetScope { name, .. } in scopes {
                    let (at, until) = (signed(now.0), signed(now.0 + LEASE_MS));
                    insert.execute(params![
                        id, name, amount, until, session, at, day, project, agent
                    ])?;
                }
            }
            Ok(Reserved { grant: answer, short })
        })
    }

    /// The process lives, and its requests are on their way.
    pub(crate) fn renew(&mut self, ids: &[String], now: Timestamp) -> Result<(), Error> {
        self.change(|tx| {
            let mut update = tx.prepare_cached("UPDATE holds SET until = ?2 WHERE id = ?1")?;
            ids.iter().try_for_each(|id| {
                update.execute(params![id, signed(now.0 + LEASE_MS)]).map(|_| ())
            })
        })
    }
}

pub(crate) fn sum(tx: &Transaction<'_>, scope: &BudgetScope) -> rusqlite::Result<Sum> {
    let sql = "SELECT coalesce(sum(amount), 0.0) FROM holds WHERE scope = ?1";
    let reserved = tx.prepare_cached(sql)?.query_row([&scope.name], |row| row.get(0))?;
    Ok(Sum { limit: scope.limit, spent: spent(tx, &scope.name)?, reserved })
}

/// What dead processes held is counted as spent: nobody knows what was sent. Their logs may know more.
pub(crate) fn expire(tx: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<()> {
    let now = signed(now.0);
    tx.prepare_cached(
        "INSERT OR IGNORE INTO unsettled (session) SELECT DISTINCT session FROM holds WHERE until < ?1",
    )?
    .execute([now])?;
    for row in &lost(tx, now)? {
        insert(tx, row)?;
    }
    tx.prepare_cached("DELETE FROM holds WHERE until < ?1")?.execute([now]).map(|_| ())
}

fn lost(tx: &Transaction<'_>, now: i64) -> rusqlite::Result<Vec<LedgerRow>> {
    let sql = "SELECT id, max(amount) AS amount, at, day, project, session, agent FROM holds
        WHERE until < ?1 AND day <> '' GROUP BY id";
    let read = |row: &rusqlite::Row<'_>| {
        let charge = Charge {
            id: row.get("id")?,
            at: Timestamp(row.get::<_, i64>("at")?.unsigned_abs()),
            agent: row.get("agent")?,
            task: None,
            tool: None,
            purpose: Purpose::Other,
            status: ChargeStatus::Lost,
            latency_ms: 0,
            first_byte_ms: None,
            price: None,
            broken: None,
        };
        let (model, cost) = (ModelId::new("(unknown)"), Some(row.get("amount")?));
        let charged = Charged { model, usage: Usage::default(), cost, charge };
        let (day, project) = (row.get("day")?, row.get("project")?);
        Ok(LedgerRow { day, project, session: row.get("session")?, charged })
    };
    tx.prepare_cached(sql)?.query_map([now], read)?.collect()
}

/// The request is over, or was never sent, even if its process was thought dead.
pub(crate) fn release(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    found(tx, id)?;
    tx.prepare_cached("DELETE FROM holds WHERE id = ?1")?.execute([id]).map(|_| ())
}

fn short(scope: &BudgetScope, sum: Option<&Sum>) -> String {
    let Sum { limit, spent, reserved } = sum.copied().unwrap_or_default();
    let mut words = format!("{}, {}: ${spent:.4} is spent", scope.words, dollars(limit));
    if reserved > 0.0 {
        words += &format!(" and ${reserved:.4} is reserved by running requests");
    }
    words
}
