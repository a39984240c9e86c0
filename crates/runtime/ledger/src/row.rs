//! One request as the file holds it.

use crate::completeness::EVERY;
use crate::db::Db;
use crate::error::Error;
use crate::reserve::{release, scopes_named, scopes_of};
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Charge, ChargeStatus, Charged, Purpose, Usage};
use ostler_core::time::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};
use std::sync::Arc;

/// The calendar day of a moment, as the person counts days.
pub type Days = Arc<dyn Fn(Timestamp) -> String + Send + Sync>;

#[derive(Clone, Debug, PartialEq)]
pub struct LedgerRow {
    pub day: String,
    pub project: String,
    pub session: String,
    pub charged: Charged,
}

const INSERT: &str = "INSERT INTO requests (id, at, day, project, session, agent, task, tool, purpose, model,
    input, output, cache_write, cache_write_1h, cache_read, price, cost, latency_ms, first_byte_ms, status, broken)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
    ON CONFLICT (id) DO NOTHING";

const SELECT: &str = "SELECT id, at, day, project, session, agent, task, tool, purpose, model,
    input, output, cache_write, cache_write_1h, cache_read, price, cost, latency_ms, first_byte_ms, status, broken
    FROM requests WHERE at >= ?1 AND (?2 IS NULL OR session = ?2) ORDER BY at, id";

/// Writes the row and counts its cost, once, however often it is told. It takes the place of what was thought lost.
pub(crate) fn insert(tx: &Transaction<'_>, row: &LedgerRow) -> rusqlite::Result<bool> {
    let Charged { model, usage, cost, charge } = &row.charged;
    if charge.status != ChargeStatus::Lost {
        found(tx, &charge.id)?;
    }
    let new = tx.prepare_cached(INSERT)?.execute(params![
        charge.id,
        signed(charge.at.0),
        row.day,
        row.project,
        row.session,
        charge.agent,
        charge.task,
        charge.tool,
        charge.purpose.name(),
        model.as_str(),
        signed(usage.input),
        signed(usage.output),
        signed(usage.cache_write),
        signed(usage.cache_write_1h),
        signed(usage.cache_read),
        json(&charge.price),
        cost,
        signed(charge.latency_ms),
        charge.first_byte_ms.map(signed),
        charge.status.name(),
        json(&charge.broken),
    ])?;
    if new > 0
        && let Some(cost) = cost
    {
        for scope in scopes_of(row) {
            add(tx, &scope, *cost)?;
        }
    }
    Ok(new > 0)
}

/// A request that was counted as lost is not: what became of it is known.
pub(crate) fn found(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    let sql = "SELECT day, project, session, agent, cost FROM requests
        WHERE id = ?1 AND status = 'lost'";
    let mut select = tx.prepare_cached(sql)?;
    let read = |row: &rusqlite::Row<'_>| {
        let text = |n: usize| row.get::<_, String>(n);
        Ok((scopes_named(&text(0)?, &text(1)?, &text(2)?, &text(3)?), row.get::<_, f64>(4)?))
    };
    let Some((scopes, cost)) = select.query_row([id], read).optional()? else { return Ok(()) };
    for scope in scopes {
        add(tx, &scope, -cost)?;
    }
    tx.prepare_cached("DELETE FROM requests WHERE id = ?1")?.execute([id]).map(|_| ())
}

fn add(tx: &Transaction<'_>, scope: &str, cost: f64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO totals (scope, spent) VALUES (?1, ?2)
        ON CONFLICT (scope) DO UPDATE SET spent = max(spent + ?2, 0.0)";
    tx.prepare_cached(sql)?.execute(params![scope, cost]).map(|_| ())
}

/// Whether the session's log may know more than this file.
pub(crate) fn mark(tx: &Transaction<'_>, session: &str, unsettled: bool) -> rusqlite::Result<()> {
    let sql = match unsettled {
        true => "INSERT OR IGNORE INTO unsettled (session) VALUES (?1)",
        false => "DELETE FROM unsettled WHERE session = ?1",
    };
    tx.prepare_cached(sql)?.execute([session]).map(|_| ())
}

pub(crate) fn spent(tx: &Transaction<'_>, scope: &str) -> rusqlite::Result<f64> {
    let sql = "SELECT spent FROM totals WHERE scope = ?1";
    let spent = tx.prepare_cached(sql)?.query_row([scope], |row| row.get(0)).optional()?;
    Ok(spent.unwrap_or(0.0))
}

impl Db {
    /// Adds what is not there yet and forgets that these sessions had more to tell. How many rows were new.
    ///
    /// # Errors
    /// If the file cannot be written; then nothing of it was.
    pub fn index(&mut self, rows: &[LedgerRow], sessions: &[String]) -> Result<u64, Error> {
        self.change(|tx| {
            let mut new = 0;
            for row in rows {
                let is_new = insert(tx, row)?;
                release(tx, &row.charged.charge.id)?;
                new += u64::from(is_new);
            }
            for session in sessions {
                mark(tx, session, false)?;
            }
            Ok(new)
        })
    }

    /// Sessions whose logs may know more than this file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn unsettled(&self) -> Result<Vec<String>, Error> {
        let read = || {
            let mut statement =
                self.connection.prepare("SELECT session FROM unsettled WHERE session <> ?1")?;
            statement.query_map([EVERY], |row| row.get(0))?.collect::<rusqlite::Result<_>>()
        };
        read().map_err(Error::of(&self.path))
    }

    /// Every request since then, of one session or of all, in the order they were sent.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn each(
        &self,
        since: Timestamp,
        session: Option<&str>,
        mut take: impl FnMut(LedgerRow),
    ) -> Result<(), Error> {
        let mut read = || {
            let mut statement = self.connection.prepare_cached(SELECT)?;
            let mut rows = statement.query(params![signed(since.0), session])?;
            while let Some(row) = rows.next()? {
                take(parse(row)?);
            }
            Ok(())
        };
        read().map_err(Error::of(&self.path))
    }
}

fn parse(row: &rusqlite::Row<'_>) -> rusqlite::Result<LedgerRow> {
    let number = |name: &str| row.get::<_, i64>(name).map(unsigned);
    let text = |name: &str| row.get::<_, String>(name);
    let charge = Charge {
        id: text("id")?,
        at: Timestamp(number("at")?),
        agent: text("agent")?,
        task: row.get("task")?,
        tool: row.get("tool")?,
        purpose: Purpose::named(&text("purpose")?),
        status: ChargeStatus::named(&text("status")?),
        latency_ms: number("latency_ms")?,
        first_byte_ms: row.get::<_, Option<i64>>("first_byte_ms")?.map(unsigned),
        price: from_json(row.get("price")?),
        broken: from_json(row.get("broken")?),
    };
    let usage = Usage {
        input: number("input")?,
        output: number("output")?,
        cache_write: number("cache_write")?,
        cache_write_1h: number("cache_write_1h")?,
        cache_read: number("cache_read")?,
    };
    let model = ModelId::new(text("model")?);
    Ok(LedgerRow {
        day: text("day")?,
        project: text("project")?,
        session: text("session")?,
        charged: Charged { model, usage, cost: row.get("cost")?, charge },
    })
}

fn json<T: serde::Serialize>(value: &Option<T>) -> Option<String> {
    value.as_ref().and_then(|value| serde_json::to_string(value).ok())
}

fn from_json<T: serde::de::DeserializeOwned>(text: Option<String>) -> Option<T> {
    text.and_then(|text| serde_json::from_str(&text).ok())
}

pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
