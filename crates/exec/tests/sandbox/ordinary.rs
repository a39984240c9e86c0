//! Runs a test again in a process of its own as an ordinary user: root may do too much for a
//! refusal to mean anything.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CHILD: &str = "OSTLER_SANDBOX_TEST_FOLDER";

/// The user called nobody; some services want their user to have a name.
const USER: &str = "65534";

/// A folder for the test, in a place that is neither a home nor for temporary files. None if the
/// test was run in a process of its own and is done.
pub fn folder(name: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(CHILD) {
        return Some(folder.into());
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tempfile::tempdir_in(place).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new("/usr/bin/setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]);
    } else {
        command.arg("--");
    }
    command.arg(test).args([name, "--exact", "--nocapture"]);
    command.env(CHILD, folder.path().canonicalize().unwrap()).env_remove("TMPDIR");
    let output = command.stdin(Stdio::null()).output().expect("setpriv of util-linux is needed");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name} failed in its own process: {text} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    // What it has made belongs to another user, so it is removed by name.
    None
}
