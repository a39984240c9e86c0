//! The limit of open files: raised for us, unchanged for commands.

use std::process::{Command, Stdio};

use crate::support::HELPER;

/// Our soft limit, and the soft and hard limit of a command, without a sandbox and in one.
fn limits(prefix: &str, what: &str) -> Vec<String> {
    let (root, temp) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let output = Command::new("/bin/bash")
        .args(["-c", &format!("{prefix}; exec \"$0\" \"$@\""), HELPER])
        .args(["open-files", what])
        .args([root.path(), temp.path()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_command_sees_the_soft_limit_from_before_it_was_raised() {
    let seen = limits("ulimit -Sn 256; ulimit -Hn 1000", "raise");
    assert_eq!(seen, ["1000", "256 1000", "256 1000"]);
}

#[test]
fn without_raising_nothing_changes() {
    let seen = limits("ulimit -Sn 256; ulimit -Hn 1000", "leave");
    assert_eq!(seen, ["256", "256 1000", "256 1000"]);
}

#[test]
fn a_limit_that_cannot_be_raised_stays() {
    let seen = limits("ulimit -n 256", "raise");
    assert_eq!(seen, ["256", "256 256", "256 256"]);
}
