//! Where an output goes.

use super::printer;
use std::io;

pub trait Sink {
    /// # Errors
    /// If it cannot be written any more.
    fn print(&mut self, text: &str) -> io::Result<()>;

    /// A line for the person, beside the output.
    fn warn(&mut self, line: &str);
}

/// Standard output and standard error.
pub struct Standard;

impl Sink for Standard {
    fn print(&mut self, text: &str) -> io::Result<()> {
        printer::print(text)
    }

    fn warn(&mut self, line: &str) {
        crate::exit::warn(line);
    }
}
