//! Finding a session by its name, and the one to continue with.

use crate::samples::{home, id, opened_in, prompt, store};
use ostler_core::ids::SessionId;
use ostler_core::ports::SessionStore;
use ostler_store::{FileStore, FindError};
use std::path::Path;

fn names(store: &FileStore, all: &[(&str, &str)]) {
    for (name, workspace) in all {
        let log = store.create(opened_in(&SessionId::new(*name), workspace)).unwrap();
        log.append(&prompt("p")).unwrap();
    }
}

#[test]
fn names_and_unique_beginnings_are_found_in_any_project() {
    let home = home();
    let store = store(&home);
    names(
        &store,
        &[
            ("aaaaaaaa-1", "/one"),
            ("aaaaaaaa-2", "/two"),
            ("aaaaaaaa-21", "/two"),
            ("bbbbbbbb-1", "/two"),
            ("short", "/one"),
        ],
    );
    let found = |name: &str| {
        store
            .find(name)
            .map(|found| found.map(|found| (found.id.to_string(), found.workspace.unwrap())))
    };
    let at = |id: &str, workspace: &str| Ok(Some((id.to_owned(), workspace.into())));
    assert_eq!(found("aaaaaaaa-1"), at("aaaaaaaa-1", "/one"));
    assert_eq!(found("bbbbbbbb"), at("bbbbbbbb-1", "/two"));
    assert_eq!(found("aaaaaaaa-2"), at("aaaaaaaa-2", "/two"), "a whole name is not a beginning");
    assert_eq!(found("short"), at("short", "/one"), "a whole name may be short");
    assert_eq!(found("cccccccc"), Ok(None));
    for short in ["", "a", "bbbbbbb", "*"] {
        assert_eq!(found(short), Err(FindError::TooShort(short.into())));
    }
    let Err(error @ FindError::Ambiguous { .. }) = found("aaaaaaaa") else {
        panic!("{:?}", found("aaaaaaaa"))
    };
    let text = "aaaaaaaa matches several sessions: aaaaaaaa-1, aaaaaaaa-2, aaaaaaaa-21. Give more of the id";
    assert_eq!(error.to_string(), text);
    assert_eq!(found("../../sessions"), Ok(None));
    let project = store.find("bbbbbbbb").unwrap().unwrap().project;
    assert!(
        home.path().join("sessions").join(&project).is_dir() && project.starts_with("two-"),
        "{project}"
    );
}

#[test]
fn long_lists_of_candidates_are_cut() {
    let home = home();
    let store = store(&home);
    for n in 10..40 {
        store.create(opened_in(&SessionId::new(format!("aaaaaaaa-{n}")), "/w")).unwrap();
    }
    let text = store.find("aaaaaaaa").unwrap_err().to_string();
    assert!(text.contains("aaaaaaaa-19 and 20 more"), "{text}");
}

#[test]
fn the_latest_is_the_one_written_to_last() {
    let home = home();
    let store = store(&home);
    assert_eq!(store.latest(Path::new("/w")).unwrap(), None);
    let file = |n: u64| crate::samples::file(home.path(), &format!("{}.log", id(n)));
    let age = |n: u64, seconds: u64| {
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(file(n)).unwrap().set_modified(time).unwrap();
    };
    for n in 1..=3 {
        store.create(opened_in(&id(n), "/w")).unwrap().append(&prompt("go")).unwrap();
        age(n, 1000 - n);
    }
    store.create(opened_in(&id(9), "/other")).unwrap().append(&prompt("go")).unwrap();
    // The newest of all, but nothing was said in it.
    store.create(opened_in(&id(8), "/w")).unwrap();
    assert_eq!(store.latest(Path::new("/w")).unwrap(), Some(id(1)));
    // Of equally old ones the later name.
    age(3, 999);
    assert_eq!(store.latest(Path::new("/w")).unwrap(), Some(id(3)));
    age(2, 5000);
    assert_eq!(store.latest(Path::new("/w/")).unwrap(), Some(id(2)));
    let listed: Vec<_> =
        store.list(Path::new("/w")).unwrap().into_iter().map(|info| info.id).collect();
    assert_eq!(listed, [id(8), id(2), id(3), id(1)]);
}

/// An index is made of logs that others have open; nothing is locked, repaired or left behind.
#[test]
fn logs_are_read_beside_their_writer() {
    let home = home();
    let store = store(&home);
    names(&store, &[("aaaaaaaa-1", "/one"), ("bbbbbbbb-1", "/two")]);
    let open = store.open(&SessionId::new("aaaaaaaa-1")).unwrap();
    let mut all = store.all().unwrap();
    all.sort();
    assert_eq!(all, [SessionId::new("aaaaaaaa-1"), SessionId::new("bbbbbbbb-1")]);
    assert_eq!(store.peek(&all[0]).unwrap().len(), 2);
    open.log.append(&prompt("another")).unwrap();
    assert_eq!(store.peek(&all[0]).unwrap().len(), 3);
    assert!(store.peek(&SessionId::new("cccccccc-1")).is_err());
}
