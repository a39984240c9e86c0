//! The mailboxes of the board in memory.

use crate::memory_board::{Fault, MemoryBoard};
use ostler_board::{
    AgentChange, BoardError, Delivery, Lag, Mail, MailId, MailQuery, MailReceipt, MailStatus,
    Mailbox, NewMail, Outcome, POSTMASTER, Refusal,
};
use std::collections::HashMap;
use std::time::Duration;

#[derive(Default)]
pub struct Post {
    mails: Vec<Entry>,
    agents: HashMap<String, Agent>,
    numbers: HashMap<(String, String), u64>,
    token: u64,
    settled: u64,
}

#[derive(Clone, Default)]
struct Agent {
    lead: Option<String>,
    is_finished: bool,
}

struct Entry {
    mail: Mail,
    token: u64,
    until: u64,
    /// Its place in the archive.
    settled: u64,
}

impl MemoryBoard {
    fn post(&self, post: &mut Post, new: &NewMail) -> usize {
        let pair = match self.is(Fault::OneNumberForAll) {
            true => Default::default(),
            false => (new.from.clone(), new.to.clone()),
        };
        let number = post.numbers.entry(pair).or_default();
        *number += 1;
        let mail = Mail {
            id: new.id.clone(),
            status: MailStatus::Unread,
            from: new.from.clone(),
            to: new.to.clone(),
            seq: *number,
            in_reply_to: new.in_reply_to.clone(),
            text: new.text.clone(),
            sent_ms: self.now(),
            deliveries: 0,
            why: None,
        };
        post.mails.push(Entry { mail, token: 0, until: 0, settled: 0 });
        let at = post.mails.len() - 1;
        let is_finished = post.agents.get(&new.to).is_some_and(|agent| agent.is_finished);
        if is_finished && !self.is(Fault::NoBounce) {
            let why = format!("{} has finished", new.to);
            self.end(post, at, MailStatus::Bounced, Some(why));
        }
        at
    }

    fn end(&self, post: &mut Post, at: usize, status: MailStatus, why: Option<String>) {
        post.settled += 1;
        let entry = &mut post.mails[at];
        (entry.mail.status, entry.mail.why, entry.settled) = (status, why.clone(), post.settled);
        let mail = entry.mail.clone();
        let Some(why) = why.filter(|_| mail.from != POSTMASTER) else { return };
        let lead = post.agents.get(&mail.to).and_then(|agent| agent.lead.clone());
        let mut readers = vec![mail.from.clone()];
        readers.extend(lead.filter(|lead| *lead != mail.from && !self.is(Fault::LeadIsNotTold)));
        for (number, reader) in readers.into_iter().enumerate() {
            let is_finished = post.agents.get(&reader).is_some_and(|agent| agent.is_finished);
            if is_finished || reader == mail.to {
                continue;
            }
            let id = MailId(format!("{}-bounce-{number}", mail.id));
            let mut notice = NewMail::new(id, POSTMASTER, reader, "");
            notice.in_reply_to = Some(mail.id.clone());
            notice.text =
                format!("Mail {} from {} to {} was not read: {why}.", mail.id, mail.from, mail.to);
            self.post(post, &notice);
        }
    }

    fn fail(&self, post: &mut Post, at: usize, why: &str) {
        let deliveries = post.mails[at].mail.deliveries;
        if deliveries < self.limits.deliveries || self.is(Fault::NeverGivenUp) {
            post.mails[at].mail.status = MailStatus::Unread;
            return;
        }
        let why = format!("given up after {deliveries} deliveries: {why}");
        self.end(post, at, MailStatus::Dead, Some(why));
    }

    fn is_same(&self, one: &str, other: &str) -> bool {
        one == other || (self.is(Fault::CaseIsIgnored) && one.eq_ignore_ascii_case(other))
    }

    fn lag_of(&self, post: &Post, from: &str, to: &str) -> Lag {
        let is_open = |mail: &Mail| match mail.status {
            MailStatus::Delivered => !self.is(Fault::LagForgetsDelivered),
            status => status == MailStatus::Unread,
        };
        let fits =
            |entry: &&Entry| entry.mail.from == from && entry.mail.to == to && is_open(&entry.mail);
        let open: Vec<&Entry> = post.mails.iter().filter(fits).collect();
        Lag { behind: open.len() as u64, oldest_ms: open.first().map(|entry| entry.mail.sent_ms) }
    }
}

impl Mailbox for MemoryBoard {
    fn send(&mut self, mail: &NewMail) -> Result<MailReceipt, BoardError> {
        let mut world = self.world.lock().unwrap();
        let post = &mut world.post;
        if [&mail.from, &mail.to].iter().any(|name| *name == POSTMASTER) {
            return Err(Refusal::Reserved(POSTMASTER.into()).into());
        }
        if [&mail.from, &mail.to].iter().any(|name| name.trim().is_empty()) {
            return Err(Refusal::Name { what: "the name of an agent", name: String::new() }.into());
        }
        let is_reserved = mail.id.as_str().ends_with("-reply")
            || mail.id.as_str().trim_end_matches(char::is_numeric).ends_with("-bounce-");
        if is_reserved && !self.is(Fault::AnyIdIsSent) {
            return Err(Refusal::Reserved(mail.id.to_string()).into());
        }
        let unread =
            post.mails.iter().filter(|e| e.mail.to == mail.to && !e.mail.status.is_settled());
        let unread = unread.count() as u64;
        let has_limits = !self.is(Fault::NoLimit);
        if has_limits && mail.text.len() > self.limits.mail_bytes {
            let (bytes, most) = (mail.text.len(), self.limits.mail_bytes);
            return Err(Refusal::TooLong { what: "a mail", bytes, most }.into());
        }
        let same = post.mails.iter().position(|entry| entry.mail.id == mail.id);
        let at = match same.filter(|_| !self.is(Fault::SameMailTwice)) {
            Some(at) if post.mails[at].mail.text == mail.text => at,
            Some(_) => return Err(Refusal::MailExists(mail.id.to_string()).into()),
            None if has_limits && unread >= self.limits.unread => {
                return Err(Refusal::MailboxFull { to: mail.to.clone(), unread }.into());
            }
            None => self.post(post, mail),
        };
        let Mail { id, seq, status, why, .. } = post.mails[at].mail.clone();
        let lag = self.lag_of(post, &mail.from, &mail.to);
        Ok(MailReceipt { id, seq, status, why, lag })
    }

    fn receive(&mut self, who: &str, lease: Duration) -> Result<Option<Delivery>, BoardError> {
        let mut world = self.world.lock().unwrap();
        let (post, now) = (&mut world.post, self.now());
        for at in 0..post.mails.len() {
            let entry = &post.mails[at];
            if entry.mail.status == MailStatus::Delivered && entry.until <= now {
                self.fail(post, at, "its reader did not settle it in time");
            }
        }
        let comes_again = self.is(Fault::AcknowledgedComesAgain);
        let is_new = |status| {
            status == MailStatus::Unread || (comes_again && status == MailStatus::Acknowledged)
        };
        let fits = |entry: &Entry| self.is_same(&entry.mail.to, who) && is_new(entry.mail.status);
        let Some(at) = post.mails.iter().position(fits) else { return Ok(None) };
        post.token += 1;
        let token = post.token;
        let entry = &mut post.mails[at];
        entry.mail.deliveries += 1;
        entry.mail.status = match self.is(Fault::ReceiveRemoves) {
            true => MailStatus::Acknowledged,
            false => MailStatus::Delivered,
        };
        (entry.token, entry.until) = (token, now + u64::try_from(lease.as_millis()).unwrap());
        let mail = entry.mail.clone();
        Ok(Some(Delivery { age_ms: now - mail.sent_ms, mail, token }))
    }

    fn settle(&mut self, delivery: &Delivery, outcome: &Outcome) -> Result<(), BoardError> {
        let mut world = self.world.lock().unwrap();
        let (post, now) = (&mut world.post, self.now());
        let id = &delivery.mail.id;
        let Some(at) = post.mails.iter().position(|entry| entry.mail.id == *id) else {
            return Err(Refusal::NoSuchMail(id.to_string()).into());
        };
        let entry = &post.mails[at];
        let is_mine = entry.token == delivery.token || self.is(Fault::StaleDeliverySettles);
        let is_failure = matches!(outcome, Outcome::Failed { .. });
        if is_mine && entry.mail.status == MailStatus::Acknowledged && !is_failure {
            return Ok(());
        }
        let is_held = entry.mail.status == MailStatus::Delivered && entry.until > now;
        if !is_mine || !(is_held || self.is(Fault::StaleDeliverySettles)) {
            return Err(Refusal::StaleDelivery(id.to_string()).into());
        }
        let (from, to) = (entry.mail.from.clone(), entry.mail.to.clone());
        match outcome {
            Outcome::Failed { why } => self.fail(post, at, why),
            Outcome::Replied { .. } if from == POSTMASTER => {
                return Err(Refusal::NoReply(id.to_string()).into());
            }
            Outcome::Handled => self.end(post, at, MailStatus::Acknowledged, None),
            Outcome::Replied { text } => {
                self.end(post, at, MailStatus::Acknowledged, None);
                let in_reply_to = Some(id.clone());
                let text = text.clone();
                let reply = NewMail { id: id.reply(), from: to, to: from, in_reply_to, text };
                self.post(post, &reply);
            }
        }
        let last = post.settled;
        if !self.is(Fault::ArchiveGrows) {
            let most = self.limits.archive;
            post.mails.retain(|entry| entry.settled == 0 || entry.settled + most > last);
        }
        Ok(())
    }

    fn peek(&mut self, query: &MailQuery) -> Result<Vec<Mail>, BoardError> {
        let mut world = self.world.lock().unwrap();
        let consumes = self.is(Fault::PeekConsumes);
        let same = |one: &str, other: &str| self.is_same(one, other);
        let fits = |entry: &&mut Entry| {
            let Mail { from, to, status, .. } = &entry.mail;
            query.from.as_ref().is_none_or(|name| name == from)
                && query.to.as_ref().is_none_or(|name| same(name, to))
                && (query.with_archive || !status.is_settled())
        };
        let found = world.post.mails.iter_mut().filter(fits).take(query.limit);
        let look = |entry: &mut Entry| {
            let mail = entry.mail.clone();
            if consumes {
                entry.mail.status = MailStatus::Acknowledged;
            }
            mail
        };
        Ok(found.map(look).collect())
    }

    fn lag(&mut self, from: &str, to: &str) -> Result<Lag, BoardError> {
        Ok(self.lag_of(&self.world.lock().unwrap().post, from, to))
    }

    fn set_agent(&mut self, name: &str, change: &AgentChange) -> Result<(), BoardError> {
        let mut world = self.world.lock().unwrap();
        let post = &mut world.post;
        let agent = post.agents.entry(name.into()).or_default();
        match change {
            AgentChange::Started { lead } => {
                *agent = Agent { lead: lead.clone(), is_finished: false };
                let in_hand = |entry: &&mut Entry| {
                    entry.mail.to == name && entry.mail.status == MailStatus::Delivered
                };
                for entry in post.mails.iter_mut().filter(in_hand) {
                    if !self.is(Fault::StartedKeepsLeases) {
                        (entry.mail.status, entry.until) = (MailStatus::Unread, 0);
                    }
                }
            }
            AgentChange::Finished => {
                agent.is_finished = true;
                for at in 0..post.mails.len() {
                    let mail = &post.mails[at].mail;
                    if mail.to == name && !mail.status.is_settled() && !self.is(Fault::NoBounce) {
                        let why = Some(format!("{name} has finished"));
                        self.end(post, at, MailStatus::Bounced, why);
                    }
                }
            }
        }
        Ok(())
    }
}
