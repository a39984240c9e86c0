//! The supervisor and its client against real processes. Names like `b05_…` are the rows of the
//! fault list that a test answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod descriptors;
mod ending;
mod lifetime;
mod limits;
mod output;
mod scopes;
mod start;
mod strays;
mod support;
