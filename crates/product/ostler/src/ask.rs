//! One question, one stream.

use crate::engine::Engine;
use crate::error::Error;
use crate::init::Init;
use crate::options::Options;
use ostler_core::message::Message;
use ostler_engine::TurnStream;

/// Opens an engine and submits one message. The stream keeps the engine alive until it ends or is dropped.
pub fn ask(init: &Init, options: Options, prompt: impl Into<Message>) -> Result<TurnStream, Error> {
    Ok(Engine::open(init, options)?.submit(prompt))
}
