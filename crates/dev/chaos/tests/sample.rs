//! A sample of the chaos run: ten workers, two hundred tasks. `scripts/chaos` runs all of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

/// The run gives up by itself, with a message.
const LIMIT: &str = "240";

fn chaos(words: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-chaos"));
    command.args(words).arg(directory).output().unwrap()
}

fn text(output: &Output) -> String {
    let (out, errors) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(errors))
}

fn run(tasks: &str, seed: &str, more: &[&str]) -> Output {
    run_if_possible(tasks, seed, more).expect("this needs nothing special")
}

/// None: this machine cannot do it, and a line says why.
fn run_if_possible(tasks: &str, seed: &str, more: &[&str]) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("chaos");
    let begin = Instant::now();
    let words = ["run", "--workers", "10", "--tasks", tasks, "--seed", seed, "--limit", LIMIT];
    let done = chaos(&[&words[..], more, &["--dir"]].concat(), &directory);
    let said = text(&done);
    assert!(done.status.success(), "{said}");
    println!("{}", said.trim_end());
    (!said.contains("SKIPPED: ")).then(|| {
        keep_only_what_was_recorded(&directory);
        let check = chaos(&["check"], &directory);
        let seconds = begin.elapsed().as_secs_f64();
        let kind = if more.is_empty() { "a board in a file".to_owned() } else { more.join(" ") };
        println!("chaos: sample of 10 workers and {tasks} tasks took {seconds:.1} s ({kind})");
        check
    })
}

/// Facts, the export of the board, and git: neither the board itself nor its server is there when the check begins.
fn keep_only_what_was_recorded(directory: &Path) {
    const RECORDED: [&str; 4] = ["plan.json", "facts", "board.json", "repository"];
    for entry in directory.read_dir().unwrap().flatten() {
        if RECORDED.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        match entry.path().is_dir() {
            true => std::fs::remove_dir_all(entry.path()).unwrap(),
            false => std::fs::remove_file(entry.path()).unwrap(),
        }
    }
}

#[track_caller]
fn assert_clean(check: &Output) {
    let said = text(check);
    assert!(check.status.success() && said.contains("chaos check: 0 violations"), "{said}");
    // A run in which nothing goes wrong would prove nothing.
    for nothing in [", 0 killed", ", 0 stopped", ", 0 stale finishers refused", ", 0 mails"] {
        assert!(!said.contains(nothing), "{said}");
    }
    println!("{}", said.trim_end());
}

fn has_redis() -> bool {
    let found = Command::new("redis-server").arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("SKIPPED: chaos with Redis (no redis-server)");
    }
    is_there
}

#[test]
fn a_board_in_a_file_survives_its_workers() {
    assert_clean(&run("100", "1", &[]));
}

#[test]
fn a_board_in_redis_survives_workers_and_restarts() {
    if has_redis() {
        let check = run("200", "1", &["--redis"]);
        assert!(text(&check).contains(", 2 restarts of the server"), "{}", text(&check));
        assert_clean(&check);
    }
}

/// Hosts have clones of their own and push to a remote; one of them is cut off for ten seconds.
#[test]
fn hosts_that_are_cut_off_lose_nothing() {
    if has_redis()
        && let Some(check) = run_if_possible("80", "1", &["--hosts", "3"])
    {
        assert!(text(&check).contains(", 1 links cut"), "{}", text(&check));
        assert_clean(&check);
    }
}

/// Whether a worker comes back while another one has its task is chance, so there are several runs.
#[test]
fn a_board_without_fences_is_found_out() {
    if !has_redis() {
        return;
    }
    let found = ["1", "2", "3"].iter().any(|seed| {
        let check = run("100", seed, &["--planted", "no-fencing"]);
        let said = text(&check);
        println!("{}", said.lines().take(3).collect::<Vec<_>>().join("\n"));
        !check.status.success() && said.contains(", but the last claim is ")
    });
    assert!(found, "no run without fences was noticed");
}
