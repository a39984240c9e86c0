//! The bytes of an answer → model events.

use super::parser::Parser;
use crate::protocol::AnswerReader;
use crate::sse::{Decoder, Frame};
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent};

#[derive(Debug, Default)]
pub struct Reader {
    decoder: Decoder,
    frames: Vec<Frame>,
    parser: Parser,
}

impl Reader {
    pub fn new(raw_events: bool, request_id: Option<String>) -> Self {
        Reader { parser: Parser::new(raw_events, request_id), ..Reader::default() }
    }
}

impl AnswerReader for Reader {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let decoded = self.decoder.push(bytes, &mut self.frames);
        for frame in self.frames.drain(..) {
            self.parser.push(&frame, out)?;
        }
        match decoded {
            Err(flood) if !self.parser.is_ended() => {
                Err(ModelError::new(ModelErrorKind::Protocol, flood.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn end(&self) -> Result<(), ModelError> {
        self.parser.end()
    }

    fn is_started(&self) -> bool {
        self.parser.is_started()
    }

    fn is_ended(&self) -> bool {
        self.parser.is_ended()
    }

    fn is_alive(&self) -> bool {
        self.decoder.is_alive()
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
