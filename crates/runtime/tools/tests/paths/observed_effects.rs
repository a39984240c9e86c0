//! What the corpus says can be seen afterwards.

use crate::policy;
use crate::support::names;
use crate::world::{Case, World};
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Fails with what is seen instead.
pub async fn check(case: &Case, world: &World, verdict: &str, output: &str) -> Result<(), String> {
    let World { ws, out, .. } = world;
    let ran = verdict == "allow";
    // Whatever the case is about, these hold.
    see(!left_over(ws), "a temporary file is left behind")?;
    see(ran || verdict == "error" || output.is_empty(), "something was shown unasked")?;
    let Some(result) = &case.result else { return Ok(()) };
    match case.id.as_str() {
        "path-traversal-009" | "path-traversal-011" => gone(&out.join("n")),
        "path-absolute-005" => gone(&ws.with_file_name("ws-evil/n")),
        "path-symlink-001" | "path-symlink-003" => holds(&out.join("s"), "a\n"),
        "path-symlink-005" => gone(&out.join("sub")),
        "path-symlink-013" => see(!output.contains("secret"), output),
        "path-symlink-015" => {
            fs::write(ws.join("one"), "").unwrap();
            let listed = world.desk.ok("Glob", json!({"pattern": "**/*"})).await;
            see(listed == "one", &listed)
        }
        "path-race-001" => see(names(out).is_empty(), "something is outside"),
        "path-race-003" => {
            see(output.contains("changed since you read it"), output)?;
            holds(&ws.join("f"), "newer\n")
        }
        "path-race-005" => holds(&out.join("s"), "theirs\n"),
        "path-hardlink-001" => {
            holds(&ws.join("h"), if ran { "x\n" } else { "a\n" })?;
            holds(&out.join("s"), "a\n")
        }
        "path-special-003" => see(output.starts_with("a:1:x"), output),
        "path-special-005" => see(output.contains("is a directory"), output),
        "path-special-013" => see(output.contains("Permission denied"), output),
        "path-special-015" => {
            holds(&ws.join("suid"), "x\n")?;
            see(fs::metadata(ws.join("suid")).unwrap().mode() & 0o7000 == 0, "the bit is kept")
        }
        "path-size-encoding-001" => see(output.contains("10.0 GB") && output.len() < 500, output),
        "path-size-encoding-003" => see(output.len() < 60_000, "too much is shown"),
        "path-size-encoding-005" => see(output.contains("not valid UTF-8"), output),
        "path-size-encoding-007" => holds(&ws.join("crlf.txt"), "b\r\nz\r\n"),
        "path-size-encoding-009" => holds(&ws.join("nonl.txt"), "b"),
        "path-size-encoding-011" => holds(&ws.join("f"), "\0\u{1}"),
        "path-size-encoding-013" | "path-size-encoding-017" => {
            see(names(ws).is_empty(), "something was made")
        }
        "path-size-encoding-015" => {
            see(output.contains("ok.txt") && output.contains("bad\u{fffd}.txt"), output)
        }
        "path-size-encoding-021" => {
            holds(&ws.join("cafe\u{301}.txt"), "")?;
            holds(&ws.join("café.txt"), "x\n")
        }
        "path-protected-031" => {
            see(fs::read_to_string(ws.join(".git/config")).unwrap().contains("[core]"), "changed")
        }
        "path-protected-033" => see(names(ws).is_empty(), "something was made"),
        "path-protected-037" => {
            see(output.contains("a:1:K") && !output.contains("K=1"), output)?;
            see(output.contains("[1 file left out"), output)
        }
        id if id.starts_with("path-git-config") => gone(&out.join("pwned")),
        "path-root-001" => {
            let read = world.desk.access("Read", json!({"file_path": "../x"})).unwrap();
            see(policy::verdict("Read", &read, &world.workspace) == "ask", "the root has moved")
        }
        "path-root-003" => the_first_root_is_read(world).await,
        "path-root-005" => gone(Path::new("/etc/x")),
        // What these say is said above: nothing is shown, nothing hangs, nothing is left behind.
        id if id.starts_with("path-traversal")
            || id.starts_with("path-proc-dev")
            || ["path-race-007", "path-special-001", "path-size-encoding-019"].contains(&id) =>
        {
            Ok(())
        }
        _ => Err(format!("nobody looks whether: {result}")),
    }
}

/// What was there at the start is found; what stands at its place now is not.
async fn the_first_root_is_read(world: &World) -> Result<(), String> {
    fs::write(world.ws.with_file_name("ws.old").join("a.txt"), "ours").unwrap();
    fs::write(world.out.join("a.txt"), "theirs").unwrap();
    let shown = world.desk.ok("Read", json!({"file_path": "a.txt"})).await;
    see(shown == "1\tours", &shown)
}

fn see(is_so: bool, instead: &str) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("seen instead: {instead}")) }
}

fn gone(path: &Path) -> Result<(), String> {
    see(fs::symlink_metadata(path).is_err(), &format!("{} exists", path.display()))
}

fn holds(path: &Path, expected: &str) -> Result<(), String> {
    let found = fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
    see(found == expected, &format!("{} holds {found:?}", path.display()))
}

fn left_over(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".tmp"))
}
