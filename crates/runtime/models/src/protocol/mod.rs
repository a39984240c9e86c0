//! Wire protocols, one folder each. Pure: requests become bytes, frames become events; nothing here waits or sends.

pub mod anthropic_messages;
