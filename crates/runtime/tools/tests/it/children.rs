//! Runs one test of this binary again in a process of its own: as an ordinary user, under a limit, or to be killed.

#![allow(clippy::print_stderr, reason = "a skipped test must be seen")]

use std::process::{Command, Output, Stdio};

const CHILD: &str = "OSTLER_TEST_CHILD";

/// True in the process that was started for it.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn this_test(name: &str) -> Vec<String> {
    let exe = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    vec![exe, name.to_owned(), "--exact".into(), "--nocapture".into()]
}

fn run(mut command: Command, name: &str) -> Output {
    let output =
        command.args(this_test(name)).env(CHILD, "1").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name} failed in its own process: {text} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Root reads everything, so a test about permissions means nothing for root. True if the caller is to continue here.
pub fn as_ordinary_user(name: &str) -> bool {
    if is_child() || !rustix::process::geteuid().is_root() {
        return true;
    }
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    let Some(setpriv) = setpriv else {
        eprintln!(
            "SKIPPED {name}: running as root, and there is no setpriv to become somebody else"
        );
        return false;
    };
    let mut command = Command::new(setpriv);
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    run(command, name);
    false
}

/// Files of the child can hold a few hundred bytes; more fails like a full disk. True if the caller is to continue
/// here.
pub fn with_little_space(name: &str) -> bool {
    if is_child() {
        return true;
    }
    let mut command = Command::new("/bin/sh");
    // The signal that reports the limit would end the process; ignored, the write fails instead.
    command.args(["-c", r#"trap '' XFSZ; ulimit -f 1; exec "$0" "$@""#]);
    run(command, name);
    false
}

/// Starts the test with an argument in its environment, for the caller to kill.
pub fn start(name: &str, argument: &std::path::Path) -> std::process::Child {
    let mut words = this_test(name).into_iter();
    Command::new(words.next().unwrap())
        .args(words)
        .env(CHILD, argument)
        // What it leaves behind goes with the directory of whoever kills it.
        .env("TMPDIR", argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub fn argument() -> std::path::PathBuf {
    std::env::var_os(CHILD).unwrap().into()
}
