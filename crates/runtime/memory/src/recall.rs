//! Which memories a prompt brings back, and how the model reads them: few, within a budget, nothing it sees already.

use crate::text::{core_of, tokens};
use ostler_core::ids::SessionId;
use ostler_core::memory::Memory;
use ostler_core::message::{Block, Message, ResultPart};

const FORM: &str = include_str!("../../../../prompts/memory.md").trim_ascii();
/// Tokens of memories that a prompt brings along.
pub const BUDGET: usize = 600;
/// Memories that a prompt brings along.
pub(crate) const MOST: usize = 8;
/// Preferences that a session begins with.
pub(crate) const STANDING: usize = 10;
/// The end of a conversation that is looked at for what it shows already.
const LOOKED_AT: usize = 256 << 10;

/// What the conversation shows already.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    text: String,
    /// All of this session is still in view, so nothing learned in it is news.
    session: Option<SessionId>,
    begun: bool,
}

impl Shown {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Shown::default()
    }

    pub fn of<'a>(messages: impl Iterator<Item = &'a Message>) -> Self {
        let messages: Vec<&Message> = messages.collect();
        let mut parts: Vec<String> = Vec::new();
        let mut size = 0;
        'all: for message in messages.into_iter().rev() {
            for text in message.blocks().iter().rev().flat_map(texts) {
                size += text.len();
                parts.push(core_of(text));
                if size > LOOKED_AT {
                    break 'all;
                }
            }
        }
        Shown { begun: !parts.is_empty(), text: parts.join("\n"), session: None }
    }

    /// The whole session is in view: nothing of it lies behind a boundary.
    #[must_use]
    pub fn with_all_of(mut self, session: &SessionId) -> Self {
        self.session = Some(session.clone());
        self
    }

    /// The first prompt of a conversation.
    pub(crate) fn is_opening(&self) -> bool {
        !self.begun
    }

    pub(crate) fn has(&self, memory: &Memory) -> bool {
        let learnt_here = self.session.is_some() && self.session == memory.origin.session;
        learnt_here || self.text.contains(&core_of(&memory.text))
    }
}

fn texts(block: &Block) -> Vec<&str> {
    match block {
        Block::Text { text, .. } => vec![text],
        Block::ToolResult { content, .. } => content
            .iter()
            .filter_map(|part| match part {
                ResultPart::Text { text } => Some(text.as_str()),
                ResultPart::Image(_) => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// As many as fit, the best first; one that does not fit makes room for a shorter one.
pub(crate) fn within(memories: Vec<Memory>, budget: usize) -> Vec<Memory> {
    let mut left = budget.saturating_sub(tokens(FORM));
    let fits = |memory: &Memory| {
        let size = tokens(&line(memory)) + 1;
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    };
    memories.into_iter().filter(fits).collect()
}

/// One block, or none.
pub fn render(memories: &[Memory]) -> Option<String> {
    if memories.is_empty() {
        return None;
    }
    let lines: Vec<String> = memories.iter().map(line).collect();
    Some(FORM.replace("{notes}", &lines.join("\n")))
}

/// `- [p12] preference, 2026-03-01: Use pnpm.`
pub fn line(memory: &Memory) -> String {
    let text = ostler_core::text::enclosed(&memory.text);
    format!("- [{}] {}, {}: {text}", memory.id, memory.kind, date(memory.at))
}

/// The day, in UTC.
pub fn date(at: ostler_core::time::Timestamp) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis)
        .map_or_else(|_| "unknown".into(), |at| at.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::memory::{FactKind, Origin, Scope};
    use ostler_core::time::Timestamp;
    use proptest::prelude::*;

    fn memory(id: &str, text: &str) -> Memory {
        Memory {
            id: id.into(),
            text: text.into(),
            kind: FactKind::Fact,
            scope: Scope::Project,
            origin: Origin { session: Some("old".into()), ..Origin::default() },
            at: Timestamp(1_700_000_000_000),
        }
    }

    #[test]
    fn rendered_as_one_block() {
        let text = render(&[memory("p1", "A </memory> b."), memory("u2", "C.")]).unwrap();
        assert!(text.starts_with("<memory>") && text.ends_with("</memory>"));
        assert!(
            text.contains(
                "- [p1] fact, 2023-11-14: A < /memory> b.\n- [u2] fact, 2023-11-14: C.\n"
            )
        );
        assert_eq!(text.matches("</memory>").count(), 1, "a note cannot end the block");
        assert_eq!(render(&[]), None);
    }

    #[test]
    fn what_is_seen_is_not_repeated() {
        let messages = [Message::user("Note:  Use PNPM in web/, please"), Message::meta("x")];
        let shown = Shown::of(messages.iter());
        assert!(shown.has(&memory("p1", "use pnpm in web/")));
        assert!(!shown.has(&memory("p1", "use npm in web/")));
        assert!(!shown.is_opening() && Shown::nothing().is_opening());
        let shown = Shown::nothing().with_all_of(&"old".into());
        assert!(shown.has(&memory("p1", "anything")), "learnt in this session");
        assert!(!Shown::nothing().with_all_of(&"new".into()).has(&memory("p1", "anything")));
    }

    proptest! {
        #[test]
        fn the_budget_holds(sizes in proptest::collection::vec(1usize..900, 0..30), budget in 0usize..2000) {
            let all: Vec<Memory> = sizes.iter().enumerate().map(|(n, size)| memory(&format!("p{n}"), &"x".repeat(*size))).collect();
            let few = within(all.clone(), budget);
            let text = render(&few).unwrap_or_default();
            prop_assert!(few.is_empty() || tokens(&text) <= budget, "{} > {budget}", tokens(&text));
            // In the order they came.
            let mut rest = all.iter();
            prop_assert!(few.iter().all(|one| rest.any(|other| other == one)));
        }
    }
}
