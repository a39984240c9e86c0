//! What a snapshot costs beside `git status`: `cargo bench -p ostler-snapshots --bench take`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../tests/world/mod.rs"]
mod world;

use ostler_snapshots::{Config, Snapshots};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use world::{git, now};

const FILES: usize = 50_000;
const RUNS: usize = 15;
const PER_FOLDER: usize = 50;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(mut what: impl FnMut()) -> Duration {
    let begin = Instant::now();
    what();
    begin.elapsed()
}

fn place(root: &Path, n: usize) -> PathBuf {
    root.join(format!("a{}/b{}/file{n}.rs", n / PER_FOLDER / 20, n / PER_FOLDER))
}

/// A repository of many small files, packed.
fn repository(root: &Path) {
    for n in 0..FILES {
        let path = place(root, n);
        if n % PER_FOLDER == 0 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(path, format!("fn f{n}() {{}}\n")).unwrap();
    }
    git(root, &["init", "-q"]);
    for (key, value) in [
        ("user.name", "x"),
        ("user.email", "x@example.org"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ] {
        git(root, &["config", key, value]);
    }
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "all"]);
    git(root, &["gc", "-q"]);
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("ws");
    repository(&root);
    let config =
        Config { dir: folder.path().join("store"), roots: vec![root.clone()], hidden: vec![], now };
    let snapshots = Snapshots::open(config.clone()).unwrap();
    let first = timed(|| drop(snapshots.take("first").unwrap()));
    println!("first snapshot of {FILES} files: {} ms", first.as_millis());
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
            let n = n * (FILES / 10);
            fs::write(place(&root, n), format!("changed {run} {n}\n")).unwrap();
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
