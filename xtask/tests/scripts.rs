//! What `scripts/test` makes of the test programs' output, with a cargo that only talks.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Says this, and fails if it was not told to continue after a failure.
const CARGO: &str = r#"#!/bin/bash
[ "$1" = test ] || exit 0
case " $* " in *" --exact "*) echo "$*" >> "$(dirname "$0")/again"; cat "$(dirname "$0")/second"; exit 0 ;; esac
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

struct Ran {
    code: Option<i32>,
    /// Behind what cargo said.
    end: String,
    /// The calls that ran one test again.
    again: Vec<String>,
}

/// `second` is what a test says that runs again.
fn run(said: &str, code: &str, second: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for folder in ["scripts", "bin"] {
        std::fs::create_dir_all(place.join(folder)).unwrap();
    }
    std::fs::write(place.join("bin/second"), second).unwrap();
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
    let text = String::from_utf8(output.stdout).unwrap();
    let end = text.strip_prefix(said).unwrap_or_else(|| panic!("{text}")).trim_start();
    let again = std::fs::read_to_string(place.join("bin/again")).unwrap_or_default();
    Ran {
        code: output.status.code(),
        // What this machine lacks is said, too.
        end: end
            .lines()
            .filter(|line| !line.contains("(no ") || line.contains("no thing"))
            .map(|line| format!("{line}\n"))
            .collect(),
        again: again.lines().map(str::to_owned).collect(),
    }
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
    let ran = run(FAILED, "101", "");
    assert_eq!((ran.code, ran.end.as_str()), (Some(101), expected));
    assert!(ran.again.is_empty(), "cargo did not say how: {:?}", ran.again);
    let ran = run("test result: ok. 2 passed; 0 failed; 0 ignored\n", "0", "");
    assert_eq!((ran.code, ran.end.as_str()), (Some(0), "2 passed, 0 failed\n"));
}

/// As cargo says it where one program has the names of failed tests in a list and another one says them itself.
fn failures(own: usize) -> String {
    let own: String = (0..own).map(|n| format!("test y::bad{n} ... FAILED\n")).collect();
    format!(
        "     Running unittests src/lib.rs (target/debug/deps/a-1)
test x::bad ... FAILED

failures:

---- x::bad stdout ----
    words of a panic

failures:
    x::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p a --lib`
     Running tests/it/main.rs (target/debug/deps/it-1)
test y::fine ... ok
{own}
test result: FAILED. 4 passed; 1 failed

error: test failed, to rerun pass `-p b --test it`
error: 2 targets failed:
    `-p a --lib`
    `-p b --test it`
"
    )
}

#[test]
fn what_passes_alone_is_named_and_does_not_fail_the_run() {
    let both = "test x::bad ... ok\ntest y::bad0 ... ok\n";
    let ran = run(&failures(1), "101", both);
    assert_eq!(
        ran.again,
        [
            "test --workspace --locked --lib -- --exact x::bad --nocapture",
            "test --workspace --locked --test it -- --exact y::bad0 --nocapture"
        ]
    );
    let expected = "\
FLAKY: x::bad failed once, and passed alone
FLAKY: y::bad0 failed once, and passed alone
7 passed, 0 failed
";
    assert_eq!(ran.code, Some(0), "{}", ran.end);
    assert!(ran.end.ends_with(expected), "{}", ran.end);
}

#[test]
fn what_fails_again_does_not_run_or_is_too_much_fails_the_run() {
    for (own, second, calls) in [
        (1, "test x::bad ... ok\ntest y::bad0 ... FAILED\n", 2),
        (1, "running 0 tests\n", 2),
        (
            3,
            "test x::bad ... ok\ntest y::bad0 ... ok\ntest y::bad1 ... ok\ntest y::bad2 ... ok\n",
            0,
        ),
        // A program that ended without naming a test.
        (0, "test x::bad ... ok\ntest - ... FAILED\n", 2),
    ] {
        let ran = run(&failures(own), "101", second);
        assert_eq!((ran.code, ran.again.len()), (Some(101), calls), "{own} {second} {}", ran.end);
        assert!(ran.end.contains("FAILED: "), "{}", ran.end);
    }
}
