//! What observers get, whatever the others do, and what a ring holds meanwhile.

use super::*;
use futures_util::{FutureExt, StreamExt};
use ostler_core::event::{AgentPath, CallOutcome, VERSION};
use ostler_core::message::{Block, ResultPart};
use ostler_core::time::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};

fn envelope(seq: u64, event: Event) -> Arc<Envelope> {
    Arc::new(Envelope {
        version: VERSION,
        seq,
        at: Timestamp(seq),
        session: "s".into(),
        agent: AgentPath::default(),
        parent: None,
        event,
    })
}

fn delta(seq: u64, bytes: usize) -> Arc<Envelope> {
    envelope(seq, Event::TextDelta { text: "x".repeat(bytes) })
}

fn result(seq: u64) -> Arc<Envelope> {
    let content = vec![ResultPart::text("x".repeat(50_000))];
    let event = Event::CallFinished {
        id: "c".into(),
        name: "Bash".into(),
        outcome: CallOutcome::Succeeded,
        decision: None,
        result: Block::ToolResult { id: "c".into(), content, is_error: false },
        shown: None,
        detail: None,
        took_ms: None,
        input: None,
    };
    envelope(seq, event)
}

fn raw(seq: u64) -> Arc<Envelope> {
    let raw = serde_json::value::RawValue::from_string("{}".into()).unwrap();
    envelope(seq, Event::Raw(raw))
}

#[derive(Debug, PartialEq)]
enum Seen {
    Number(u64),
    Missed(u64),
    Ended,
}
use Seen::{Ended, Missed, Number};

/// What an observer can see without waiting.
fn seen(observer: &mut Observer) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(next) = observer.next().now_or_never() {
        match next {
            Some(Observed::Event(envelope)) => seen.push(Number(envelope.seq)),
            Some(Observed::Lagged { missed }) => seen.push(Missed(missed)),
            None => {
                seen.push(Ended);
                break;
            }
        }
    }
    seen
}

fn ring() -> Ring {
    Ring::new("first", RING_BYTES)
}

#[test]
fn observers_see_what_comes_after_their_number() {
    let ring = ring();
    let mut early = ring.observe(0);
    (1..=3).for_each(|n| ring.push(delta(n, 9)));
    let mut late = ring.observe(2);
    assert_eq!(seen(&mut early), [Number(1), Number(2), Number(3)]);
    assert_eq!(seen(&mut late), [Number(3)]);
    ring.push(delta(4, 9));
    ring.close();
    ring.push(delta(5, 9));
    assert_eq!(seen(&mut early), [Number(4), Ended]);
    assert_eq!(seen(&mut late), [Number(4), Ended]);
    assert_eq!(seen(&mut ring.observe(4)), [Ended]);
}

#[test]
fn dropping_the_ring_ends_its_observers() {
    let ring = ring();
    let mut observer = ring.observe(0);
    ring.push(delta(1, 9));
    drop(ring);
    assert_eq!(seen(&mut observer), [Number(1), Ended]);
}

#[test]
fn nothing_is_held_while_nobody_observes() {
    let ring = ring();
    (1..=3).for_each(|n| ring.push(delta(n, 9)));
    assert_eq!((ring.held_bytes(), ring.cursor().seq), (0, 3));
    let (one, mut two) = (ring.observe(3), ring.observe(3));
    ring.push(delta(4, 9));
    drop(one);
    assert_eq!(seen(&mut two), [Number(4)], "another still observes");
    assert!(ring.held_bytes() > 0);
    drop(two);
    assert_eq!((ring.held_bytes(), ring.observers()), (0, 0));
    assert_eq!(ring.shared.lock().envelopes.capacity(), 0, "its memory is free");
    ring.push(delta(5, 9));
    let mut back = ring.observe(3);
    ring.push(delta(6, 9));
    assert_eq!(seen(&mut back), [Missed(2), Number(6)]);
}

#[test]
fn who_falls_behind_is_told_once_and_continues_at_the_oldest() {
    let size = weight::of(&delta(1, 1_000));
    let ring = Ring::new("first", 3 * size);
    let mut stuck = ring.observe(0);
    let mut quick = ring.observe(0);
    for n in 1..=10 {
        ring.push(delta(n, 1_000));
        assert_eq!(seen(&mut quick), [Number(n)]);
        assert!(ring.held_bytes() <= 3 * size);
    }
    assert_eq!(seen(&mut stuck), [Missed(7), Number(8), Number(9), Number(10)]);
    assert_eq!(seen(&mut stuck), []);
}

#[test]
fn an_envelope_that_is_larger_than_the_ring_is_not_held() {
    let ring = Ring::new("first", 10_000);
    let mut observer = ring.observe(0);
    ring.push(delta(1, 9));
    ring.push(result(2));
    assert_eq!(ring.held_bytes(), 0);
    ring.push(delta(3, 9));
    assert_eq!(seen(&mut observer), [Missed(2), Number(3)]);
}

#[test]
fn events_of_the_provider_are_passed_over() {
    let ring = ring();
    let mut observer = ring.observe(0);
    ring.push(raw(1));
    ring.push(delta(2, 9));
    ring.push(raw(3));
    assert_eq!(seen(&mut observer), [Number(2)]);
    ring.push(delta(4, 9));
    assert_eq!(seen(&mut observer), [Number(4)], "a gap in the numbers is not a loss");
}

#[test]
fn a_cursor_is_good_for_its_own_opening() {
    let ring = ring();
    let keep = ring.observe(0);
    (1..=3).for_each(|n| ring.push(delta(n, 9)));
    let at = |epoch: &str, seq| Cursor { epoch: epoch.into(), seq };
    assert_eq!(seen(&mut ring.observe_from(&at("first", 2))), [Number(3)]);
    assert_eq!(seen(&mut ring.observe_from(&ring.cursor())), []);
    let whole = [Missed(0), Number(1), Number(2), Number(3)];
    assert_eq!(seen(&mut ring.observe_from(&at("second", 2))), whole);
    assert_eq!(seen(&mut ring.observe_from(&at("first", 9))), whole, "not given yet");
    drop(keep);
    assert_eq!(seen(&mut ring.observe_from(&at("first", 2))), [Missed(1)], "no longer held");
    let json = serde_json::to_string(&ring.cursor()).unwrap();
    assert_eq!(json, r#"{"epoch":"first","seq":3}"#);
    assert_eq!(serde_json::from_str::<Cursor>(&json).unwrap(), ring.cursor());
}

/// Each of 1 000 sessions is observed by somebody who never reads, and produces 10 MB.
#[test]
fn a_thousand_observed_rings_are_bounded() {
    let rings: Vec<Ring> = (0..1_000).map(|n| Ring::new(format!("{n}"), RING_BYTES)).collect();
    let stuck: Vec<Observer> = rings.iter().map(|ring| ring.observe(0)).collect();
    let results: Vec<Arc<Envelope>> = (1..=200).map(result).collect();
    for ring in &rings {
        results.iter().for_each(|result| ring.push(result.clone()));
    }
    let held: usize = rings.iter().map(Ring::held_bytes).sum();
    assert!(held <= 1_000 * RING_BYTES, "{held} bytes");
    let fitting = RING_BYTES / weight::of(&results[0]);
    assert_eq!(held, 1_000 * fitting * weight::of(&results[0]), "and the bound is made use of");
    drop(stuck);
    assert_eq!(rings.iter().map(Ring::held_bytes).sum::<usize>(), 0);
}

/// An observer that never reads holds back neither the session nor the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_observer_changes_nothing() {
    let ring = Arc::new(Ring::new("first", 64 * 1024));
    let stuck = ring.observe(0);
    let mut reader = ring.observe(0);
    let reading = tokio::spawn(async move {
        let (mut events, mut missed) = (0, 0);
        while let Some(next) = StreamExt::next(&mut reader).await {
            match next {
                Observed::Event(_) => events += 1,
                Observed::Lagged { missed: more } => missed += more,
            }
        }
        (events, missed)
    });
    for n in 1..=5_000 {
        ring.push(delta(n, 100));
        if n % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    ring.close();
    let (events, missed) = reading.await.unwrap();
    assert_eq!(events + missed, 5_000, "every envelope is seen or known to be missed");
    drop(stuck);
}

/// A reader that waits is woken by every push, from whatever thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushers_on_several_threads() {
    let ring = Arc::new(Ring::new("first", usize::MAX));
    let mut readers: Vec<Observer> = (0..10).map(|_| ring.observe(0)).collect();
    let sequence = Arc::new(Mutex::new(0_u64));
    let done = Arc::new(AtomicU64::new(0));
    let push = |_| {
        let (ring, sequence, done) = (ring.clone(), sequence.clone(), done.clone());
        std::thread::spawn(move || {
            for _ in 0..500 {
                let mut seq = sequence.lock().unwrap();
                *seq += 1;
                ring.push(delta(*seq, 9));
            }
            // The last one closes.
            if done.fetch_add(1, Ordering::SeqCst) == 3 {
                ring.close();
            }
        })
    };
    let pushers: Vec<_> = (0..4).map(push).collect();
    for reader in &mut readers {
        let mut numbers = 1_u64..;
        while let Some(next) = reader.next().await {
            let Observed::Event(envelope) = next else { panic!("nothing is missed") };
            assert_eq!(Some(envelope.seq), numbers.next());
        }
        assert_eq!(numbers.start, 2_001);
    }
    pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
}
