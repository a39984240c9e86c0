//! Commands that do not end, do not stay, do not stop talking or do not start.

use super::namespace::Namespace;
use super::{bash, called};
use crate::support::{World, processes_with, unique_sleep, until};
use crate::talk::Talk;
use ostler_model_server::{Script, text};
use serde_json::json;

#[test]
fn b01_a_command_without_end_is_ended_at_its_limit() {
    // B02: also one that does not want to.
    for defence in ["", "trap '' TERM INT HUP; "] {
        let mark = unique_sleep();
        let command = format!("{defence}echo begun; sleep {mark}; echo never");
        let told = called(json!({"command": command, "timeout": 300}), |_, _| {
            assert!(processes_with(&mark).is_empty(), "it runs beyond its limit");
        });
        assert!(told.is_error, "{told:?}");
        assert!(
            told.text.contains("Timed out after 300 ms") && told.text.contains("begun"),
            "{told:?}"
        );
        assert!(!told.text.contains("never"), "{told:?}");
    }
}

#[test]
fn b03_what_a_command_leaves_in_the_background_ends_with_it() {
    let mark = unique_sleep();
    let told = called(json!({"command": format!("sleep {mark} & echo done")}), |_, _| {
        assert!(processes_with(&mark).is_empty(), "it is still there");
    });
    assert_eq!((told.text.as_str(), told.is_error), ("done", false));
}

#[test]
fn b05_a_daemon_that_left_everything_is_gone_after_the_run() {
    let mark = unique_sleep();
    // Own session, double fork, no descriptors, no environment, no directory.
    let daemon =
        format!("( ( cd /; exec env -i setsid sh -c 'exec sleep {mark}' <&- >&- 2>&- ) & )");
    let begun = format!("until grep -q {mark} /proc/[0-9]*/cmdline 2>/dev/null; do :; done");
    let told = called(json!({"command": format!("{daemon}; {begun}; echo left")}), |_, _| {});
    assert_eq!((told.text.as_str(), told.is_error), ("left", false));
    until("the daemon is gone", || processes_with(&mark).is_empty());
}

#[test]
fn b07_output_without_end_is_bounded() {
    let mut peak = 0;
    let told = called(json!({"command": "echo first; yes 'the same again'"}), |world, pid| {
        peak = peak_memory(pid);
        let kept: u64 = walk(&world.home()).iter().map(|path| path.metadata().unwrap().len()).sum();
        assert!(kept < 100 << 20, "{kept} bytes on disk");
    });
    assert!(peak < 300 << 10, "{peak} kB of memory");
    assert!(told.is_error && told.text.contains("more than 1 GB"), "{}", told.text);
    assert!(told.text.contains("first") && told.text.contains("the same again"), "{}", told.text);
    assert!(told.text.contains("not shown") && told.text.len() < 40_000, "{}", told.text);
}

/// The most memory the process ever had, in kB.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.flat_map(|e| if e.path().is_dir() { walk(&e.path()) } else { vec![e.path()] }).collect()
}

#[test]
fn b12_an_end_by_signal_is_told_by_its_name() {
    for (command, want) in [
        ("echo before; kill -SEGV $$", "Killed by SIGSEGV\nbefore"),
        ("kill -KILL $$", "Killed by SIGKILL\n(no output)"),
        ("kill -PIPE $$", "Killed by SIGPIPE\n(no output)"),
        ("bash -c 'kill -SEGV $$'; exit $?", "Exit code 139 (as of SIGSEGV)\n"),
    ] {
        let told = called(json!({ "command": command }), |_, _| {});
        assert!(told.is_error && told.text.starts_with(want), "{command}: {told:?}");
    }
}

#[test]
fn b14_never_success_after_a_kill() {
    let mark = unique_sleep();
    // It answers the signal with a polite exit.
    let command = format!("trap 'echo bye; exit 0' TERM; echo begun; sleep {mark} & wait");
    let told = called(json!({"command": command, "timeout": 300}), |_, _| {
        assert!(processes_with(&mark).is_empty());
    });
    assert!(told.is_error && told.text.contains("Timed out after 300 ms"), "{told:?}");
}

#[test]
fn b16_a_question_on_the_terminal_fails_at_once() {
    let command =
        "read -r -s -p 'Password: ' x </dev/tty; echo \"status $?\"; tty; ps -o tty= -p $$";
    let world = World::new(Script::new().answer(bash(command)).answer(text("ok").due_at("hold")));
    let mut talk =
        Talk::on_terminal(&world.command(&["-p", "go", "--permission-mode", "bypassPermissions"]));
    crate::support::wait(world.server.gate("hold").reached()).unwrap();
    // The program itself could be asked, so the command was kept from it.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", talk.child().id())).unwrap();
    let terminal = stat.rsplit(") ").next().unwrap().split(' ').nth(4).unwrap();
    assert_ne!(terminal, "0", "{stat}");
    world.server.gate("hold").release();
    let left = talk.finish();
    assert_eq!(left.code, Some(0), "{}", left.said);
    let told = world.server.requests()[1].tool_results()[0]["content"].to_string();
    assert!(told.contains("/dev/tty: No such device") && told.contains("status 1"), "{told}");
    assert!(told.contains("not a tty"), "{told}");
    world.assert_never_rejected();
}

#[test]
fn b22_without_a_shell_nothing_begins() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let Some(space) = Namespace::new() else { return };
    let hide = "for shell in /bin/bash /usr/bin/bash; do mount --bind /dev/null $shell; done";
    let ran = space.run(hide, &world.command(&["-p", "go"]));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("/bin/bash") && ran.stderr.contains("install bash"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.server.requests().len(), 0);
    // Whoever does not want commands needs no shell.
    let ran = space.run(hide, &world.command(&["-p", "go", "--disallowedTools", "Bash"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn b23_a_command_line_of_two_megabytes() {
    let command = format!("touch never; : {}", "x".repeat(2 << 20));
    let told = called(json!({ "command": command }), |_, _| {});
    assert!(
        told.is_error && told.text.contains("too long") && told.text.contains("file"),
        "{told:?}"
    );
    // One of a tenth of that is no trouble.
    let told =
        called(json!({"command": format!("x={}; echo ${{#x}}", "x".repeat(200_000))}), |_, _| {});
    assert_eq!((told.text.as_str(), told.is_error), ("200000", false));
}
