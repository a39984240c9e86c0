//! C15: a long session is read as a stream.

use crate::child;
use crate::samples::{id, opened, prompt};
use ostler_core::ports::SessionStore;
use ostler_core::session::Entry;
use ostler_store::FileStore;
use std::time::Instant;

const RECORDS: u64 = 200_000;

fn entry(n: u64) -> Entry {
    prompt(format!("record {n} {}", "lorem ipsum dolor ".repeat(8)))
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn child_opens() {
    let Some(home) = child::home() else { return };
    let store = FileStore::new(home).unwrap();
    let (before, start) = (peak_kb(), Instant::now());
    let listed = store.list(crate::samples::WORKSPACE.as_ref()).unwrap();
    let listing = (start.elapsed(), peak_kb() - before);
    assert_eq!(listed[0].messages, RECORDS);
    let start = Instant::now();
    let loaded = store.open(&id(1)).unwrap();
    println!(
        "\nlisted in {:?} with {} kB, opened in {:?} with {} kB",
        listing.0,
        listing.1,
        start.elapsed(),
        peak_kb() - before
    );
    assert_eq!((loaded.entries.len() as u64, loaded.notices.len()), (RECORDS + 1, 0));
    assert!((1..).zip(&loaded.entries[1..]).all(|(n, found)| *found == entry(n)));
    child::done();
}

#[test]
fn c15_two_hundred_thousand_records() {
    let home = tempfile::tempdir().unwrap();
    let store = FileStore::new(home.path()).unwrap();
    let log = store.create(opened(&id(1))).unwrap();
    let start = Instant::now();
    (1..=RECORDS).for_each(|n| log.append(&entry(n)).unwrap());
    println!("appended {RECORDS} records in {:?}", start.elapsed());
    drop(log);
    let size = std::fs::metadata(crate::samples::file(home.path(), ".log")).unwrap().len();
    let said = child::expect_done(
        &child::command("large_sessions::child_opens", home.path(), "").output().unwrap(),
    );
    println!(
        "{size} bytes: {}",
        said.lines().find(|line| line.starts_with("listed")).unwrap_or_default()
    );
}
