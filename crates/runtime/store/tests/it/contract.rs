//! What every store of sessions promises. Run against each of them.

use crate::samples::{self, asked, every_entry, id, image, inbound, opened, opened_in, prompt};
use ostler_core::message::{Block, Message};
use ostler_core::ports::{SessionStore, StoreError};
use ostler_core::session::{Entry, FORMAT, Fork, ForkPoint, SessionRecord};
use ostler_core::time::Timestamp;
use ostler_store::{FileStore, SessionsInMemory};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub trait Bench {
    fn store(&self) -> &dyn SessionStore;
    /// Returns when a change made from now on counts as later than all before.
    fn tick(&self) {}
}

struct FileBench {
    home: TempDir,
    store: FileStore,
}

impl FileBench {
    fn new() -> Self {
        let home = samples::home();
        let store = samples::store(&home);
        FileBench { home, store }
    }
}

impl Bench for FileBench {
    fn store(&self) -> &dyn SessionStore {
        &self.store
    }

    /// File times move in steps of some milliseconds.
    fn tick(&self) {
        let touch = || {
            let probe = self.home.path().join("probe");
            std::fs::write(&probe, "x").unwrap();
            std::fs::metadata(&probe).unwrap().modified().unwrap()
        };
        let (before, deadline) = (touch(), Instant::now() + Duration::from_secs(10));
        while touch() <= before {
            assert!(Instant::now() < deadline, "the file system's clock stands still");
        }
    }
}

impl Bench for SessionsInMemory {
    fn store(&self) -> &dyn SessionStore {
        self
    }
}

macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod file { $(#[test] fn $name() { super::$name(&super::FileBench::new()) })* }
        mod memory { $(#[test] fn $name() { super::$name(&super::SessionsInMemory::new()) })* }
    };
}

contract!(
    a_fork_copies_nothing_that_is_pending,
    entries_come_back_as_they_went_in,
    a_name_is_taken_once,
    unknown_names_are_not_found,
    only_an_opened_entry_begins_a_session,
    a_session_is_open_once,
    a_session_goes_on_after_it_was_left,
    forks_are_independent,
    a_fork_ends_where_it_is_told_to,
    forks_of_forks_know_their_parent_only,
    an_open_session_can_be_forked,
    listings_begin_with_what_was_changed_last,
    listings_say_what_a_session_is_about,
    big_entries_fit,
    appends_from_many_threads_are_whole,
);

fn open_entries(store: &dyn SessionStore, n: u64) -> Vec<Entry> {
    let loaded = store.open(&id(n)).unwrap();
    assert_eq!(loaded.notices, [""; 0]);
    assert_eq!(loaded.log.id(), &id(n));
    loaded.entries
}

fn fill(store: &dyn SessionStore, n: u64, entries: &[Entry]) {
    let log = store.create(opened(&id(n))).unwrap();
    for entry in entries {
        log.append(entry).unwrap();
    }
    log.sync().unwrap();
}

fn entries_come_back_as_they_went_in(bench: &dyn Bench) {
    let entries = every_entry(&id(1));
    fill(bench.store(), 1, &entries[1..]);
    let loaded = open_entries(bench.store(), 1);
    assert_eq!(loaded, entries);
    // Equality of JSON values does not look at the order of keys; the provider's cache does.
    let text = |entries: &[Entry]| serde_json::to_string(entries).unwrap();
    assert_eq!(text(&loaded), text(&entries));
}

fn a_name_is_taken_once(bench: &dyn Bench) {
    let store = bench.store();
    let log = store.create(opened(&id(1))).unwrap();
    log.append(&prompt("mine")).unwrap();
    let again = |store: &dyn SessionStore| store.create(opened(&id(1))).map(drop).unwrap_err();
    assert_eq!(again(store), StoreError::Exists(id(1)));
    let elsewhere = store.create(opened_in(&id(1), "/another/place")).map(drop).unwrap_err();
    assert_eq!(elsewhere, StoreError::Exists(id(1)));
    drop(log);
    assert_eq!(again(store), StoreError::Exists(id(1)));
    assert_eq!(
        store.fork(&id(1), opened(&id(1))).map(drop).unwrap_err(),
        StoreError::Exists(id(1))
    );
    assert_eq!(open_entries(store, 1), [opened(&id(1)), prompt("mine")]);
}

fn unknown_names_are_not_found(bench: &dyn Bench) {
    let store = bench.store();
    fill(store, 1, &[]);
    assert_eq!(store.open(&id(2)).map(drop).unwrap_err(), StoreError::NotFound(id(2)));
    assert_eq!(
        store.fork(&id(2), opened(&id(3))).map(drop).unwrap_err(),
        StoreError::NotFound(id(2))
    );
    for strange in ["", "..", "../x", "a/b", "\0"] {
        let name = strange.into();
        assert_eq!(store.open(&name).map(drop).unwrap_err(), StoreError::NotFound(name));
    }
    assert_eq!(store.list(Path::new("/nowhere")).unwrap(), []);
}

fn only_an_opened_entry_begins_a_session(bench: &dyn Bench) {
    let store = bench.store();
    assert!(matches!(store.create(prompt("x")).map(drop), Err(StoreError::Io { .. })));
    let mut newer = opened(&id(1));
    if let Entry::Opened { format, .. } = &mut newer {
        *format = FORMAT + 1;
    }
    let refused = store.create(newer).map(drop).unwrap_err();
    assert_eq!(refused, StoreError::TooNew { id: id(1), format: FORMAT + 1 });
    assert_eq!(store.list(Path::new(samples::WORKSPACE)).unwrap(), []);
    fill(store, 1, &[]);
}

fn a_session_is_open_once(bench: &dyn Bench) {
    let store = bench.store();
    let locked = || match store.open(&id(1)).map(drop) {
        Err(StoreError::Locked { id: session, owner }) => {
            assert_eq!(session, id(1));
            assert!(owner.contains(&format!("pid {}", std::process::id())), "{owner}");
        }
        other => panic!("{other:?}"),
    };
    let log = store.create(opened(&id(1))).unwrap();
    locked();
    locked();
    drop(log);
    let loaded = store.open(&id(1)).unwrap();
    locked();
    let second = std::sync::Arc::clone(&loaded.log);
    drop(loaded);
    locked();
    drop(second);
    open_entries(store, 1);
}

fn a_session_goes_on_after_it_was_left(bench: &dyn Bench) {
    let store = bench.store();
    let mut wanted = vec![opened(&id(1))];
    fill(store, 1, &[]);
    for n in 0..5 {
        let loaded = store.open(&id(1)).unwrap();
        assert_eq!(loaded.entries, wanted);
        for m in 0..n {
            let entry = prompt(format!("{n}.{m}"));
            loaded.log.append(&entry).unwrap();
            wanted.push(entry);
        }
    }
}

fn forks_are_independent(bench: &dyn Bench) {
    let store = bench.store();
    let source = every_entry(&id(1));
    fill(store, 1, &source[1..]);
    let fork = store.fork(&id(1), opened_in(&id(2), "/elsewhere")).unwrap();
    // Jobs belong to the source.
    let mut wanted = source.clone();
    wanted.retain(|entry| !matches!(entry, Entry::Detached { .. }));
    let copied = wanted.len() as u64 - 1;
    let mut first = opened_in(&id(2), "/elsewhere");
    if let Entry::Opened { forked_from, .. } = &mut first {
        *forked_from = Some(Fork { session: id(1), entries: copied });
    }
    wanted[0] = first;
    assert_eq!((fork.entries, fork.log.id()), (wanted.clone(), &id(2)));
    fork.log.append(&prompt("only here")).unwrap();
    let again = store.open(&id(1)).unwrap();
    assert_eq!(again.entries, source);
    again.log.append(&prompt("only there")).unwrap();
    drop((fork.log, again));
    wanted.push(prompt("only here"));
    assert_eq!(open_entries(store, 2), wanted);
    assert_eq!(open_entries(store, 1), [source, vec![prompt("only there")]].concat());
}

fn a_fork_ends_where_it_is_told_to(bench: &dyn Bench) {
    let store = bench.store();
    let rewound = Entry::Rewound { turn: 2, at: Timestamp(0) };
    let said = [prompt("a"), prompt("b"), rewound, prompt("c")];
    fill(store, 1, &said);
    let first_turn = &said[..1];
    for (nth, (at, kept)) in (2..).zip([
        (ForkPoint::End, &said[..]),
        (ForkPoint::BeforeTurn(1), &[]),
        (ForkPoint::BeforeTurn(2), &said[..3]),
        (ForkPoint::AfterEntry(1), &[]),
        (ForkPoint::AfterEntry(2), first_turn),
        (ForkPoint::AfterEntry(5), &said[..]),
    ]) {
        let fork = store.fork_at(&id(1), at, opened(&id(nth))).unwrap();
        assert_eq!(&fork.entries[1..], kept, "{at:?}");
        drop(fork);
        assert_eq!(&open_entries(store, nth)[1..], kept, "{at:?}");
    }
    for (at, there_are) in [
        (ForkPoint::BeforeTurn(0), "2 turns"),
        (ForkPoint::BeforeTurn(3), "2 turns"),
        (ForkPoint::AfterEntry(0), "5 entries"),
        (ForkPoint::AfterEntry(6), "5 entries"),
    ] {
        let error = store.fork_at(&id(1), at, opened(&id(99))).map(drop).unwrap_err();
        let there_are = there_are.to_owned();
        assert_eq!(error, StoreError::NoSuchPoint { id: id(1), at, there_are });
        assert_eq!(store.open(&id(99)).map(drop), Err(StoreError::NotFound(id(99))));
    }
}

fn forks_of_forks_know_their_parent_only(bench: &dyn Bench) {
    let store = bench.store();
    fill(store, 1, &[prompt("a")]);
    drop(store.fork(&id(1), opened(&id(2))).unwrap());
    let fork = store.fork(&id(2), opened(&id(3))).unwrap();
    let origins: Vec<_> =
        fork.entries.iter().filter(|entry| matches!(entry, Entry::Opened { .. })).collect();
    let parent = Fork { session: id(2), entries: 1 };
    assert!(
        matches!(origins[..], [Entry::Opened { forked_from: Some(fork), session, .. }] if *fork == parent && *session == id(3))
    );
    assert_eq!(fork.entries[1..], [prompt("a")]);
}

fn an_open_session_can_be_forked(bench: &dyn Bench) {
    let store = bench.store();
    let log = store.create(opened(&id(1))).unwrap();
    log.append(&prompt("so far")).unwrap();
    let fork = store.fork(&id(1), opened(&id(2))).unwrap();
    log.append(&prompt("later")).unwrap();
    assert_eq!(fork.entries[1..], [prompt("so far")]);
    assert!(matches!(store.open(&id(2)).map(drop), Err(StoreError::Locked { .. })));
}

fn listings_begin_with_what_was_changed_last(bench: &dyn Bench) {
    let store = bench.store();
    let here = Path::new(samples::WORKSPACE);
    let order = || store.list(here).unwrap().into_iter().map(|info| info.id).collect::<Vec<_>>();
    let logs: Vec<_> = (1..=3)
        .map(|n| {
            bench.tick();
            store.create(opened(&id(n))).unwrap()
        })
        .collect();
    store.create(opened_in(&id(9), "/another/project")).unwrap();
    assert_eq!(order(), [id(3), id(2), id(1)]);
    for (n, wanted) in [(0, [1, 3, 2]), (1, [2, 1, 3]), (1, [2, 1, 3]), (2, [3, 2, 1])] {
        bench.tick();
        logs[n].append(&prompt("x")).unwrap();
        assert_eq!(order(), wanted.map(id));
    }
    // Looking is no change.
    drop(logs);
    bench.tick();
    open_entries(store, 1);
    assert_eq!(order(), [id(3), id(2), id(1)]);
    assert_eq!(store.list(Path::new("/another/project")).unwrap().len(), 1);
}

fn listings_say_what_a_session_is_about(bench: &dyn Bench) {
    let store = bench.store();
    let hint = Entry::prompt(Message::meta("not a person's words"), Timestamp(7));
    let answer = samples::answer(vec![Block::text("done")]);
    let note = Entry::note(Message::meta("n"));
    fill(
        store,
        1,
        &[
            hint,
            prompt(" Räum auf 🧹\nbitte "),
            answer,
            note,
            prompt("and this"),
            Entry::CallStarted { id: "c".into() },
        ],
    );
    let [info] = &store.list(Path::new(samples::WORKSPACE)).unwrap()[..] else {
        panic!("one session")
    };
    assert_eq!((&info.id, &*info.title, info.messages), (&id(1), "Räum auf 🧹\nbitte", 5));
    assert_eq!(info.created, Timestamp(1_700_000_000_000));
    assert!(info.modified >= info.created);
}

fn big_entries_fit(bench: &dyn Bench) {
    let store = bench.store();
    let text = "Zeile 🧹\n".repeat(500_000);
    let picture = Entry::prompt(
        Message::User { content: vec![Block::Image(image(3_000_000))] },
        Timestamp(1),
    );
    let entries = [prompt(&*text), picture, prompt(text)];
    fill(store, 1, &entries);
    assert_eq!(open_entries(store, 1)[1..], entries);
}

fn appends_from_many_threads_are_whole(bench: &dyn Bench) {
    let store = bench.store();
    let log = store.create(opened(&id(1))).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..100 {
                    log.append(&prompt(format!("{thread} {n} {}", "x".repeat(thread * n))))
                        .unwrap();
                }
            });
        }
    });
    drop(log);
    let entries = open_entries(store, 1);
    assert_eq!(entries.len(), 801);
    for thread in 0..8 {
        let mine = |entry: &&Entry| matches!(entry, Entry::Prompt { message, .. } if message.text().starts_with(&format!("{thread} ")));
        let wanted: Vec<_> =
            (0..100).map(|n| prompt(format!("{thread} {n} {}", "x".repeat(thread * n)))).collect();
        assert_eq!(entries.iter().filter(mine).cloned().collect::<Vec<_>>(), wanted);
    }
}

/// It is delivered and answered in the original, and must not be once more in the copy.
fn a_fork_copies_nothing_that_is_pending(bench: &dyn Bench) {
    let store = bench.store();
    let log = store.create(opened(&id(1))).unwrap();
    for entry in [prompt("go"), inbound("i1"), asked("q1"), inbound("i2")] {
        log.append(&entry).unwrap();
    }
    log.append(&Entry::Note { message: Message::user("so"), inbound: vec!["i1".into()] }).unwrap();
    log.append(&asked("q2")).unwrap();
    drop(log);
    let fork = store.fork(&id(1), opened(&id(2))).unwrap();
    let read = SessionRecord::fold(fork.entries);
    assert_eq!((read.inbox.len(), read.questions.len()), (0, 0));
    drop(fork.log);
    let again = SessionRecord::fold(store.open(&id(2)).unwrap().entries);
    assert_eq!((again.inbox.len(), again.questions.len()), (0, 0));
    let original = SessionRecord::fold(store.open(&id(1)).unwrap().entries);
    assert_eq!((original.inbox.len(), original.questions.len()), (1, 1));
}
