//! What a session was about, for people who come back to it.

use crate::session::Session;
use ostler_core::message::Message;
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use ostler_store::FileStore;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOverview {
    /// The first line of the first prompt.
    pub title: String,
    pub turns: u32,
    /// When the last turn began, if that is known.
    pub last_turn: Option<Timestamp>,
    /// The first line of the last answer that says something.
    pub last_answer: Option<String>,
}

impl Session {
    /// None: nothing was said in it yet.
    pub fn overview(&self) -> Option<SessionOverview> {
        let journal = &self.shared().agent.journal;
        let (view, turns) = journal.conversation();
        if turns == 0 {
            return None;
        }
        let messages: Vec<&Message> = view.messages().collect();
        let answers =
            messages.iter().rev().filter(|message| matches!(message, Message::Assistant { .. }));
        let last_answer =
            answers.map(|message| first_line(&message.text())).find(|line| !line.is_empty());
        let title = first_line(&journal.title_and_changed_files().0);
        Some(SessionOverview { title, turns, last_turn: self.last_turn(), last_answer })
    }

    fn last_turn(&self) -> Option<Timestamp> {
        let store = FileStore::new(self.shared().origin.0.home()?).ok()?;
        let newest = store.glimpse(self.id(), &["prompt"]).ok()?.newest;
        newest.into_iter().rev().find_map(|entry| match entry {
            Entry::Prompt { at, .. } => Some(at),
            _ => None,
        })
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}
