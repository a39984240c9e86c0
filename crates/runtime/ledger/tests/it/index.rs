//! The ledger rebuilt from logs.

use crate::support::{DAY_MS, Place, charged, days};
use ostler_core::ledger::{Broken, Change, Usage};
use ostler_core::message::Message;
use ostler_core::session::{Entry, Fork};
use ostler_core::time::Timestamp;
use ostler_ledger::{Db, LedgerRow, Owner, SharedLimits, rows_of};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;

fn opened(session: &str, forked_from: Option<Fork>) -> Entry {
    let at = Timestamp(DAY_MS);
    Entry::Opened {
        format: 1,
        session: session.into(),
        workspace: "/p".into(),
        at,
        forked_from,
        started_by: None,
    }
}

fn spent(id: Option<&str>, at: u64, cost: f64) -> Entry {
    let charged =
        charged(id.unwrap_or_default(), at, Usage { output: 7, ..Usage::default() }, Some(cost));
    Entry::Spent {
        model: charged.model,
        usage: charged.usage,
        cost: charged.cost,
        charge: id.map(|_| Box::new(charged.charge)),
        front: None,
    }
}

fn prompt(at: u64) -> Entry {
    Entry::prompt(Message::user("go"), Timestamp(at))
}

fn told(rows: &[LedgerRow]) -> Vec<(String, String, u64)> {
    let one = |row: &LedgerRow| {
        (row.session.clone(), row.charged.charge.id.clone(), row.charged.charge.at.0)
    };
    rows.iter().map(one).collect()
}

#[test]
fn what_a_fork_copied_belongs_to_the_other_session() {
    let log = [opened("a", None), prompt(5), spent(Some("x"), 6, 1.0), spent(Some("y"), 7, 1.0)];
    let fork = Fork { session: "a".into(), entries: 3 };
    let mut forked = vec![opened("b", Some(fork))];
    forked.extend(log[1..].iter().cloned());
    forked.push(spent(Some("z"), 9, 1.0));
    assert_eq!(
        told(&rows_of(&log, &days())),
        [("a".into(), "x".into(), 6), ("a".into(), "y".into(), 7)]
    );
    assert_eq!(told(&rows_of(&forked, &days())), [("b".into(), "z".into(), 9)]);
}

#[test]
fn logs_of_earlier_versions_have_names_and_times_of_their_own() {
    let log = [
        opened("a", None),
        spent(None, 0, 1.0),
        prompt(3 * DAY_MS),
        spent(None, 0, 1.0),
        spent(Some("x"), 4 * DAY_MS, 1.0),
    ];
    let rows = rows_of(&log, &days());
    let expected = [
        ("a".into(), "a#1".into(), DAY_MS),
        ("a".into(), "a#2".into(), 3 * DAY_MS),
        ("a".into(), "x".into(), 4 * DAY_MS),
    ];
    assert_eq!(told(&rows), expected);
    assert_eq!(rows[1].day, "0003");
}

#[test]
fn a_row_comes_back_as_it_was() {
    let place = Place::new();
    let usage = Usage { input: 1, output: 2, cache_write: 30, cache_write_1h: 4, cache_read: 50 };
    let mut full = charged("x", 5, usage, Some(0.25));
    full.charge.tool = Some("Bash, Read".into());
    let change = Change::Tools { tool: "Bash".into() };
    full.charge.broken = Some(Broken { expected: 9, read: 1, change });
    let mut bare = charged("y", 6, usage, None);
    (bare.charge.task, bare.charge.first_byte_ms) = (None, None);
    let row = |charged| LedgerRow {
        day: "0000".into(),
        project: "/p".into(),
        session: "s".into(),
        charged,
    };
    let rows = [row(full), row(bare)];
    assert_eq!(Db::open(&place.file()).unwrap().index(&rows, &[]).unwrap(), 2);
    assert_eq!(place.rows(), rows);
    let mode = std::fs::metadata(place.file()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// However often and in whatever pieces logs are indexed: each request is there once, and the sums are theirs.
    #[test]
    fn indexing_again_changes_nothing(
        costs in prop::collection::vec((0..1000u32, 0..3u64), 1..40),
        pieces in prop::collection::vec((0..40usize, 0..40usize), 0..6),
    ) {
        let place = Place::new();
        let mut entries = vec![opened("s", None)];
        for (n, (cost, day)) in costs.iter().enumerate() {
            entries.push(spent(Some(&format!("{n:03}")), day * DAY_MS, f64::from(*cost) / 1e3));
        }
        let rows = rows_of(&entries, &days());
        let mut db = Db::open(&place.file()).unwrap();
        for (from, to) in pieces {
            let (from, to) = (from.min(rows.len()), to.min(rows.len()));
            db.index(&rows[from.min(to)..to], &[]).unwrap();
        }
        db.index(&rows, &["s".into()]).unwrap();
        prop_assert_eq!(db.index(&rows, &[]).unwrap(), 0);
        let limits = SharedLimits { day: Some(1.0), project: Some(1.0), agent: Some(1.0) };
        let owner = Owner { project: "/p".into(), session: "s".into() };
        let sums = |day: &str, db: &mut Db| -> Vec<f64> {
            let standings = db.standings(&limits, &owner, "main", day, Timestamp(0)).unwrap();
            standings.iter().map(|standing| standing.sum.spent).collect()
        };
        let all: f64 = costs.iter().map(|(cost, _)| f64::from(*cost) / 1e3).sum();
        for day in 0..3 {
            let today: f64 =
                costs.iter().filter(|(_, d)| *d == day).map(|(cost, _)| f64::from(*cost) / 1e3).sum();
            let found = sums(&format!("{day:04}"), &mut db);
            for (found, expected) in found.iter().zip([today, all, all]) {
                prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
            }
        }
        prop_assert_eq!(place.rows().len(), rows.len());
    }
}
