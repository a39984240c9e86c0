//! The official runner against our client, for both protocol revisions. `scripts/mcp-conformance install` brings it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/mcp-conformance")
}

fn run(words: &[&str]) -> Output {
    Command::new(script()).args(words).output().unwrap()
}

#[test]
fn the_client_does_what_both_revisions_require() {
    if !run(&["installed"]).status.success() {
        println!("SKIPPED: the MCP conformance runner (scripts/mcp-conformance install)");
        return;
    }
    let output = run(&["client", env!("CARGO_BIN_EXE_ostler"), "mcp", "conformance"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (told, wrong) = (text(&output.stdout), text(&output.stderr));
    print!("{told}");
    assert!(output.status.success(), "{told}\n{wrong}");
    for revision in ["2025-11-25", "2026-07-28"] {
        let score = format!("MCP conformance: client {revision}: ");
        assert!(told.contains(&score), "{told}\n{wrong}");
    }
}
