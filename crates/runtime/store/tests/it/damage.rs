//! Logs that were torn, overwritten or edited: C04, C06, C07, C08, C14, C16.

use crate::samples::{
    WORKSPACE, answer, every_entry, file, files, home, id, opened, prompt, store,
};
use ostler_core::ids::CallId;
use ostler_core::message::{Block, ResultPart};
use ostler_core::ports::{SessionStore, StoreError};
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::time::Timestamp;
use ostler_core::turn::{Continue, Terminal};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A home with one session that holds these entries, and its log.
fn recorded(entries: &[Entry]) -> (TempDir, PathBuf) {
    let home = home();
    let log = store(&home).create(entries[0].clone()).unwrap();
    for entry in &entries[1..] {
        log.append(entry).unwrap();
    }
    drop(log);
    let path = file(home.path(), ".log");
    (home, path)
}

/// Ends of lines, the beginning included.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect()
}

#[test]
fn c04_every_byte_prefix_loads_and_goes_on_cleanly() {
    let entries = every_entry(&id(1));
    let (home, path) = recorded(&entries);
    let bytes = fs::read(&path).unwrap();
    let ends = ends(&bytes);
    let store = store(&home);
    for length in 1..=bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        // A record without its newline is whole.
        let whole = ends.iter().filter(|end| **end <= length + 1).count() - 1;
        let torn = length > ends[whole];
        let loaded = store.open(&id(1)).unwrap();
        assert_eq!(loaded.entries, entries[..whole], "{length}");
        assert_eq!(loaded.notices.len(), usize::from(torn), "{length}: {:?}", loaded.notices);
        let aside = path.with_extension(format!("torn-{}", whole + 1));
        if torn {
            assert!(loaded.notices[0].contains(&*aside.to_string_lossy()), "{:?}", loaded.notices);
            assert_eq!(fs::read(&aside).unwrap(), &bytes[ends[whole]..length]);
            fs::remove_file(&aside).unwrap();
        }
        assert_eq!(files(home.path(), "").len(), 2, "only the log and its lock: {length}");
        loaded.log.append(&prompt("next")).unwrap();
        drop(loaded);

        let mut clean = bytes[..ends[whole]].to_vec();
        let after = fs::read(&path).unwrap();
        assert!(after.starts_with(&clean), "{length}");
        let record = &after[clean.len()..];
        assert!(
            record.starts_with(format!("{} ", whole + 1).as_bytes()),
            "{length}: nothing is fused"
        );
        clean.extend_from_slice(record);
        let again = store.open(&id(1)).unwrap();
        assert_eq!(again.notices, [""; 0], "{length}");
        assert_eq!(again.entries, [&entries[..whole], &[prompt("next")]].concat());
    }
}

#[test]
fn c04_a_torn_end_is_reported_once_and_never_overwritten() {
    let (home, path) = recorded(&[opened(&id(1)), prompt("a"), prompt("b")]);
    let store = store(&home);
    for (n, end) in ["3 abc", "3 def ", "3 0\0\0"].iter().enumerate() {
        let bytes = fs::read(&path).unwrap();
        let two = ends(&bytes)[2];
        fs::write(&path, [&bytes[..two], end.as_bytes()].concat()).unwrap();
        let notices = store.open(&id(1)).unwrap().notices;
        assert_eq!(notices.len(), 1, "{n}: {notices:?}");
        assert_eq!(store.open(&id(1)).unwrap().notices, [""; 0]);
    }
    let kept: Vec<_> = files(home.path(), "")
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("torn"))
        .collect();
    let texts: Vec<_> = kept.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(texts, ["3 abc", "3 def ", "3 0\0\0"]);
}

/// The exhaustive walk over every bit stands beside the scanner; this is its way through the store.
#[test]
fn flipped_bits_are_reported_and_change_no_entry() {
    let entries = every_entry(&id(1));
    let (home, path) = recorded(&entries);
    let bytes = fs::read(&path).unwrap();
    let store = store(&home);
    for bit in (0..bytes.len() * 8).step_by(41) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, damaged).unwrap();
        let loaded = store.open(&id(1)).unwrap();
        assert!(!loaded.notices.is_empty(), "bit {bit}");
        let mut rest = entries.iter();
        assert!(loaded.entries.iter().all(|entry| rest.any(|other| other == entry)), "bit {bit}");
    }
}

/// Opens, checks that the middle is left as it is, appends, opens again: the damage is still said.
fn check_middle(damaged: Vec<u8>, kept: &[Entry], notice: &str) {
    let all: Vec<_> = std::iter::once(opened(&id(1)))
        .chain((2..=6).map(|n| prompt(format!("prompt {n}"))))
        .collect();
    let (home, path) = recorded(&all);
    fs::write(&path, &damaged).unwrap();
    let store = store(&home);
    for round in 0..3 {
        let loaded = store.open(&id(1)).unwrap();
        let more = vec![prompt("after"); round];
        assert_eq!(loaded.entries, [kept, &more].concat());
        let [said] = &loaded.notices[..] else { panic!("{:?}", loaded.notices) };
        assert!(said.contains(notice) && said.starts_with(&*path.to_string_lossy()), "{said}");
        loaded.log.append(&prompt("after")).unwrap();
        let now = fs::read(&path).unwrap();
        assert!(now.starts_with(&damaged), "the middle of a log is never rewritten");
        let number = format!("\n{} ", 7 + round);
        assert!(
            String::from_utf8_lossy(&now).contains(&number),
            "goes on after the highest number"
        );
    }
}

fn six() -> (Vec<Entry>, Vec<u8>, Vec<usize>) {
    let all: Vec<_> = std::iter::once(opened(&id(1)))
        .chain((2..=6).map(|n| prompt(format!("prompt {n}"))))
        .collect();
    let (_home, path) = recorded(&all);
    let bytes = fs::read(path).unwrap();
    let ends = ends(&bytes);
    (all, bytes, ends)
}

#[test]
fn c06_a_nul_block_in_the_middle_costs_what_it_covers() {
    let (all, mut bytes, ends) = six();
    let (from, to) = (ends[2] + 10, ends[4] - 10);
    bytes[from..to].fill(0);
    let kept = [&all[..2], &all[4..]].concat();
    check_middle(
        bytes,
        &kept,
        &format!("entries 3–4 are damaged (bytes {}–{}): skipped", ends[2], ends[4]),
    );
}

#[test]
fn c07_a_garbage_line_costs_nothing_else() {
    let (all, bytes, ends) = six();
    let damaged = [&bytes[..ends[3]], b"<<<<<<< HEAD\n", &bytes[ends[3]..]].concat();
    check_middle(
        damaged,
        &all,
        &format!("bytes {}–{} after entry 3 are not a record", ends[3], ends[3] + 13),
    );
}

#[test]
fn c07_a_missing_record_is_missed() {
    let (all, bytes, ends) = six();
    let damaged = [&bytes[..ends[3]], &bytes[ends[5]..]].concat();
    check_middle(
        damaged,
        &[&all[..3], &all[5..]].concat(),
        &format!("entries 4–5 are missing before byte {}", ends[3]),
    );
}

/// A lost result is answered for when the session is folded: pairs stay pairs.
#[test]
fn c07_calls_stay_paired_when_a_result_is_lost() {
    let all = every_entry(&id(1));
    let (home, path) = recorded(&all);
    let text = fs::read_to_string(&path).unwrap();
    let without: Vec<_> = text.lines().filter(|line| !line.contains("call_finished")).collect();
    fs::write(&path, without.join("\n") + "\n").unwrap();
    let loaded = store(&home).open(&id(1)).unwrap();
    assert!(!loaded.notices.is_empty());
    assert!(SessionRecord::fold(loaded.entries).close().view.open_calls().is_empty());
}

#[test]
fn c08_a_record_without_its_newline_counts() {
    let (home, path) = recorded(&[opened(&id(1)), prompt("a"), prompt("b")]);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let store = store(&home);
    let loaded = store.open(&id(1)).unwrap();
    assert_eq!((loaded.entries.len(), loaded.notices.len()), (3, 0));
    assert_eq!(fs::read(&path).unwrap().len(), bytes.len() - 1, "opening alone changes nothing");
    loaded.log.append(&prompt("c")).unwrap();
    drop(loaded);
    assert!(fs::read(&path).unwrap().starts_with(&bytes));
    assert_eq!(store.open(&id(1)).unwrap().entries.len(), 4);
}

#[test]
fn a_fork_takes_the_readable_part_and_leaves_the_source_alone() {
    let (home, path) = recorded(&[opened(&id(1)), prompt("a"), prompt("b")]);
    let bytes = fs::read(&path).unwrap();
    let torn = &bytes[..bytes.len() - 7];
    fs::write(&path, torn).unwrap();
    let store = store(&home);
    let fork = store.fork(&id(1), opened(&id(2))).unwrap();
    assert_eq!(fork.entries[1..], [prompt("a")]);
    assert_eq!(fork.notices.len(), 1);
    assert_eq!(fs::read(&path).unwrap(), torn);
    drop(fork);
    assert_eq!(store.open(&id(2)).unwrap().notices, [""; 0]);
    assert_eq!(store.open(&id(1)).unwrap().notices.len(), 1);
}

/// Order is the order of numbers, whatever the clock said, and no age makes a session vanish.
#[test]
fn c14_a_jumping_clock_changes_no_order() {
    let year = Duration::from_secs(365 * 24 * 3600);
    let at = |ms| {
        Entry::prompt(
            ostler_core::message::Message::user(format!("at {ms}")),
            ostler_core::time::Timestamp(ms),
        )
    };
    let entries =
        [opened(&id(1)), at(1_700_000_000_000), at(1_600_000_000_000), at(0), at(u64::MAX), at(5)];
    let (home, _) = recorded(&entries);
    let store = store(&home);
    assert_eq!(store.open(&id(1)).unwrap().entries, entries);
    let now = SystemTime::now();
    let before_time = SystemTime::UNIX_EPOCH - year;
    for (n, time) in [(1, now - year), (2, now + year), (3, before_time)] {
        if n > 1 {
            store.create(opened(&id(n))).unwrap();
        }
        let log = file(home.path(), &format!("{}.log", id(n)));
        File::options().write(true).open(log).unwrap().set_modified(time).unwrap();
    }
    let order: Vec<_> =
        store.list(Path::new(WORKSPACE)).unwrap().into_iter().map(|info| info.id).collect();
    assert_eq!(order, [id(2), id(1), id(3)]);
    assert_eq!(store.open(&id(3)).unwrap().entries.len(), 1);
}

#[test]
fn c16_a_newer_log_is_refused_and_untouched() {
    let (home, path) = recorded(&[opened(&id(1)), prompt("a")]);
    let json =
        format!(r#"{{"fact":"opened","format":3,"session":"{}","where":"the moon"}}"#, id(1));
    let crc = crc32(format!("1 {json}").as_bytes());
    // A torn end, which an older log would have cut.
    let newer = format!("1 {crc:08x} {json}\n2 torn");
    fs::write(&path, &newer).unwrap();
    let times = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = times(&path);
    let store = store(&home);
    let wanted = StoreError::TooNew { id: id(1), format: 3 };
    assert_eq!(store.open(&id(1)).map(drop).unwrap_err(), wanted);
    assert_eq!(store.fork(&id(1), opened(&id(2))).map(drop).unwrap_err(), wanted);
    assert_eq!((fs::read_to_string(&path).unwrap(), times(&path)), (newer, before));
    assert_eq!(files(home.path(), ""), [path]);
    assert!(wanted.to_string().contains("newer version (format 3)"));
}

/// Written out, so that the format is checked by something that does not share its code.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn a_file_that_is_no_log_is_refused_and_untouched() {
    let (home, path) = recorded(&[opened(&id(1))]);
    for text in ["dear diary", "dear diary\nit rained\n", "{}\n"] {
        fs::write(&path, text).unwrap();
        let error = store(&home).open(&id(1)).map(drop).unwrap_err();
        assert!(matches!(&error, StoreError::NotALog(at, _) if *at == path), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// A process that died between making the file and writing its first line leaves nothing to show or to trip over.
#[test]
fn a_session_that_never_began_is_not_listed() {
    let (home, path) = recorded(&[opened(&id(1))]);
    fs::write(&path, "").unwrap();
    let store = store(&home);
    assert_eq!(store.list(Path::new(WORKSPACE)).unwrap(), []);
    assert_eq!(store.latest(Path::new(WORKSPACE)).unwrap(), None);
    let error = store.open(&id(1)).map(drop).unwrap_err();
    assert_eq!(error, StoreError::Empty(id(1), path.clone()));
    assert!(error.to_string().contains("is empty"), "{error}");
    let error = store.fork(&id(1), opened(&id(2))).map(drop).unwrap_err();
    assert_eq!(error, StoreError::Empty(id(1), path.clone()));
    assert_eq!(fs::read(&path).unwrap(), b"", "nothing is written to it");
}

#[test]
fn c26_a_log_that_was_removed_is_missed_at_the_next_sync() {
    let home = home();
    let log = store(&home).create(opened(&id(1))).unwrap();
    log.sync().unwrap();
    fs::remove_file(file(home.path(), ".log")).unwrap();
    log.append(&prompt("into the void")).unwrap();
    let error = log.sync().unwrap_err().to_string();
    assert!(error.contains("was removed"), "{error}");
}

/// The directory is there again when the prompt is written: what failed before that is still said, once.
#[test]
fn what_a_sync_ahead_could_not_do_is_said_by_the_next_sync() {
    let home = home();
    let log = store(&home).create(opened(&id(1))).unwrap();
    let folder = file(home.path(), ".log").parent().unwrap().to_owned();
    let away = home.path().join("away");
    fs::rename(&folder, &away).unwrap();
    log.sync_ahead();
    fs::rename(&away, &folder).unwrap();
    let error = log.sync().unwrap_err().to_string();
    assert!(error.contains(folder.to_str().unwrap()), "{error}");
    log.sync().unwrap();
}

/// One damaged prompt costs that prompt: the answer to it, its calls and their results stay.
#[test]
fn a_damaged_prompt_costs_only_itself() {
    let turn = |n: usize| {
        let id = CallId::new(format!("c{n}"));
        let call =
            Block::ToolUse { id: id.clone(), name: "Read".into(), input: json!({}), via: None };
        let content = vec![ResultPart::text(format!("result {n}"))];
        vec![
            prompt(format!("prompt {n}")),
            answer(vec![call]),
            Entry::CallFinished {
                result: Block::ToolResult { id, content, is_error: false },
                seen: Vec::new(),
            },
            Entry::Went { why: Continue::NextTurn },
            answer(vec![Block::text(format!("answer {n}"))]),
            Entry::End { terminal: Terminal::Completed, at: Timestamp(n as u64) },
        ]
    };
    let all = [vec![opened(&id(1))], turn(1), turn(2), turn(3)].concat();
    let whole = SessionRecord::fold(all.clone()).close();
    for lost in 0..3 {
        let (home, path) = recorded(&all);
        let mut bytes = fs::read(&path).unwrap();
        let at = 1 + lost * 6;
        let start = ends(&bytes)[at];
        bytes[start + 20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let loaded = store(&home).open(&id(1)).unwrap();
        let told = loaded.notices.join("; ");
        assert!(told.contains(&format!("entry {} is damaged", at + 1)), "{told}");
        let session = SessionRecord::fold(loaded.entries).close();
        assert_eq!((session.turns, session.view.items().len()), (3, whole.view.items().len()));
        for (n, (kept, had)) in session.view.messages().zip(whole.view.messages()).enumerate() {
            if n == lost * 4 {
                assert!(format!("{kept:?}").contains("is damaged"), "{kept:?}");
            } else {
                assert_eq!(kept, had, "message {n}");
            }
        }
        assert!(session.can_rewind(3) && session.can_rewind(1));
    }
}

/// Where locks do nothing, a second writer is noticed before it can take a number twice.
#[test]
fn a_second_writer_is_noticed() {
    let home = home();
    let first = store(&home).create(opened(&id(1))).unwrap();
    first.append(&prompt("mine")).unwrap();
    let path = file(home.path(), ".log");
    let mut other = File::options().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut other, b"3 00000000 {}\n").unwrap();
    let error = first.append(&prompt("lost")).unwrap_err().to_string();
    assert!(error.contains("another process has written to it"), "{error}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("lost"), "nothing is added behind it");
    other.set_len(text.len() as u64 - 14).unwrap();
    first.append(&prompt("again")).unwrap();
}
