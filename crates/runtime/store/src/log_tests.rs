use super::*;
use crate::scan::{Tail, Want, scan};
use ostler_core::message::Message;
use ostler_core::session::FORMAT;
use ostler_core::time::Timestamp;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What happens to one write, and to the cut that follows it.
#[derive(Clone, Copy, Debug)]
struct Mishap {
    /// So many bytes are taken (at most all but one), then nothing more.
    taken: usize,
    /// The write says so, or fails though it took them.
    short: bool,
    cut_fails: bool,
    length_fails: bool,
}

#[derive(Default)]
struct Flaky {
    bytes: Vec<u8>,
    mishaps: VecDeque<Option<Mishap>>,
    now: Option<Mishap>,
    writes: usize,
}

type Shared = Arc<Mutex<Flaky>>;

impl LogDisk for Shared {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.lock().unwrap();
        disk.writes += 1;
        disk.now = disk.mishaps.pop_front().flatten();
        let Some(mishap) = disk.now else {
            disk.bytes.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        let taken = mishap.taken.min(bytes.len() - 1);
        disk.bytes.extend_from_slice(&bytes[..taken]);
        if mishap.short { Ok(taken) } else { Err(io::Error::from(io::ErrorKind::StorageFull)) }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut disk = self.lock().unwrap();
        if disk.now.is_some_and(|mishap| mishap.cut_fails) {
            return Err(io::Error::other("cut"));
        }
        disk.bytes.truncate(length as usize);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let disk = self.lock().unwrap();
        if disk.now.is_some_and(|mishap| mishap.length_fails) {
            return Err(io::Error::other("length"));
        }
        Ok(disk.bytes.len() as u64)
    }
}

fn opened() -> Entry {
    Entry::Opened {
        format: FORMAT,
        session: "s".into(),
        workspace: "/w".into(),
        at: Timestamp(0),
        forked_from: None,
        started_by: None,
    }
}

fn prompt(text: impl Into<String>) -> Entry {
    Entry::prompt(Message::user(text), Timestamp(1))
}

fn fresh() -> (Shared, Appender<Shared>) {
    let disk = Shared::default();
    let mut appender = Appender::new(Arc::clone(&disk), 1, 0, 0, false);
    appender.append(&opened()).unwrap();
    (disk, appender)
}

fn bytes(disk: &Shared) -> Vec<u8> {
    disk.lock().unwrap().bytes.clone()
}

fn plan(disk: &Shared, mishaps: impl IntoIterator<Item = Option<Mishap>>) {
    disk.lock().unwrap().mishaps = mishaps.into_iter().collect();
}

#[test]
fn an_entry_is_one_write() {
    let (disk, mut appender) = fresh();
    for text in ["", "a\nb", &"x".repeat(3 << 20)] {
        let before = disk.lock().unwrap().writes;
        appender.append(&prompt(text)).unwrap();
        assert_eq!(disk.lock().unwrap().writes, before + 1);
    }
    assert!(appender.buf.capacity() >= 3 << 20);
    appender.append(&prompt("small")).unwrap();
    assert!(appender.buf.capacity() <= KEEP, "a large buffer is given back");
}

/// C10 on every byte: whether the rest can be cut off or not, the next record stands alone.
#[test]
fn c10_no_failed_write_leaves_a_trace_in_what_is_read() {
    let length = {
        let (disk, mut appender) = fresh();
        let before = bytes(&disk).len();
        appender.append(&prompt("lost")).unwrap();
        bytes(&disk).len() - before
    };
    for taken in 0..length {
        for (short, cut_fails, length_fails) in [
            (true, false, false),
            (true, true, false),
            (false, false, false),
            (false, true, false),
            (true, true, true),
            (false, false, true),
        ] {
            let (disk, mut appender) = fresh();
            let clean = bytes(&disk);
            plan(&disk, [Some(Mishap { taken, short, cut_fails, length_fails })]);
            let error = appender.append(&prompt("lost")).unwrap_err().to_string();
            assert!(error.contains("Nothing of the entry was stored"), "{error}");
            if !cut_fails && !length_fails {
                assert_eq!(bytes(&disk), clean);
            }
            appender.append(&prompt("kept")).unwrap();
            let scan = scan(bytes(&disk).as_slice(), 1 << 20, Want::All).unwrap();
            assert_eq!(
                scan.entries,
                [opened(), prompt("kept")],
                "{taken} {short} {cut_fails} {length_fails}"
            );
            assert_eq!((scan.tail, scan.next), (Tail::Clean, 3));
        }
    }
}

#[test]
fn what_another_wrote_is_not_cut() {
    let (disk, mut appender) = fresh();
    plan(&disk, [Some(Mishap { taken: 3, short: true, cut_fails: true, length_fails: false })]);
    appender.append(&prompt("lost")).unwrap_err();
    let foreign = "somebody else's notes ".repeat(20).into_bytes();
    disk.lock().unwrap().bytes.extend_from_slice(&foreign);
    disk.lock().unwrap().now = None;
    appender.append(&prompt("kept")).unwrap();
    let all = bytes(&disk);
    assert!(all.windows(foreign.len()).any(|window| window == foreign));
    assert_eq!(
        scan(all.as_slice(), 1 << 20, Want::All).unwrap().entries,
        [opened(), prompt("kept")]
    );
}

/// C08: a missing newline is added before anything follows, and a failure to do so loses nothing.
#[test]
fn c08_a_missing_newline_is_added_first() {
    let (disk, mut appender) = fresh();
    appender.append(&prompt("whole")).unwrap();
    let length = bytes(&disk).len() as u64 - 1;
    disk.lock().unwrap().bytes.pop();
    let mut appender = Appender::new(Arc::clone(&disk), 3, length, length, true);
    for short in [true, false] {
        plan(&disk, [Some(Mishap { taken: 0, short, cut_fails: true, length_fails: true })]);
        appender.append(&prompt("lost")).unwrap_err();
    }
    plan(
        &disk,
        [None, Some(Mishap { taken: 9, short: true, cut_fails: true, length_fails: false })],
    );
    appender.append(&prompt("lost")).unwrap_err();
    appender.append(&prompt("next")).unwrap();
    let scan = scan(bytes(&disk).as_slice(), 1 << 20, Want::All).unwrap();
    assert_eq!(scan.entries, [opened(), prompt("whole"), prompt("next")]);
}

#[test]
fn numbers_end_before_they_start_again() {
    let disk = Shared::default();
    let mut appender = Appender::new(Arc::clone(&disk), u64::MAX, 0, 0, false);
    assert!(matches!(appender.append(&opened()), Err(Unappended::Full)));
    assert!(bytes(&disk).is_empty());
}

fn mishap() -> impl Strategy<Value = Option<Mishap>> {
    let bad =
        (0..200usize, any::<[bool; 3]>()).prop_map(|(taken, [short, cut_fails, length_fails])| {
            Some(Mishap { taken, short, cut_fails, length_fails })
        });
    prop_oneof![2 => Just(None), 3 => bad]
}

proptest! {
    /// Whatever a disk does, exactly the acknowledged entries are read back, in order.
    #[test]
    fn acknowledged_is_what_is_read(mishaps in prop::collection::vec(mishap(), 0..40)) {
        let (disk, mut appender) = fresh();
        let mut acknowledged = vec![opened()];
        let count = mishaps.len();
        plan(&disk, mishaps);
        for n in 0..count + 3 {
            let entry = prompt(format!("entry {n}"));
            if appender.append(&entry).is_ok() {
                acknowledged.push(entry);
            }
        }
        let scan = scan(bytes(&disk).as_slice(), 1 << 20, Want::All).unwrap();
        prop_assert_eq!(&scan.entries, &acknowledged);
        prop_assert_eq!(scan.next, acknowledged.len() as u64 + 1);
        prop_assert_eq!(scan.tail, Tail::Clean);
    }
}
