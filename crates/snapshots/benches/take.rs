//! What a snapshot costs beside `git status`: `cargo bench -p ostler-snapshots --bench take [-- FILES]`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

use ostler_snapshots::{Config, Snapshots};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const RUNS: usize = 15;
const PER_FOLDER: usize = 50;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn git(root: &Path, args: &[&str]) {
    let status = Command::new("git").args(args).current_dir(root).env("HOME", root).output();
    assert!(status.unwrap().status.success(), "git {args:?}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(mut what: impl FnMut()) -> Duration {
    let begin = Instant::now();
    what();
    begin.elapsed()
}

fn main() {
    let files: usize =
        std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(50_000);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("ws");
    for n in 0..files {
        let dir = root.join(format!("a{}/b{}", n / PER_FOLDER / 20, n / PER_FOLDER));
        if n % PER_FOLDER == 0 {
            fs::create_dir_all(&dir).unwrap();
        }
        fs::write(dir.join(format!("file{n}.rs")), format!("fn f{n}() {{}}\n")).unwrap();
    }
    git(&root, &["init", "-q"]);
    git(&root, &["config", "user.name", "x"]);
    git(&root, &["config", "user.email", "x@example.org"]);
    git(&root, &["config", "gc.auto", "0"]);
    git(&root, &["config", "maintenance.auto", "false"]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "all"]);
    git(&root, &["gc", "-q"]);
    let config =
        Config { dir: folder.path().join("store"), roots: vec![root.clone()], hidden: vec![], now };
    let snapshots = Snapshots::open(config.clone()).unwrap();
    let first = timed(|| drop(snapshots.take("first").unwrap()));
    println!("first snapshot of {files} files: {} ms", first.as_millis());
    // Until nothing is too young to be believed.
    std::thread::sleep(Duration::from_millis(2_500));
    for _ in 0..3 {
        snapshots.take("warm").unwrap();
        git(&root, &["status"]);
    }
    let (mut takes, mut statuses, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..RUNS {
        takes.push(timed(|| drop(snapshots.take("same").unwrap())));
        statuses.push(timed(|| git(&root, &["status", "--porcelain"])));
        for n in 0..10 {
            let n = n * (files / 10);
            let dir = root.join(format!("a{}/b{}", n / PER_FOLDER / 20, n / PER_FOLDER));
            fs::write(dir.join(format!("file{n}.rs")), format!("changed {run} {n}\n")).unwrap();
        }
        changed.push(timed(|| assert_eq!(snapshots.take("ten").unwrap().changed, 10)));
        // What was just written is looked at once more.
        std::thread::sleep(Duration::from_millis(60));
        snapshots.take("settle").unwrap();
    }
    let (take, status, ten) = (median(takes), median(statuses), median(changed));
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    println!(
        "unchanged: {:.1} ms; git status: {:.1} ms; ratio {:.2}",
        ms(take),
        ms(status),
        ms(take) / ms(status)
    );
    println!("10 changed files: {:.1} ms, {:.1} ms more", ms(ten), ms(ten) - ms(take));
    drop(snapshots);
    let begin = Instant::now();
    let again = Snapshots::open(config).unwrap();
    again.take("same").unwrap();
    println!("first look of a new process: {:.1} ms", ms(begin.elapsed()));
}
