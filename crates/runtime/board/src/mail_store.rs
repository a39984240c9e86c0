//! Mailboxes in an SQLite file.

use crate::board_file::{BoardFile, Done, Durability, count};
use crate::error::{BoardError, Refusal};
use crate::limits::{Limits, clipped, within};
use crate::mail::{
    AgentChange, Delivery, Lag, Mail, MailQuery, MailReceipt, MailStatus, NewMail, Outcome,
    POSTMASTER,
};
use crate::mail_rows::{
    MailRow, agent, exact, insert, lag, lapsed, list, oldest, set_agent, unsettled_of, write,
};
use crate::mail_rules::{MailChange, MailState, MailStep, step};
use crate::mailbox::Mailbox;
use rusqlite::Transaction;
use std::time::Duration;

const DELIVERY: &str = "delivery";

impl Mailbox for BoardFile {
    fn send(&mut self, mail: &NewMail) -> Result<MailReceipt, BoardError> {
        let limits = self.limits.clone();
        check(mail, &limits)?;
        let mail = mail.clone();
        self.change(Durability::Synced, move |tx, now| {
            let row = match exact(tx, &mail.id)? {
                None => post(tx, &mail, &limits, now)?,
                Some(row) if is_same(&row.mail, &mail) => row,
                Some(_) => return Err(Refusal::MailExists(mail.id.to_string()).into()),
            };
            let MailRow { mail: Mail { id, seq, status, why, .. }, .. } = row;
            Ok(MailReceipt { id, seq, status, why, lag: lag(tx, &mail.from, &mail.to)? })
        })
    }

    fn receive(&mut self, who: &str, lease: Duration) -> Result<Option<Delivery>, BoardError> {
        let (limits, now) = (self.limits.clone(), self.now());
        let lease = limits.lease(lease)?;
        // Whoever looks in vain must not stop those who write.
        if self.read(|tx| Ok(oldest(tx, who)?.is_none() && lapsed(tx, now)?.is_empty()))? {
            return Ok(None);
        }
        let who = who.to_owned();
        self.change_in_silence(Durability::Written, move |tx, now| {
            expire(tx, &limits, now)?;
            let Some(row) = oldest(tx, &who)? else { return Ok(None) };
            let (token, until) = (count(tx, DELIVERY, 1)?, now.saturating_add(lease));
            let state = apply(tx, &row, &MailChange::Deliver { token, until }, &limits, now)?;
            let MailState { status, deliveries, .. } = state;
            let age_ms = now.saturating_sub(row.mail.sent_ms);
            let mail = Mail { status, deliveries, ..row.mail };
            Ok(Some(Delivery { mail, token, age_ms }))
        })
    }

    fn settle(&mut self, delivery: &Delivery, outcome: &Outcome) -> Result<(), BoardError> {
        let limits = self.limits.clone();
        let (id, token, outcome) = (delivery.mail.id.clone(), delivery.token, outcome.clone());
        self.change(Durability::Synced, move |tx, now| {
            let row = exact(tx, &id)?.ok_or_else(|| Refusal::NoSuchMail(id.as_str().to_owned()))?;
            let change = match &outcome {
                Outcome::Failed { why } => {
                    let (why, most) = (clipped(why, limits.error_bytes), limits.deliveries);
                    MailChange::Fail { token, why, most }
                }
                Outcome::Replied { .. } | Outcome::Handled => MailChange::Acknowledge { token },
            };
            let was_settled = row.state.status.is_settled();
            apply(tx, &row, &change, &limits, now)?;
            match &outcome {
                // The same was recorded before.
                _ if was_settled => Ok(()),
                Outcome::Replied { text } => reply(tx, &row.mail, text, &limits, now),
                Outcome::Handled | Outcome::Failed { .. } => Ok(()),
            }
        })
    }

    fn peek(&mut self, query: &MailQuery) -> Result<Vec<Mail>, BoardError> {
        self.read(|tx| list(tx, query))
    }

    fn lag(&mut self, from: &str, to: &str) -> Result<Lag, BoardError> {
        self.read(|tx| Ok(lag(tx, from, to)?))
    }

    fn set_agent(&mut self, name: &str, change: &AgentChange) -> Result<(), BoardError> {
        let limits = self.limits.clone();
        named(name, &limits)?;
        let (name, change) = (name.to_owned(), change.clone());
        self.change(Durability::Synced, move |tx, now| match change {
            AgentChange::Started { lead } => {
                set_agent(tx, &name, lead.as_deref(), false)?;
                let mut rows = unsettled_of(tx, &name)?;
                rows.retain(|row| row.state.status == MailStatus::Delivered);
                for row in rows {
                    apply(tx, &row, &MailChange::Reclaim, &limits, now)?;
                }
                Ok(())
            }
            AgentChange::Finished => {
                let lead = agent(tx, &name)?.lead;
                set_agent(tx, &name, lead.as_deref(), true)?;
                for row in unsettled_of(tx, &name)? {
                    apply(tx, &row, &bounce(&name), &limits, now)?;
                }
                Ok(())
            }
        })
    }
}

/// # Errors
/// If it cannot be the name of an agent.
pub fn named(name: &str, limits: &Limits) -> Result<(), Refusal> {
    limits.name("the name of an agent", name)?;
    if name == POSTMASTER { Err(Refusal::Reserved(name.to_owned())) } else { Ok(()) }
}

/// What can be said of a mail without looking at the board.
///
/// # Errors
/// If it is refused.
pub fn check(mail: &NewMail, limits: &Limits) -> Result<(), Refusal> {
    named(&mail.from, limits)?;
    named(&mail.to, limits)?;
    limits.name("the id of a mail", mail.id.as_str())?;
    if mail.id.is_reserved() {
        return Err(Refusal::Reserved(mail.id.to_string()));
    }
    within("a mail", &mail.text, limits.mail_bytes)
}

fn is_same(mail: &Mail, new: &NewMail) -> bool {
    (&mail.from, &mail.to, &mail.text) == (&new.from, &new.to, &new.text)
}

fn bounce(name: &str) -> MailChange {
    MailChange::Bounce { why: format!("{name} has finished") }
}

/// Puts it into the mailbox, unless that is full. It bounces at once if nobody will read it.
fn post(tx: &Transaction<'_>, mail: &NewMail, limits: &Limits, now: u64) -> Done<MailRow> {
    let recipient = agent(tx, &mail.to)?;
    if recipient.unread >= limits.unread {
        let (to, unread) = (mail.to.clone(), recipient.unread);
        return Err(Refusal::MailboxFull { to, unread }.into());
    }
    let mut row = insert(tx, mail, now)?;
    if recipient.is_finished {
        row.state = apply(tx, &row, &bounce(&mail.to), limits, now)?;
        (row.mail.status, row.mail.why) = (row.state.status, row.state.why.clone());
    }
    Ok(row)
}

fn reply(tx: &Transaction<'_>, mail: &Mail, text: &str, limits: &Limits, now: u64) -> Done<()> {
    if mail.from == POSTMASTER {
        return Err(Refusal::NoReply(mail.id.to_string()).into());
    }
    let id = mail.id.reply();
    // What a worker says must not be lost because it is long, or because the sender reads slowly.
    let reply = NewMail {
        id: id.clone(),
        from: mail.to.clone(),
        to: mail.from.clone(),
        in_reply_to: Some(mail.id.clone()),
        text: clipped(text, limits.mail_bytes),
    };
    if exact(tx, &id)?.is_none() {
        let limits = Limits { unread: u64::MAX, ..limits.clone() };
        post(tx, &reply, &limits, now)?;
    }
    Ok(())
}

/// Asks the rules and writes what they say. Whoever waits for an answer learns when there will be none.
fn apply(
    tx: &Transaction<'_>,
    row: &MailRow,
    change: &MailChange,
    limits: &Limits,
    now: u64,
) -> Done<MailState> {
    let refused = |_| Refusal::StaleDelivery(row.mail.id.to_string());
    let to = match step(&row.state, change, now).map_err(refused)? {
        MailStep::Recorded => return Ok(row.state.clone()),
        MailStep::To(to) => to,
    };
    write(tx, row, &to, limits)?;
    if matches!(to.status, MailStatus::Bounced | MailStatus::Dead) {
        notify(tx, &row.mail, to.why.as_deref().unwrap_or_default(), limits, now)?;
    }
    Ok(to)
}

/// Tells the sender and the lead that a mail was not read. A notice itself is told to nobody.
fn notify(tx: &Transaction<'_>, mail: &Mail, why: &str, limits: &Limits, now: u64) -> Done<()> {
    if mail.from == POSTMASTER {
        return Ok(());
    }
    let mut readers = vec![mail.from.clone()];
    readers.extend(agent(tx, &mail.to)?.lead.filter(|lead| *lead != mail.from));
    for (number, reader) in readers.into_iter().enumerate() {
        let state = agent(tx, &reader)?;
        if state.is_finished || state.unread >= limits.unread || reader == mail.to {
            continue;
        }
        let notice = NewMail {
            id: mail.id.notice(number),
            from: POSTMASTER.to_owned(),
            to: reader,
            in_reply_to: Some(mail.id.clone()),
            text: format!(
                "Mail {} from {} to {} was not read: {why}.",
                mail.id, mail.from, mail.to
            ),
        };
        if exact(tx, &notice.id)?.is_none() {
            insert(tx, &notice, now)?;
        }
    }
    Ok(())
}

/// Takes back what readers did not settle in time.
fn expire(tx: &Transaction<'_>, limits: &Limits, now: u64) -> Done<()> {
    for row in lapsed(tx, now)? {
        apply(tx, &row, &MailChange::Expire { most: limits.deliveries }, limits, now)?;
    }
    Ok(())
}
