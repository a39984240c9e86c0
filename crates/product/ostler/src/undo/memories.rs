//! What was learned from what is undone is not offered any more; with a redo it is again.

use super::note::Note;
use super::{Desk, UndoChoice, calls};
use crate::system::SystemClock;
use ostler_core::memory::MemoryError;
use ostler_core::session::TurnStarts;
use ostler_memory::{Meaning, Memories, Withdrawal};
use std::collections::HashSet;
use std::sync::Arc;

impl Desk {
    pub(super) fn tell_memory(&self, choice: &UndoChoice, note: &Note) -> Result<(), MemoryError> {
        let project = ostler_store::project_name(&self.workspace);
        let clock = Arc::new(SystemClock);
        let memories = Memories::new(&choice.home.join("memory"), &project, Meaning::None, clock);
        if note.redo {
            let undone = self.standing_here().last().map_or(0, |last| last.id);
            return memories.restore(&self.session, undone);
        }
        let turns = self.undone_turns(note);
        let starts = TurnStarts::of(&self.entries);
        let from = note.rewound.and_then(|turn| starts.start(turn));
        let asked = calls::requested_calls(&self.entries, from.unwrap_or(0)).into_iter();
        let counts = |turn: &u32| from.is_some() || turns.contains(turn);
        let mut sources: Vec<String> =
            asked.filter(|(turn, _)| counts(turn)).map(|(_, id)| id.to_string()).collect();
        sources.extend(note.calls.iter().map(ToString::to_string));
        memories.withdraw(&Withdrawal {
            undo: note.id,
            session: &self.session,
            calls: &sources,
            turns: &turns.into_iter().collect::<Vec<_>>(),
            changed_until: (!note.calls.is_empty()).then_some(starts.count()),
            rewound_from: note.rewound,
        })
    }

    /// Turns of which every changing call is undone by then.
    fn undone_turns(&self, note: &Note) -> HashSet<u32> {
        let left: HashSet<u32> = self
            .calls()
            .into_iter()
            .filter(|call| !note.calls.contains(&call.key()))
            .map(|call| call.turn)
            .collect();
        let all = self.changing();
        let of_note = all.into_iter().filter(|call| note.calls.contains(&call.key()));
        of_note.map(|call| call.turn).filter(|turn| !left.contains(turn)).collect()
    }
}
