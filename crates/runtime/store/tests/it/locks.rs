//! One writer per session, over processes: C11, C12.

use crate::child;
use crate::samples::{file, files, home, id, opened, prompt, store};
use ostler_core::ports::{SessionStore, StoreError};
use ostler_store::FileStore;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

/// Holds the session until its standard input ends.
#[test]
fn child_holds() {
    let Some(home) = child::home() else { return };
    let store = FileStore::new(home).unwrap();
    let loaded = store.open(&id(1)).unwrap();
    loaded.log.append(&prompt("the child was here")).unwrap();
    println!("\nholding");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(loaded);
    child::done();
}

/// Ended with the test that started it, whatever happens there.
struct Holder(Child);

impl Holder {
    fn start(home: &std::path::Path) -> Self {
        let mut command = child::command("locks::child_holds", home, "");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "holding"), "the child did not open the session");
        Holder(process)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn c11_a_second_process_is_refused_and_may_fork() {
    let home = home();
    let store = store(&home);
    drop(store.create(opened(&id(1))).unwrap());
    let holder = Holder::start(home.path());
    let Err(StoreError::Locked { owner, .. }) = store.open(&id(1)).map(drop) else {
        panic!("not locked")
    };
    assert!(owner.starts_with(&format!("pid {} on ", holder.0.id())), "{owner}");
    let fork = store.fork(&id(1), opened(&id(2))).unwrap();
    assert_eq!(fork.entries[1..], [prompt("the child was here")]);
    assert_eq!(store.list(crate::samples::WORKSPACE.as_ref()).unwrap().len(), 2);
    assert!(matches!(store.open(&id(1)).map(drop), Err(StoreError::Locked { .. })));
}

#[test]
fn c12_the_lock_of_a_killed_process_is_free() {
    let home = home();
    let store = store(&home);
    drop(store.create(opened(&id(1))).unwrap());
    drop(Holder::start(home.path()));
    assert_eq!(files(home.path(), ".lock").len(), 1, "killed: it could not clean up");
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!(loaded.entries[1..], [prompt("the child was here")]);
    assert_eq!(loaded.notices, [""; 0]);
    drop(loaded);
    assert_eq!(files(home.path(), ".lock"), [""; 0].map(std::path::PathBuf::from));
}

/// The number in the file may belong to anybody by now: process 1 is alive and does not hold the session.
#[test]
fn c12_a_reused_process_number_does_not_lock() {
    let home = home();
    let store = store(&home);
    drop(store.create(opened(&id(1))).unwrap());
    let lock = file(home.path(), ".log").with_extension("lock");
    for left in ["1 1 somewhere\n", "", "\u{1b}[2J not a number at all \0"] {
        fs::write(&lock, left).unwrap();
        let loaded = store.open(&id(1)).unwrap();
        let text = fs::read_to_string(&lock).unwrap();
        let words: Vec<_> = text.split_whitespace().collect();
        let [pid, start, _host] = words[..] else { panic!("{text}") };
        assert_eq!(pid, std::process::id().to_string());
        assert!(start.parse::<u64>().unwrap() > 0);
        drop(loaded);
        assert!(!lock.exists());
    }
}

/// On some network file systems a lock keeps nobody out. Here the lock file is taken away from its holder, so that both
/// have one. Whoever writes second is refused, and what the first wrote stays.
#[test]
fn two_writers_are_detected_where_a_lock_keeps_nobody_out() {
    let home = home();
    let store = store(&home);
    let late = store.create(opened(&id(1))).unwrap();
    fs::remove_file(file(home.path(), ".lock")).unwrap();
    let early = store.open(&id(1)).unwrap().log;
    early.append(&prompt("one")).unwrap();
    for _ in 0..2 {
        let error = late.append(&prompt("lost")).unwrap_err().to_string();
        assert!(error.contains("another process has written to it"), "{error}");
        assert!(error.contains("Close the session in one of the two"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
    early.append(&prompt("two")).unwrap();
    drop((early, late));
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!(loaded.entries[1..], [prompt("one"), prompt("two")]);
    assert_eq!(loaded.notices, [""; 0]);
}

/// Terminal escapes in a lock file do not reach the terminal.
#[test]
fn the_owners_name_is_made_harmless() {
    let home = home();
    let store = store(&home);
    let log = store.create(opened(&id(1))).unwrap();
    let lock = file(home.path(), ".lock");
    for (text, wanted) in [
        ("7 1 \u{1b}[2Jhost\n", "pid 7 on \\u{1b}[2Jhost"),
        ("gone", "pid unknown"),
        ("", "pid unknown"),
    ] {
        fs::write(&lock, text).unwrap();
        let Err(StoreError::Locked { owner, .. }) = store.open(&id(1)).map(drop) else {
            panic!("not locked")
        };
        assert_eq!(owner, wanted);
    }
    drop(log);
}

/// Opening and closing races for the lock file itself: never two writers, never a stale refusal at the end.
#[test]
fn the_lock_file_comes_and_goes_safely() {
    let home = home();
    let store = store(&home);
    drop(store.create(opened(&id(1))).unwrap());
    let writers = std::sync::atomic::AtomicUsize::new(0);
    let opens = std::sync::atomic::AtomicUsize::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..300 {
                    match store.open(&id(1)) {
                        Ok(loaded) => {
                            assert_eq!(writers.fetch_add(1, order), 0, "two writers");
                            loaded.log.append(&prompt("x")).unwrap();
                            opens.fetch_add(1, order);
                            writers.fetch_sub(1, order);
                        }
                        Err(StoreError::Locked { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!((loaded.entries.len(), loaded.notices.len()), (1 + opens.into_inner(), 0));
}

/// A fork reads while another writes: it gets a prefix, whole.
#[test]
fn a_fork_of_a_session_that_is_being_written_is_a_prefix() {
    let home = home();
    let store = store(&home);
    let log = store.create(opened(&id(1))).unwrap();
    let all: Vec<_> = (0..400).map(|n| prompt(format!("{n} {}", "y".repeat(n * 20)))).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| all.iter().for_each(|entry| log.append(entry).unwrap()));
        for n in 100..130 {
            let fork = store.fork(&id(1), opened(&id(n))).unwrap();
            let copied = &fork.entries[1..];
            assert_eq!(copied, &all[..copied.len()]);
        }
    });
}
