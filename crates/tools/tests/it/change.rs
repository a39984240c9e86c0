//! Write and Edit.

use super::desk;
use super::support::has;
use ostler_core::permission::{Access, PathScope};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn write_creates_and_replaces_what_was_read() {
    let desk = desk();
    let created =
        desk.ok("Write", json!({"file_path": "new/deep/a.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(created, "Created new/deep/a.txt (2 lines).");
    assert_eq!(desk.read("new/deep/a.txt"), "one\ntwo\n");
    // Its own writes are known without reading them.
    let updated =
        desk.ok("Write", json!({"file_path": "new/deep/a.txt", "content": "three"})).await;
    assert_eq!(updated, "Updated new/deep/a.txt (1 line).");
    let same = desk.ok("Write", json!({"file_path": "new/deep/a.txt", "content": "three"})).await;
    has(&same, "nothing was written");
    assert_eq!(desk.log.snapshots.lock().unwrap().len(), 2);

    desk.write("other", "theirs");
    let refused = desk.err("Write", json!({"file_path": "other", "content": "mine"})).await;
    assert_eq!(
        refused,
        "<tool_use_error>other exists and you have not read it. Read it first.</tool_use_error>"
    );
    assert_eq!(desk.read("other"), "theirs");
    desk.ok("Read", json!({"file_path": "other", "limit": 1})).await;
    desk.ok("Write", json!({"file_path": "other", "content": "mine"})).await;
    assert_eq!(desk.read("other"), "mine");

    desk.write("empty", "");
    desk.ok("Write", json!({"file_path": "empty", "content": "x"})).await;
}

#[tokio::test]
async fn a_file_changed_since_it_was_read_is_refused() {
    let desk = desk();
    desk.write("f", "a");
    desk.ok("Read", json!({"file_path": "f"})).await;
    desk.write("f", "newer");
    for (tool, input) in [
        ("Edit", json!({"file_path": "f", "old_string": "newer", "new_string": "b"})),
        ("Write", json!({"file_path": "f", "content": "b"})),
    ] {
        has(&desk.err(tool, input).await, "f has changed since you read it. Read it again");
    }
    assert_eq!(desk.read("f"), "newer");
    assert!(desk.log.snapshots.lock().unwrap().is_empty());
    desk.ok("Read", json!({"file_path": "f"})).await;
    desk.ok("Edit", json!({"file_path": "f", "old_string": "newer", "new_string": "b"})).await;
    assert_eq!(desk.read("f"), "b");
}

#[tokio::test]
async fn what_was_seen_survives_a_restart() {
    let first = desk();
    first.write("f", "a b");
    first.ok("Read", json!({"file_path": "f"})).await;
    let second = first.resumed();
    second.ok("Edit", json!({"file_path": "f", "old_string": "a", "new_string": "x"})).await;
    let third = second.resumed();
    third.ok("Edit", json!({"file_path": "f", "old_string": "b", "new_string": "y"})).await;
    assert_eq!(third.read("f"), "x y");
    third.write("f", "foreign");
    has(
        &third.resumed().err("Write", json!({"file_path": "f", "content": "z"})).await,
        "has changed since",
    );
}

#[tokio::test]
async fn edit_replaces_and_shows_what_it_did() {
    let desk = desk();
    desk.write("src/a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n");
    desk.ok("Read", json!({"file_path": "src/a.rs"})).await;
    let done = desk
        .ok("Edit", json!({"file_path": "src/a.rs", "old_string": "b()", "new_string": "bee()"}))
        .await;
    assert_eq!(
        done,
        "Updated src/a.rs:\n  1\tfn a() {}\n- 2\tfn b() {}\n+ 2\tfn bee() {}\n  3\tfn c() {}"
    );
    let all = json!({"file_path": "src/a.rs", "old_string": "fn ", "new_string": "pub fn ", "replace_all": "true"});
    has(&desk.ok("Edit", all).await, "Updated src/a.rs in 3 places:");
    assert_eq!(desk.read("src/a.rs"), "pub fn a() {}\npub fn bee() {}\npub fn c() {}\n");
}

#[tokio::test]
async fn edit_refuses_with_the_remedy() {
    let desk = desk();
    desk.write("f", "x\ny\nx\n");
    let edit =
        |old: &str, new: &str| json!({"file_path": "f", "old_string": old, "new_string": new});
    has(&desk.err("Edit", edit("x", "z")).await, "Read it first");
    desk.ok("Read", json!({"file_path": "f"})).await;
    has(&desk.err("Edit", edit("x", "z")).await, "old_string stands 2 times in f (lines 1, 3)");
    has(&desk.err("Edit", edit("q", "z")).await, "old_string was not found in f.");
    has(&desk.err("Edit", edit("x", "x")).await, "are the same");
    has(&desk.err("Edit", edit("", "z")).await, "exists and is not empty");
    has(
        &desk.err("Edit", json!({"file_path": "g", "old_string": "x", "new_string": "y"})).await,
        "g does not exist",
    );
    assert_eq!(desk.read("f"), "x\ny\nx\n");
    assert!(desk.log.snapshots.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_empty_old_string_creates() {
    let desk = desk();
    let create = |path: &str| json!({"file_path": path, "old_string": "", "new_string": "text\n"});
    assert_eq!(desk.ok("Edit", create("new/f")).await, "Created new/f (1 line).");
    desk.write("empty", "");
    desk.ok("Edit", create("empty")).await;
    assert_eq!(desk.read("empty"), "text\n");
    has(&desk.err("Edit", create("empty")).await, "exists and is not empty");
}

#[tokio::test]
async fn line_ends_marks_and_modes_are_kept() {
    let desk = desk();
    let path = desk.write("run.bat", "\u{feff}a\r\nb\r\nc");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
    desk.ok("Read", json!({"file_path": "run.bat"})).await;
    desk.ok("Edit", json!({"file_path": "run.bat", "old_string": "a\nb", "new_string": "x\ny\nz"}))
        .await;
    assert_eq!(desk.read("run.bat"), "\u{feff}x\r\ny\r\nz\r\nc");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
}

#[tokio::test]
async fn a_write_through_a_link_changes_its_target() {
    let desk = desk();
    let target = desk.write("real/f", "old");
    std::os::unix::fs::symlink("real/f", desk.root.join("link")).unwrap();
    let access = desk.access("Write", json!({"file_path": "link", "content": ""})).unwrap();
    assert_eq!(access, Access::writing(PathScope::File(target)));
    desk.ok("Read", json!({"file_path": "link"})).await;
    desk.ok("Edit", json!({"file_path": "link", "old_string": "old", "new_string": "new"})).await;
    assert_eq!(desk.read("real/f"), "new");
    assert!(desk.root.join("link").is_symlink());
    std::os::unix::fs::symlink("made/here", desk.root.join("dangling")).unwrap();
    desk.ok("Write", json!({"file_path": "dangling", "content": "x"})).await;
    assert_eq!(desk.read("made/here"), "x");
}

#[tokio::test]
async fn places_that_cannot_be_written_are_refused_clearly() {
    let desk = desk();
    desk.write("f", "x");
    desk.write(".git/config", "[core]\n");
    std::os::unix::fs::symlink(".git", desk.root.join("g")).unwrap();
    for (path, expected) in [
        (".git/config", "lies in a .git folder"),
        (".git/hooks/pre-commit", "lies in a .git folder"),
        ("sub/.git", "lies in a .git folder"),
        ("sub/.GIT/config", "lies in a .git folder"),
        ("g/config", "lies in a .git folder"),
        (".", "is a folder"),
        ("f/x", "is not a folder"),
        ("new/", "ends like a folder's"),
        ("", "is empty"),
        ("a.txt\0.png", "NUL"),
        ("/dev/null", "is a device"),
    ] {
        let error = desk.err("Write", json!({"file_path": path, "content": "x"})).await;
        has(&error, expected);
        let edit = json!({"file_path": path, "old_string": "", "new_string": "x"});
        has(&desk.err("Edit", edit).await, expected);
    }
    assert_eq!(desk.names("."), [".git", "f", "g"]);
    assert_eq!(desk.read(".git/config"), "[core]\n");
    desk.ok("Write", json!({"file_path": ".gitignore", "content": "x"})).await;
}

#[tokio::test]
async fn without_a_record_nothing_is_written() {
    let desk = desk();
    desk.write("f", "old");
    desk.ok("Read", json!({"file_path": "f"})).await;
    desk.log.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    let edit = json!({"file_path": "f", "old_string": "old", "new_string": "new"});
    has(
        &desk.err("Edit", edit).await,
        "Nothing was changed, because the old content could not be kept",
    );
    has(&desk.err("Write", json!({"file_path": "g", "content": ""})).await, "Nothing was changed");
    assert_eq!(desk.read("f"), "old");
    assert_eq!(desk.names("."), ["f"]);
}

#[tokio::test]
async fn a_file_too_large_to_keep_is_not_changed() {
    let desk = desk();
    let path = desk.write("huge", "");
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(20 << 20).unwrap();
    has(&desk.err("Write", json!({"file_path": "huge", "content": "x"})).await, "holds 20.0 MB");
}
