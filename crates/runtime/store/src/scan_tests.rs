use super::*;
use ostler_core::context::{Boundary, CarryOver, Made, Receipt, Trigger};
use ostler_core::ids::{CallId, SessionId};
use ostler_core::ledger::Usage;
use ostler_core::message::Message;
use ostler_core::session::SessionRecord;
use ostler_core::time::Timestamp;
use std::ops::Range;

fn entries(count: u64) -> Vec<Entry> {
    let opened = Entry::Opened {
        format: FORMAT,
        session: SessionId::new("s"),
        workspace: "/w".into(),
        at: Timestamp(1),
        forked_from: None,
        started_by: None,
    };
    let more = (2..=count).map(|n| match n % 2 {
        0 => Entry::prompt(Message::user(format!("grüße {n}")), Timestamp(n)),
        _ => Entry::CallStarted { id: CallId::new(format!("c{n}")) },
    });
    std::iter::once(opened).chain(more).collect()
}

/// A log and where its lines stand.
fn log(entries: &[Entry]) -> (Vec<u8>, Vec<Range<usize>>) {
    let (mut bytes, mut lines) = (Vec::new(), Vec::new());
    for (seq, entry) in (1..).zip(entries) {
        let start = bytes.len();
        line::encode(seq, entry, &mut bytes).unwrap();
        lines.push(start..bytes.len());
    }
    (bytes, lines)
}

/// Without a boundary both ways of reading say the same.
fn read(bytes: &[u8]) -> Scan {
    let all = scan(bytes, line::MAX_LINE, Want::All).unwrap();
    let live = scan(bytes, line::MAX_LINE, Want::Live).unwrap();
    assert_eq!(all.entries, live.entries);
    assert_eq!((&all.notices, all.next, all.tail), (&live.notices, live.next, live.tail));
    all
}

fn boundary(text: &str) -> Entry {
    let receipt = Receipt {
        trigger: Trigger::Auto,
        made: Made::Extract { why: "test".into() },
        messages: 2,
        calls: Vec::new(),
        calls_dropped: 0,
        kept: 0,
        before: 10,
        after: 5,
        requests: 0,
        attached: Vec::new(),
    };
    Entry::Boundary(Box::new(Boundary {
        head: vec![Message::meta(text)],
        kept: Vec::new(),
        carry: CarryOver::default(),
        receipt,
        turns: 7,
        title: "t".into(),
        seen: Vec::new(),
        at: Timestamp(1),
        inbox: Vec::new(),
        questions: Vec::new(),
        jobs: Vec::new(),
        control: None,
    }))
}

/// Of what lies before the newest boundary only what is not conversation counts, and both ways fold to the same.
#[test]
fn a_log_goes_on_from_its_newest_boundary() {
    let spent = || Entry::Spent {
        model: "m".into(),
        usage: Usage::default(),
        cost: Some(0.5),
        charge: None,
        front: None,
    };
    let mut all = entries(9);
    all.extend([spent(), boundary("first")]);
    all.extend(entries(9).into_iter().skip(1));
    all.extend([spent(), boundary("second")]);
    all.extend(entries(5).into_iter().skip(1));
    let (bytes, lines) = log(&all);
    let live = scan(bytes.as_slice(), line::MAX_LINE, Want::Live).unwrap();
    // What was spent before it is for the ledger.
    assert_eq!(live.entries.len(), 1 + 1 + 4, "{:?}", live.entries);
    assert_eq!(live.next, all.len() as u64 + 1);
    let (folded, whole) =
        (SessionRecord::fold(live.entries).close(), SessionRecord::fold(all.clone()).close());
    assert!(folded.view == whole.view);
    assert_eq!((folded.turns, folded.title, folded.seen), (whole.turns, whole.title, whole.seen));
    // A boundary that is damaged is none.
    let mut damaged = bytes.clone();
    damaged[lines[20].start + 30] ^= 1;
    let live = scan(damaged.as_slice(), line::MAX_LINE, Want::Live).unwrap();
    let told = format!("{:?}", live.entries);
    assert!(told.contains("first") && !told.contains("second"), "{told}");
}

/// A boundary of a later version: what lies before it must be read after all.
#[test]
fn a_boundary_that_is_not_understood_is_said_so() {
    let (mut bytes, _) = log(&entries(5));
    bytes.extend(raw(6, r#"{"fact":"boundary","shape":"new"}"#));
    let live = scan(bytes.as_slice(), line::MAX_LINE, Want::Live);
    assert!(matches!(live, Err(Unreadable::Boundary)));
    assert_eq!(scan(bytes.as_slice(), line::MAX_LINE, Want::All).unwrap().entries.len(), 5);
}

/// Exhaustive: no flipped bit changes an entry, and none goes unnoticed.
#[test]
fn every_flipped_bit_is_noticed() {
    let all = entries(24);
    let (bytes, _) = log(&all);
    assert!((1500..3000).contains(&bytes.len()), "{}", bytes.len());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let scan = read(&damaged);
            let lost = all.len() - scan.entries.len();
            assert!(
                scan.tail == Tail::Torn || !scan.notices.is_empty(),
                "byte {at} bit {bit} unnoticed"
            );
            assert!((1..=2).contains(&lost), "byte {at} bit {bit}: {lost} lost");
            let mut rest = all.iter();
            assert!(
                scan.entries.iter().all(|entry| rest.any(|other| other == entry)),
                "byte {at} bit {bit}"
            );
            assert!(scan.next <= 25 && scan.good <= scan.end && scan.end == bytes.len() as u64);
        }
    }
}

/// A block that was never written reads as NULs, wherever it begins and ends.
#[test]
fn nul_blocks_cost_only_the_records_they_touch() {
    let all = entries(8);
    let (bytes, lines) = log(&all);
    for start in (0..bytes.len()).step_by(3) {
        for length in [1, 7, 60, 64, 200] {
            let end = (start + length).min(bytes.len());
            let mut damaged = bytes.clone();
            damaged[start..end].fill(0);
            // What follows a lost newline hangs on to the half line before it, unless only NULs stand there.
            let fused = lines
                .iter()
                .any(|line| line.start < start && (start..end).contains(&(line.end - 1)));
            let kept = |line: &Range<usize>| {
                line.end <= start || line.start > end || (line.start == end && !fused)
            };
            let kept = all
                .iter()
                .zip(&lines)
                .filter(|(_, line)| kept(line))
                .map(|(entry, _)| entry.clone());
            let scan = read(&damaged);
            assert_eq!(scan.entries, kept.collect::<Vec<_>>(), "{start}..{end}");
            assert!(scan.tail == Tail::Torn || !scan.notices.is_empty());
        }
    }
}

#[test]
fn a_record_right_after_a_nul_block_is_read() {
    let all = entries(6);
    let (mut bytes, lines) = log(&all);
    bytes[lines[2].start..lines[4].start].fill(0);
    let scan = read(&bytes);
    assert_eq!(scan.entries, [&all[..2], &all[4..]].concat());
    let place = format!("{}–{}", lines[2].start, lines[4].start);
    assert_eq!(scan.notices, [format!("entries 3–4 are damaged (bytes {place}): skipped")]);
    assert_eq!((scan.next, scan.tail), (7, Tail::Clean));
}

#[test]
fn what_is_wrong_is_said_with_numbers_and_places() {
    let all = entries(6);
    let (bytes, lines) = log(&all);
    let with = |parts: &[&[u8]]| read(&parts.concat());
    let (to3, from3) = bytes.split_at(lines[2].end);
    let at = lines[2].end;

    let garbage = with(&[to3, b"\xff\xfegarbage\n\n", from3]);
    assert_eq!(
        garbage.notices,
        [format!("bytes {at}–{} after entry 3 are not a record: skipped", at + 11)]
    );
    assert_eq!((garbage.entries, garbage.next), (all.clone(), 7));

    let missing = with(&[to3, &bytes[lines[4].clone()], &bytes[lines[5].clone()]]);
    assert_eq!(missing.notices, [format!("entry 4 is missing before byte {at}")]);
    assert_eq!(missing.entries, [&all[..3], &all[4..]].concat());

    let twice = with(&[to3, &bytes[lines[1].clone()], from3]);
    let size = lines[1].len();
    assert_eq!(
        twice.notices,
        [format!("entry 2 occurs again at bytes {at}–{}: skipped", at + size)]
    );
    assert_eq!(twice.entries, all);

    // The end of the file is an old record: what comes next is still numbered after the newest.
    let old_end = with(&[&bytes, &bytes[lines[1].clone()]]);
    assert_eq!((old_end.next, old_end.tail, old_end.notices.len()), (7, Tail::Clean, 1));

    let beheaded = with(&[&bytes[5..]]);
    assert_eq!(beheaded.entries, all[1..]);
    assert_eq!(
        beheaded.notices,
        [format!("entry 1 is damaged (bytes 0–{}): skipped", lines[0].end - 5)]
    );
}

fn raw(seq: u64, json: &str) -> Vec<u8> {
    let crc = crc32fast::hash(format!("{seq} {json}").as_bytes());
    format!("{seq} {crc:08x} {json}\n").into_bytes()
}

#[test]
fn facts_of_the_future_are_skipped_and_named() {
    let (mut bytes, _) = log(&entries(2));
    bytes.extend(raw(3, r#"{"fact":"teleported","to":"mars"}"#));
    bytes.extend(raw(4, r#"{"fact":"call_started","id":"c"}"#));
    bytes.extend(raw(5, r#"{"fact":"call_started"}"#));
    let scan = read(&bytes);
    assert_eq!((scan.entries.len(), scan.next, scan.tail), (3, 6, Tail::Clean));
    assert_eq!(scan.notices.len(), 2);
    assert!(scan.notices[0].starts_with("entry 3 (\"teleported\", bytes "), "{:?}", scan.notices);
    assert!(scan.notices[1].contains("missing field `id`"), "{:?}", scan.notices);
}

#[test]
fn newer_formats_are_refused_whatever_their_shape() {
    let shapes = [
        r#"{"fact":"opened","format":3,"session":"s","workspace":"/w","at":1}"#,
        r#"{"fact":"opened","format":3,"place":{"kind":"cloud"}}"#,
        r#"{"fact":"opened","format":70000}"#,
    ];
    for (json, format) in shapes.iter().zip([3, 3, u16::MAX]) {
        let refused = scan(raw(1, json).as_slice(), line::MAX_LINE, Want::All);
        assert!(matches!(refused, Err(Unreadable::TooNew(n)) if n == format), "{json}");
    }
}

#[test]
fn foreign_files_are_refused() {
    for text in [
        "hello",
        "hello\n",
        "{\"a\":1}\n{\"b\":2}\n",
        "\n",
        "2 00000000 {}\n",
        "#!/bin/sh\nrm -rf x\n",
    ] {
        assert!(
            matches!(scan(text.as_bytes(), line::MAX_LINE, Want::All), Err(Unreadable::NotALog)),
            "{text:?}"
        );
    }
    let long = vec![b'x'; 3 * BUFFER];
    assert!(matches!(scan(long.as_slice(), 100, Want::All), Err(Unreadable::NotALog)));
    for text in ["", "1 0a", "\0\0\0\0", "1 00000000 {\"fact\":\"opened\"}\n"] {
        let scan = read(text.as_bytes());
        assert_eq!((scan.entries.len(), scan.next, scan.good), (0, 1, 0), "{text:?}");
    }
}

#[test]
fn a_line_beyond_the_bound_is_damage_and_is_not_held() {
    let all = entries(4);
    let (bytes, lines) = log(&all);
    let longest = lines.iter().map(|line| line.len() - 1).max().unwrap();
    assert!(scan(bytes.as_slice(), longest, Want::All).unwrap().notices.is_empty());

    let (head, tail) = bytes.split_at(lines[1].end);
    let long = vec![b'x'; 3 * BUFFER];
    let middle = [head, &long, b"\n", tail].concat();
    let read = scan(middle.as_slice(), longest, Want::All).unwrap();
    assert_eq!((&read.entries, read.notices.len(), read.tail), (&all, 1, Tail::Clean));

    let last = [&bytes[..], &long].concat();
    let read = scan(last.as_slice(), longest, Want::All).unwrap();
    assert_eq!((&read.entries, read.good, read.tail), (&all, bytes.len() as u64, Tail::Torn));
}

#[test]
fn complaints_are_bounded() {
    let (mut bytes, _) = log(&entries(1));
    for seq in 2..2000 {
        bytes.extend(b"junk\n");
        bytes.extend(raw(seq, r#"{"fact":"call_started","id":"c"}"#));
    }
    let scan = read(&bytes);
    assert_eq!(scan.notices.len(), crate::losses::MAX_NOTICES + 1);
    assert_eq!(scan.notices.last().unwrap(), "and 1948 more places like these");
    assert_eq!(scan.entries.len(), 1999);
}

/// A line in another place than its number says is put back, and costs nothing that is intact.
#[test]
fn lines_out_of_place_cost_no_others() {
    let all = entries(8);
    let (bytes, lines) = log(&all);
    let line = |n: usize| &bytes[lines[n].clone()];
    let rest: Vec<u8> = (1..7).flat_map(|n| line(n).to_vec()).collect();
    for (name, damaged) in [
        ("the last line second", [line(0), line(7), &rest].concat()),
        ("the last line first", [line(7), line(0), &rest].concat()),
        ("all of them backwards", (0..8).rev().flat_map(|n| line(n).to_vec()).collect()),
    ] {
        let scan = read(&damaged);
        assert_eq!(scan.entries, all, "{name}");
        assert_eq!((scan.next, scan.tail), (9, Tail::Clean), "{name}");
        assert!(!scan.notices.is_empty(), "{name}");
        let told = scan.notices.join("; ");
        assert!(told.contains("out of order") && !told.contains("missing"), "{name}: {told}");
    }
    // A copy that came too early, and the number it left open.
    let early = [line(0), line(4), line(1), line(2), line(4), line(5)].concat();
    let scan = read(&early);
    let kept = [&all[..3], &all[4..6]].concat();
    assert_eq!(scan.entries, kept);
    let told = scan.notices.join("; ");
    assert!(told.contains("entry 4 is missing"), "{told}");
    assert!(told.contains("entry 5 occurs again"), "{told}");
}

/// What a boundary stands for stays summarized wherever its lines are; what follows it is kept.
#[test]
fn lines_out_of_place_around_a_boundary() {
    let mut all = entries(5);
    all.push(boundary("first"));
    all.extend(entries(9).into_iter().skip(5));
    let (bytes, lines) = log(&all);
    let line = |n: usize| bytes[lines[n].clone()].to_vec();
    let orders: [&[usize]; 3] = [
        &[0, 5, 1, 2, 3, 4, 6, 7, 8, 9],
        &[0, 6, 1, 2, 3, 4, 5, 7, 8, 9],
        &[0, 1, 2, 6, 7, 8, 9, 5, 3, 4],
    ];
    for order in orders {
        let bytes: Vec<u8> = order.iter().flat_map(|n| line(*n)).collect();
        let live = scan(bytes.as_slice(), line::MAX_LINE, Want::Live).unwrap();
        assert_eq!(live.entries, [&all[..1], &all[5..]].concat(), "{order:?}");
        assert_eq!(scan(bytes.as_slice(), line::MAX_LINE, Want::All).unwrap().entries, all);
    }
}

/// Of the plans before a boundary only the newest counts.
#[test]
fn old_plans_are_not_kept() {
    let plan = || Entry::Planned { plan: ostler_core::todo::Plan::default() };
    let mut all = entries(3);
    all.extend([plan(), plan(), plan(), boundary("b"), plan()]);
    let (bytes, _) = log(&all);
    let live = scan(bytes.as_slice(), line::MAX_LINE, Want::Live).unwrap();
    assert_eq!(live.entries, [&all[..1], &all[5..]].concat());
}

struct Counted<'a> {
    bytes: &'a [u8],
    read: usize,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(into)?;
        self.read += read;
        Ok(read)
    }
}

/// What reading a session of so many windows takes.
struct Work {
    length: usize,
    read: usize,
    /// Records that became entries, and the most bytes of records that were held at once.
    entries: usize,
    held: usize,
}

fn work(windows: usize) -> Work {
    let window = || {
        let plan = Entry::Planned { plan: ostler_core::todo::Plan::default() };
        entries(31).into_iter().skip(1).chain([plan, boundary("summary")])
    };
    let all: Vec<Entry> =
        entries(1).into_iter().chain((0..windows).flat_map(|_| window())).collect();
    let (bytes, _) = log(&all);
    let mut source = Counted { bytes: &bytes, read: 0 };
    let found = scan(&mut source, line::MAX_LINE, Want::Live).unwrap();
    let (length, read, entries) = (bytes.len(), source.read, found.entries.len());
    assert_eq!((found.next, found.end), (all.len() as u64 + 1, length as u64), "all of it is read");
    // The same once more, line by line.
    let source = BufReader::new(bytes.as_slice());
    let (buf, head, max_line) = (Vec::new(), Vec::new(), line::MAX_LINE);
    let mut lines = LogLines { source, buf, head, at: 0, max_line };
    let mut state = ScanState { want: Some(Want::Live), ..ScanState::default() };
    let mut held = 0;
    while let Some(span) = lines.next().unwrap() {
        state.line(&span, &lines.buf).unwrap();
        let kept = state.said.iter().chain(&state.plans).map(|said| said.json.len()).sum();
        assert_eq!(state.facts.len(), 1, "no record of a conversation is parsed on the way");
        held = held.max(kept);
    }
    Work { length, read, entries, held }
}

/// Resuming takes one pass over the log, and what it holds and parses does not grow with the number of summaries.
#[test]
fn a_long_log_is_read_once_and_one_window_of_it_is_held() {
    let (short, long) = (work(3), work(300));
    assert!(long.length > 90 * short.length, "{} {}", short.length, long.length);
    assert_eq!((short.read, long.read), (short.length, long.length));
    assert_eq!((short.entries, long.entries), (3, 3), "opened, the plan, the boundary");
    assert_eq!(short.held, long.held);
}

/// An item and its admission are forgotten together: what is left of both stands in the boundary.
#[test]
fn what_is_pending_comes_from_the_boundary() {
    use ostler_core::inbox::{Delivery, Inbound, InboundSource};
    use ostler_core::session::SessionRecord;
    let item = |id: &str| Inbound {
        id: id.into(),
        source: InboundSource::Person,
        when: Delivery::NextBoundary,
        body: Message::user(id),
        at: Timestamp(1),
    };
    let arrived = |id: &str| Entry::Inbound(Box::new(item(id)));
    let admitted =
        |id: &str| Entry::Note { message: Message::user("so"), inbound: vec![id.into()] };
    let mut summed_up = boundary("b");
    if let Entry::Boundary(boundary) = &mut summed_up {
        boundary.inbox = vec![item("i2"), item("i3")];
    }
    let mut all = entries(2);
    all.extend([arrived("i1"), arrived("i2"), admitted("i1"), arrived("i3"), summed_up]);
    all.extend([arrived("i4"), admitted("i2")]);
    let (bytes, _) = log(&all);
    for want in [Want::All, Want::Live] {
        let read = scan(bytes.as_slice(), line::MAX_LINE, want).unwrap();
        let pending = SessionRecord::fold(read.entries).inbox;
        let ids: Vec<&str> = pending.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["i3", "i4"], "{want:?}");
    }
}
