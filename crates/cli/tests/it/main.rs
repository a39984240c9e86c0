//! The built program against the scripted model: one file per behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compaction;
mod context;
mod cost;
mod crash;
mod demo;
mod faults_model;
mod faults_tools;
mod headless;
mod hook_faults;
mod hooks;
mod hostile;
mod hostile_git;
mod interrupt;
mod leftovers;
mod loop_behaviour;
mod memory;
mod memory_safety;
mod missing_usage;
mod needles;
mod observers;
mod pdf_script;
mod permissions;
mod plan;
mod prefix;
mod repl;
mod sandbox;
mod sessions;
mod skills;
mod support;
mod talk;
mod terminal;
mod undo;
mod webhooks;
