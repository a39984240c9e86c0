//! The Messages API of Anthropic, which many gateways speak as well.

pub mod body;
pub mod cache;
pub mod error;
mod html;
mod open_block;
pub mod options;
pub mod parser;
pub mod refusal;
pub mod render;
mod usage;
mod wire;

/// The owner's name of renderings kept in a view.
pub const NAME: &str = "anthropic_messages";
