//! Disks that are full, files that may not grow: C01, C10. And the umask (H04).

use crate::child;
use crate::samples::{file, files, home, id, image, opened, prompt};
use ostler_core::message::{Block, Message};
use ostler_core::ports::{SessionStore, StoreError};
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use ostler_store::FileStore;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn big(n: usize) -> Entry {
    prompt(format!("{n} {}", "z".repeat(10_000)))
}

#[track_caller]
fn expect_clear(error: &StoreError, log: &Path) {
    let text = error.to_string();
    assert!(
        matches!(error, StoreError::Io { doing: "append to", path, .. } if path == log),
        "{error:?}"
    );
    assert!(text.lines().count() == 1 && text.contains("free some disk space"), "{text}");
}

/// Runs with the home on a file system of one megabyte.
#[test]
fn child_on_a_small_disk() {
    let Some(home) = child::home() else { return };
    let store = FileStore::new(&home).unwrap();
    let ballast = home.join("ballast");
    fs::write(&ballast, vec![1; 200_000]).unwrap();
    let log = store.create(opened(&id(1))).unwrap();
    let path = file(&home, ".log");
    let mut kept = vec![opened(&id(1))];
    let error = loop {
        assert!(kept.len() < 200, "the disk never fills");
        match log.append(&big(kept.len())) {
            Ok(()) => kept.push(big(kept.len())),
            Err(error) => break error,
        }
    };
    assert!(kept.len() > 20);
    expect_clear(&error, &path);
    let whole = fs::read(&path).unwrap();
    assert!(whole.ends_with(b"}\n"), "no torn record");
    expect_clear(&log.append(&big(0)).unwrap_err(), &path);
    assert_eq!(fs::read(&path).unwrap(), whole);

    // Nothing else is left lying about either.
    let before = files(&home, "");
    let picture =
        Entry::prompt(Message::User { content: vec![Block::Image(image(50_000))] }, Timestamp(1));
    assert!(matches!(log.append(&picture), Err(StoreError::Io { .. })));
    assert!(store.create(big_opening()).is_err());
    assert!(store.fork(&id(1), opened(&id(3))).is_err());
    assert_eq!(files(&home, ""), before);

    full_and_torn(&store, &home, &path, &kept, log);

    fs::remove_file(&ballast).unwrap();
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!(loaded.entries, kept);
    for n in 0..5 {
        loaded.log.append(&big(n)).unwrap();
        kept.push(big(n));
    }
    drop(loaded);
    let again = store.open(&id(1)).unwrap();
    assert_eq!((again.entries.len(), again.notices.len()), (kept.len(), 0));
    assert_eq!(again.entries, kept);
    child::done();
}

/// A first entry that does not fit.
fn big_opening() -> Entry {
    crate::samples::opened_in(&id(2), &format!("/{}", "w".repeat(20_000)))
}

/// A torn end that cannot be set aside stays, and does no harm when there is room again.
fn full_and_torn(
    store: &FileStore,
    home: &Path,
    path: &Path,
    kept: &[Entry],
    log: std::sync::Arc<dyn ostler_core::ports::SessionLog>,
) {
    drop(log);
    let whole = fs::read(path).unwrap();
    // The rest of the last page is ours without asking the disk.
    let torn = [&whole[..], b"99 torn"].concat();
    std::io::Write::write_all(
        &mut fs::OpenOptions::new().append(true).open(path).unwrap(),
        b"99 torn",
    )
    .unwrap();
    assert_eq!(fs::read(path).unwrap(), torn);
    let fill = home.join("fill");
    let mut filler = fs::File::create(&fill).unwrap();
    while std::io::Write::write(&mut filler, &[2; 512]).is_ok_and(|written| written == 512) {}
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!(loaded.entries, kept);
    let [notice] = &loaded.notices[..] else { panic!("{:?}", loaded.notices) };
    assert!(notice.contains("left in place"), "{notice}");
    assert_eq!(fs::read(path).unwrap(), torn);
    fs::remove_file(&fill).unwrap();
}

#[test]
fn c01_c10_a_full_disk_tears_nothing_and_space_that_returns_is_used() {
    if !child::may_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o size=1m,mode=700 none "$STORE_TEST_CHILD_HOME" && exec "$@""#;
    let wrapper = ["unshare", "-rm", "sh", "-c", mount, "sh"];
    let mut command = child::wrapped(&wrapper, "disk::child_on_a_small_disk", home.path(), "");
    child::expect_done(&command.output().unwrap());
}

/// Runs with the signal ignored that would end it when a file may not grow.
#[test]
fn child_with_a_file_limit() {
    let Some(home) = child::home() else { return };
    let store = FileStore::new(&home).unwrap();
    let log = store.create(opened(&id(1))).unwrap();
    let path = file(&home, ".log");
    let unlimited = getrlimit(Resource::Fsize);
    let mut kept = vec![opened(&id(1))];
    let entry = prompt("a record of a fair size");
    log.append(&entry).unwrap();
    kept.push(entry.clone());
    let clean = fs::metadata(&path).unwrap().len();
    let record =
        clean - fs::read(&path).unwrap().iter().position(|byte| *byte == b'\n').unwrap() as u64 - 1;
    // At every byte of the record the file system says: no further.
    for room in 0..record {
        setrlimit(Resource::Fsize, Rlimit { current: Some(clean + room), ..unlimited }).unwrap();
        expect_clear(&log.append(&entry).unwrap_err(), &path);
        assert_eq!(fs::metadata(&path).unwrap().len(), clean, "{room}");
    }
    setrlimit(Resource::Fsize, unlimited).unwrap();
    for n in 0..3 {
        log.append(&big(n)).unwrap();
        kept.push(big(n));
    }
    drop(log);
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!((loaded.entries, loaded.notices.len()), (kept, 0));
    child::done();
}

#[test]
fn c10_a_record_cut_at_any_byte_is_rolled_back() {
    let home = home();
    let wrapper = ["sh", "-c", r#"trap '' XFSZ; exec "$@""#, "sh"];
    let mut command = child::wrapped(&wrapper, "disk::child_with_a_file_limit", home.path(), "");
    child::expect_done(&command.output().unwrap());
}

#[test]
fn child_with_a_umask() {
    let Some(home) = child::home() else { return };
    umask(Mode::from_raw_mode(u32::from_str_radix(&child::argument(), 8).unwrap()));
    let home = home.join("not/yet/there");
    let store = FileStore::new(&home).unwrap();
    let log = store.create(opened(&id(1))).unwrap();
    let picture =
        Entry::prompt(Message::User { content: vec![Block::Image(image(5000))] }, Timestamp(1));
    log.append(&picture).unwrap();
    log.sync().unwrap();
    store.fork(&id(1), opened(&id(2))).unwrap();
    let path = file(&home, &format!("{}.log", id(1)));
    drop(log);
    std::io::Write::write_all(
        &mut fs::OpenOptions::new().append(true).open(&path).unwrap(),
        b"3 torn",
    )
    .unwrap();
    // What is open already is closed again.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(home.join("sessions"), fs::Permissions::from_mode(0o755)).unwrap();
    let store = FileStore::new(&home).unwrap();
    let _open = store.open(&id(1)).unwrap();
    let all = files(&home, "");
    assert_eq!(all.len(), 5, "two logs, a lock, a blob, a torn end: {all:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for path in &all {
        assert_eq!(mode(path), 0o600, "{}", path.display());
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&home)) {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
    }
    child::done();
}

#[test]
fn h04_files_are_private_whatever_the_umask() {
    for mask in ["000", "022", "077", "027"] {
        let home = home();
        child::expect_done(
            &child::command("disk::child_with_a_umask", home.path(), mask).output().unwrap(),
        );
    }
}
