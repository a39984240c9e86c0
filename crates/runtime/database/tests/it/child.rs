//! Runs a test of this binary in a process of its own, for what concerns a whole process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FILE: &str = "DATABASE_TEST_CHILD_FILE";
const RAN: &str = "the child got to its end";

/// The child's side: none when the test runs as an ordinary test, where there is nothing to do.
pub fn file() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}

#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub fn done(said: impl std::fmt::Display) {
    println!("\n{RAN}: {said}");
}

/// `wrapper` is a command that runs the one given to it as further arguments.
pub fn output(wrapper: &[&str], test: &str, file: &Path) -> Output {
    let exe = std::env::current_exe().unwrap();
    let mut words: Vec<&std::ffi::OsStr> = wrapper.iter().map(std::ffi::OsStr::new).collect();
    words.push(exe.as_os_str());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(FILE, file).output().unwrap()
}

/// What the child said. A name that fits no test would "succeed" too, so it has to say that it ran.
#[track_caller]
pub fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.lines().find_map(|line| line.strip_prefix(&format!("{RAN}: ")));
    match said {
        Some(said) if output.status.success() => said.to_owned(),
        _ => panic!("{:?}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr)),
    }
}
