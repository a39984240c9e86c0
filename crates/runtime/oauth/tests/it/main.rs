//! Logins against an authorization server on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod authorizer;
mod logins;
mod processes;
mod refresh;
mod world;
