//! Running lines under bash in a throw-away directory, writing down what is called with which words.

use crate::feed::fed;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs that are only there to be recorded.
pub const NAMES: &[&str] = &["prog", "alpha", "beta", "gamma", "cat", "grep", "git", "make", "ls"];

/// Every line in a subshell of its own. Functions stand in for the programs; what is no function is recorded by the
/// handler for unknown commands, each call with the number of its line. Loops and recursion end after some calls. Line
/// ends in words are exchanged: bash writes line by line, and a record must be one piece.
const RECORDER: &str = r#"
exec 8<&0 9>&1
FUNCNEST=6
calls=0
number=0
ulimit -t 100
record_call() {
  ((++calls > 60)) && builtin exit
  builtin printf '%s\0' "$number" "$#" "${@//$'\n'/$'\x1f'}" >&9
}
for name in prog alpha beta gamma cat grep git make ls echo printf; do
  builtin eval "$name() { record_call $name \"\$@\"; }"
done
unset name
command_not_found_handle() { record_call "$@"; }
while IFS= builtin read -r -d '' text <&8; do
  ( builtin eval -- "$text" ) </dev/null >/dev/null 2>&1 8<&-
  ((++number))
done
record_call done
"#;

static COUNT: AtomicUsize = AtomicUsize::new(0);

fn folder() -> PathBuf {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("differential-{number}"));
    std::fs::remove_dir_all(&dir).ok();
    std::fs::create_dir_all(dir.join("src")).unwrap();
    for name in ["a.txt", "b.txt", "c.rs", "d e.txt"] {
        // A comment: `.` may read it.
        std::fs::write(dir.join(name), "# text\n").unwrap();
    }
    dir
}

fn command(dir: &Path, path: &str) -> Command {
    let mut command = Command::new("/bin/bash");
    command.args(["--norc", "--noprofile", "-c", "--"]).current_dir(dir).env_clear();
    command.env("PATH", path).env("HOME", dir).env("LC_ALL", "C.UTF-8");
    command.stderr(Stdio::null());
    command
}

fn recorded(output: &[u8], lines: usize) -> Vec<Vec<Vec<String>>> {
    let mut runs = vec![vec![]; lines + 1];
    let text = String::from_utf8_lossy(output);
    let mut printed = text.split_terminator('\0').map(|text| text.replace('\u{1f}', "\n"));
    while let (Some(line), Some(count)) = (printed.next(), printed.next()) {
        let (line, count): (usize, usize) = (line.parse().unwrap(), count.parse().unwrap());
        runs[line].push(printed.by_ref().take(count).collect());
    }
    assert_eq!(runs.pop().unwrap(), [["done"]], "bash did not get through the lines");
    runs
}

/// All lines by one bash, with functions for programs.
pub fn evaluated(texts: &[String]) -> Vec<Vec<Vec<String>>> {
    let dir = folder();
    let output = fed(command(&dir, "/nonexistent").arg(RECORDER), texts);
    std::fs::remove_dir_all(&dir).ok();
    recorded(&output, texts.len())
}

/// Each line by a bash of its own, as it would be run, with files for programs.
pub fn executed(texts: &[String]) -> Vec<Vec<Vec<String>>> {
    let dir = folder();
    let bin = dir.join("bin");
    let log = dir.join("src/log");
    std::fs::create_dir_all(&bin).unwrap();
    for name in NAMES {
        let script = format!(
            "#!/bin/bash\nbuiltin printf '%s\\0' \"$LINE_NUMBER\" $(($# + 1)) {name} \"${{@//$'\\n'/$'\\x1f'}}\" >>'{}'\n",
            log.display()
        );
        std::fs::write(bin.join(name), script).unwrap();
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::write(&log, "").unwrap();
    for (number, text) in texts.iter().enumerate() {
        let mut command = command(&dir, bin.to_str().unwrap());
        command.arg(text).env("LINE_NUMBER", number.to_string()).stdin(Stdio::null());
        // Everything that was started has ended when its output has.
        command.output().expect("bash is needed for this test");
    }
    let mut output = std::fs::read(&log).unwrap();
    output.extend(format!("{}\x001\0done\0", texts.len()).bytes());
    std::fs::remove_dir_all(&dir).ok();
    recorded(&output, texts.len())
}

/// Bash finds no fault with the text.
pub fn is_valid(text: &str) -> bool {
    let mut command = Command::new("/bin/bash");
    command.args(["--norc", "--noprofile", "-n", "-c", "--", text]).env_clear();
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}
