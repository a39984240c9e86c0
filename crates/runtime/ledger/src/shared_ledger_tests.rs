use super::*;
use crate::reserve::LEASE_MS;
use ostler_core::ledger::{Ask, Price};
use ostler_core::ports::Ledger;
use ostler_core::time::Timestamp;

#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A session that is gone ends no request, so its reservations run out; those of others live on.
#[test]
fn only_sessions_that_take_part_have_their_leases_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::default());
    let shared = SharedLedger::new(folder.path().join("ledger.db"), clock.clone());
    let limits = SharedLimits { day: Some(1.0), ..SharedLimits::default() };
    let bind = |session: &str| {
        let owner = Owner { project: "/p".into(), session: session.into() };
        let days: Days = Arc::new(|_| "today".into());
        shared.bind(Binding { owner, limits, days, fill: None })
    };
    let price =
        Price { input: 1.0, output: 1.0, cache_write: 1.0, cache_write_1h: 1.0, cache_read: 1.0 };
    let ask = Ask { price, prompt: 1_000, wanted: 1_000, thinking: 0, patient: false };
    let (leaves, stays) = (bind("leaves"), bind("stays"));
    for (ledger, id) in [(&leaves, "a"), (&stays, "b")] {
        assert!(ledger.reserve(id, "main", &ask).unwrap().holds());
    }
    let (_, both) = stays.sums("main")[0].clone();
    assert!(both.spent == 0.0 && both.reserved > 0.0);
    drop(leaves);
    clock.0.store(LEASE_MS - 1, Ordering::SeqCst);
    shared.parts.file.renew();
    clock.0.store(LEASE_MS + 1, Ordering::SeqCst);
    let (_, sum) = stays.sums("main")[0].clone();
    let half = both.reserved / 2.0;
    assert!((sum.spent - half).abs() < 1e-9, "the one that left: {sum:?}");
    assert!((sum.reserved - half).abs() < 1e-9, "the one that stayed: {sum:?}");
}
