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
async fn an_edit_that_still_fits_is_made_and_the_other_change_told() {
    let desk = desk();
    desk.write("f", "one\ntwo\nthree\n");
    desk.ok("Read", json!({"file_path": "f"})).await;
    desk.write("f", "one\nTWO\nthree\n");
    let edit = |old: &str, new: &str, all: bool| json!({"file_path": "f", "old_string": old, "new_string": new, "replace_all": all});
    // It stood in what was read, and not in what is there; then the other way round; then in both, but twice.
    for old in ["two", "TWO", "e\n"] {
        let refused = desk.err("Edit", edit(old, "x", false)).await;
        has(&refused, "has changed since you read it. Read it again");
        has(&refused, "- 2\ttwo\n+ 2\tTWO");
    }
    assert_eq!(desk.read("f"), "one\nTWO\nthree\n");
    let done = desk.ok("Edit", edit("three", "four", false)).await;
    assert_eq!(
        done,
        "Updated f:\n  1\tone\n  2\tTWO\n- 3\tthree\n+ 3\tfour\n[f had been changed by something else since you read it. Those changes are kept:]\n  1\tone\n- 2\ttwo\n+ 2\tTWO\n  3\tthree"
    );
    assert_eq!(desk.read("f"), "one\nTWO\nfour\n");
    // Its own changes are what it knows; the next one from elsewhere is told about again.
    desk.write("f", "ONE\nTWO\nfour\n");
    has(&desk.ok("Edit", edit("four", "five", true)).await, "- 1\tone\n+ 1\tONE");
    // All of it has been told, so all of it may be replaced.
    desk.ok("Write", json!({"file_path": "f", "content": "new\n"})).await;
    // One level back is what was there, not what was read.
    desk.ok("Revert", json!({"file_path": "f", "steps": 2})).await;
    assert_eq!(desk.read("f"), "ONE\nTWO\nfour\n");
}

#[tokio::test]
async fn a_change_that_is_not_told_in_full_leaves_the_file_partly_known() {
    let desk = desk();
    desk.write("f", "start\n");
    desk.ok("Read", json!({"file_path": "f"})).await;
    desk.write("f", format!("start\n{}", "more\n".repeat(200)));
    let done = desk
        .ok("Edit", json!({"file_path": "f", "old_string": "start", "new_string": "begin"}))
        .await;
    has(&done, "more lines of changes");
    assert!(done.len() < 4_000, "{}", done.len());
    let write = json!({"file_path": "f", "content": "x"});
    has(&desk.err("Write", write.clone()).await, "read only a part of it");
    desk.ok("Read", json!({"file_path": "f"})).await;
    desk.ok("Write", write).await;
}

#[tokio::test]
async fn a_content_too_large_to_keep_is_refused_when_it_changed() {
    let desk = desk();
    for (size, expected) in [(1 << 20, None), ((1 << 20) + 1, Some("Read it again"))] {
        let line = "x\n".repeat(size / 2) + if size % 2 == 1 { "y" } else { "" };
        let path = format!("f{size}");
        desk.write(&path, &line);
        desk.ok("Read", json!({"file_path": path, "limit": 5})).await;
        desk.write(&path, format!("needle\n{line}"));
        let edit =
            json!({"file_path": path, "old_string": "x", "new_string": "z", "replace_all": true});
        match expected {
            None => has(&desk.ok("Edit", edit).await, "had been changed by something else"),
            Some(expected) => has(&desk.err("Edit", edit).await, expected),
        }
    }
}

#[tokio::test]
async fn a_part_is_enough_to_edit_and_not_to_replace() {
    let desk = desk();
    let lines: String = (1..=10).map(|i| format!("line {i}\n")).collect();
    desk.write("f", &lines);
    let write = || json!({"file_path": "f", "content": "all new\n"});
    let read =
        |offset: u64, limit: u64| json!({"file_path": "f", "offset": offset, "limit": limit});
    desk.ok("Read", read(1, 4)).await;
    let refused = desk.err("Write", write()).await;
    has(&refused, "f exists and you have read only a part of it. Read the whole file first");
    // Nor after a restart, nor after an edit, nor after going back.
    has(&desk.resumed().err("Write", write()).await, "only a part");
    let edit = json!({"file_path": "f", "old_string": "line 10", "new_string": "line ten"});
    desk.ok("Edit", edit).await;
    has(&desk.err("Write", write()).await, "only a part");
    desk.ok("Revert", json!({"file_path": "f"})).await;
    has(&desk.err("Write", write()).await, "only a part");
    assert_eq!(desk.read("f"), lines);
    // All parts together are the whole.
    desk.ok("Read", read(1, 4)).await;
    desk.ok("Read", read(8, 3)).await;
    has(&desk.err("Write", write()).await, "only a part");
    let resumed = desk.resumed();
    resumed.ok("Read", read(5, 3)).await;
    resumed.ok("Write", write()).await;
    assert_eq!(desk.read("f"), "all new\n");
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
    has(&desk.err("Edit", edit("x", "z")).await, "old_string occurs 2 times in f (lines 1, 3)");
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
    for (path, expected) in [
        (".", "is a directory"),
        (desk.root.to_str().unwrap(), "is a directory"),
        ("f/x", "is not a directory"),
        ("new/", "ends with a slash"),
        ("", "is empty"),
        ("a.txt\0.png", "NUL"),
        ("/dev/null", "is a device"),
    ] {
        let error = desk.err("Write", json!({"file_path": path, "content": "x"})).await;
        has(&error, expected);
        let edit = json!({"file_path": path, "old_string": "", "new_string": "x"});
        has(&desk.err("Edit", edit).await, expected);
    }
    assert_eq!(desk.names("."), ["f"]);
}

/// Whether such a write needs a yes is the gate's question; once it is given, the write works.
#[tokio::test]
async fn a_place_that_is_asked_about_can_be_written() {
    let desk = desk();
    std::os::unix::fs::symlink(".git", desk.root.join("g")).unwrap();
    let access = desk.access("Write", json!({"file_path": "g/config", "content": ""})).unwrap();
    assert_eq!(access, Access::writing(PathScope::File(desk.root.join(".git/config"))));
    desk.ok("Write", json!({"file_path": "g/config", "content": "[core]\n"})).await;
    assert_eq!(desk.read(".git/config"), "[core]\n");
    desk.ok("Revert", json!({"file_path": ".git/config"})).await;
    assert!(desk.names(".git").is_empty());
}

#[tokio::test]
async fn what_leads_elsewhere_since_it_was_judged_is_not_touched() {
    let desk = desk();
    desk.write("f", "a");
    let out = desk.root.parent().unwrap().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("s"), "secret a").unwrap();
    let read = json!({"file_path": "f"});
    desk.ok("Read", read.clone()).await;
    let calls = [
        ("Read", read.clone()),
        ("Write", json!({"file_path": "f", "content": "x"})),
        ("Edit", json!({"file_path": "f", "old_string": "a", "new_string": "b"})),
        ("Edit", json!({"file_path": "f", "old_string": "", "new_string": "b"})),
        ("Revert", read),
        ("Grep", json!({"pattern": "a", "path": "f"})),
    ];
    let judged: Vec<Access> =
        calls.iter().map(|(tool, input)| desk.access(tool, input.clone()).unwrap()).collect();
    // While somebody thinks about the question.
    fs::remove_file(desk.root.join("f")).unwrap();
    std::os::unix::fs::symlink(out.join("s"), desk.root.join("f")).unwrap();
    for ((tool, input), judged) in calls.into_iter().zip(judged) {
        let output = desk.run(tool, input, judged).await;
        assert!(output.is_error, "{tool}");
        has(&super::support::text(&output), "was replaced between the decision and this call");
    }
    let search = json!({"pattern": "**", "path": "d"});
    fs::create_dir(desk.root.join("d")).unwrap();
    let judged = desk.access("Glob", search.clone()).unwrap();
    fs::remove_dir(desk.root.join("d")).unwrap();
    std::os::unix::fs::symlink(&out, desk.root.join("d")).unwrap();
    let output = desk.run("Glob", search, judged).await;
    has(&super::support::text(&output), "was replaced between the decision and this call");
    assert_eq!(fs::read_to_string(out.join("s")).unwrap(), "secret a");
    assert_eq!(super::support::names(&out), ["s"]);
}

#[tokio::test]
async fn a_root_that_was_replaced_is_not_walked_and_not_left() {
    let desk = desk();
    desk.write("a", "ours");
    let (out, old) = (desk.root.with_file_name("out"), desk.root.with_file_name("old"));
    fs::create_dir(&out).unwrap();
    fs::write(out.join("a"), "theirs").unwrap();
    fs::rename(&desk.root, &old).unwrap();
    std::os::unix::fs::symlink(&out, &desk.root).unwrap();
    has(&desk.ok("Read", json!({"file_path": "a"})).await, "ours");
    desk.ok("Write", json!({"file_path": "a", "content": "new"})).await;
    desk.ok("Write", json!({"file_path": "made/b", "content": "new"})).await;
    for (tool, input) in [("Grep", json!({"pattern": "theirs"})), ("Glob", json!({"pattern": "*"}))]
    {
        has(&desk.err(tool, input).await, "was replaced between the decision and this call");
    }
    assert_eq!(fs::read_to_string(old.join("a")).unwrap(), "new");
    assert_eq!(fs::read_to_string(old.join("made/b")).unwrap(), "new");
    assert_eq!(fs::read_to_string(out.join("a")).unwrap(), "theirs");
    assert_eq!(super::support::names(&out), ["a"]);
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
    has(&desk.err("Write", json!({"file_path": "huge", "content": "x"})).await, "is 20.0 MB");
}

#[tokio::test]
async fn a_file_of_cr_lf_stays_one_when_it_is_written_anew() {
    let desk = desk();
    for (before, content, after) in [
        ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"),
        ("a\r\nb\n", "x\ny\n", "x\ny\n"),
        ("a\nb\n", "x\ny\n", "x\ny\n"),
        ("a\r\n", "x\ny\r\n", "x\ny\r\n"),
    ] {
        desk.write("f", before);
        desk.ok("Read", json!({"file_path": "f"})).await;
        let told = desk.ok("Write", json!({"file_path": "f", "content": content})).await;
        assert_eq!(desk.read("f"), after, "{before:?}");
        assert_eq!(told.contains("CRLF"), after != content, "{told}");
    }
}
