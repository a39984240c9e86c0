//! The ways a turn is shown.

pub mod agents;
pub mod cost;
mod format;
pub mod json;
pub mod model_log;
pub mod paint;
pub mod printer;
pub mod screen;
pub mod sink;
pub mod stream_json;
pub mod text;
pub mod usage;
pub mod visible_text;

use anyhow::Result;
use ostler::Envelope;

pub use format::of_run;

/// Takes everything a session says.
pub trait Output {
    fn event(&mut self, envelope: &Envelope) -> Result<()>;
    /// What we answer by ourselves, without a turn.
    fn local(&mut self, text: &str) -> Result<()>;
    /// No turn follows.
    fn done(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A line on standard output.
pub fn say(text: &str) -> Result<()> {
    write(&format!("{text}\n"))
}

pub fn say_lines(lines: &[String]) -> Result<()> {
    lines.iter().try_for_each(|line| say(line))
}

pub fn write(text: &str) -> Result<()> {
    Ok(printer::print(text)?)
}

#[cfg(test)]
mod recorded_tests;
