//! What `scripts/test` makes of the test programs' output, with a cargo that only talks.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Says this, and fails if it was not told to continue after a failure.
const CARGO: &str = r#"#!/bin/bash
[ "$1" = test ] || exit 0
case " $* " in *" --no-fail-fast "*) ;; *) exit 9 ;; esac
cat "$(dirname "$0")/said"
exit "$(cat "$(dirname "$0")/code")"
"#;

const FAILED: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)

running 3 tests
test x::fine ... ok

failures:

---- x::bad stdout ----
    words of a panic

failures:
    x::bad
    x::worse

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/it/main.rs (target/debug/deps/it-1)
kill points tried: 7
SKIPPED: something (no thing)

failures:
    y::bad

test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests ostler

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: 2 targets failed:
    `-p a --lib`
    `-p a --test it`
";

fn run(said: &str, code: &str) -> (Option<i32>, String) {
    let place = std::env::temp_dir().join(format!("ostler-scripts-{}-{code}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    for folder in ["scripts", "bin"] {
        std::fs::create_dir_all(place.join(folder)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/test");
    std::fs::copy(script, place.join("scripts/test")).unwrap();
    std::fs::write(place.join("bin/said"), said).unwrap();
    std::fs::write(place.join("bin/code"), code).unwrap();
    let cargo = place.join("bin/cargo");
    std::fs::write(&cargo, CARGO).unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .arg(place.join("scripts/test"))
        .env("PATH", format!("{}:{path}", place.join("bin").display()))
        .env("OSTLER_TEST_MODEL", "none")
        .env("OSTLER_TEST_MCP", "none")
        .env("OSTLER_TEST_AGENT_SDK", "none")
        .output()
        .unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let end = text.strip_prefix(said).unwrap_or_else(|| panic!("{text}")).trim_start();
    (output.status.code(), end.to_owned())
}

#[test]
fn failures_are_listed_at_the_end_and_decide_the_exit_code() {
    let expected = "\
kill points tried: 7
SKIPPED: something (no thing)
FAILED: x::bad
FAILED: x::worse
FAILED: y::bad
FAILED: `-p a --lib`
FAILED: `-p a --test it`
6 passed, 3 failed
";
    // What this machine lacks is said, too.
    let own = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("(no ") || line.contains("no thing"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let (code, end) = run(FAILED, "101");
    assert_eq!((code, own(&end).as_str()), (Some(101), expected));
    let fine = "test result: ok. 2 passed; 0 failed; 0 ignored\n";
    let (code, end) = run(fine, "0");
    assert_eq!((code, own(&end).as_str()), (Some(0), "2 passed, 0 failed\n"));
}
