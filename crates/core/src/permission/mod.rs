//! What a call would touch, and whether it may.

pub mod access;
pub mod commands;
pub mod decide;
pub mod guarded;
pub mod mode;
pub mod places;
pub mod rule;
pub mod script;

pub use access::{Access, PathScope, Workspace};
pub use commands::{Act, Caution, Commands, Effect, Position, Step, Touch, TouchKind};
pub use decide::{Decision, decide};
pub use guarded::{protected, sensitive};
pub use mode::Mode;
pub use places::{Lexical, Places};
pub use rule::{Rule, RuleError, Rules};
