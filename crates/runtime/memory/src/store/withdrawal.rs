//! Notes that are not offered because what they were learned from was undone. They stay where they are and come back
//! when the undo is taken back.

use super::Store;
use crate::withdrawal::Withdrawal;
use ostler_core::ids::SessionId;
use ostler_core::memory::MemoryError;
use ostler_core::time::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};

/// Beside the layout, so that earlier versions of this program still read the database. A row names one source of notes,
/// up to a turn, or turns: with `until` everything stated in them until then, without it all but the user's own words.
pub(super) const LAYOUT: &str = "
CREATE TABLE IF NOT EXISTS withdrawn (
    undo INTEGER NOT NULL,
    session TEXT NOT NULL,
    source TEXT,
    first INTEGER,
    last INTEGER,
    until INTEGER
);
CREATE INDEX IF NOT EXISTS withdrawn_by_session ON withdrawn (session);
";

/// Holds for rows of `memories` that are not offered.
pub(super) const IS_WITHDRAWN: &str = "EXISTS (SELECT 1 FROM withdrawn AS w WHERE w.session = memories.session AND CASE
    WHEN w.source IS NOT NULL THEN w.source = memories.source AND (w.last IS NULL OR memories.turn <= w.last)
    WHEN w.until IS NOT NULL THEN memories.turn >= w.first AND memories.at <= w.until
    ELSE memories.turn = w.first AND memories.source <> 'the user' END)";

/// Withdrawals that are remembered; the oldest give way.
const MOST_ROWS: i64 = 20_000;

impl Store {
    pub(crate) fn withdraw(
        &self,
        withdrawal: &Withdrawal<'_>,
        now: Timestamp,
    ) -> Result<(), MemoryError> {
        let Withdrawal { session, calls, turns, changed_until, rewound_from, .. } = withdrawal;
        let undo = number(withdrawal.undo);
        let (session, now) = (session.as_str(), number(now.0));
        self.with(|connection, _| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut sources: Vec<(&str, Option<u32>)> =
                calls.iter().map(|call| (call.as_str(), None)).collect();
            sources.extend(changed_until.map(|turn| ("changed files", Some(turn))));
            for (source, last) in sources {
                transaction.execute(
                    "INSERT INTO withdrawn (undo, session, source, last) VALUES (?1, ?2, ?3, ?4)",
                    params![undo, session, source, last],
                )?;
            }
            for turn in *turns {
                transaction.execute(
                    "INSERT INTO withdrawn (undo, session, first) VALUES (?1, ?2, ?3)",
                    params![undo, session, turn],
                )?;
            }
            if let Some(first) = rewound_from {
                transaction.execute(
                    "INSERT INTO withdrawn (undo, session, first, until) VALUES (?1, ?2, ?3, ?4)",
                    params![undo, session, first, now],
                )?;
            }
            bound(&transaction)?;
            transaction.commit()
        })
    }

    pub(crate) fn restore(&self, session: &SessionId, undo: u64) -> Result<(), MemoryError> {
        self.with(|connection, _| {
            connection.execute(
                "DELETE FROM withdrawn WHERE session = ?1 AND undo = ?2",
                params![session.as_str(), number(undo)],
            )?;
            Ok(())
        })
    }
}

fn bound(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute(
            "DELETE FROM withdrawn WHERE rowid <= (SELECT max(rowid) FROM withdrawn) - ?1",
            [MOST_ROWS],
        )
        .map(drop)
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
