//! A session learns of undos that happened outside it: in another terminal, or while it was closed.

use super::note::Note;
use ostler_core::ports::Reminder;
use ostler_core::tool::Seen;
use ostler_core::undo_notice::UndoNotice;
use ostler_core::view::View;
use ostler_engine::Journal;
use ostler_snapshots::{NotesRead, Snapshots};
use ostler_tools::Keeping;
use std::sync::{Arc, Mutex, PoisonError};

/// Notices at once; of older ones nothing is said.
const MOST: usize = 5;

pub(crate) struct UndoNews {
    snapshots: Arc<Snapshots>,
    journal: Journal,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    read: NotesRead,
    notes: Vec<Note>,
}

impl UndoNews {
    /// None where nothing is kept.
    pub(crate) fn of(keeping: &Keeping, journal: &Journal) -> Option<Arc<Self>> {
        let (snapshots, journal) = (keeping.snapshots()?, journal.clone());
        Some(Arc::new(UndoNews { snapshots, journal, waiting: Mutex::default() }))
    }

    /// What the model does not know yet. A notice in the log shows that it knows.
    pub(crate) fn texts(&self) -> Vec<String> {
        let told = self.journal.undo_told();
        let session = self.journal.log().id();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Waiting { read, notes } = &mut *waiting;
        // Without them the model finds out when it looks at the files.
        let new = self.snapshots.new_notes(read).unwrap_or_default();
        let new = new.iter().filter_map(|text| Note::parse(text));
        notes.extend(new.filter(|note| note.session == session.as_str()));
        notes.retain(|note| note.id > told);
        notes.sort_by_key(|note| note.id);
        notes.dedup_by_key(|note| note.id);
        let mut news: Vec<&Note> = Vec::new();
        for note in notes.iter() {
            match news.last() {
                // Undone and redone before the model knew: nothing has happened.
                Some(last) if note.redo && !last.redo => drop(news.pop()),
                _ => news.push(note),
            }
        }
        // After a rewind of the conversation, there is nothing to report.
        news.retain(|note| note.rewound.is_none());
        news.iter().skip(news.len().saturating_sub(MOST)).map(|note| notice(note).text()).collect()
    }
}

fn notice(note: &Note) -> UndoNotice {
    let Note { id, redo, names, files, .. } = note.clone();
    UndoNotice { id, redo, calls: names, files }
}

impl Reminder for UndoNews {
    fn after_calls(&self, _: &[Seen], _: &View) -> Vec<String> {
        self.texts()
    }
}
