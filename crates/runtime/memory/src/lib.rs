//! What is remembered across sessions: one database per project and one per user, found by words and by meaning.
//!
//! Invariants
//! - **Nothing is saved without its origin and date**, and nothing twice. Tool results and piped input are never saved
//!   automatically, nor is an answer that repeats them; what is saved or forgotten is reported to the person.
//! - **The newer statement wins**: what it clearly contradicts is replaced, what is merely similar ranks after it.
//! - **No credential is saved**: a text that looks like one is refused with the reason.
//! - **Forgotten is gone**: from the table, the word index, the vectors and the log of the database. Its hash stays, so
//!   that it is not learned again automatically.
//! - **What was learned from something that was undone is not used** or listed; it comes back when that is redone.
//! - **Bounded**: an entry, the entries of a store, what is added to a prompt. Pruning removes facts before decisions
//!   before preferences, and the longest unused first.
//! - **Works offline and without a model**: the search is then by words, and says so.
//! - **A damaged database is renamed**, never deleted, and a notice names the new path.
//! - **Several processes at once** may read and write.
//!
//! Deliberately absent: the network (fetching and posting are handed in), the clock, asking a model what to keep, an
//! approximate index (see [`embed`] and the figures in `docs/memory.md`).

mod conflict;
pub mod embed;
mod export;
mod extract;
mod index;
mod memories;
mod rank_fusion;
mod recall;
mod secrets;
mod sentence_ends;
mod sentences;
pub mod setup;
mod store;
mod text;
mod third_party_text;
mod withdrawal;

pub use export::{MARK, to_markdown};
pub use extract::{LearningScene, facts};
pub use memories::{Meaning, Memories, MemoryKey, NO_MODEL, Rankings, Remembered};
pub use rank_fusion::{BY_WORDS, fuse};
pub use recall::{BUDGET, Shown, date, render};
pub use secrets::credential;
pub use store::MOST_ENTRIES;
pub use withdrawal::Withdrawal;
