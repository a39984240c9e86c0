//! The Messages API of Anthropic, which many gateways speak as well.

pub mod body;
pub mod cache;
pub mod error;
mod open_block;
pub mod options;
pub mod parser;
pub mod refusal;
pub mod render;
mod wire;

/// The owner's name of renderings kept in a view.
pub const NAME: &str = "anthropic_messages";
