//! One suite for every backend (`contract.rs`), and what concerns the SQLite file and whole processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[macro_use]
mod cases;

mod actions;
mod board_cases;
mod child;
mod claim_races;
mod contract;
mod crowd_cases;
mod default_limits;
mod files;
mod kills;
mod lease_cases;
mod lock_waits;
mod mail_cases;
mod memory_board;
mod memory_mail;
mod model;
mod place;
mod planted_faults;
mod processes;
mod wake_up;
