//! Mailboxes on a server.

use crate::redis_board::RedisBoard;
use crate::reply::{Fields, Read, Reply, Unreadable};
use ostler_board::backend::{check_agent, check_mail, clipped};
use ostler_board::{
    AgentChange, BoardError, Delivery, Lag, Mail, MailId, MailQuery, MailReceipt, MailStatus,
    Mailbox, NewMail, Outcome,
};
use std::time::Duration;

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

impl Mailbox for RedisBoard {
    fn send(&mut self, mail: &NewMail) -> Result<MailReceipt, BoardError> {
        check_mail(mail, self.limits())?;
        let reply_to = mail.in_reply_to.as_ref();
        let is_reply = if reply_to.is_some() { "1" } else { "0" };
        let reply_to = reply_to.map_or("", MailId::as_str);
        let id = mail.id.as_str();
        let sent = words(["send", id, &mail.from, &mail.to, is_reply, reply_to, &mail.text]);
        let mut reply = self.mail(sent)?;
        let read = receipt(&mut reply, &mail.id);
        self.readable(read)
    }

    fn receive(&mut self, who: &str, lease: Duration) -> Result<Option<Delivery>, BoardError> {
        let lease = self.limits().lease(lease)?.to_string();
        let mut reply = self.mail(words(["receive", who, &lease]))?;
        if reply.is_empty() {
            return Ok(None);
        }
        let read = reply.number().and_then(|now| {
            let mut fields = reply.fields()?;
            let token = fields.number("d")?;
            let mail = mail(fields)?;
            Ok(Delivery { token, age_ms: now.saturating_sub(mail.sent_ms), mail })
        });
        self.readable(read).map(Some)
    }

    fn settle(&mut self, delivery: &Delivery, outcome: &Outcome) -> Result<(), BoardError> {
        let limits = self.limits();
        let (name, text) = match outcome {
            Outcome::Replied { text } => ("replied", clipped(text, limits.mail_bytes)),
            Outcome::Handled => ("handled", String::new()),
            Outcome::Failed { why } => ("failed", clipped(why, limits.error_bytes)),
        };
        let (id, token) = (delivery.mail.id.as_str(), delivery.token.to_string());
        self.mail(words(["settle", id, &token, name, &text])).map(drop)
    }

    fn peek(&mut self, query: &MailQuery) -> Result<Vec<Mail>, BoardError> {
        let named = |name: &Option<String>| {
            name.as_ref().map(|name| format!("={name}")).unwrap_or_default()
        };
        let (from, to) = (named(&query.from), named(&query.to));
        let with_archive = if query.with_archive { "1" } else { "0" };
        let (mut found, mut after) = (Vec::new(), "0".to_owned());
        while found.len() < query.limit {
            let size = (query.limit - found.len()).to_string();
            let mut reply = self.mail(words(["peek", &from, &to, with_archive, &after, &size]))?;
            let page = reply.text().and_then(|next| {
                after = next;
                reply.lists()?.into_iter().map(|one| mail(one.into_fields())).collect()
            });
            let page: Vec<Mail> = self.readable(page)?;
            found.extend(page);
            if after.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    fn lag(&mut self, from: &str, to: &str) -> Result<Lag, BoardError> {
        let mut reply = self.mail(words(["lag", from, to]))?;
        let read = lag(&mut reply);
        self.readable(read)
    }

    fn set_agent(&mut self, name: &str, change: &AgentChange) -> Result<(), BoardError> {
        check_agent(name, self.limits())?;
        let (what, lead) = match change {
            AgentChange::Started { lead } => ("started", lead.as_deref()),
            AgentChange::Finished => ("finished", None),
        };
        let has_lead = if lead.is_some() { "1" } else { "0" };
        loop {
            let said = words(["agent", name, what, has_lead, lead.unwrap_or_default()]);
            let mut reply = self.mail(said)?;
            let left = reply.number();
            if self.readable(left)? == 0 {
                return Ok(());
            }
        }
    }
}

fn receipt(reply: &mut Reply, id: &MailId) -> Read<MailReceipt> {
    let (seq, status) = (reply.number()?, status(reply.number()?)?);
    let why = reply.optional()?;
    Ok(MailReceipt { id: id.clone(), seq, status, why, lag: lag(reply)? })
}

fn lag(reply: &mut Reply) -> Read<Lag> {
    Ok(Lag { behind: reply.number()?, oldest_ms: reply.optional_number()? })
}

fn status(number: u64) -> Read<MailStatus> {
    let at = usize::try_from(number).map_err(|_| Unreadable)?;
    MailStatus::ALL.get(at).copied().ok_or(Unreadable)
}

fn mail(mut fields: Fields) -> Read<Mail> {
    Ok(Mail {
        id: MailId(fields.text("id")?),
        status: status(fields.number("st")?)?,
        from: fields.text("f")?,
        to: fields.text("t")?,
        seq: fields.number("n")?,
        in_reply_to: fields.take("r").map(MailId),
        text: fields.text("b")?,
        sent_ms: fields.number("at")?,
        deliveries: u32::try_from(fields.number("c")?).map_err(|_| Unreadable)?,
        why: fields.take("w"),
    })
}
