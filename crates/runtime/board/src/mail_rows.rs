//! Mail as it is kept in the file.

use crate::board_file::{Done, count, signed, unsigned};
use crate::limits::Limits;
use crate::mail::{Lag, Mail, MailId, MailQuery, MailStatus, NewMail};
use crate::mail_rules::MailState;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, Transaction, params, params_from_iter};

const ARCHIVE: &str = "archive";

#[derive(Clone, Debug)]
pub(crate) struct MailRow {
    pub(crate) seq: i64,
    pub(crate) mail: Mail,
    pub(crate) state: MailState,
}

pub(crate) fn exact(tx: &Transaction<'_>, id: &MailId) -> rusqlite::Result<Option<MailRow>> {
    let sql = "SELECT * FROM mail WHERE id = ?1";
    tx.prepare_cached(sql)?.query_row([id.as_str()], row).optional()
}

/// The oldest unread mail of an agent.
pub(crate) fn oldest(tx: &Transaction<'_>, who: &str) -> rusqlite::Result<Option<MailRow>> {
    let sql = "SELECT * FROM mail INDEXED BY unread WHERE recipient = ?1 AND archived IS NULL AND status = 0
        ORDER BY seq LIMIT 1";
    tx.prepare_cached(sql)?.query_row([who], row).optional()
}

pub(crate) fn lapsed(tx: &Transaction<'_>, now: u64) -> rusqlite::Result<Vec<MailRow>> {
    let sql = "SELECT * FROM mail INDEXED BY delivered WHERE status = 1 AND lease_until <= ?1";
    tx.prepare_cached(sql)?.query_map([signed(now)], row)?.collect()
}

pub(crate) fn unsettled_of(tx: &Transaction<'_>, who: &str) -> rusqlite::Result<Vec<MailRow>> {
    let sql = "SELECT * FROM mail INDEXED BY unread WHERE recipient = ?1 AND archived IS NULL ORDER BY seq";
    tx.prepare_cached(sql)?.query_map([who], row)?.collect()
}

fn row(row: &Row<'_>) -> rusqlite::Result<MailRow> {
    let status = status(row.get("status")?);
    let state = MailState {
        status,
        token: unsigned(row.get("delivery")?),
        lease_until: unsigned(row.get("lease_until")?),
        deliveries: row.get("deliveries")?,
        why: row.get("why")?,
    };
    let mail = Mail {
        id: MailId(row.get("id")?),
        status,
        from: row.get("sender")?,
        to: row.get("recipient")?,
        seq: unsigned(row.get("number")?),
        in_reply_to: row.get::<_, Option<String>>("in_reply_to")?.map(MailId),
        text: row.get("body")?,
        sent_ms: unsigned(row.get("sent")?),
        deliveries: state.deliveries,
        why: state.why.clone(),
    };
    Ok(MailRow { seq: row.get("seq")?, mail, state })
}

fn number(status: MailStatus) -> i64 {
    MailStatus::ALL.iter().position(|each| *each == status).map_or(0, |at| signed(at as u64))
}

fn status(number: i64) -> MailStatus {
    let at = usize::try_from(number).ok();
    at.and_then(|at| MailStatus::ALL.get(at).copied()).unwrap_or(MailStatus::Dead)
}

pub(crate) fn list(tx: &Transaction<'_>, query: &MailQuery) -> Done<Vec<Mail>> {
    let mut sql = "SELECT * FROM mail WHERE 1".to_owned();
    let mut values: Vec<Value> = Vec::new();
    for (column, name) in [("sender", &query.from), ("recipient", &query.to)] {
        if let Some(name) = name {
            sql += &format!(" AND {column} = ?");
            values.push(name.clone().into());
        }
    }
    if !query.with_archive {
        sql += " AND archived IS NULL";
    }
    sql += " ORDER BY seq LIMIT ?";
    values.push(signed(query.limit as u64).into());
    let mut statement = tx.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), row)?;
    Ok(rows.map(|row| row.map(|row| row.mail)).collect::<rusqlite::Result<_>>()?)
}

/// Gives it the next number of its pair.
pub(crate) fn insert(tx: &Transaction<'_>, mail: &NewMail, now: u64) -> rusqlite::Result<MailRow> {
    let sql = "INSERT INTO pairs (sender, recipient, sent, settled) VALUES (?1, ?2, 1, 0)
        ON CONFLICT (sender, recipient) DO UPDATE SET sent = sent + 1 RETURNING sent";
    let number: i64 =
        tx.prepare_cached(sql)?.query_row((&mail.from, &mail.to), |row| row.get(0))?;
    let sql = "INSERT INTO mail (id, sender, recipient, number, in_reply_to, body, status, sent, delivery, lease_until, deliveries)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, 0, 0, 0)";
    let reply = mail.in_reply_to.as_ref().map(MailId::as_str);
    tx.prepare_cached(sql)?.execute(params![
        mail.id.as_str(),
        mail.from,
        mail.to,
        number,
        reply,
        mail.text,
        signed(now)
    ])?;
    let seq = tx.last_insert_rowid();
    let sql = "INSERT INTO agents (name, unread) VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET unread = unread + 1";
    tx.prepare_cached(sql)?.execute([&mail.to])?;
    tx.prepare_cached("SELECT * FROM mail WHERE seq = ?1")?.query_row([seq], row)
}

/// Writes a new state. Settled mail goes to the archive, whose oldest is dropped.
pub(crate) fn write(
    tx: &Transaction<'_>,
    row: &MailRow,
    to: &MailState,
    limits: &Limits,
) -> rusqlite::Result<()> {
    let place = match to.status.is_settled() {
        true => Some(signed(count(tx, ARCHIVE, 1)?)),
        false => None,
    };
    let sql = "UPDATE mail SET status = ?2, delivery = ?3, lease_until = ?4, deliveries = ?5, why = ?6, archived = ?7
        WHERE seq = ?1";
    tx.prepare_cached(sql)?.execute(params![
        row.seq,
        number(to.status),
        signed(to.token),
        signed(to.lease_until),
        to.deliveries,
        to.why,
        place
    ])?;
    let Some(place) = place else { return Ok(()) };
    let Mail { from, to, .. } = &row.mail;
    let sql = "UPDATE pairs SET settled = settled + 1 WHERE sender = ?1 AND recipient = ?2";
    tx.prepare_cached(sql)?.execute((from, to))?;
    tx.prepare_cached("UPDATE agents SET unread = unread - 1 WHERE name = ?1")?.execute([to])?;
    let sql = "DELETE FROM mail WHERE archived <= ?1";
    tx.prepare_cached(sql)?.execute([place - signed(limits.archive)])?;
    Ok(())
}

pub(crate) fn lag(tx: &Transaction<'_>, from: &str, to: &str) -> rusqlite::Result<Lag> {
    let sql = "SELECT sent - settled FROM pairs WHERE sender = ?1 AND recipient = ?2";
    let behind: Option<i64> =
        tx.prepare_cached(sql)?.query_row((from, to), |row| row.get(0)).optional()?;
    let sql = "SELECT sent FROM mail INDEXED BY unread_of_pair
        WHERE sender = ?1 AND recipient = ?2 AND archived IS NULL ORDER BY seq LIMIT 1";
    let oldest: Option<i64> =
        tx.prepare_cached(sql)?.query_row((from, to), |row| row.get(0)).optional()?;
    Ok(Lag { behind: unsigned(behind.unwrap_or(0)), oldest_ms: oldest.map(unsigned) })
}

/// What is known of an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentRow {
    pub(crate) lead: Option<String>,
    pub(crate) is_finished: bool,
    pub(crate) unread: u64,
}

pub(crate) fn agent(tx: &Transaction<'_>, name: &str) -> rusqlite::Result<AgentRow> {
    let sql = "SELECT lead, finished, unread FROM agents WHERE name = ?1";
    let read = |row: &Row<'_>| {
        let unread = unsigned(row.get(2)?);
        Ok(AgentRow { lead: row.get(0)?, is_finished: row.get(1)?, unread })
    };
    Ok(tx.prepare_cached(sql)?.query_row([name], read).optional()?.unwrap_or_default())
}

pub(crate) fn set_agent(
    tx: &Transaction<'_>,
    name: &str,
    lead: Option<&str>,
    is_finished: bool,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO agents (name, lead, finished) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET lead = excluded.lead, finished = excluded.finished";
    tx.prepare_cached(sql)?.execute((name, lead, is_finished)).map(|_| ())
}
