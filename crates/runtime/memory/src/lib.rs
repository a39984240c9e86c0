//! What is remembered across sessions: one database per project and one per user, found by words and by meaning.
//!
//! Invariants
//! - **Nothing is kept without its origin and date**, and nothing twice. What tools returned or what was piped in is never
//!   kept by itself, nor an answer that repeats it; what is kept or forgotten is news for the person.
//! - **The newer statement counts**: what it plainly takes back is replaced, what is much alike comes after it.
//! - **No credential is kept**: a text that looks like one is refused with the reason.
//! - **Forgotten is gone**: from the table, the word index, the vectors and the log of the database. Its hash stays, so
//!   that it is not learnt again by itself.
//! - **What was learnt from something that is undone is not offered**, nor listed; it comes back when that is redone.
//! - **Bounded**: an entry, the entries of a store, what a prompt brings along. Pruning takes facts before decisions
//!   before preferences, and the longest unused first.
//! - **Works offline and without a model**: then by words, and it says so.
//! - **A damaged database is set aside**, never removed, and a notice tells where.
//! - **Several processes at once** may read and write.
//!
//! Deliberately absent: the network (fetching and posting are handed in), the clock, asking a model what to keep, an
//! approximate index (see [`embed`] and the figures in `docs/memory.md`).

mod conflict;
pub mod embed;
mod ends;
mod export;
mod extract;
mod fuse;
mod hearsay;
mod index;
mod memories;
mod recall;
mod secrets;
mod sentences;
pub mod setup;
mod store;
mod text;
mod withdrawal;

pub use export::{MARK, to_markdown};
pub use extract::{Scene, facts};
pub use fuse::{BY_WORDS, fuse};
pub use memories::{Key, Meaning, Memories, NO_MODEL, Rankings, Remembered};
pub use recall::{BUDGET, Shown, date, render};
pub use secrets::credential;
pub use store::MOST_ENTRIES;
pub use withdrawal::Withdrawal;
