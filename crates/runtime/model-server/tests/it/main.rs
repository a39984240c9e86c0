//! The server seen from the wire: a raw client, no HTTP library, so that every byte counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bill;
mod breaks;
mod cache;
mod client;
mod framing;
mod gates;
mod http;
mod lifecycle;
mod log;
mod oracle;
mod steps;
mod stream;
mod thinking;
mod validation;
mod yaml;
