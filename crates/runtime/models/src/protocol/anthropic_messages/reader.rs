//! The bytes of an answer → model events.

use super::parser::Parser;
use crate::protocol::AnswerReader;
use crate::sse::{Decoder, SseFrame};
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent};

#[derive(Debug, Default)]
pub struct MessagesReader {
    decoder: Decoder,
    frames: Vec<SseFrame>,
    parser: Parser,
}

impl MessagesReader {
    pub fn new(raw_events: bool, request_id: Option<String>) -> Self {
        MessagesReader { parser: Parser::new(raw_events, request_id), ..MessagesReader::default() }
    }
}

impl AnswerReader for MessagesReader {
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
