//! Worktrees and the merge queue with the real git. Rows of the fault corpus are named by their number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, reason = "what this machine lacks is shown")]

mod commits;
mod creation;
mod dependencies;
mod git_calls;
mod include;
mod kills;
mod leftovers;
#[path = "../../../exec/tests/sandbox/ordinary_user.rs"]
mod ordinary_user;
mod overlaps;
mod preflight;
mod queue;
mod queue_landing;
mod remotes;
mod sandbox;
mod world;
