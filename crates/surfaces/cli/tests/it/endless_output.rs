//! A command that writes without end uses no more memory than one that writes a lot.

use crate::support::{World, finish, wait};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::io::Read;
use std::process::Child;

/// A program that was built for tests maps some 50 MB of its own file.
const MOST_KB: u64 = 96 * 1024;

/// The most memory that the program and its supervisor ever had, in kB.
fn peaks(child: &Child) -> Vec<(String, u64)> {
    let list = format!("/proc/{0}/task/{0}/children", child.id());
    let list = std::fs::read_to_string(list).unwrap();
    let below = list.split_whitespace().map(|pid| pid.parse().unwrap());
    let all = [child.id()].into_iter().chain(below);
    let peak = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().trim_end_matches(" kB").to_owned()
        };
        (value("Name:"), value("VmHWM:").parse().unwrap())
    };
    all.map(peak).collect()
}

#[allow(clippy::print_stdout, reason = "the figures are part of the result")]
fn assert_small(what: &str, child: &Child) {
    let peaks = peaks(child);
    println!("memory of endless output, {what}: {peaks:?} kB");
    assert_eq!(peaks.len(), 2, "{peaks:?}");
    assert!(peaks.iter().all(|(_, peak)| *peak < MOST_KB), "{peaks:?}");
}

#[test]
fn in_a_call() {
    // With more time than it takes until it has written too much.
    let input = json!({"command": "yes", "timeout": 600_000});
    let world = World::new(
        Script::new().answer(calls([("Bash", input)])).answer(text("done").due_at("hold")),
    );
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let child = world.command(&args).spawn().unwrap();
    wait(world.server.gate("hold").reached()).unwrap();
    assert_small("in a call", &child);
    world.server.gate("hold").release();
    assert_eq!(finish(child).code, Some(0));
    let told = world.server.requests()[1].tool_results()[0]["content"].to_string();
    assert!(told.contains("more than 1 GB") && told.contains("The output is long"), "{told}");
}

#[test]
fn in_sandbox_run() {
    let world = World::new(Script::new());
    let mut child = world.command(&["sandbox", "run", "--", "yes"]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut taken = (&mut out).take(200_000_000);
    std::io::copy(&mut taken, &mut std::io::sink()).unwrap();
    assert_small("in sandbox run", &child);
    drop(out);
    finish(child);
}
