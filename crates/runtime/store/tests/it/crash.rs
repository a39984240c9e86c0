//! The store that dies on purpose, and what is found afterwards (C03 as far as one log goes).

use crate::child;
use crate::samples::{every_entry, home, id, prompt, store};
use ostler_core::ports::SessionStore;
use ostler_store::{Fault, FileStore};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::os::unix::process::ExitStatusExt;

const ABORTED: i32 = 6;

#[test]
fn child_dies() {
    let Some(home) = child::home() else { return };
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    let (after, torn) = child::argument()
        .split_once(' ')
        .map(|(a, t)| (a.parse().unwrap(), t.parse().ok()))
        .unwrap();
    let store = FileStore::with_fault(home, Fault { after_writes: after, torn }).unwrap();
    let entries = every_entry(&id(1));
    let log = store.create(entries[0].clone()).unwrap();
    for entry in &entries[1..] {
        log.append(entry).unwrap();
    }
    child::done();
}

#[test]
fn every_append_can_be_the_last() {
    let entries = every_entry(&id(1));
    for after in 1..=entries.len() {
        for torn in ["all", "0", "1", "20", "100000"] {
            let home = home();
            let output =
                child::command("crash::child_dies", home.path(), &format!("{after} {torn}"))
                    .output()
                    .unwrap();
            assert_eq!(output.status.signal(), Some(ABORTED), "{after} {torn}: {output:?}");
            let whole = matches!(torn, "all" | "100000");
            let kept = if whole { after } else { after - 1 };
            if (after, torn) == (1, "0") {
                let error = store(&home).open(&id(1)).map(drop).unwrap_err().to_string();
                assert!(error.contains("is empty"), "{error}");
                continue;
            }
            let loaded = store(&home).open(&id(1)).unwrap();
            assert_eq!(loaded.entries, entries[..kept], "{after} {torn}");
            assert_eq!(
                loaded.notices.len(),
                usize::from(!whole && torn != "0"),
                "{after} {torn}: {:?}",
                loaded.notices
            );
            loaded.log.append(&prompt("on")).unwrap();
            drop(loaded);
            let again = store(&home).open(&id(1)).unwrap();
            assert_eq!((again.entries.len(), again.notices.len()), (kept + 1, 0));
        }
    }
}

#[test]
fn a_fault_that_is_never_reached_does_nothing() {
    let beyond = format!("{} all", every_entry(&id(1)).len() + 1);
    for after in ["0 all", beyond.as_str(), "1000 5"] {
        let home = home();
        child::expect_done(
            &child::command("crash::child_dies", home.path(), after).output().unwrap(),
        );
        assert_eq!(store(&home).open(&id(1)).unwrap().entries, every_entry(&id(1)));
    }
}
