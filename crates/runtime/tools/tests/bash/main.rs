//! Bash on real processes. Started with `supervise`, this program is the supervisor of its own commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod cases;
#[path = "../support/mod.rs"]
mod support;

use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

const SUPERVISE: &str = "supervise";
/// A hang is a failure, not a wait.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let filter = words.next().unwrap_or_default();
    if filter == SUPERVISE {
        ostler_exec::supervise();
    }
    let filter = if filter.starts_with('-') { String::new() } else { filter };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut failed = Vec::new();
    for (name, case) in cases::all() {
        if !name.contains(&filter) {
            continue;
        }
        let run =
            async { tokio::time::timeout(LIMIT, AssertUnwindSafe(case()).catch_unwind()).await };
        let passed = matches!(runtime.block_on(run), Ok(Ok(())));
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            failed.push(name);
        }
    }
    println!("bash: {} failed {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
