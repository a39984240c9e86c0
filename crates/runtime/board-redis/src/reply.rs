//! What a script answers, as values of ours.

use ostler_board::backend::Objection;
use ostler_board::{DamagedEntry, Refusal, Status};
use redis::Value;
use std::collections::HashMap;

/// An answer that no script of ours gives.
#[derive(Debug)]
pub(crate) struct Unreadable;

pub(crate) type Read<T> = Result<T, Unreadable>;

/// A list of values that is taken apart from the front.
pub(crate) struct Reply(std::vec::IntoIter<Value>);

/// What a script decided.
pub(crate) enum Verdict {
    Done(Reply),
    Refused {
        reason: String,
        details: Reply,
    },
    /// This is not the board that was opened.
    Gone,
}

impl Reply {
    pub(crate) fn of(value: Value) -> Read<Reply> {
        match value {
            Value::Array(values) => Ok(Reply(values.into_iter())),
            // An empty list of Lua.
            Value::Nil => Ok(Reply(Vec::new().into_iter())),
            _ => Err(Unreadable),
        }
    }

    pub(crate) fn verdict(value: Value) -> Read<Verdict> {
        let mut reply = Reply::of(value)?;
        match reply.text()?.as_str() {
            "ok" => Ok(Verdict::Done(reply)),
            "no" => Ok(Verdict::Refused { reason: reply.text()?, details: reply }),
            "gone" => Ok(Verdict::Gone),
            _ => Err(Unreadable),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// None if it is nil or missing.
    pub(crate) fn optional(&mut self) -> Read<Option<String>> {
        match self.0.next() {
            None | Some(Value::Nil) => Ok(None),
            Some(value) => text(value).map(Some),
        }
    }

    pub(crate) fn text(&mut self) -> Read<String> {
        self.optional()?.ok_or(Unreadable)
    }

    pub(crate) fn number(&mut self) -> Read<u64> {
        self.text()?.parse().map_err(|_| Unreadable)
    }

    pub(crate) fn optional_number(&mut self) -> Read<Option<u64>> {
        self.optional()?.map(|text| text.parse().map_err(|_| Unreadable)).transpose()
    }

    pub(crate) fn status(&mut self) -> Read<Status> {
        status(self.number()?)
    }

    pub(crate) fn list(&mut self) -> Read<Reply> {
        Reply::of(self.0.next().ok_or(Unreadable)?)
    }

    pub(crate) fn lists(&mut self) -> Read<Vec<Reply>> {
        self.list()?.0.map(Reply::of).collect()
    }

    pub(crate) fn texts(&mut self) -> Read<Vec<String>> {
        self.list()?.0.map(text).collect()
    }

    /// Names and values in turn.
    pub(crate) fn fields(&mut self) -> Read<Fields> {
        Ok(self.list()?.into_fields())
    }

    /// What was set aside, by name.
    pub(crate) fn damaged(&mut self) -> Read<Vec<DamagedEntry>> {
        let Fields(found) = self.fields()?;
        let entry = |(entry, why)| DamagedEntry { entry, why };
        let mut all: Vec<DamagedEntry> = found.into_iter().map(entry).collect();
        all.sort_by(|one, other| one.entry.cmp(&other.entry));
        Ok(all)
    }

    pub(crate) fn into_fields(mut self) -> Fields {
        let mut fields = HashMap::new();
        while let (Some(name), Some(value)) = (self.0.next(), self.0.next()) {
            if let (Ok(name), Ok(value)) = (lossy(name), lossy(value)) {
                fields.insert(name, value);
            }
        }
        Fields(fields)
    }
}

pub(crate) struct Fields(HashMap<String, String>);

impl Fields {
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    pub(crate) fn text(&mut self, name: &str) -> Read<String> {
        self.take(name).ok_or(Unreadable)
    }

    pub(crate) fn number(&mut self, name: &str) -> Read<u64> {
        self.text(name)?.parse().map_err(|_| Unreadable)
    }
}

fn text(value: Value) -> Read<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).map_err(|_| Unreadable),
        Value::SimpleString(text) => Ok(text),
        Value::Int(number) => Ok(number.to_string()),
        Value::Okay => Ok("OK".to_owned()),
        _ => Err(Unreadable),
    }
}

/// Whoever wrote it: one text that is not UTF-8 must not make a list unreadable.
fn lossy(value: Value) -> Read<String> {
    match value {
        Value::BulkString(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        value => text(value),
    }
}

pub(crate) fn status(number: u64) -> Read<Status> {
    let at = usize::try_from(number).map_err(|_| Unreadable)?;
    Status::ALL.get(at).copied().ok_or(Unreadable)
}

/// What was asked for, as far as a refusal names it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asked {
    pub(crate) action: &'static str,
    pub(crate) fence: u64,
    pub(crate) most_tasks: u64,
}

pub(crate) fn refusal(reason: &str, details: &mut Reply, asked: Asked) -> Read<Refusal> {
    let escaped = |text: String| text.escape_debug().to_string();
    let object = |objection, id: &str| Refusal::of(objection, id, asked.action, asked.fence);
    Ok(match reason {
        "missing" => Refusal::NoSuchTask(escaped(details.text()?)),
        "ambiguous" => Refusal::Ambiguous { prefix: details.text()?, ids: details.texts()? },
        "status" => {
            let id = details.text()?;
            object(Objection::Status(details.status()?), &id)
        }
        "stale" => object(Objection::Stale, &details.text()?),
        "lease_over" => object(Objection::LeaseOver, &details.text()?),
        "blocked" => {
            let (id, by, status) = (details.text()?, details.text()?, details.status()?);
            let reason = details.optional()?.filter(|_| is_stuck(status));
            Refusal::Blocked { id, by, status, reason }
        }
        "damaged" => Refusal::Damaged { id: details.text()?, why: details.text()? },
        "overlaps" => Refusal::Overlaps { id: details.text()?, with: details.text()? },
        "too_many" => {
            let (what, count) = ("tasks on this board", details.number()?);
            Refusal::TooMany { what, count, most: asked.most_tasks }
        }
        "exists" => Refusal::Exists(details.text()?),
        // Its path is known to the client.
        "circle" => Refusal::Cycle(Vec::new()),
        "no_dependency" => {
            let (title, id) = (details.text()?, escaped(details.text()?));
            Refusal::NoSuchDependency { title, id }
        }
        "mail_exists" => Refusal::MailExists(details.text()?),
        "full" => Refusal::MailboxFull { to: details.text()?, unread: details.number()? },
        "no_mail" => Refusal::NoSuchMail(details.text()?),
        "stale_delivery" => Refusal::StaleDelivery(details.text()?),
        "no_reply" => Refusal::NoReply(details.text()?),
        _ => return Err(Unreadable),
    })
}

/// It will not be done by itself.
pub(crate) fn is_stuck(status: Status) -> bool {
    matches!(status, Status::Failed | Status::Parked | Status::Cancelled)
}
