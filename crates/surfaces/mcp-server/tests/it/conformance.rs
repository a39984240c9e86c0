//! The official runner against the server code, for both protocol revisions. `scripts/mcp-conformance install` brings it.

use crate::serving::Served;
use ostler_mcp_server::HttpOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/mcp-conformance")
}

fn run(words: &[&str]) -> Output {
    Command::new(script()).args(words).output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_does_what_both_revisions_require() {
    if !run(&["installed"]).status.success() {
        println!("SKIPPED: the MCP conformance runner (scripts/mcp-conformance install)");
        return;
    }
    let served = Served::start(HttpOptions::default()).await;
    let url = served.url();
    let output = tokio::task::spawn_blocking(move || run(&["server", &url])).await.unwrap();
    let (told, wrong) = (text(&output.stdout), text(&output.stderr));
    print!("{told}");
    assert!(output.status.success(), "{told}\n{wrong}");
    for revision in ["2025-11-25", "2026-07-28"] {
        let score = format!("MCP conformance: server {revision}: ");
        assert!(told.contains(&score), "{told}\n{wrong}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
