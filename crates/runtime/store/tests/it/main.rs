#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod blobs;
mod child;
mod contract;
mod crash;
mod damage;
mod disk;
mod find;
mod golden;
mod golden_2;
mod homes;
mod images;
mod large_sessions;
mod locks;
mod roundtrip;
mod samples;
