//! The memory as the tool of that name uses it. May wait for the disk: not for a runtime's threads.

use crate::memory::{KeptMemory, MemoryError, MemoryFact, Recalled, Scope};
use std::path::Path;

pub trait MemoryStore: Send + Sync {
    fn add(&self, fact: &MemoryFact) -> Result<KeptMemory, MemoryError>;

    fn search(&self, query: &str, limit: usize) -> Result<Recalled, MemoryError>;

    /// Gone from the disk, too.
    fn forget(&self, id: &str) -> Result<(), MemoryError>;

    /// Where the notes of a scope are kept: what adding and forgetting change.
    fn path(&self, scope: Scope) -> &Path;
}
