//! The whole state on a disk that fills up: exit code 74 or a clear line, never a signal, and nothing is lost.

use crate::crash::{told_the_truth, whole_records};
use crate::support::{Ran, World, facts, finish};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::json;
use std::ffi::OsStr;
use std::process::Command;

/// Reads, writes and runs a command, so that log, blobs, snapshots, ledger and memory all want room.
fn next_step(request: &Recorded) -> Reply {
    if request.json()["messages"].to_string().contains("please go on") {
        return text("all done");
    }
    let answers = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    match answers {
        0 => calls([("Read", json!({"file_path": "notes.txt"}))]),
        1 => calls([(
            "Edit",
            json!({"file_path": "notes.txt", "old_string": "a", "new_string": "b"}),
        )]),
        2 => calls([("Bash", json!({"command": "echo x > made.txt"}))]),
        3 => calls([("Memory", json!({"action": "add", "text": "The build needs cargo 1.95."}))]),
        _ => text("done"),
    }
}

/// Mounts a small disk as the home, takes all but some room, runs the program, gives the room back, and resumes. Exit codes
/// and the log in between are printed.
const STORY: &str = r#"
home=$1 room=$2; shift 2
mount -t tmpfs -o size=2m,mode=700 none "$home" || exit 99
head -c "$room" /dev/zero > "$home/spare" && cat /dev/zero > "$home/ballast" 2>/dev/null; rm "$home/spare"
"$@" -p go --max-day-budget-usd 50; echo "first $?"
rm "$home/ballast"
"$@" sessions > /dev/null; echo "listed $?"
sed 's/^/log /' "$home"/sessions/*/*.log 2>/dev/null
"$@" -p 'please go on' --continue --max-day-budget-usd 50; echo "second $?"
"$@" cost --rebuild > /dev/null; echo "cost $?"
"#;

/// Room on the disk that is tried, in bytes. The whole story needs less.
const ROOM: usize = 80 * 4096;
const STEP: usize = 4 * 4096;

fn story(world: &World, room: usize) -> Ran {
    std::fs::create_dir_all(world.home()).unwrap();
    mounting(world, STORY, &[world.home().as_os_str(), room.to_string().as_ref()])
}

/// Runs a script that may mount a disk, in the project. After its own arguments it gets the program.
pub fn mounting(world: &World, script: &str, args: &[&OsStr]) -> Ran {
    let plain = world.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).args(args);
    command.arg(plain.get_program()).current_dir(world.project()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    finish(command.stderr(std::process::Stdio::piped()).spawn().unwrap())
}

pub fn code(ran: &Ran, what: &str) -> i32 {
    let line = ran.stdout.lines().find_map(|line| line.strip_prefix(what));
    line.unwrap_or_else(|| panic!("no {what}: {ran:?}")).trim().parse().unwrap()
}

#[allow(clippy::print_stdout, reason = "a skipped test must be seen")]
pub fn can_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        println!(
            "SKIPPED a full disk: `unshare -rm` is not possible, so no small disk can be mounted"
        );
    }
    can
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are part of the result")]
fn a_full_disk_ends_in_order_and_loses_nothing() {
    if !can_mount() {
        return;
    }
    let mut codes = std::collections::BTreeMap::<i32, usize>::new();
    for room in (0..ROOM).step_by(STEP) {
        let world = World::new(Script::new().by(next_step).forever());
        world.file("notes.txt", "a\n");
        let ran = story(&world, room);
        let first = code(&ran, "first ");
        *codes.entry(first).or_default() += 1;
        assert!(matches!(first, 0 | 74), "with {room} bytes: {ran:?}");
        if first == 74 {
            assert!(ran.stderr.to_lowercase().contains("free some disk space"), "{ran:?}");
            assert!(!ran.stderr.contains("I/O error"), "{ran:?}");
        }
        assert_eq!(code(&ran, "listed "), 0, "with {room} bytes: {ran:?}");
        assert_eq!(code(&ran, "cost "), 0, "with {room} bytes: {ran:?}");
        let log: String = ran
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("log "))
            .fold(String::new(), |log, line| format!("{log}{line}\n"));
        // Where there was no room for a first entry there is nothing to resume.
        if !log.is_empty() {
            assert_eq!(code(&ran, "second "), 0, "with {room} bytes: {ran:?}");
            told_the_truth(&format!("{room} bytes"), &world, &facts(&whole_records(&log)));
        }
        assert!(matches!(code(&ran, "second "), 0 | 1), "with {room} bytes: {ran:?}");
        world.assert_never_rejected();
    }
    println!("full disk, exit codes of {} runs: {codes:?}", ROOM / STEP);
    assert!(codes.contains_key(&0) && codes.contains_key(&74), "{codes:?}");
}
