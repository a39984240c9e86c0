//! Runs a test of this binary in a process of its own, for what concerns a whole process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HOME: &str = "STORE_TEST_CHILD_HOME";
const ARGUMENT: &str = "STORE_TEST_CHILD_ARGUMENT";
const RAN: &str = "the child got to its end";

/// The child's side: none when the test runs as an ordinary test, where there is nothing to do.
pub fn home() -> Option<PathBuf> {
    std::env::var_os(HOME).map(PathBuf::from)
}

pub fn argument() -> String {
    std::env::var(ARGUMENT).unwrap_or_default()
}

pub fn done() {
    println!("\n{RAN}");
}

pub fn command(test: &str, home: &Path, argument: &str) -> Command {
    wrapped(&[], test, home, argument)
}

/// `wrapper` is a command that runs the one given to it as further arguments.
pub fn wrapped(wrapper: &[&str], test: &str, home: &Path, argument: &str) -> Command {
    let exe = std::env::current_exe().unwrap();
    let words = [test, "--exact", "--nocapture", "--test-threads=1"];
    let mut command = match wrapper {
        [] => Command::new(&exe),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&exe);
            command
        }
    };
    command.args(words).env(HOME, home).env(ARGUMENT, argument);
    command
}

/// A name that fits no test would "succeed" too: the child has to say that it ran.
#[track_caller]
pub fn expect_done(output: &Output) -> String {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && text.contains(RAN), "{:?}\n{text}", output.status);
    text
}

/// Runs the command in which everything is mounted again for it alone; none if the system does not let us.
pub fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    let may = tried.is_ok_and(|output| output.status.success());
    if !may {
        println!(
            "SKIPPED: unshare -rm is not possible here, so no small or read-only file system can be mounted"
        );
    }
    may
}
