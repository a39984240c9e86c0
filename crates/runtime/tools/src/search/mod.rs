//! What Glob and Grep share: the walk over a tree, and patterns for names.

mod pattern;
mod walk;

pub use pattern::NamePattern;
pub use walk::FileWalk;
