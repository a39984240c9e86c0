//! Skills: written instructions for certain kinds of work, one directory each.
//!
//! Invariants
//! - **The listing is one line per skill within a budget; the text is loaded on use.**
//! - **Problems are reported with file and line, and the other skills still load.** Sizes, depths and counts are bounded.
//! - **Text works at once, effects after trust.** What a project's skill would run or allow takes effect only for the
//!   content that the user accepted; a changed file is a new file.
//! - **A project's files are read only from the project**: a link that leads out of it is skipped.
//! - **A person's own skill takes precedence over a project's, and both over a shipped one.**
//! - **Arguments are text.** They are inserted once, never expanded again, and reach a command only as plain words.
//!
//! Deliberately absent: deciding what may run (the gate), the home directory and the environment (the caller
//! passes directories).

mod catalog;
mod expand;
mod found;
mod front;
mod listing;
mod names;
mod search;
mod shipped;
mod skill;
mod skills;
mod wants;
mod words;

pub use catalog::{Catalog, Folder, Judge, Layout};
pub use expand::{Piece, Situation, expand};
pub use found::hash;
pub use listing::{listing, one_line};
pub use names::{is_name, split_rules};
pub use shipped::shipped;
pub use skill::{Origin, Problem, Skill};
pub use skills::{Host, Skills, slash};
pub use wants::{project_files, project_folders, wants};
