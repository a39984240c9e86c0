//! `--output-format stream-json`: everything that happens, one object a line, as it happens.

use super::Output;
use super::sink::Sink;
use anyhow::Result;
use ostler::{Envelope, Timestamp};

pub struct StreamJsonOutput<S> {
    pub lines: ostler_sdk::StreamJson,
    pub sink: S,
}

impl<S: Sink> Output for StreamJsonOutput<S> {
    fn event(&mut self, envelope: &Envelope) -> Result<()> {
        Ok(self.lines.event(envelope).iter().try_for_each(|line| self.sink.print(line))?)
    }

    fn local(&mut self, text: &str) -> Result<()> {
        let lines = self.lines.local(text, Timestamp(ostler::now_ms()));
        Ok(lines.iter().try_for_each(|line| self.sink.print(line))?)
    }
}
