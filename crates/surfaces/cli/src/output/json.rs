//! `--output-format json`: the result, one object.

use super::Output;
use super::sink::Sink;
use anyhow::Result;
use ostler::{Envelope, Event, Level, Timestamp, words};
use ostler_sdk::{Frames, line};

pub struct JsonOutput<S> {
    pub frames: Frames,
    pub sink: S,
    /// Of the last turn, until there is none more.
    pub result: Option<String>,
}

impl<S: Sink> Output for JsonOutput<S> {
    fn event(&mut self, envelope: &Envelope) -> Result<()> {
        // Only the session's own turn has a result.
        if !envelope.agent.is_root() {
            return Ok(());
        }
        self.frames.watch(envelope);
        match &envelope.event {
            Event::Finished(finished) => {
                let mut result = self.frames.result(finished, envelope.at);
                result["requests"] = self.frames.requests().into();
                // A job that ends later leads to another turn, and the last one counts.
                self.result = Some(line(&result));
            }
            // There is no place for these in the one object.
            Event::Notice { level: Level::Warning, notice } => {
                self.sink.warn(&words::notice(notice));
            }
            Event::MemoryChanged(change) => self.sink.warn(&change.to_string()),
            _ => {}
        }
        Ok(())
    }

    fn done(&mut self) -> Result<()> {
        Ok(self.result.take().map_or(Ok(()), |result| self.sink.print(&result))?)
    }

    fn local(&mut self, text: &str) -> Result<()> {
        let frame = self.frames.local(text, Timestamp(ostler::now_ms()));
        Ok(self.sink.print(&line(&frame))?)
    }
}
