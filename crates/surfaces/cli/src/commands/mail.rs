//! `ostler mail`: the mailboxes of the agents. Nothing here marks a mail as read.

use super::sessions::age;
use super::tasks::{open, say};
use crate::args::mail::{MailArgs, MailCommand, SendArgs};
use crate::exit::{Code, warn};
use crate::output::visible::visible;
use anyhow::{Result, bail};
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
            let to = address(environment, &args.to)?;
            send(&mut *board, &SendArgs { to, ..args.clone() }, json)
        }
        MailCommand::List(args) => {
            let query = MailQuery {
                from: args.from.clone(),
                to: args.to.clone(),
                with_archive: args.all,
                limit: args.limit,
            };
            show(&board.peek(&query)?, json, "No mail.", line)
        }
        MailCommand::Peek(args) => {
            let (to, limit) = (Some(args.name.clone()), args.limit);
            let query = MailQuery { to, limit, ..MailQuery::default() };
            show(&board.peek(&query)?, json, "No unread mail.", whole)
        }
    }
}

/// People call a teammate by its name. If teammates of several running sessions have it, they have to say which.
fn address(environment: &Environment, name: &str) -> Result<String> {
    if name.contains('@') {
        return Ok(name.to_owned());
    }
    let places = find_places(environment, &Flags::default())?;
    let mut found = ostler::live_addresses(&places.ostler_home, &places.project, name)?;
    match found.len() {
        0 => Ok(name.to_owned()),
        1 => Ok(found.remove(0)),
        _ => bail!(
            "several teammates are called \"{}\": {}; name one of them",
            visible(name),
            found.join(", ")
        ),
    }
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
