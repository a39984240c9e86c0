//! The memory as a whole.

mod quality;
mod stores;
mod support;
