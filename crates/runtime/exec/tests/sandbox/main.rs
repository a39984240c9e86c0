//! The sandbox against the real kernel, as an ordinary user. Every action that must be refused is
//! first shown to succeed without the sandbox.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, reason = "what was refused, and what this machine lacks, is shown")]

mod actions;
mod bounds;
mod ends;
mod exploits;
mod git;
mod hidden_names;
mod hints;
mod limits;
mod missing_layers;
mod ordinary_user;
mod refused_actions;
mod terminals;
mod work;
mod world;
