//! What tests and benchmarks take from the world: the clock, and git.

#![allow(dead_code, reason = "each program uses a part")]

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

pub fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

pub fn git(root: &Path, args: &[&str]) {
    let output = Command::new("git").args(args).current_dir(root).env("HOME", root).output();
    assert!(output.unwrap().status.success(), "git {args:?}");
}
