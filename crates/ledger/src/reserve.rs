//! Sums that processes share: reading them and reserving in them is one transaction.

use crate::db::Db;
use crate::error::Error;
use crate::row::{Row, signed, spent};
use ostler_core::ledger::{Ask, Grant, Sum, grant};
use ostler_core::ports::Reserved;
use ostler_core::text::dollars;
use ostler_core::time::Timestamp;
use rusqlite::{Transaction, params};

/// How long a reservation lives after its process last spoke of it.
pub const LEASE_MS: u64 = 90_000;

/// US dollars; none is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Of everything, on one calendar day.
    pub day: Option<f64>,
    /// Of one working folder, for ever.
    pub project: Option<f64>,
    /// Of one agent in one session.
    pub agent: Option<f64>,
}

impl Limits {
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
pub(crate) struct Scope {
    pub(crate) name: String,
    pub(crate) words: &'static str,
    pub(crate) limit: f64,
}

pub(crate) fn scopes(limits: &Limits, owner: &Owner, agent: &str, day: &str) -> Vec<Scope> {
    let scope =
        |limit: Option<f64>, name: String, words| limit.map(|limit| Scope { name, words, limit });
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
pub(crate) fn scopes_of(row: &Row) -> [String; 3] {
    let agent = &row.charged.charge.agent;
    [day_scope(&row.day), project_scope(&row.project), agent_scope(&row.session, agent)]
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

impl Db {
    pub(crate) fn reserve(
        &mut self,
        id: &str,
        session: &str,
        scopes: &[Scope],
        ask: &Ask,
        now: Timestamp,
    ) -> Result<Reserved, Error> {
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
                let sql = "INSERT OR REPLACE INTO holds (id, scope, amount, until, session)
                    VALUES (?1, ?2, ?3, ?4, ?5)";
                let mut insert = tx.prepare_cached(sql)?;
                for Scope { name, .. } in scopes {
                    insert.execute(params![id, name, amount, signed(now.0 + LEASE_MS), session])?;
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

pub(crate) fn sum(tx: &Transaction<'_>, scope: &Scope) -> rusqlite::Result<Sum> {
    let sql = "SELECT coalesce(sum(amount), 0.0) FROM holds WHERE scope = ?1";
    let reserved = tx.prepare_cached(sql)?.query_row([&scope.name], |row| row.get(0))?;
    Ok(Sum { limit: scope.limit, spent: spent(tx, &scope.name)?, reserved })
}

/// What dead processes held is free again. Their logs may know what became of it.
pub(crate) fn expire(tx: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<()> {
    let now = signed(now.0);
    tx.prepare_cached(
        "INSERT OR IGNORE INTO unsettled (session) SELECT DISTINCT session FROM holds WHERE until < ?1",
    )?
    .execute([now])?;
    tx.prepare_cached("DELETE FROM holds WHERE until < ?1")?.execute([now]).map(|_| ())
}

pub(crate) fn release(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM holds WHERE id = ?1")?.execute([id]).map(|_| ())
}

fn short(scope: &Scope, sum: Option<&Sum>) -> String {
    let Sum { limit, spent, reserved } = sum.copied().unwrap_or_default();
    let mut words = format!("{}, {}: ${spent:.4} is spent", scope.words, dollars(limit));
    if reserved > 0.0 {
        words += &format!(" and ${reserved:.4} is reserved by requests on their way");
    }
    words
}
