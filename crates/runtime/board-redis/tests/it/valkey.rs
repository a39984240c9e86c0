//! Everything that is tested here on Redis, on Valkey: this program runs itself again with the other server.

use crate::redis_server::PROGRAM;
use std::path::PathBuf;
use std::process::Command;

/// `scripts/test` installs it and names it.
fn valkey() -> Option<PathBuf> {
    let found =
        std::env::var_os("OSTLER_TEST_VALKEY").map(PathBuf::from).filter(|path| path.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: boards in Valkey (no valkey-server)");
    }
    found
}

#[test]
fn every_test_passes_on_valkey() {
    if std::env::var_os(PROGRAM).is_some() {
        return; // This is the second run.
    }
    let Some(server) = valkey() else { return };
    let mut again = Command::new(std::env::current_exe().unwrap());
    let output = again.arg("--nocapture").env(PROGRAM, &server).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{wrong}");
    assert!(printed.contains("on Valkey"), "the server was not Valkey:\n{printed}\n{wrong}");
    for line in printed
        .lines()
        .filter(|line| line.contains(" cases on ") || line.starts_with("test result"))
    {
        println!("Valkey: {line}");
    }
}
