//! The events of a session as the JSON lines that other programs read: envelopes in, lines out.
//!
//! Invariants
//! - **No I/O, no clock of its own, no randomness.** Times come from the envelopes, names from an [`ostler::IdSource`].
//! - **Fields and their names are those of Claude Code's stream.** Further ones may be added; none is renamed or left out.

mod agent_answers;
pub mod agent_sdk;
mod frames;
mod json_text;
mod session_facts;
mod stream_json;

pub use frames::{Frames, line, refused};
pub use json_text::escaped;
pub use session_facts::SessionFacts;
pub use stream_json::StreamJson;
