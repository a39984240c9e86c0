//! What was learned from something that is undone is not offered any more, until that is redone.

use crate::memories::Memories;
use ostler_core::ids::SessionId;
use ostler_core::memory::{MemoryError, Scope};

/// What an undo took back.
#[derive(Clone, Copy, Debug)]
pub struct Withdrawal<'a> {
    /// The undo, by which it is taken back itself.
    pub undo: u64,
    pub session: &'a SessionId,
    /// Notes that come from these calls.
    pub calls: &'a [String],
    /// Turns of which nothing is left: notes from them, but not what the user said.
    pub turns: &'a [u32],
    /// The list of changed files, as it was up to this turn.
    pub changed_until: Option<u32>,
    /// The conversation from this turn on: everything said in it so far.
    pub rewound_from: Option<u32>,
}

impl Memories {
    /// These notes are neither brought along nor found, also those that are yet to be learned from the same calls.
    pub fn withdraw(&self, withdrawal: &Withdrawal<'_>) -> Result<(), MemoryError> {
        let now = self.clock.now();
        self.store(Scope::Project).withdraw(withdrawal, now)?;
        let user = self.store(Scope::User);
        if user.exists() { user.withdraw(withdrawal, now) } else { Ok(()) }
    }

    /// The undo of this number was taken back.
    pub fn restore(&self, session: &SessionId, undo: u64) -> Result<(), MemoryError> {
        let stores = [Scope::Project, Scope::User].map(|scope| self.store(scope));
        let mut existing = stores.into_iter().filter(|store| store.exists());
        existing.try_for_each(|store| store.restore(session, undo))
    }
}
