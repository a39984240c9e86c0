//! What the log of a teammate says about a mail: a process may have died at any moment of its turn.

use super::addresses::Addresses;
use super::letter::overdue_id;
use super::plans::{is_plan, plan_id};
use ostler_board::{Mail, MailId};
use ostler_core::ids::InboundId;
use ostler_core::inbox::Delivery;
use ostler_core::message::Block;
use ostler_core::session::Entry;
use ostler_core::turn::Terminal;

/// How far a mail has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MailTurn {
    /// It has not begun a turn. It may wait in the inbox.
    NotBegun,
    /// Its turn has not come to its end.
    Open,
    /// Its turn has ended with this text.
    Ended(String),
    /// Its turn has ended for this reason.
    Failed(String),
}

pub(super) fn of(entries: &[Entry], item: &InboundId) -> MailTurn {
    let begins =
        |entry: &Entry| matches!(entry, Entry::Prompt { inbound, .. } if inbound.contains(item));
    // What arrived in passing is part of another turn, or of the next one.
    let passes = |entry: &Entry| matches!(entry, Entry::Inbound(had) if had.id == *item && had.when == Delivery::NextStep);
    if entries.iter().any(passes) {
        return MailTurn::Ended(String::new());
    }
    let Some(at) = entries.iter().rposition(begins) else { return MailTurn::NotBegun };
    // The process may have died between the last answer and the record of the end.
    let mut last = None;
    for entry in &entries[at + 1..] {
        match entry {
            Entry::Answer { message, .. } => last = Some(message),
            Entry::Note { .. } => last = None,
            Entry::End { terminal: Terminal::Completed, .. } => break,
            Entry::End { terminal, .. } => return MailTurn::Failed(terminal.words().to_owned()),
            _ => {}
        }
    }
    let is_call = |block: &Block| matches!(block, Block::ToolUse { .. });
    match last.filter(|message| !message.blocks().iter().any(is_call)) {
        Some(message) => MailTurn::Ended(message.text().trim().to_owned()),
        None => MailTurn::Open,
    }
}

/// A request that nobody has answered, as far as the log knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenRequest {
    pub(super) id: MailId,
    pub(super) to: String,
    pub(super) sent_ms: u64,
}

/// How far a task has come, with the turns that complete it: one that made a request goes on when the request has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    NotBegun,
    /// It waits in the inbox.
    Queued,
    /// Its turn has not come to its end. It may have made a request.
    Open(Option<OpenRequest>),
    Ended(String),
    Failed(String),
    /// Its report waits for the end of this request.
    Waits(OpenRequest),
}

/// `requests`: all that this teammate ever made. The turn that made a request is the one it was sent in.
pub(super) fn progress(
    entries: &[Entry],
    item: &InboundId,
    mut requests: Vec<Mail>,
    addresses: &Addresses,
) -> Progress {
    let task = item.as_str().trim_start_matches("mail-").to_owned();
    let (mut item, mut is_first, mut plan) = (item.clone(), true, 1);
    loop {
        let turn = of(entries, &item);
        let (from, to) = span(entries, &item);
        let made_here = |mail: &Mail| !is_plan(&mail.id) && (from..=to).contains(&mail.sent_ms);
        // A plan is sent when its turn has ended.
        let next_plan = plan_id(&task, plan);
        let planned_here = |mail: &Mail| matches!(turn, MailTurn::Ended(_)) && mail.id == next_plan;
        let made = requests.iter().position(made_here);
        let made = made.or_else(|| {
            plan += 1;
            requests.iter().position(planned_here)
        });
        let request = made.map(|at| requests.remove(at));
        let end = request.as_ref().and_then(|request| {
            ends_of(&request.id).into_iter().find(|end| has_arrived(entries, end))
        });
        let open = request.filter(|_| end.is_none()).map(|mail| OpenRequest {
            to: addresses.name(&mail.to).to_owned(),
            id: mail.id,
            sent_ms: mail.sent_ms,
        });
        match (turn, end, open) {
            (MailTurn::NotBegun, ..) if is_first && !has_arrived(entries, &item) => {
                return Progress::NotBegun;
            }
            (MailTurn::NotBegun, ..) => return Progress::Queued,
            (MailTurn::Failed(why), ..) => return Progress::Failed(why),
            (MailTurn::Open, _, open) => return Progress::Open(open),
            (MailTurn::Ended(_), Some(end), _) => (item, is_first) = (end, false),
            (MailTurn::Ended(_), None, Some(open)) => return Progress::Waits(open),
            (MailTurn::Ended(text), None, None) => return Progress::Ended(text),
        }
    }
}

/// The items that can end a request: its reply, a notice that nobody read it, and its deadline.
fn ends_of(request: &MailId) -> [InboundId; 3] {
    let reply = InboundId::new(format!("mail-{}", request.reply()));
    let bounce = InboundId::new(format!("mail-{request}-bounce-0"));
    [reply, bounce, overdue_id(request)]
}

/// When the turn of an item began and ended.
fn span(entries: &[Entry], item: &InboundId) -> (u64, u64) {
    let mut from = None;
    for entry in entries {
        match (entry, from) {
            (Entry::Prompt { inbound, at, .. }, _) if inbound.contains(item) => from = Some(at.0),
            (Entry::Prompt { at, .. } | Entry::End { at, .. }, Some(from)) => return (from, at.0),
            _ => {}
        }
    }
    (from.unwrap_or(u64::MAX), u64::MAX)
}

/// The item has arrived, whatever became of it since.
pub(super) fn has_arrived(entries: &[Entry], item: &InboundId) -> bool {
    entries.iter().any(|entry| matches!(entry, Entry::Inbound(had) if had.id == *item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::ids::{CallId, ModelId};
    use ostler_core::message::Message;
    use ostler_core::time::Timestamp;

    fn prompt(item: &str) -> Entry {
        let inbound = vec![InboundId::new(item)];
        Entry::Prompt { message: Message::user("do it"), at: Timestamp(0), inbound }
    }

    fn answer(blocks: Vec<Block>) -> Entry {
        Entry::Answer { message: Message::assistant(&ModelId::new("m"), blocks), stop: None }
    }

    fn said(text: &str) -> Block {
        Block::Text { text: text.into(), meta: false }
    }

    fn ended(terminal: Terminal) -> Entry {
        Entry::End { terminal, at: Timestamp(0) }
    }

    #[test]
    fn every_beginning_of_a_log_says_how_far_the_mail_came() {
        let call: Block = Block::ToolUse {
            id: CallId::new("c1"),
            name: "Read".into(),
            input: serde_json::json!({}),
            via: None,
        };
        let log = [
            prompt("mail-1"),
            answer(vec![said("I look."), call]),
            answer(vec![said("found")]),
            ended(Terminal::Completed),
            prompt("mail-2"),
            answer(vec![said("more")]),
            ended(Terminal::MaxTurns),
        ];
        let far = |length: usize, item: &str| of(&log[..length], &InboundId::new(item));
        let found = MailTurn::Ended("found".into());
        assert_eq!(far(0, "mail-1"), MailTurn::NotBegun);
        assert_eq!((far(1, "mail-1"), far(2, "mail-1")), (MailTurn::Open, MailTurn::Open));
        assert!(
            (3..=7).all(|length| far(length, "mail-1") == found),
            "a later turn changes nothing"
        );
        assert_eq!((far(4, "mail-2"), far(5, "mail-2")), (MailTurn::NotBegun, MailTurn::Open));
        assert_eq!(far(6, "mail-2"), MailTurn::Ended("more".into()));
        assert!(matches!(far(7, "mail-2"), MailTurn::Failed(_)));
    }

    #[test]
    fn a_task_that_asked_goes_on_when_its_request_has_ended() {
        let addresses = Addresses::of(&ostler_core::ids::SessionId::new("s"));
        let request = Mail {
            id: MailId("request-1".into()),
            status: ostler_board::MailStatus::Unread,
            from: "writer@s".into(),
            to: "explorer@s".into(),
            seq: 1,
            in_reply_to: None,
            text: "how many?".into(),
            sent_ms: 5,
            deliveries: 0,
            why: None,
        };
        let at = |entry: Entry, ms: u64| match entry {
            Entry::Prompt { message, inbound, .. } => {
                Entry::Prompt { message, inbound, at: Timestamp(ms) }
            }
            Entry::End { terminal, .. } => Entry::End { terminal, at: Timestamp(ms) },
            other => other,
        };
        let arrived: Entry = Entry::Inbound(Box::new(ostler_core::inbox::Inbound {
            id: InboundId::new("mail-request-1-reply"),
            source: ostler_core::inbox::InboundSource::Harness,
            when: ostler_core::inbox::Delivery::AfterTurn,
            body: Message::user("seven"),
            at: Timestamp(30),
        }));
        let log = [
            at(prompt("mail-task-1"), 1),
            answer(vec![said("I wait.")]),
            at(ended(Terminal::Completed), 9),
            at(prompt("mail-request-2"), 20),
            answer(vec![said("nested")]),
            at(ended(Terminal::Completed), 25),
            arrived,
            at(prompt("mail-request-1-reply"), 30),
            answer(vec![said("all counted")]),
            at(ended(Terminal::Completed), 40),
        ];
        let far = |length: usize, item: &str| {
            progress(&log[..length], &InboundId::new(item), vec![request.clone()], &addresses)
        };
        let open =
            OpenRequest { id: MailId("request-1".into()), to: "explorer".into(), sent_ms: 5 };
        assert_eq!(far(0, "mail-task-1"), Progress::NotBegun);
        assert_eq!(far(1, "mail-task-1"), Progress::Open(Some(open.clone())));
        for length in 2..=6 {
            assert_eq!(far(length, "mail-task-1"), Progress::Waits(open.clone()), "{length}");
        }
        assert_eq!(far(6, "mail-request-2"), Progress::Ended("nested".into()), "it asked nothing");
        assert_eq!(far(7, "mail-task-1"), Progress::Queued);
        assert_eq!(far(8, "mail-task-1"), Progress::Open(None));
        assert_eq!(far(10, "mail-task-1"), Progress::Ended("all counted".into()));
    }
}
