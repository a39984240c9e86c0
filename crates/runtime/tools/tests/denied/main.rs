//! Files that deny rules cover, against real commands and the real kernel, always as an ordinary user: in every mode,
//! with bubblewrap and without it. Started with `supervise`, this program is the supervisor of its own commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod cases;
#[path = "../support/mod.rs"]
mod support;
mod world;

use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

const SUPERVISE: &str = "supervise";
/// Where the child may make its directories.
const PLACE: &str = "OSTLER_DENIED_TEST_PLACE";
/// A hang is a failure, not a wait.
const LIMIT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SUPERVISE) {
        ostler_exec::supervise();
    }
    if std::env::var_os(PLACE).is_none() {
        return as_ordinary_user(&words);
    }
    let filter = words.into_iter().find(|word| !word.starts_with('-')).unwrap_or_default();
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
    println!("denied: {} failed {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Root may do too much for a refusal to mean anything, and temporary files are out of reach for commands.
fn as_ordinary_user(words: &[String]) -> ExitCode {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let own = std::env::current_exe().unwrap();
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let setpriv = Path::new("/usr/bin/setpriv");
            assert!(setpriv.exists(), "setpriv of util-linux is needed to leave root");
            let mut command = Command::new(setpriv);
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(own);
            command
        }
        false => Command::new(own),
    };
    let status =
        command.args(words).env(PLACE, place.path()).env_remove("TMPDIR").status().unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
