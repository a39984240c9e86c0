//! Runs a test again in a process of its own as an ordinary user: root may do too much for a
//! refusal to mean anything.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CHILD: &str = "OSTLER_SANDBOX_TEST_FOLDER";

/// The user called nobody; some services want their user to have a name.
const USER: &str = "65534";

/// Places of which a sandbox shows nothing; a world below them would lack what is refused there.
const HIDDEN: [&str; 6] = ["/tmp", "/var/tmp", "/run", "/var/run", "/home", "/root"];

/// Where a directory that lies badly is mounted instead, for the test alone.
const STAND_INS: [&str; 4] = ["/mnt", "/srv", "/opt", "/media"];

/// A directory for the test, in a place that is neither a home nor for temporary files, wherever this
/// project lies. None if the test was run in a process of its own and is done.
pub fn folder(name: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(CHILD) {
        return Some(folder.into());
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tempfile::tempdir_in(place).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let real = folder.path().canonicalize().unwrap();
    // Scripts name it without quotes.
    let is_plain = !real.to_str().unwrap().contains(char::is_whitespace);
    let is_shown = is_plain && !HIDDEN.iter().any(|hidden| real.starts_with(hidden));
    let (mut words, seen) = match is_shown {
        true => (Vec::new(), real),
        false => mounted(&real),
    };
    words.push("/usr/bin/setpriv".into());
    let user = ["--reuid", USER, "--regid", USER, "--clear-groups"];
    let no_more_rights = ["--ambient-caps=-all", "--inh-caps=-all"];
    let is_root = rustix::process::geteuid().is_root();
    let options = if is_root { &user[..] } else { &no_more_rights[..] };
    words.extend(options.iter().chain(&["--"]).map(OsString::from));
    let start = |more: &[&OsStr]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(more);
        command.env(CHILD, &seen).env_remove("TMPDIR").stdin(Stdio::null());
        command.output()
    };
    if !is_shown && !start(&["true".as_ref()]).is_ok_and(|output| output.status.success()) {
        println!(
            "SKIPPED: {name} (this project lies where a sandbox shows nothing, and no other place can be mounted)"
        );
        return None;
    }
    let test = std::env::current_exe().unwrap();
    let output = start(&[test.as_ref(), name.as_ref(), "--exact".as_ref(), "--nocapture".as_ref()])
        .expect("setpriv of util-linux is needed");
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

/// What starts a program with this directory mounted in another place, and that place.
fn mounted(folder: &Path) -> (Vec<OsString>, PathBuf) {
    let place = STAND_INS.iter().map(Path::new).find(|place| place.is_dir());
    let place = place.expect("one of the usual places to mount something");
    let own = match rustix::process::geteuid().is_root() {
        true => &["unshare", "--mount"][..],
        false => &["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"],
    };
    let mount = "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"";
    let words = own.iter().copied().chain(["sh", "-c", mount]).map(OsString::from);
    (words.chain([folder.into(), place.into()]).collect(), place.to_path_buf())
}
