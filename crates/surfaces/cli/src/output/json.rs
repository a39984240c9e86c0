//! `--output-format json`: the result, one object.

use super::Output;
use super::frames::{self, Frames};
use crate::exit::warn;
use anyhow::Result;
use ostler::{Engine, Event, Finished, Level, MemoryChange};
use std::time::Instant;

pub struct JsonOutput {
    frames: Frames,
}

impl JsonOutput {
    pub fn new(engine: &Engine, began: Instant) -> Self {
        JsonOutput { frames: Frames::new(engine, began) }
    }
}

impl Output for JsonOutput {
    fn event(&mut self, event: &Event) -> Result<()> {
        self.frames.watch(event);
        // There is no place for it in the one object.
        if let Event::Notice { level: Level::Warning | Level::Error, text } = event {
            warn(text);
        }
        Ok(())
    }

    fn finished(&mut self, finished: &Finished) -> Result<()> {
        frames::print(&self.frames.result(finished))
    }

    fn remembered(&mut self, change: &MemoryChange) -> Result<()> {
        warn(&change.to_string());
        Ok(())
    }

    fn local(&mut self, text: &str) -> Result<()> {
        frames::print(&self.frames.local(text))
    }
}
