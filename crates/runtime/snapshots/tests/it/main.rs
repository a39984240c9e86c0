//! Snapshots of real folders: what is kept, what comes back, what survives a kill.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod basics;
mod closed;
mod crash;
mod interrupted;
mod occupancy;
mod random;
mod support;
mod times;
#[path = "../world/mod.rs"]
mod world;
