//! The official Python client. `scripts/mcp-conformance install` brings it.

use super::client::Http;
use super::world;
use crate::support::finish;
use std::path::Path;
use std::process::Command;

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test must be seen")]
fn the_official_python_client_reads_is_denied_and_asks_a_person() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.join("../../../scripts/mcp-conformance");
    let found = Command::new(found).arg("python").output().unwrap();
    if !found.status.success() {
        println!("SKIPPED: the official MCP client for Python (scripts/mcp-conformance install)");
        return;
    }
    let python = String::from_utf8(found.stdout).unwrap();
    let world = world();
    let served = Http::start(&world, &["--tools", "Read,Write"]);
    let script = here.join("tests/it/mcp_serve/official_client.py");
    let (url, token) = (served.url(), served.token.clone().unwrap());
    let launcher = [python.trim(), script.to_str().unwrap(), &url, &token];
    let ran = finish(world.launched(&launcher, &[]).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.trim(), "denied, approved, over HTTP");
    served.end();
    assert!(world.project().join("approved.txt").exists());
    assert!(!world.project().join("denied.txt").exists());
}
