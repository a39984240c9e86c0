//! Who shares a transaction, and who does not suffer from it.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::error::Refusal;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{Scope, ScopedJoinHandle};

const THREADS: i64 = 8;

struct Bench {
    folder: tempfile::TempDir,
    commits: GroupCommit,
}

type Count = Result<i64, BoardError>;

impl Bench {
    fn new() -> Self {
        let bench = Bench { folder: tempfile::tempdir().unwrap(), commits: GroupCommit::default() };
        bench.open().execute_batch("CREATE TABLE rows (n INTEGER)").unwrap();
        bench
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("test.db")
    }

    fn open(&self) -> Connection {
        ostler_database::open(&self.path(), std::time::Duration::from_secs(60)).unwrap()
    }

    fn perform(&self, act: impl FnOnce(&Transaction<'_>) -> Done<i64> + Send + 'static) -> Count {
        let (mut connection, path) = (self.open(), self.path());
        self.commits.perform(&mut connection, &path, Durability::Synced, act)
    }

    fn waiting(&self) -> usize {
        lock(&self.commits.queue).jobs.len()
    }

    /// Keeps the leader busy until `others` have queued up, then lets everybody go.
    fn hold<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        others: impl FnOnce(),
        count: usize,
    ) -> ScopedJoinHandle<'s, Count> {
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let leader = scope.spawn(move || {
            self.perform(move |tx| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                insert(tx, 0)
            })
        });
        has_begun.recv().unwrap();
        others();
        while self.waiting() < count {
            std::thread::yield_now();
        }
        go_on.send(()).unwrap();
        leader
    }
}

/// How many rows there were before.
fn insert(tx: &Transaction<'_>, n: i64) -> Done<i64> {
    let count = rows(tx);
    tx.execute("INSERT INTO rows VALUES (?1)", [n])?;
    Ok(count)
}

fn rows(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap()
}

#[test]
fn those_who_wait_share_one_transaction_and_one_refusal_spoils_nothing() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let others = || {
            for n in 1..=THREADS {
                let (outside, bench) = (bench.open(), &bench);
                threads.push(scope.spawn(move || {
                    bench.perform(move |tx| {
                        insert(tx, n)?;
                        match n % 4 {
                            0 => Err(Refusal::Title.into()),
                            // Nothing of this group is visible from outside, only what the first one wrote.
                            _ => Ok(rows(&outside)),
                        }
                    })
                }));
            }
        };
        let leader = bench.hold(scope, others, usize::try_from(THREADS).unwrap());
        assert_eq!(leader.join().unwrap().unwrap(), 0);
        let results: Vec<Count> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let refused = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(refused, 2, "{results:?}");
        assert!(results.iter().flatten().all(|seen| *seen == 1), "{results:?}");
    });
    let kept: Vec<i64> = {
        let connection = bench.open();
        let mut statement = connection.prepare("SELECT n FROM rows ORDER BY n").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(kept, [0, 1, 2, 3, 5, 6, 7], "nothing of what was refused stays");
}

/// A deferred constraint fails at the commit: then nobody may hear of success.
#[test]
fn when_the_commit_fails_everybody_hears_of_it() {
    let bench = Bench::new();
    bench
        .open()
        .execute_batch(
            "CREATE TABLE parents (n INTEGER PRIMARY KEY);
             CREATE TABLE children (n INTEGER REFERENCES parents (n) DEFERRABLE INITIALLY DEFERRED)",
        )
        .unwrap();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let others = || {
            for n in 0..4 {
                let bench = &bench;
                threads.push(scope.spawn(move || {
                    let mut connection = bench.open();
                    connection.pragma_update(None, "foreign_keys", true).unwrap();
                    let act = move |tx: &Transaction<'_>| match n {
                        0 => Ok(i64::try_from(tx.execute("INSERT INTO children VALUES (7)", [])?)
                            .unwrap()),
                        1 => Err(Refusal::Title.into()),
                        _ => insert(tx, n),
                    };
                    let (commits, path) = (&bench.commits, bench.path());
                    commits.perform(&mut connection, &path, Durability::Written, act)
                }));
            }
        };
        bench.hold(scope, others, 4).join().unwrap().unwrap();
        for thread in threads {
            let error = thread.join().unwrap().unwrap_err();
            assert!(matches!(error, BoardError::File { .. }), "{error}");
        }
    });
    assert_eq!(rows(&bench.open()), 1, "only the first one");
}

#[test]
fn a_panic_leaves_nobody_waiting() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let others = || {
            for n in 0..3 {
                let bench = &bench;
                threads.push(scope.spawn(move || {
                    bench.perform(move |tx| if n == 0 { panic!("planted") } else { insert(tx, n) })
                }));
            }
        };
        bench.hold(scope, others, 3).join().unwrap().unwrap();
        let results: Vec<_> = threads.into_iter().map(ScopedJoinHandle::join).collect();
        // Whoever led met the panic; the others were told, or came later.
        assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
    });
    assert!(bench.perform(|tx| insert(tx, 9)).is_ok(), "the next one works");
}
