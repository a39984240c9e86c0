//! Standing instructions that people keep in files: `AGENTS.md`, `CLAUDE.md`, rules, and what they import.
//!
//! Order, general before particular: the user's → folders above → the project → the working folder → rules → local
//! files; an import follows the file that names it. Files below the working folder count once something below them was
//! read.
//!
//! Invariants
//! - **Bounded**: size of a file, of all of them in a conversation, their number, the depth of imports, the notices.
//! - **Each file once**, by what it really is; a circle of imports ends.
//! - **A project cannot have files read from outside of it**, by a link or an import, unless the user trusts it, and then
//!   only texts from the user's own folders. A file is the user's own only if it did not come with the project.
//! - **Every file passes the judge**: what the rules about reading deny or ask about is not read. Until the user trusts
//!   the project, only `.md` and `.txt` files of it are.
//! - **What was not read is said.**
//!
//! Deliberately absent: the environment, deciding what the model does with them, watching for changes.

mod front;
mod import;
mod judge;
mod load;
mod notices;
mod place;
mod read;
mod rules;
mod shelf;
mod tracked;

pub use judge::{Judge, Request};
pub use load::Loaded;
pub use place::{Kind, Places};
pub use read::{File, Omitted};
pub use shelf::{Shelf, most_bytes};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
