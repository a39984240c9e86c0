//! `ostler mail`: the mailboxes of the agents. Nothing here marks a mail as read.

use super::sessions::age;
use super::tasks::{open, say};
use crate::args::mail::{MailArgs, MailCommand, SendArgs};
use crate::exit::{Code, warn};
use crate::output::visible_text::visible;
use anyhow::{Result, anyhow, bail};
use ostler::board::{Mail, MailId, MailQuery, MailStatus, NewMail, SharedBoard};
use ostler_profile::{Environment, Flags, find_places};
use serde_json::json;

/// Characters of a mail in a list.
const WIDE: usize = 60;

pub fn run(environment: &Environment, args: &MailArgs) -> Result<Code> {
    let mut board = open(environment, &args.board)?;
    let json = args.board.json;
    match &args.command {
        MailCommand::Send(args) => {
            let to = Directory::look(environment, &mut *board)?.reader(args)?;
            send(&mut *board, &SendArgs { to, ..args.clone() }, json)
        }
        MailCommand::List(args) => {
            let known = Directory::look(environment, &mut *board)?;
            let query = MailQuery {
                from: args.from.as_ref().map(|name| known.meant(name)).transpose()?,
                to: args.to.as_ref().map(|name| known.meant(name)).transpose()?,
                with_archive: args.all,
                limit: args.limit,
            };
            show(&board.peek(&query)?, json, "No mail.", line)
        }
        MailCommand::Peek(args) => {
            let known = Directory::look(environment, &mut *board)?;
            let (to, limit) = (Some(known.meant(&args.name)?), args.limit);
            let query = MailQuery { to, limit, ..MailQuery::default() };
            show(&board.peek(&query)?, json, "No unread mail.", whole)
        }
    }
}

/// Mails of which the names are known: the newest ones may be missing on a board that has more.
const MOST_READ: usize = 10_000;
/// Names in a message.
const MOST_NAMED: usize = 20;
/// People have a mailbox, too; it is the sender unless they say otherwise.
const PERSON: &str = "user";

/// Who gets and sends mail here.
struct Directory {
    /// Of teams that run on this machine.
    live: Vec<String>,
    /// Whoever has mail on the board, or has sent some.
    others: Vec<String>,
}

impl Directory {
    fn look(environment: &Environment, board: &mut dyn SharedBoard) -> Result<Self> {
        let places = find_places(environment, &Flags::default())?;
        let live = ostler::live_addresses(&places.ostler_home, &places.project)?;
        let query = MailQuery { with_archive: true, limit: MOST_READ, ..MailQuery::default() };
        let mails = board.peek(&query)?;
        let mut others: Vec<String> =
            mails.into_iter().flat_map(|mail| [mail.from, mail.to]).collect();
        others.sort();
        others.dedup();
        others.retain(|name| !live.contains(name) && name != ostler::board::POSTMASTER);
        Ok(Directory { live, others })
    }

    /// People call a teammate by its name. If teammates of several teams have it, they have to say which.
    fn found(&self, name: &str) -> Result<Option<String>> {
        let lists = [&self.live, &self.others];
        if name == PERSON || lists.iter().any(|list| list.iter().any(|known| known == name)) {
            return Ok(Some(name.to_owned()));
        }
        let is_meant = |known: &&String| known.split_once('@').is_some_and(|(own, _)| own == name);
        for list in lists {
            let found: Vec<&String> = list.iter().filter(is_meant).collect();
            match found.as_slice() {
                [] => {}
                [one] => return Ok(Some((*one).clone())),
                more => bail!(
                    "several teammates are called \"{}\": {}; name one of them",
                    visible(name),
                    named(more.iter().copied())
                ),
            }
        }
        Ok(None)
    }

    /// The name itself if nobody is called so: then there is nothing to list.
    fn meant(&self, name: &str) -> Result<String> {
        Ok(self.found(name)?.unwrap_or_else(|| name.to_owned()))
    }

    /// Mail that nobody will ever read is a mistake in the name, unless the sender says otherwise.
    fn reader(&self, args: &SendArgs) -> Result<String> {
        let found = self.found(&args.to)?;
        if args.force || args.to.trim().is_empty() {
            return Ok(found.unwrap_or_else(|| args.to.clone()));
        }
        found.ok_or_else(|| {
            let all: Vec<&String> = self.live.iter().chain(&self.others).collect();
            let known = match all.is_empty() {
                true => "no team is running here, and nobody has mail".to_owned(),
                false => format!("known are {}", named(all.into_iter())),
            };
            let name: String = visible(&args.to).chars().take(WIDE).collect();
            anyhow!("no agent is called \"{name}\": {known}; --force sends it anyway")
        })
    }
}

fn named<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let mut text = names.take(MOST_NAMED).map(|name| visible(name)).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

fn send(board: &mut dyn SharedBoard, args: &SendArgs, as_json: bool) -> Result<Code> {
    let id = MailId::from_uuid(&ostler::new_uuid());
    let mail = NewMail {
        in_reply_to: args.in_reply_to.clone().map(MailId),
        ..NewMail::new(id, &args.from, &args.to, &args.text)
    };
    let sent = board.send(&mail)?;
    let (to, behind) = (visible(&args.to), sent.lag.behind);
    let value = json!({
        "id": sent.id, "status": sent.status, "from": args.from, "to": args.to,
        "seq": sent.seq, "behind": behind, "why": sent.why,
    });
    if sent.status == MailStatus::Bounced {
        if as_json {
            say(Some(value), "")?;
        }
        let why = sent.why.unwrap_or_default();
        warn(&format!("mail {} bounced: {why}", sent.id));
        return Ok(Code::Failed);
    }
    let line =
        format!("Sent: {} to {to}, who has {behind} unread from {}", sent.id, visible(&args.from));
    say(as_json.then_some(value), &line)
}

fn show(
    mails: &[Mail],
    as_json: bool,
    nothing: &str,
    line: impl Fn(&Mail) -> String,
) -> Result<Code> {
    let lines: Vec<String> = mails.iter().map(line).collect();
    let text = if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") };
    say(as_json.then(|| json!({"mail": mails})), &text)
}

fn head(mail: &Mail) -> String {
    let ago = age(ostler::now_ms().saturating_sub(mail.sent_ms));
    let (from, to) = (visible(&mail.from), visible(&mail.to));
    format!("{}  {ago:>8}  {:<12}  {from} → {to} #{}", mail.id, mail.status.name(), mail.seq)
}

pub fn line(mail: &Mail) -> String {
    let text: String = visible(&mail.text).chars().take(WIDE).collect();
    format!("{}  {text}", head(mail))
}

fn whole(mail: &Mail) -> String {
    let lines: Vec<String> = mail.text.lines().map(|line| format!("  {}", visible(line))).collect();
    format!("{}\n{}", head(mail), lines.join("\n"))
}
