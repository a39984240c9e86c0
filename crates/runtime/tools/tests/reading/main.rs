//! Commands that are proved to be read-only, under the kernel policy made from the proof: they still do their job, and a
//! text that a wrong proof lets through has no effect. Always as an ordinary user. Started with `supervise`, this
//! program is the supervisor of its own commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod forged_proofs;
mod lines;
#[path = "../support/mod.rs"]
mod support;
mod work;

use std::process::{Command, ExitCode};

const SUPERVISE: &str = "supervise";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SUPERVISE) {
        ostler_exec::supervise();
    }
    if rustix::process::geteuid().is_root() {
        return as_ordinary_user(&words);
    }
    let filter = words.into_iter().find(|word| !word.starts_with('-')).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let faults = runtime.block_on(async {
        let mut faults = Vec::new();
        if "work".contains(&filter) {
            faults.extend(work::check().await);
        }
        if "forged".contains(&filter) {
            faults.extend(forged_proofs::check().await);
        }
        faults
    });
    faults.iter().for_each(|fault| println!("fault: {fault}"));
    println!("reading: {} faults", faults.len());
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Root may do too much for a refusal to mean anything.
fn as_ordinary_user(words: &[String]) -> ExitCode {
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"];
    let Some(setpriv) = setpriv.into_iter().find(|path| std::path::Path::new(path).exists()) else {
        println!("SKIPPED reading: running as root, and there is no setpriv");
        return ExitCode::SUCCESS;
    };
    let status = Command::new(setpriv)
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(words)
        .env_remove("TMPDIR")
        .status()
        .unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
