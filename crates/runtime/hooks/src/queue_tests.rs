//! What is added comes out in order, once, whatever died in between.

use super::*;
use proptest::prelude::*;

fn record(n: usize) -> QueueRecord {
    QueueRecord { id: format!("id-{n}"), event: "Stop".into(), body: format!("{{\"n\":{n}}}") }
}

fn take(queue: &WebhookQueue) -> Option<String> {
    let (record, mark) = queue.next().unwrap()?;
    queue.taken(mark).unwrap();
    Some(record.id)
}

fn drained(queue: &WebhookQueue) -> Vec<String> {
    std::iter::from_fn(|| take(queue)).collect()
}

#[test]
fn in_order_and_once_also_for_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let queue = || WebhookQueue::of(folder.path(), "https://x.example/");
    (0..3).for_each(|n| queue().add(&record(n)).unwrap());
    assert_eq!(queue().waiting(), 3);
    assert_eq!(take(&queue()).unwrap(), "id-0");
    queue().add(&record(3)).unwrap();
    // What was read and not taken comes again.
    assert_eq!(queue().next().unwrap().unwrap().0, record(1));
    assert_eq!(drained(&queue()), ["id-1", "id-2", "id-3"]);
    assert_eq!(queue().waiting(), 0);
    let all = WebhookQueue::all(folder.path());
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].url, "https://x.example/");
}

#[test]
fn a_torn_line_costs_itself_only() {
    let folder = tempfile::tempdir().unwrap();
    let queue = WebhookQueue::of(folder.path(), "u");
    queue.add(&record(0)).unwrap();
    let file = queue.path(1);
    let whole = fs::read(&file).unwrap();
    for cut in 1..whole.len() {
        fs::write(&file, [&whole[..], &whole[..cut]].concat()).unwrap();
        queue.rewind(None).unwrap();
        assert_eq!(drained(&queue), ["id-0"], "{cut}");
        queue.add(&record(1)).unwrap();
        let rest = drained(&queue);
        // Only the newline was missing: then the line is whole.
        let expected: &[&str] = if cut == whole.len() - 1 { &["id-0", "id-1"] } else { &["id-1"] };
        assert_eq!(rest, expected, "{cut}");
    }
}

#[test]
fn one_delivers_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (WebhookQueue::of(folder.path(), "u"), WebhookQueue::of(folder.path(), "u"));
    let lock = one.try_deliver().unwrap();
    assert!(lock.is_some() && two.try_deliver().unwrap().is_none());
    // Adding does not wait for it.
    two.add(&record(0)).unwrap();
    drop(lock);
    assert!(two.try_deliver().unwrap().is_some());
}

#[test]
fn files_are_changed_kept_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let queue = WebhookQueue::of(folder.path(), "u");
    let large = |n: usize| QueueRecord { body: "x".repeat(SEGMENT as usize), ..record(n) };
    for n in 0..8 {
        queue.add(&large(n)).unwrap();
    }
    assert_eq!(queue.segments().len(), 8);
    assert_eq!(drained(&queue).len(), 8);
    assert_eq!(queue.segments(), [4, 5, 6, 7, 8]);
    // What is kept can be sent again, from anywhere.
    assert!(queue.rewind(Some("id-6")).unwrap());
    assert_eq!(drained(&queue), ["id-6", "id-7"]);
    assert!(queue.rewind(None).unwrap());
    assert_eq!(queue.waiting(), 5);
    assert!(!queue.rewind(Some("id-0")).unwrap());
    assert_eq!(queue.waiting(), 5);
}

#[test]
fn a_full_queue_takes_nothing_more_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let queue = WebhookQueue::of(folder.path(), "u");
    let large = |n: usize| QueueRecord { body: "x".repeat(8 << 20), ..record(n) };
    let fits = (0..20).take_while(|n| queue.add(&large(*n)).is_ok()).count();
    assert_eq!(fits, 8);
    assert!(matches!(queue.add(&record(9)), Err(QueueError::Full)));
    take(&queue).unwrap();
    queue.add(&record(9)).unwrap();
    assert_eq!(drained(&queue).last().unwrap(), "id-9");
}

#[test]
fn what_is_refused_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let queue = WebhookQueue::of(folder.path(), "u");
    (0..2).for_each(|n| queue.add(&record(n)).unwrap());
    let (first, mark) = queue.next().unwrap().unwrap();
    queue.refused(&first, mark).unwrap();
    assert_eq!(drained(&queue), ["id-1"]);
    assert!(fs::read_to_string(queue.folder.join("refused.jsonl")).unwrap().contains("id-0"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Adding, reading without taking, and taking in any order: nothing is lost, nothing changes places.
    #[test]
    fn nothing_is_lost(acts in prop::collection::vec(0..3u8, 0..40)) {
        let folder = tempfile::tempdir().unwrap();
        let queue = WebhookQueue::of(folder.path(), "u");
        let (mut added, mut got) = (0, Vec::new());
        for act in acts {
            match act {
                0 => { queue.add(&record(added)).unwrap(); added += 1; }
                1 => { let _ = WebhookQueue::of(folder.path(), "u").next().unwrap(); }
                _ => got.extend(take(&WebhookQueue::of(folder.path(), "u"))),
            }
        }
        got.extend(drained(&queue));
        prop_assert_eq!(got, (0..added).map(|n| format!("id-{n}")).collect::<Vec<_>>());
    }
}
