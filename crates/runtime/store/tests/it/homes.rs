//! Homes and files that must not be used: C02, C18.

use crate::child;
use crate::samples::{WORKSPACE, file, files, home, id, opened, prompt, store};
use ostler_core::ports::{SessionStore, StoreError};
use ostler_store::{FileBlobs, FileStore, check_home, check_state_directory};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const NOBODY: u32 = 65534;

#[track_caller]
fn expect_refused(home: &Path, why: &str) {
    for error in
        [FileStore::new(home).map(drop).unwrap_err(), FileBlobs::new(home).map(drop).unwrap_err()]
    {
        let text = error.to_string();
        // Whoever only looks comes to the same.
        let looked = check_home(home).and_then(|()| check_state_directory(home));
        assert!(looked.is_err(), "{text}");
        assert!(text.contains(why) && text.contains(&*home.to_string_lossy()), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(matches!(error, StoreError::Io { .. }));
    }
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn c02_a_missing_home_is_made() {
    let home = home();
    let deep = home.path().join("a/b/.ostler");
    check_home(&deep).unwrap();
    assert!(!home.path().join("a").exists(), "looking makes nothing");
    FileStore::new(&deep).unwrap().create(opened(&id(1))).unwrap();
    assert!(deep.join("sessions").is_dir());
    check_home(&deep).unwrap();
    // One of the directories in it is not ours, as after a run with sudo.
    fs::remove_dir_all(deep.join("sessions")).unwrap();
    fs::write(deep.join("file"), "").unwrap();
    check_home(&deep).unwrap();
    if root() {
        fs::create_dir(deep.join("blobs")).unwrap_or_default();
        chown(deep.join("blobs"), Some(NOBODY), None).unwrap();
        let error = check_home(&deep).unwrap_err().to_string();
        assert!(error.contains("blobs") && error.contains("another user"), "{error}");
    }
}

#[test]
fn c02_a_home_that_is_no_folder_is_refused() {
    let home = home();
    let text = home.path().join("file");
    fs::write(&text, "x").unwrap();
    expect_refused(&text, "it is not a directory");
    expect_refused(&text.join("below"), "Not a directory");
    let nowhere = home.path().join("nowhere");
    symlink("does/not/exist", &nowhere).unwrap();
    expect_refused(&nowhere, "it is a broken link");
    assert_eq!(fs::read_to_string(&text).unwrap(), "x");
    let sessions = home.path().join("sessions");
    fs::write(&sessions, "x").unwrap();
    assert!(
        FileStore::new(home.path())
            .map(drop)
            .unwrap_err()
            .to_string()
            .contains("it is not a directory")
    );
}

#[test]
fn c02_a_home_of_another_user_is_refused() {
    if !root() {
        expect_refused(Path::new("/"), "it belongs to another user (0");
        return;
    }
    let home = home();
    let theirs = home.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(NOBODY), None).unwrap();
    expect_refused(&theirs, "it belongs to another user (65534, not 0)");
    let link = home.path().join("link");
    symlink(&theirs, &link).unwrap();
    expect_refused(&link, "it belongs to another user");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

#[test]
fn a_link_to_a_folder_of_ones_own_is_a_home() {
    let (home, elsewhere) = (home(), home());
    let link = home.path().join("link");
    symlink(elsewhere.path(), &link).unwrap();
    FileStore::new(&link).unwrap().create(opened(&id(1))).unwrap();
    assert_eq!(files(elsewhere.path(), ".log").len(), 1);
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What others can write may hold what they put there: rules, sessions, contents of files.
#[test]
fn a_home_that_others_can_write_is_refused() {
    for (mode, who) in
        [(0o775, "its group can write"), (0o757, "everybody can write"), (0o1777, "everybody")]
    {
        let home = home();
        allow(home.path(), mode);
        expect_refused(home.path(), who);
        expect_refused(home.path(), &format!("run: chmod -R go-w {}", home.path().display()));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "nothing was made in it");
    }
    // To be read by others is no reason.
    let home = home();
    allow(home.path(), 0o755);
    FileStore::new(home.path()).unwrap().create(opened(&id(1))).unwrap();
}

#[test]
fn a_part_of_the_home_that_others_can_write_is_refused() {
    let parts = [
        "sessions",
        "sessions/p",
        "snapshots",
        "snapshots/p",
        "memory",
        "webhooks/a",
        "projects/p",
        "blobs",
        "events",
    ];
    for part in parts {
        let home = home();
        let path = home.path().join(part);
        fs::create_dir_all(&path).unwrap();
        allow(&path, 0o770);
        let error = FileStore::new(home.path()).map(drop).unwrap_err().to_string();
        let wanted =
            format!("cannot use {}: its group can write to it (mode 0770)", path.display());
        assert!(error.starts_with(&wanted) && error.contains("chmod -R go-w"), "{error}");
        allow(&path, 0o700);
        FileStore::new(home.path()).unwrap();
    }
    for part in ["ledger.db", "trust.json", "memory/p.db"] {
        let home = home();
        let path = home.path().join(part);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        allow(&path, 0o606);
        let error = FileStore::new(home.path()).map(drop).unwrap_err().to_string();
        assert!(error.contains("everybody can write to it (mode 0606)"), "{error}");
    }
}

#[test]
fn a_link_out_of_the_home_is_refused() {
    for part in [
        "sessions",
        "sessions/p",
        "snapshots",
        "snapshots/p",
        "memory/p.db",
        "ledger.db",
        "webhooks",
        "trust.json",
        "blobs",
    ] {
        let (home, elsewhere) = (home(), home());
        let path = home.path().join(part);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(elsewhere.path(), &path).unwrap();
        let error = FileStore::new(home.path()).map(drop).unwrap_err().to_string();
        let wanted = format!("cannot use {}: it is a link.", path.display());
        assert!(error.starts_with(&wanted), "{error}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{part}");
    }
    // What people write themselves may be kept elsewhere.
    let (home, elsewhere) = (home(), home());
    for part in ["settings.json", "permissions.yaml", "skills", "AGENTS.md"] {
        symlink(elsewhere.path().join(part), home.path().join(part)).unwrap();
    }
    FileStore::new(home.path()).unwrap();
}

#[test]
fn a_part_of_the_home_that_belongs_to_another_user_is_refused() {
    if !root() {
        println!(
            "SKIPPED a part of the home that belongs to another user: only root can give it away"
        );
        return;
    }
    for part in ["sessions", "sessions/p", "ledger.db", "memory/p.db"] {
        let home = home();
        let path = home.path().join(part);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        chown(&path, Some(NOBODY), None).unwrap();
        let error = FileStore::new(home.path()).map(drop).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("another user (65534, not 0)"), "{error}");
    }
}

#[test]
fn child_is_refused() {
    let Some(home) = child::home() else { return };
    expect_refused(&home, &child::argument());
    child::done();
}

#[test]
fn c02_a_home_without_the_right_to_write_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let home = parent.path().join("home");
    fs::create_dir(&home).unwrap();
    let mut command = child::command("homes::child_is_refused", &home, "it is not writable");
    if root() {
        // Root may write anywhere, so somebody else tries.
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o755)).unwrap();
        chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).unwrap();
    match command.output() {
        Ok(output) if output.status.code() == Some(101) || output.status.success() => {
            child::expect_done(&output);
        }
        other => println!("SKIPPED: another user cannot run this test program here: {other:?}"),
    }
}

#[test]
fn c02_a_read_only_home_is_refused() {
    if !child::may_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o ro,mode=700 none "$STORE_TEST_CHILD_HOME" && exec "$@""#;
    let wrapper = ["unshare", "-rm", "sh", "-c", mount, "sh"];
    let mut command = child::wrapped(
        &wrapper,
        "homes::child_is_refused",
        home.path(),
        "the file system is read-only",
    );
    child::expect_done(&command.output().unwrap());
}

/// Waiting for the other end of a pipe would be forever.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(Duration::from_secs(20)).expect("still waiting")
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn c18_only_a_regular_file_is_a_log() {
    type StandIn = (&'static str, &'static str, fn(&Path));
    let stand_ins: [StandIn; 5] = [
        ("link", "it is a link", |path| symlink(path.with_extension("real"), path).unwrap()),
        ("dangling link", "it is a link", |path| symlink("/does/not/exist", path).unwrap()),
        ("folder", "it is a directory", |path| fs::create_dir(path).unwrap()),
        ("pipe", "it is a pipe", pipe),
        ("socket", "it is a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ];
    for (name, why, put) in stand_ins {
        let home = home();
        let store = store(&home);
        drop(store.create(opened(&id(1))).unwrap());
        let path = file(home.path(), ".log");
        let real = path.with_extension("real");
        fs::rename(&path, &real).unwrap();
        put(&path);
        let before = fs::read(&real).unwrap();
        let errors = in_time(move || {
            assert_eq!(store.list(Path::new(WORKSPACE)).unwrap(), []);
            assert_eq!(store.latest(Path::new(WORKSPACE)).unwrap(), None);
            assert_eq!(
                store.create(opened(&id(1))).map(drop).unwrap_err(),
                StoreError::Exists(id(1))
            );
            [
                store.open(&id(1)).map(drop).unwrap_err(),
                store.fork(&id(1), opened(&id(2))).map(drop).unwrap_err(),
            ]
        });
        for error in errors {
            assert!(
                matches!(&error, StoreError::NotALog(at, text) if *at == path && text.contains(why)),
                "{name}: {error}"
            );
        }
        assert_eq!(fs::read(&real).unwrap(), before, "{name}");
        assert_eq!(files(home.path(), ".lock").len(), 0, "{name}");
    }
}

#[test]
fn c18_a_lock_file_is_not_followed_either() {
    let home = home();
    let store = store(&home);
    drop(store.create(opened(&id(1))).unwrap());
    let lock = file(home.path(), ".log").with_extension("lock");
    let precious = home.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    symlink(&precious, &lock).unwrap();
    let error = store.open(&id(1)).map(drop).unwrap_err().to_string();
    assert!(error.contains("it is a link. Remove it"), "{error}");
    fs::remove_file(&lock).unwrap();
    pipe(&lock);
    let error = in_time(move || store.open(&id(1)).map(drop).unwrap_err().to_string());
    assert!(error.contains("it is a pipe. Remove it"), "{error}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn c18_what_is_left_of_a_dead_fork_is_not_followed() {
    let home = home();
    let store = store(&home);
    let log = store.create(opened(&id(1))).unwrap();
    log.append(&prompt("a")).unwrap();
    let precious = home.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let part = file(home.path(), ".log").with_file_name(format!("{}.part", id(2)));
    symlink(&precious, &part).unwrap();
    assert_eq!(store.fork(&id(1), opened(&id(2))).unwrap().entries.len(), 2);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(!part.exists());
}
