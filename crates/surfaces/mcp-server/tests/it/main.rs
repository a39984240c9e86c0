//! The server code against real clients: the official conformance runner, and requests by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod conformance;
mod fixture;
mod http;
mod serving;
