//! What a call would touch, and whether it may.

pub mod access;
pub mod decide;
pub mod mode;
pub mod rule;
pub mod script;

pub use access::{Access, PathScope, Workspace};
pub use decide::{Decision, decide};
pub use mode::Mode;
pub use rule::{Rule, RuleError, Rules};
