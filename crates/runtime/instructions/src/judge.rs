//! Who decides whether a text may be sent to the model: the rules about reading, which this crate does not know.

use std::path::Path;
use std::sync::Arc;

/// A file that instructions would bring along.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRequest<'a> {
    /// As it was named.
    pub path: &'a Path,
    /// Free of links.
    pub real: &'a Path,
    /// Another file names it; otherwise it is found by its own name.
    pub imported: bool,
    /// It is a text in one of the person's own directories.
    pub own: bool,
}

/// Gives the reason if the file must not be read.
pub type InstructionJudge =
    Arc<dyn Fn(&InstructionRequest<'_>) -> Result<(), String> + Send + Sync>;
