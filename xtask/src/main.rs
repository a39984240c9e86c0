//! `cargo run -p xtask`: prints what `cargo test -p xtask` checks. With `events-schema` it writes the schema of the events.

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = xtask::root();
    if std::env::args().nth(1).as_deref() == Some("events-schema") {
        return match xtask::events_schema::write(&root) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                xtask::say(&format!("cannot write the schema: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    let report = xtask::tidy(&root);
    for line in report.warnings.iter().chain(&report.errors) {
        xtask::say(line);
    }
    if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
