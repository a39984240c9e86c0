//! What the log of a teammate says about a mail: a process may have died at any moment of its turn.

use ostler_core::ids::InboundId;
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
}
