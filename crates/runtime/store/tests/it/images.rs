//! Large images stand beside the log, not in it.

use crate::samples::{file, files, home, id, image, opened, prompt, store};
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::ports::SessionStore;
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use std::fs;

fn pictures(length: usize) -> Vec<Entry> {
    let user = Message::User {
        content: vec![Block::text("see"), Block::Image(image(length)), Block::text("?")],
    };
    let result = Block::ToolResult {
        id: "c".into(),
        content: vec![ResultPart::text("shot"), ResultPart::Image(image(length + 1))],
        is_error: false,
    };
    vec![
        Entry::prompt(user.clone(), Timestamp(1)),
        Entry::note(user),
        Entry::CallFinished { result, seen: vec![] },
    ]
}

#[test]
fn only_large_images_leave_the_line() {
    for (length, blobs) in [(10, 0), (1023, 0), (1024, 1), (1025, 2), (50_000, 2)] {
        let home = home();
        let log = store(&home).create(opened(&id(1))).unwrap();
        let entries = pictures(length);
        entries.iter().for_each(|entry| log.append(entry).unwrap());
        drop(log);
        assert_eq!(files(&home.path().join("blobs"), "").len(), blobs, "{length}");
        assert!(fs::metadata(file(home.path(), ".log")).unwrap().len() < 4500);
        let loaded = store(&home).open(&id(1)).unwrap();
        assert_eq!(loaded.entries[1..], entries, "the same as before it was stored");
        assert_eq!(loaded.notices, [""; 0]);
        drop(loaded);
        let fork = store(&home).fork(&id(1), opened(&id(2))).unwrap();
        assert_eq!(fork.entries[1..], entries);
        assert!(fs::metadata(file(home.path(), &format!("{}.log", id(2)))).unwrap().len() < 4500);
    }
}

#[test]
fn a_lost_image_is_replaced_by_words_and_reported() {
    let home = home();
    let log = store(&home).create(opened(&id(1))).unwrap();
    pictures(2000).iter().for_each(|entry| log.append(entry).unwrap());
    log.append(&prompt("still here")).unwrap();
    drop(log);
    let blobs = files(&home.path().join("blobs"), "");
    fs::remove_file(&blobs[0]).unwrap();
    fs::write(&blobs[1], "damaged").unwrap();
    let loaded = store(&home).open(&id(1)).unwrap();
    assert_eq!(loaded.notices.len(), 3, "{:?}", loaded.notices);
    assert!(loaded.notices.iter().all(|notice| notice.contains("image")));
    assert_eq!(loaded.entries[4], prompt("still here"));
    let Entry::Prompt { message, .. } = &loaded.entries[1] else { panic!() };
    let [_, Block::Text { text, meta: true }, _] = message.blocks() else { panic!("{message:?}") };
    assert!(text.contains("image"));
    let Entry::CallFinished { result: Block::ToolResult { content, .. }, .. } = &loaded.entries[3]
    else {
        panic!()
    };
    assert!(matches!(&content[..], [_, ResultPart::Text { text }] if text.contains("image")));
}

/// Appending does not wait for the disk; a sync of the log covers what the log names.
#[test]
fn images_are_on_disk_when_the_log_is() {
    let home = home();
    let log = store(&home).create(opened(&id(1))).unwrap();
    pictures(2000).iter().for_each(|entry| log.append(entry).unwrap());
    let blobs = home.path().join("blobs");
    let one = files(&blobs, "").into_iter().next().unwrap();
    // A file that cannot be opened cannot be synced either.
    let away = home.path().join("away");
    fs::rename(&one, &away).unwrap();
    std::os::unix::fs::symlink(&one, &one).unwrap();
    let error = log.sync().unwrap_err().to_string();
    assert!(error.contains(one.to_str().unwrap()), "{error}");
    fs::rename(&away, &one).unwrap();
    log.sync().unwrap();
    // One that is gone for good is no reason to stop: the next reader is told.
    pictures(3000).iter().for_each(|entry| log.append(entry).unwrap());
    fs::remove_dir_all(&blobs).unwrap();
    log.sync().unwrap();
    drop(log);
    assert!(!store(&home).open(&id(1)).unwrap().notices.is_empty());
}
