//! The built program against the scripted model: one file per behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod context;
mod crash;
mod faults_model;
mod faults_tools;
mod headless;
mod hostile;
mod interrupt;
mod loop_behaviour;
mod permissions;
mod prefix;
mod repl;
mod sessions;
mod support;
mod talk;
mod terminal;
