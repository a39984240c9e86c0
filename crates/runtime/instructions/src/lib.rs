//! Standing instructions that people keep in files: `AGENTS.md`, `CLAUDE.md`, rules, and what they import.
//!
//! Order, general before particular: the user's → directories above → the project → the working directory → rules →
//! local files; an import follows the file that names it. Files below the working directory apply once something below
//! them was read.
//!
//! Invariants
//! - **Bounded**: size of a file, of all of them in a conversation, their number, the depth of imports, the notices.
//! - **Each file once**, by its real path; circular imports end.
//! - **A project cannot make Ostler read files outside it**, by a link or an import, unless the user trusts it, and then
//!   only texts from the user's own directories. A file is the user's own only if it did not come with the project.
//! - **Every file is judged**: what the rules about reading deny or ask about is not read. Until the user trusts
//!   the project, only `.md` and `.txt` files of it are.
//! - **What was not read is reported.**
//!
//! Deliberately absent: the environment, deciding what the model does with them, watching for changes.

mod front_matter;
mod git_tracking;
mod import;
mod judge;
mod load;
mod notices;
mod place;
mod read;
mod rules;
mod session_instructions;

pub use judge::{InstructionJudge, InstructionRequest};
pub use load::LoadedInstructions;
pub use place::{InstructionKind, InstructionPlaces};
pub use read::{File, Omitted};
pub use session_instructions::{Shelf, most_bytes};

#[cfg(test)]
mod instructions_tests;
