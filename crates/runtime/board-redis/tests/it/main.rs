//! The suite of all boards on a real server, and what only a server can do to a board.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]
#![allow(dead_code, unused_imports, unused_macros)]

#[macro_use]
#[path = "../../../board/tests/it/cases.rs"]
mod cases;

#[path = "../../../board/tests/it/actions.rs"]
mod actions;
#[path = "../../../board/tests/it/board_cases.rs"]
mod board_cases;
#[path = "../../../board/tests/it/crowd_cases.rs"]
mod crowd_cases;
#[path = "../../../board/tests/it/lease_cases.rs"]
mod lease_cases;
#[path = "../../../board/tests/it/mail_cases.rs"]
mod mail_cases;
#[path = "../../../board/tests/it/memory_board.rs"]
mod memory_board;
#[path = "../../../board/tests/it/memory_mail.rs"]
mod memory_mail;
#[path = "../../../board/tests/it/place.rs"]
mod place;
#[path = "../../../board/tests/it/planted_faults.rs"]
mod planted_faults;

#[path = "../../../board/tests/it/child.rs"]
mod child;
#[path = "../../../board/tests/it/claim_races.rs"]
mod claim_races;
#[path = "../../../board/tests/it/default_limits.rs"]
mod default_limits;

mod broken_line;
mod cluster;
mod contract;
mod damage;
mod events;
mod failover;
mod lost_data;
mod model;
mod outages;
mod overview;
mod redis_place;
mod redis_server;
mod refusals;
mod valkey;
