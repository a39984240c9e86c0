//! Skills: written instructions for certain kinds of work, one folder each.
//!
//! Invariants
//! - **The listing is one line a skill within a budget; the text comes on use.**
//! - **What is broken is said with file and line, and the others still load.** Reading is bounded: sizes, depths, counts.
//! - **Words count at once, effects after trust.** What a project's skill would run or allow holds only for the content
//!   that the user accepted; a changed file is a new file.
//! - **What stands in a project is read in the project**: a link that leads out of it is left out.
//! - **A person's own skill goes before a project's, and both before a shipped one.**
//! - **Arguments are text.** They are put in once, never read again, and reach a command only as plain words.
//!
//! Deliberately absent: deciding what may run (the gate), the home folder and the environment (the caller names folders).

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
