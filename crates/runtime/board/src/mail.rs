//! A mail between agents, and what becomes of it.

use crate::task::short_id;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who tells a sender that a mail could not be delivered.
pub const POSTMASTER: &str = "ostler";
const REPLY: &str = "-reply";
const NOTICE: &str = "-bounce-";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MailId(pub String);

impl MailId {
    /// A short id from a random UUID.
    pub fn from_uuid(uuid: &str) -> Self {
        MailId(short_id(uuid))
    }

    /// The id of a new mail of this kind. Stores keep an id as it is, so they keep the kind with it.
    pub fn of_kind(kind: MailKind, uuid: &str) -> Self {
        match kind.prefix() {
            Some(prefix) => MailId(format!("{prefix}-{}", short_id(uuid))),
            None => MailId::from_uuid(uuid),
        }
    }

    /// The id of the one reply to a mail: recording it twice changes nothing.
    pub fn reply(&self) -> MailId {
        MailId(format!("{}{REPLY}", self.0))
    }

    /// The id of a notice that a mail was not read, for one of its readers.
    pub(crate) fn notice(&self, number: usize) -> MailId {
        MailId(format!("{}{NOTICE}{number}", self.0))
    }

    /// Only a board itself makes mail with such an id: a reply when a delivery is settled, or a notice. So nobody can send
    /// what passes for one, or is in the way of one.
    pub fn is_reserved(&self) -> bool {
        let number = self.0.rsplit_once(NOTICE).map(|(_, number)| number);
        self.0.ends_with(REPLY)
            || number.is_some_and(|it| !it.is_empty() && it.bytes().all(|one| one.is_ascii_digit()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a mail wants from its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailKind {
    /// To be read, and nothing else.
    Note,
    /// To be answered while its sender waits.
    Request,
    /// To be done, and reported on.
    Task,
    /// The answer to one of the above.
    Reply,
    /// A mail was not read.
    Notice,
}

impl MailKind {
    fn prefix(self) -> Option<&'static str> {
        match self {
            MailKind::Task => Some("task"),
            MailKind::Request => Some("request"),
            MailKind::Note | MailKind::Reply | MailKind::Notice => None,
        }
    }

    /// The last text of the reader is the reply.
    pub fn wants_reply(self) -> bool {
        matches!(self, MailKind::Request | MailKind::Task)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailStatus {
    Unread,
    /// A reader has it and has not settled it yet.
    Delivered,
    /// The reader has recorded its reply, or that there is none.
    Acknowledged,
    /// The recipient had finished; the sender was told.
    Bounced,
    /// Every delivery failed; the sender was told.
    Dead,
}

impl MailStatus {
    pub const ALL: [MailStatus; 5] = [
        MailStatus::Unread,
        MailStatus::Delivered,
        MailStatus::Acknowledged,
        MailStatus::Bounced,
        MailStatus::Dead,
    ];

    pub fn name(self) -> &'static str {
        match self {
            MailStatus::Unread => "unread",
            MailStatus::Delivered => "delivered",
            MailStatus::Acknowledged => "acknowledged",
            MailStatus::Bounced => "bounced",
            MailStatus::Dead => "dead",
        }
    }

    /// Nothing happens to it any more.
    pub fn is_settled(self) -> bool {
        !matches!(self, MailStatus::Unread | MailStatus::Delivered)
    }
}

/// A mail to send. Sending the same id again is the same mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMail {
    pub id: MailId,
    pub from: String,
    pub to: String,
    pub in_reply_to: Option<MailId>,
    pub text: String,
}

impl NewMail {
    pub fn new(
        id: MailId,
        from: impl Into<String>,
        to: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        NewMail { id, from: from.into(), to: to.into(), in_reply_to: None, text: text.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mail {
    pub id: MailId,
    pub status: MailStatus,
    pub from: String,
    pub to: String,
    /// Counts what this sender sent to this recipient, from 1, without gaps.
    pub seq: u64,
    pub in_reply_to: Option<MailId>,
    pub text: String,
    pub sent_ms: u64,
    pub deliveries: u32,
    /// Why it bounced or was given up.
    pub why: Option<String>,
}

impl Mail {
    pub fn kind(&self) -> MailKind {
        let is = |kind: &MailKind| {
            let rest = kind.prefix().and_then(|prefix| self.id.0.strip_prefix(prefix));
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        match &self.in_reply_to {
            Some(_) if self.from == POSTMASTER => MailKind::Notice,
            Some(about) if self.id == about.reply() => MailKind::Reply,
            // Anybody can say that a mail is about another one.
            Some(_) => MailKind::Note,
            None => {
                [MailKind::Task, MailKind::Request].into_iter().find(is).unwrap_or(MailKind::Note)
            }
        }
    }
}

/// What the sender learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailReceipt {
    pub id: MailId,
    pub seq: u64,
    pub status: MailStatus,
    pub why: Option<String>,
    pub lag: Lag,
}

/// How far a reader is behind one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lag {
    /// Mails that are not settled.
    pub behind: u64,
    /// When the oldest of them was sent.
    pub oldest_ms: Option<u64>,
}

/// A mail in the hands of its reader, until the lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub mail: Mail,
    /// Which delivery this is; a later one makes it invalid.
    pub token: u64,
    pub age_ms: u64,
}

/// How a reader settles a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply goes to the sender, and the mail is acknowledged, in one transaction.
    Replied { text: String },
    /// Nothing to reply.
    Handled,
    /// To be delivered again, or given up after too many times.
    Failed { why: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentChange {
    /// Mail that bounces is also reported to the lead. What an earlier process of this agent had in hand is unread again: the
    /// caller knows that this process is gone.
    Started { lead: Option<String> },
    /// Its unread mail bounces, and so does what is sent to it later.
    Finished,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailQuery {
    pub from: Option<String>,
    pub to: Option<String>,
    /// Settled mail, too.
    pub with_archive: bool,
    pub limit: usize,
}

impl Default for MailQuery {
    fn default() -> Self {
        MailQuery { from: None, to: None, with_archive: false, limit: 1_000 }
    }
}
