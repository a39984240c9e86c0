//! The ways a turn is shown.

pub mod cost;
pub mod frames;
pub mod json;
pub mod json_text;
pub mod model_log;
pub mod paint;
pub mod printer;
pub mod screen;
pub mod stream_json;
pub mod text;
pub mod usage;
pub mod visible;

use anyhow::Result;
use ostler::{Event, Finished, MemoryChange};

/// Takes everything a turn says. The end comes apart from the rest, once.
pub trait Output {
    fn event(&mut self, event: &Event) -> Result<()>;
    fn finished(&mut self, finished: &Finished) -> Result<()>;
    /// What the memory keeps or forgot.
    fn remembered(&mut self, change: &MemoryChange) -> Result<()>;
    /// What we answer by ourselves, without a turn.
    fn local(&mut self, text: &str) -> Result<()>;
}
