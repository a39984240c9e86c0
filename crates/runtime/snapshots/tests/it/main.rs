//! Snapshots of real directories: what is kept, what comes back, what survives a kill.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod basics;
mod closed_folders;
mod crash;
mod interrupted_undo;
mod occupancy;
mod packed_refs;
mod random;
mod support;
mod times;
mod unkept_files;
#[path = "../world/mod.rs"]
mod world;
