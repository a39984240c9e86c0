//! Rows of the fault table that concern files; each test is named after its row.

use super::children;
use super::desk;
use super::support::{Desk, has, names, text};
use ostler_core::output_bound::bound;
use ostler_core::tool::ToolOutput;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A hang is the fault that is looked for.
async fn in_time(desk: &Desk, tool: &str, input: Value) -> String {
    let output = tokio::time::timeout(Duration::from_secs(15), desk.call(tool, input))
        .await
        .expect("it hangs");
    text(&output)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn b21_a_closed_workspace_gives_clear_errors() {
    if !children::as_ordinary_user("faults::b21_a_closed_workspace_gives_clear_errors") {
        return;
    }
    let desk = desk();
    desk.write("f", "x");
    desk.write("sub/g", "y");
    desk.ok("Read", json!({"file_path": "f"})).await;
    let calls = [
        ("Read", json!({"file_path": "f"})),
        ("Write", json!({"file_path": "f", "content": "z"})),
        ("Write", json!({"file_path": "new", "content": "z"})),
        ("Edit", json!({"file_path": "f", "old_string": "x", "new_string": "z"})),
        ("Glob", json!({"pattern": "*", "path": "sub"})),
        ("Grep", json!({"pattern": "x", "path": "sub"})),
    ];
    set_mode(&desk.root, 0o000);
    for (tool, input) in calls {
        has(&desk.err(tool, input).await, "Permission denied: this user may not");
    }
    has(&desk.ok("Glob", json!({"pattern": "*"})).await, "could not be read");
    set_mode(&desk.root, 0o755);

    // A file nobody may read, one nobody may write, a directory nobody may write to.
    set_mode(&desk.root.join("f"), 0o000);
    has(
        &desk.err("Read", json!({"file_path": "f"})).await,
        "Permission denied: this user may not read",
    );
    has(&desk.err("Grep", json!({"pattern": "x", "path": "f"})).await, "Permission denied");
    set_mode(&desk.root.join("f"), 0o444);
    desk.ok("Read", json!({"file_path": "f"})).await;
    let edit = json!({"file_path": "f", "old_string": "x", "new_string": "z"});
    has(&desk.err("Edit", edit).await, "Permission denied: this user may not write");
    set_mode(&desk.root.join("sub"), 0o555);
    has(
        &desk.err("Write", json!({"file_path": "sub/h", "content": ""})).await,
        "Permission denied",
    );
    assert_eq!(desk.names("sub"), ["g"]);
    set_mode(&desk.root.join("sub"), 0o755);
}

#[tokio::test(flavor = "multi_thread")]
async fn b26_a_dropped_write_leaves_the_old_or_the_new_content() {
    let desk = desk();
    let (a, b) = ("a".repeat(1 << 20), "b".repeat(1 << 20));
    desk.ok("Write", json!({"file_path": "f", "content": a})).await;
    for round in 0..24u32 {
        let content = if round % 2 == 0 { &b } else { &a };
        let write =
            desk.tool("Write").run(json!({"file_path": "f", "content": content}), desk.context());
        tokio::select! {
            biased;
            _ = write => {}
            () = async { for _ in 0..round * 10 { tokio::task::yield_now().await } } => {}
        }
        let now = desk.read("f");
        assert!(now == a || now == b, "a mixture after round {round}: {} bytes", now.len());
    }
    // What was dropped may still be ending.
    let deadline = Instant::now() + Duration::from_secs(10);
    while desk.names(".") != ["f"] && Instant::now() < deadline {
        tokio::task::yield_now().await;
    }
    assert_eq!(desk.names("."), ["f"]);
}

#[tokio::test]
async fn b26_a_killed_write_leaves_the_old_or_the_new_content() {
    let (a, b) = ("a".repeat(300_000), "b".repeat(300_000));
    if children::is_child() {
        // Continues until it is killed; the parent looks at this directory.
        let desk = desk();
        std::os::unix::fs::symlink(children::argument(), desk.root.join("out")).unwrap();
        for content in [&a, &b].into_iter().cycle() {
            desk.ok("Write", json!({"file_path": "out/f", "content": content})).await;
        }
    }
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let mut child = children::start(
            "faults::b26_a_killed_write_leaves_the_old_or_the_new_content",
            dir.path(),
        );
        let deadline = Instant::now() + Duration::from_secs(30);
        let (mut first, mut changes) = (String::new(), 0);
        while changes < 3 && Instant::now() < deadline {
            let now = fs::read_to_string(dir.path().join("f")).unwrap_or_default();
            changes += u32::from(now != first);
            first = now;
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(changes >= 3, "the child wrote nothing");
        let now = fs::read_to_string(dir.path().join("f")).unwrap();
        assert!(now == a || now == b, "a mixture: {} bytes", now.len());
    }
}

#[tokio::test]
async fn b27_a_write_that_fails_halfway_changes_nothing() {
    if !children::with_little_space("faults::b27_a_write_that_fails_halfway_changes_nothing") {
        return;
    }
    let desk = desk();
    desk.write("f", "old\n");
    desk.ok("Read", json!({"file_path": "f"})).await;
    let large = "x".repeat(100_000);
    let calls = [
        ("Write", json!({"file_path": "f", "content": large})),
        ("Edit", json!({"file_path": "f", "old_string": "old", "new_string": large})),
        ("Write", json!({"file_path": "made/for/this", "content": large})),
    ];
    for (tool, input) in calls {
        has(&desk.err(tool, input).await, "Cannot write ");
    }
    assert_eq!(desk.read("f"), "old\n");
    assert_eq!(desk.names("."), ["f"]);
    // The file is still known, and what was recorded but not done is no step to undo.
    has(&desk.err("Revert", json!({"file_path": "f"})).await, "is as it was before");
    desk.ok("Edit", json!({"file_path": "f", "old_string": "old", "new_string": "new"})).await;
    desk.ok("Revert", json!({"file_path": "f"})).await;
    assert_eq!(desk.read("f"), "old\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b29_parallel_edits_of_one_file_are_all_applied() {
    let desk = desk();
    let words: Vec<String> = (0..40).map(|i| format!("<{i}>")).collect();
    desk.write("f", words.join("\n"));
    desk.ok("Read", json!({"file_path": "f"})).await;
    let edits = words.iter().map(|word| {
        let input = json!({"file_path": "f", "old_string": word, "new_string": word.replace('<', "done <")});
        tokio::spawn(desk.tool("Edit").run(input, desk.context()))
    });
    for edit in edits.collect::<Vec<_>>() {
        let output = edit.await.unwrap();
        assert!(!output.is_error, "{}", text(&output));
    }
    let expected: Vec<String> = (0..40).map(|i| format!("done <{i}>")).collect();
    assert_eq!(desk.read("f"), expected.join("\n"));
    // Each change is a level of its own, in the order in which they were made.
    let snapshots = desk.log.snapshots.lock().unwrap().clone();
    assert_eq!(snapshots.len(), 40);
    desk.ok("Revert", json!({"file_path": "f", "steps": 40})).await;
    assert_eq!(desk.read("f"), words.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b29_of_two_parallel_writes_to_a_new_file_none_is_lost() {
    let desk = desk();
    let write = |content: &str| {
        tokio::spawn(
            desk.tool("Write").run(json!({"file_path": "f", "content": content}), desk.context()),
        )
    };
    let both = [write("one"), write("two")];
    for output in both {
        assert!(!output.await.unwrap().is_error);
    }
    let last = desk.read("f");
    desk.ok("Revert", json!({"file_path": "f"})).await;
    let first = desk.read("f");
    assert!(
        last != first
            && [&first, &last].into_iter().all(|content| content == "one" || content == "two")
    );
}

#[tokio::test]
async fn b30_special_and_huge_files_are_refused_in_time() {
    let desk = desk();
    let pipe = desk.root.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(desk.root.join("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", desk.root.join("zero")).unwrap();
    fs::create_dir(desk.root.join("folder")).unwrap();
    for (path, expected) in [
        ("pipe", "is a named pipe"),
        ("socket", "is a socket"),
        ("zero", "is a device"),
        ("/dev/zero", "is a device"),
        ("folder", "is a directory"),
    ] {
        has(&in_time(&desk, "Read", json!({"file_path": path})).await, expected);
        has(&in_time(&desk, "Write", json!({"file_path": path, "content": "x"})).await, expected);
    }
    let sparse = |name: &str, start: &str| {
        let path = desk.write(name, start);
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10 << 30).unwrap();
    };
    sparse("hole", "");
    has(
        &in_time(&desk, "Read", json!({"file_path": "hole"})).await,
        "hole is a binary file (10.0 GB)",
    );
    let lines = "text\n".repeat(4_000);
    sparse("log", &lines);
    has(
        &in_time(&desk, "Read", json!({"file_path": "log"})).await,
        "log is too large to read at once: 10.0 GB",
    );
    let part =
        in_time(&desk, "Read", json!({"file_path": "log", "offset": 3_999, "limit": 2})).await;
    assert_eq!(
        part,
        "3999\ttext\n4000\ttext\n[Lines 3999–4000 are shown. Continue with offset 4001.]"
    );
    has(
        &in_time(&desk, "Read", json!({"file_path": "log", "offset": 4_001, "limit": 1})).await,
        "[line cut]",
    );
    // It cannot be edited, so it is not remembered either.
    has(&in_time(&desk, "Write", json!({"file_path": "log", "content": ""})).await, "is 10.0 GB");
    has(&in_time(&desk, "Grep", json!({"pattern": "text", "path": "hole"})).await, "No matches");
}

#[tokio::test]
async fn b32_a_large_result_is_kept_and_can_be_read() {
    let desk = desk();
    let whole: String = (1..=9_000).map(|i| format!("result line {i}\n")).collect();
    let bounded = bound(ToolOutput::text(whole.clone()), 50_000, desk.blobs.as_ref());
    let shown = text(&bounded);
    assert!(shown.chars().count() < 5_000);
    let [name] = names(&desk.blobs.spills()).try_into().unwrap();
    let path = desk.blobs.spills().join(name);
    has(&shown, path.to_str().unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    let part = desk.ok("Read", json!({"file_path": path, "offset": 5_000, "limit": 1})).await;
    has(&part, "5000\tresult line 5000\n");
}
