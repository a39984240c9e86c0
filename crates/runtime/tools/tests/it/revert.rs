//! The way back, also across restarts (fault row B39).

use super::desk;
use super::support::{Desk, has};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

async fn write(desk: &Desk, content: &str) {
    desk.ok("Write", json!({"file_path": "f", "content": content})).await;
}

async fn revert(desk: &Desk, steps: u64) -> String {
    desk.ok("Revert", json!({"file_path": "f", "steps": steps})).await
}

#[tokio::test]
async fn step_by_step_to_the_beginning() {
    let desk = desk();
    for content in ["a\n", "b\nb\n", "c\n"] {
        write(&desk, content).await;
    }
    let text = desk.ok("Revert", json!({"file_path": "f"})).await;
    assert_eq!(
        text,
        "Reverted 1 change of f: its previous content was restored (2 lines). 2 earlier changes can still be undone."
    );
    assert_eq!(desk.read("f"), "b\nb\n");
    revert(&desk, 1).await;
    assert_eq!(desk.read("f"), "a\n");
    let text = revert(&desk, 1).await;
    assert_eq!(text, "Reverted 1 change of f: it did not exist before, so it was removed.");
    assert!(desk.names(".").is_empty());
    has(&desk.err("Revert", json!({"file_path": "f"})).await, "nothing to go back to");
}

#[tokio::test]
async fn a_restart_between_any_two_steps_makes_no_difference() {
    // What to do, and the content expected after it; each with and without a restart before it.
    let script = [
        ("write a", Some("a")),
        ("write b", Some("b")),
        ("write a", Some("a")), // by hand to what it was: a change, not a step back
        ("write c", Some("c")),
        ("revert 1", Some("a")),
        ("revert 1", Some("b")),
        ("write d", Some("d")),
        ("write e", Some("e")),
        ("revert 2", Some("b")),
        ("revert 1", Some("a")),
        ("write f", Some("f")),
        ("revert 9", None),
        ("write g", Some("g")),
        ("revert 1", None),
    ];
    // Never, always, alternating, and once before each step.
    let patterns =
        [0, u32::MAX, 0x5555, 0xaaaa].into_iter().chain((0..script.len()).map(|i| 1 << i));
    for restarts in patterns {
        let mut desk = desk();
        for (i, (step, expected)) in script.iter().enumerate() {
            if restarts & (1 << i) != 0 {
                desk = desk.resumed();
            }
            match step.split_once(' ').unwrap() {
                ("write", content) => write(&desk, content).await,
                (_, steps) => drop(revert(&desk, steps.parse().unwrap()).await),
            }
            let now = fs::read_to_string(desk.root.join("f")).ok();
            assert_eq!(
                now.as_deref(),
                *expected,
                "after step {i} ({step}) with restarts {restarts:b}"
            );
        }
    }
}

#[tokio::test]
async fn modes_come_back() {
    let desk = desk();
    let path = desk.write("f", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    desk.ok("Read", json!({"file_path": "f"})).await;
    write(&desk, "new").await;
    fs::remove_file(&path).unwrap();
    revert(&desk, 1).await;
    assert_eq!(desk.read("f"), "old");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700);
}

#[tokio::test]
async fn deleted_since_is_restored() {
    let desk = desk();
    write(&desk, "a").await;
    write(&desk, "b").await;
    fs::remove_file(desk.root.join("f")).unwrap();
    revert(&desk.resumed(), 1).await;
    assert_eq!(desk.read("f"), "a");
    // A file that was new and is gone already.
    let second = super::desk();
    write(&second, "a").await;
    fs::remove_file(second.root.join("f")).unwrap();
    has(&second.err("Revert", json!({"file_path": "f"})).await, "is as it was before");
}

#[tokio::test]
async fn changed_since_is_refused_with_a_note() {
    let desk = desk();
    write(&desk, "a").await;
    write(&desk, "b").await;
    desk.write("f", "theirs");
    for desk in [&desk, &desk.resumed()] {
        let refused = desk.err("Revert", json!({"file_path": "f"})).await;
        has(&refused, "Not reverted: f was changed by something else");
        assert_eq!(desk.read("f"), "theirs");
    }
    // The model reads it and continues: its own change can be undone, theirs stays.
    desk.ok("Read", json!({"file_path": "f"})).await;
    write(&desk, "c").await;
    let text = revert(&desk, 3).await;
    has(&text, "Reverted 1 change of f");
    has(&text, "Stopped there: before that, something else changed the file.");
    assert_eq!(desk.read("f"), "theirs");
}

#[tokio::test]
async fn the_restored_content_is_known_to_the_model() {
    let desk = desk();
    write(&desk, "a").await;
    write(&desk, "b").await;
    let output = desk.call("Revert", json!({"file_path": "f"})).await;
    assert_eq!(output.seen.len(), 1);
    desk.ok("Edit", json!({"file_path": "f", "old_string": "a", "new_string": "x"})).await;
    assert_eq!(desk.read("f"), "x");
}

#[tokio::test]
async fn a_write_that_failed_after_its_record_costs_no_step() {
    let desk = desk();
    write(&desk, "a").await;
    write(&desk, "b").await;
    // As when the process died between record and write: the file is still as before.
    desk.log.snapshots.lock().unwrap().push(ostler_core::session::Snapshot {
        call: "died".into(),
        path: desk.root.join("f"),
        before: Some(ostler_core::ports::Blobs::put(desk.blobs.as_ref(), b"b").unwrap()),
        mode: None,
        after: Some("never written".into()),
    });
    let desk = desk.resumed();
    revert(&desk, 1).await;
    assert_eq!(desk.read("f"), "a");
}

#[tokio::test]
async fn wrong_steps_and_places() {
    let desk = desk();
    has(&desk.err("Revert", json!({"file_path": "f", "steps": 0})).await, "between 1 and 100");
    has(&desk.err("Revert", json!({"file_path": "f", "steps": 101})).await, "between 1 and 100");
    has(&desk.err("Revert", json!({"file_path": "."})).await, "is a directory");
    has(&desk.err("Revert", json!({"file_path": "never"})).await, "no change of never is recorded");
}
