//! Standing instructions that people keep in files: `AGENTS.md`, `CLAUDE.md`, rules, and what they import.
//!
//! Order, general before particular: the user's → folders above → the project → the working folder → rules → local
//! files; an import follows the file that names it. Files below the working folder count once something below them was
//! read.
//!
//! Invariants
//! - **Bounded**: size of a file, of all of them, their number, the depth of imports.
//! - **Each file once**, by what it really is; a circle of imports ends.
//! - **A project cannot have files read from outside of it**, by a link or an import; what was not read is said.
//!
//! Deliberately absent: the environment, deciding what the model does with them, watching for changes.

mod front;
mod import;
mod load;
mod nested;
mod place;
mod read;

pub use load::load;
pub use nested::Nested;
pub use place::{Kind, Places};
pub use read::File;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    pub files: Vec<File>,
    /// What was not read, or not wholly, and why; one line each.
    pub notices: Vec<String>,
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
