//! What the proof starts from: a reading that both readers agree on.

use crate::second;
use ostler_core::permission::script::{Opaque, Script};

/// Longer texts are not proved.
pub(crate) const MAX_PLAIN_CHARS: usize = 10_000;

pub(crate) struct Reading {
    pub(crate) script: Script,
    /// No word stands for several. Without it nothing may be called harmless.
    pub(crate) plain: bool,
}

pub(crate) fn read(text: &str) -> Result<Reading, Opaque> {
    let reading = second::agreed(text)?;
    Ok(Reading { script: reading.script, plain: !reading.braces })
}
