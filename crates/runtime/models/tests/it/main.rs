//! The model behind real sockets: against the scripted server where it can play the part, against a few lines of raw
//! TCP where it cannot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod broken_streams;
mod caching;
mod connection;
mod failures;
mod raw_server;
mod remedies;
mod retries;
mod support;
mod tls;
