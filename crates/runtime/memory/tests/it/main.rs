//! The memory as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod quality;
mod stores;
mod support;
