use super::*;
use crate::ledger::Price;
use proptest::prelude::*;

const PRICE: Price =
    Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };

fn ask(wanted: u32) -> Ask {
    Ask { price: PRICE, prompt: 1_000, wanted, thinking: 0, patient: false }
}

#[test]
fn a_child_draws_on_its_parent() {
    let run = Purse::new(Some(1.0));
    let agent = run.child(Some(0.1));
    let (answer, hold) = agent.reserve(&ask(64_000));
    let Grant::Yes { amount, .. } = answer else { panic!("there is money") };
    assert!(amount <= 0.1 && (run.reserved() - amount).abs() < 1e-12);
    hold.settle(0.095);
    assert_eq!((agent.spent(), run.spent()), (0.095, 0.095));
    assert_eq!((agent.reserved(), run.reserved()), (0.0, 0.0));
    assert_eq!(agent.reserve(&ask(8_000)).0, Grant::No { sum: 0 });
    assert!(matches!(run.child(None).reserve(&ask(8_000)).0, Grant::Yes { .. }));
}

#[test]
fn a_dropped_hold_gives_everything_back() {
    let run = Purse::new(Some(1.0));
    let (_, mut hold) = run.reserve(&ask(8_000));
    let whole = run.reserved();
    hold.shrink(whole / 2.0);
    assert!((run.reserved() - whole / 2.0).abs() < 1e-12);
    hold.shrink(whole);
    assert!((run.reserved() - whole / 2.0).abs() < 1e-12, "a hold never grows");
    drop(hold);
    assert_eq!((run.reserved(), run.spent()), (0.0, 0.0));
}

/// A process that starts one agent after the other does not grow; what they spent is not forgotten.
#[test]
fn a_purse_that_nobody_has_any_more_makes_room() {
    let run = Purse::new(Some(1.0));
    for _ in 0..1_000 {
        let agent = run.child(Some(0.5));
        let (helper, held) = (agent.child(None), agent.unreserved());
        drop(agent);
        helper.unreserved().settle(0.0005);
        drop((helper, held));
    }
    assert_eq!(run.tree().nodes.len(), 3);
    assert!((run.spent() - 0.5).abs() < 1e-9);
    let next = run.child(Some(0.5));
    assert_eq!((next.spent(), next.reserved(), next.limit()), (0.0, 0.0, Some(0.5)));
}

#[derive(Clone, Debug)]
enum Act {
    Child { of: usize, limit: Option<u8> },
    Reserve { by: usize, wanted: u32 },
    Settle { which: usize, share: u8 },
    Drop { which: usize },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..8usize, prop::option::of(0..100u8)).prop_map(|(of, limit)| Act::Child { of, limit }),
        (0..8usize, 1..64_000u32).prop_map(|(by, wanted)| Act::Reserve { by, wanted }),
        (0..8usize, 0..=100u8).prop_map(|(which, share)| Act::Settle { which, share }),
        (0..8usize).prop_map(|which| Act::Drop { which }),
    ]
}

proptest! {
    /// Whatever is reserved, settled for at most what was reserved, or dropped: no purse is ever overdrawn, nothing is
    /// negative, and a child never has more than its parent.
    #[test]
    fn no_purse_is_overdrawn(limit in 0..200u8, acts in prop::collection::vec(act(), 0..120)) {
        let limit = f64::from(limit) / 100.0;
        let mut purses = vec![(Purse::new(Some(limit)), None)];
        let mut holds: Vec<PurseHold> = Vec::new();
        for act in acts {
            match act {
                Act::Child { of, limit } => {
                    let of = of % purses.len();
                    let limit = limit.map(|cents| f64::from(cents) / 100.0);
                    let child = purses[of].0.child(limit);
                    purses.push((child, Some(of)));
                }
                Act::Reserve { by, wanted } => {
                    let (_, hold) = purses[by % purses.len()].0.reserve(&ask(wanted));
                    holds.push(hold);
                }
                Act::Settle { which, share } if !holds.is_empty() => {
                    let hold = holds.swap_remove(which % holds.len());
                    let cost = hold.amount() * f64::from(share) / 100.0;
                    hold.settle(cost);
                }
                Act::Drop { which } if !holds.is_empty() => {
                    holds.swap_remove(which % holds.len());
                }
                Act::Settle { .. } | Act::Drop { .. } => {}
            }
            for (purse, parent) in &purses {
                let (spent, reserved) = (purse.spent(), purse.reserved());
                prop_assert!(spent >= 0.0 && reserved >= 0.0);
                if let Some(limit) = purse.limit() {
                    prop_assert!(spent + reserved <= limit + 1e-9, "{spent} + {reserved} > {limit}");
                }
                if let Some(parent) = parent.map(|at: usize| &purses[at].0) {
                    prop_assert!(spent <= parent.spent() + 1e-9);
                    prop_assert!(reserved <= parent.reserved() + 1e-9);
                }
            }
        }
        drop(holds);
        prop_assert!(purses.iter().all(|(purse, _)| purse.reserved() < 1e-9));
    }
}
