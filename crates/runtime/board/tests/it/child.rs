//! Runs a test of this binary in a process of its own, which may be killed.

use ostler_core::time::{Clock, Timestamp};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

const FOLDER: &str = "BOARD_TEST_CHILD_FOLDER";
const ARGUMENT: &str = "BOARD_TEST_CHILD_ARGUMENT";
const MARK: &str = "child says: ";

/// The child's side: none when the test runs as an ordinary test, where there is nothing to do.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

pub fn argument() -> String {
    std::env::var(ARGUMENT).unwrap()
}

/// The parent sees this before anything else happens. The harness has begun a line of its own.
pub fn say(what: impl std::fmt::Display) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{MARK}{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

pub fn start(test: &str, folder: &Path, argument: &str) -> Child {
    command(test, folder, argument).spawn().unwrap()
}

fn command(test: &str, folder: &Path, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).env(ARGUMENT, argument);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The same, with its standard input in the hands of the parent.
pub fn start_asked(test: &str, folder: &Path, argument: &str) -> Child {
    command(test, folder, argument).stdin(Stdio::piped()).spawn().unwrap()
}

/// What the child says, until it ends.
pub struct Words(Lines<BufReader<ChildStdout>>);

pub fn words(child: &mut Child) -> Words {
    Words(BufReader::new(child.stdout.take().unwrap()).lines())
}

impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.0
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix(MARK)?.to_owned()))
    }
}

/// A time that all processes share: the content of a file.
pub struct FileClock(PathBuf);

impl FileClock {
    pub fn of(folder: &Path) -> Arc<Self> {
        Arc::new(FileClock(folder.join("time")))
    }

    pub fn set(&self, now: u64) {
        let next = self.0.with_extension("next");
        std::fs::write(&next, now.to_string()).unwrap();
        std::fs::rename(next, &self.0).unwrap();
    }
}

impl Clock for FileClock {
    fn now(&self) -> Timestamp {
        Timestamp(std::fs::read_to_string(&self.0).unwrap().parse().unwrap())
    }
}
