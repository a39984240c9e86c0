//! `cargo run -p xtask`: prints what `cargo test -p xtask` checks.

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = xtask::root();
    let report = xtask::tidy(&root);
    for line in report.warnings.iter().chain(&report.errors) {
        xtask::say(line);
    }
    if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
