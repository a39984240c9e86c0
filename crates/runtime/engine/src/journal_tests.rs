use super::*;
use ostler_core::context::{Boundary, Made, Receipt, Trigger};
use ostler_core::ids::{BlobRef, CallId, ModelId, SessionId};
use ostler_core::message::Message;
use ostler_core::session::SnapshotCost;
use ostler_core::time::{SteppingClock, Timestamp};

struct Nowhere(SessionId);

impl SessionLog for Nowhere {
    fn id(&self) -> &SessionId {
        &self.0
    }

    fn append(&self, _: &Entry) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Blobs for Nowhere {
    fn put(&self, _: &[u8]) -> Result<BlobRef, StoreError> {
        Err(StoreError::BlobLost(String::new()))
    }

    fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        Err(StoreError::BlobLost(format!("{blob:?}")))
    }

    fn spill(&self, _: &[u8]) -> Result<Option<std::path::PathBuf>, StoreError> {
        Ok(None)
    }
}

/// What a request cost and what a call changed is in the log. A session of many thousand rounds must not hold it, too.
#[test]
fn nothing_is_kept_that_grows_with_every_round() {
    let place = Arc::new(Nowhere(SessionId::new("s")));
    let mut begun = SessionRecord::default();
    begun.apply(snapshot(0));
    begun.apply(checkpoint(0));
    let journal = Journal::resumed(place.clone(), place, Arc::new(SteppingClock::default()), begun);
    for n in 0..1000 {
        let (model, usage) = (ModelId::new("m"), Usage { input: n, ..Usage::default() });
        let spent = Entry::Spent { model, usage, cost: Some(0.1), charge: None, front: None };
        for entry in [spent, snapshot(n), checkpoint(n)] {
            journal.write(entry).unwrap();
        }
    }
    let mirror = journal.mirror();
    assert_eq!((mirror.session.snapshots.len(), mirror.session.checkpoints.len()), (0, 0));
    assert_eq!(mirror.written, 3000, "all of it was written");
    // Whatever else the fold holds: it is as large as one that has seen nothing.
    let size = |session: &SessionRecord| format!("{session:?}").len();
    assert!(size(&mirror.session) < size(&SessionRecord::default()) + 200, "{:?}", mirror.session);
}

/// A session that is summarized again and again holds one window of its conversation, however many there were.
#[test]
fn what_is_summed_up_is_not_kept() {
    let place = Arc::new(Nowhere(SessionId::new("s")));
    let clock = Arc::new(SteppingClock::default());
    let journal = Journal::resumed(place.clone(), place, clock, SessionRecord::default());
    let mut sizes = Vec::new();
    for _ in 0..200 {
        for n in 10..40 {
            let message = Message::user(format!("prompt {n}"));
            journal
                .write(Entry::Prompt { message, at: Timestamp(1), inbound: Vec::new() })
                .unwrap();
        }
        journal.write(boundary()).unwrap();
        sizes.push(format!("{:?}", journal.mirror().session).len());
    }
    assert_eq!(sizes.first(), sizes.last(), "{sizes:?}");
}

fn boundary() -> Entry {
    let receipt = Receipt {
        trigger: Trigger::Auto,
        made: Made::Extract { why: "test".into() },
        messages: 30,
        calls: Vec::new(),
        calls_dropped: 0,
        kept: 0,
        before: 10,
        after: 5,
        requests: 0,
        attached: Vec::new(),
    };
    Entry::Boundary(Box::new(Boundary {
        head: vec![Message::meta("summary")],
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

fn snapshot(n: u64) -> Entry {
    let (call, path) = (CallId::new(format!("c{n}")), format!("/w/{n}").into());
    Entry::Snapshot { call, path, before: None, mode: None, after: None }
}

fn checkpoint(n: u64) -> Entry {
    let call = CallId::new(format!("b{n}"));
    let (cost, only) = (SnapshotCost::default(), Vec::new());
    Entry::Checkpoint { call, before: n, after: Some(n + 1), cost, only }
}
