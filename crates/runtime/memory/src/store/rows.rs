//! Entries: kept once, listed, forgotten, and pruned when there are too many.

use super::Store;
use super::withdrawal::IS_WITHDRAWN;
use crate::conflict::{Gist, is_a_number, replaces};
use crate::index::{Quantised, VectorIndex};
use crate::text::hash_of;
use ostler_core::ids::SessionId;
use ostler_core::memory::{FactKind, KeptMemory, Memory, MemoryError, MemoryFact, Origin};
use ostler_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

/// An entry as it is stored, with the number of its row.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub row: i64,
    pub memory: Memory,
}

/// A day: how exact the date of the last use needs to be.
const DAY: i64 = 86_400_000;

/// A longer note does not take another back.
const MOST_WORDS: usize = 16;
/// Notes of the same words that are looked at, newest first.
const MOST_LOOKED_AT: i64 = 20;

const COLUMNS: &str = "id, text, kind, session, turn, source, at";

impl Store {
    /// Keeps facts with their vectors; those that are known only get a new date. `by_itself` is for what nobody
    /// asked to keep: what was forgotten stays forgotten.
    pub(crate) fn keep(
        &self,
        facts: &[(&MemoryFact, Option<Quantised>)],
        model: Option<&str>,
        now: Timestamp,
        by_itself: bool,
    ) -> Result<Vec<Option<KeptMemory>>, MemoryError> {
        let now = millis(now);
        self.with(|connection, _| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut all = Vec::with_capacity(facts.len());
            for (fact, vector) in facts {
                let kept = keep_one(&transaction, fact, now, by_itself)?;
                if let (Some((row, Some(_))), Some(vector), Some(model)) = (&kept, vector, model) {
                    put_vector(&transaction, *row, model, vector)?;
                }
                all.push(kept.map(|(row, older)| match older {
                    Some(older) if older.is_empty() => KeptMemory::New(self.id(row)),
                    Some(older) => {
                        let older = older.into_iter().map(|row| self.id(row)).collect();
                        KeptMemory::Instead(self.id(row), older)
                    }
                    None => KeptMemory::Known(self.id(row)),
                }));
            }
            prune(&transaction, self.most)?;
            transaction.commit()?;
            Ok(all)
        })
    }

    /// Newest first.
    pub(crate) fn list(
        &self,
        kind: Option<FactKind>,
        limit: usize,
    ) -> Result<Vec<Stored>, MemoryError> {
        self.with(|connection, _| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM memories WHERE (?1 IS NULL OR kind = ?1) AND NOT {IS_WITHDRAWN}
                 ORDER BY at DESC, id DESC LIMIT ?2"
            ))?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![kind.map(FactKind::name), limit], |row| self.stored(row))?;
            rows.collect()
        })
    }

    pub(crate) fn get(&self, rows: &[i64]) -> Result<Vec<Stored>, MemoryError> {
        self.with(|connection, _| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM memories WHERE id = ?1 AND NOT {IS_WITHDRAWN}"
            ))?;
            let mut found = Vec::with_capacity(rows.len());
            for row in rows {
                found.extend(statement.query_row([row], |row| self.stored(row)).optional()?);
            }
            Ok(found)
        })
    }

    pub(crate) fn count(&self) -> Result<usize, MemoryError> {
        self.with(|connection, _| {
            connection.query_row("SELECT count(*) FROM memories", [], |row| row.get::<_, i64>(0))
        })
        .map(|count| usize::try_from(count).unwrap_or(0))
    }

    /// Removes entries, from the files, too. Gives how many there were.
    pub(crate) fn forget(&self, rows: &[i64]) -> Result<usize, MemoryError> {
        self.with(|connection, _| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut gone = 0;
            for row in rows {
                transaction.execute(
                    "INSERT OR IGNORE INTO forgotten SELECT hash FROM memories WHERE id = ?1",
                    [row],
                )?;
                gone += transaction.execute("DELETE FROM memories WHERE id = ?1", [row])?;
            }
            transaction.commit()?;
            empty_log(connection)?;
            Ok(gone)
        })
    }

    /// Entries without a vector of this model, oldest first.
    pub(crate) fn without_vector(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(i64, String)>, MemoryError> {
        self.with(|connection, _| {
            let mut statement = connection.prepare_cached(
                "SELECT id, text FROM memories WHERE NOT EXISTS
                 (SELECT 1 FROM vectors WHERE vectors.id = memories.id AND model = ?1) ORDER BY id LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![model, limit], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// For entries that had none of this model. One that is gone meanwhile gets none.
    pub(crate) fn put_vectors(
        &self,
        model: &str,
        vectors: &[(i64, Quantised)],
    ) -> Result<(), MemoryError> {
        self.with(|connection, _| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (row, vector) in vectors {
                put_vector(&transaction, *row, model, vector)?;
            }
            // An index that has read later rows already would not see these.
            transaction.execute("UPDATE taken SET n = n + 1", [])?;
            transaction.commit()
        })
    }

    /// These were shown: they are worth keeping.
    pub(crate) fn used(&self, rows: &[i64], now: Timestamp) -> Result<(), MemoryError> {
        let now = millis(now);
        self.with(|connection, _| {
            let mut statement = connection
                .prepare_cached("UPDATE memories SET used = ?1 WHERE id = ?2 AND used < ?1 - ?3")?;
            rows.iter().try_for_each(|row| statement.execute(params![now, row, DAY]).map(drop))
        })
    }

    /// The nearest rows with their likeness, best first.
    pub(crate) fn nearest(
        &self,
        model: &str,
        vector: &[f32],
        limit: usize,
    ) -> Result<Vec<(i64, f32)>, MemoryError> {
        self.with(|connection, index| {
            refresh(connection, index, model)?;
            Ok(index.nearest(vector, limit))
        })
    }

    fn stored(&self, row: &Row<'_>) -> rusqlite::Result<Stored> {
        let id: i64 = row.get(0)?;
        let kind: String = row.get(2)?;
        Ok(Stored {
            row: id,
            memory: Memory {
                id: self.id(id),
                text: row.get(1)?,
                kind: FactKind::named(&kind).unwrap_or(FactKind::Fact),
                scope: self.scope,
                origin: Origin {
                    session: row.get::<_, Option<String>>(3)?.map(SessionId::new),
                    turn: row.get::<_, Option<i64>>(4)?.and_then(|turn| u32::try_from(turn).ok()),
                    source: row.get(5)?,
                },
                at: Timestamp(u64::try_from(row.get::<_, i64>(6)?).unwrap_or(0)),
            },
        })
    }
}

fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// The row, and if it is new those that it took back. None: it was forgotten, and nobody asked for it.
fn keep_one(
    connection: &Connection,
    fact: &MemoryFact,
    now: i64,
    by_itself: bool,
) -> rusqlite::Result<Option<(i64, Option<Vec<i64>>)>> {
    let hash = hash_of(&fact.text);
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM memories WHERE hash = ?1")?
        .query_row([&hash], |row| row.get(0))
        .optional()?;
    if let Some(row) = known {
        stated_again(connection, fact, row)?;
        connection
            .prepare_cached("UPDATE memories SET at = max(at, ?1) WHERE id = ?2")?
            .execute(params![now, row])?;
        return Ok(Some((row, None)));
    }
    let forgotten =
        connection.prepare_cached("SELECT 1 FROM forgotten WHERE hash = ?1")?.exists([&hash])?;
    if forgotten && by_itself {
        return Ok(None);
    }
    let session = fact.origin.session.as_ref().map(SessionId::as_str);
    if let (Some(session), Some(key)) = (session, &fact.key) {
        connection.execute(
            "DELETE FROM memories WHERE session = ?1 AND key = ?2",
            params![session, key],
        )?;
    }
    let older = take_back(connection, fact)?;
    connection.execute("DELETE FROM forgotten WHERE hash = ?1", [&hash])?;
    let Origin { turn, source, .. } = &fact.origin;
    connection
        .prepare_cached(
            "INSERT INTO memories (hash, text, kind, session, turn, source, key, at, used)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        )?
        .execute(params![
            hash,
            fact.text,
            fact.kind.name(),
            session,
            turn,
            source,
            fact.key,
            now
        ])?;
    Ok(Some((connection.last_insert_rowid(), Some(older))))
}

/// What was withdrawn and is stated again counts from there.
fn stated_again(connection: &Connection, fact: &MemoryFact, row: i64) -> rusqlite::Result<()> {
    let Origin { session, turn, source } = &fact.origin;
    connection
        .prepare_cached(&format!(
            "UPDATE memories SET session = ?1, turn = ?2, source = ?3 WHERE id = ?4 AND {IS_WITHDRAWN}"
        ))?
        .execute(params![session.as_ref().map(SessionId::as_str), turn, source, row])
        .map(drop)
}

/// Removes what the fact plainly takes back; gives the rows.
fn take_back(connection: &Connection, fact: &MemoryFact) -> rusqlite::Result<Vec<i64>> {
    let gist = Gist::of(&fact.text);
    // The number is what differs; everything else must be there.
    let numbers = |word: &&str| !word.contains(|c: char| c.is_ascii_digit());
    let words: Vec<String> =
        gist.words().filter(numbers).map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
    let may = fact.kind == FactKind::Preference || is_a_number(&fact.text);
    if !may || words.is_empty() || words.len() > MOST_WORDS {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT memories.id, memories.text FROM words JOIN memories ON memories.id = words.rowid
         WHERE words MATCH ?1 AND kind = ?2 ORDER BY words.rowid DESC LIMIT ?3",
    )?;
    let found = statement
        .query_map(params![words.join(" "), fact.kind.name(), MOST_LOOKED_AT], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
    let found: Vec<(i64, String)> = found.collect::<rusqlite::Result<_>>()?;
    let mut gone = Vec::new();
    for (row, text) in found {
        if replaces(&fact.text, &text) {
            connection.execute("DELETE FROM memories WHERE id = ?1", [row])?;
            gone.push(row);
        }
    }
    Ok(gone)
}

fn put_vector(
    connection: &Connection,
    row: i64,
    model: &str,
    vector: &Quantised,
) -> rusqlite::Result<()> {
    let bytes: Vec<u8> = vector.values.iter().map(|value| value.cast_unsigned()).collect();
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO vectors (id, model, scale, vector) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![row, model, f64::from(vector.scale), bytes])
        .map(drop)
}

/// When there are too many, facts and how-tos go first, then decisions, preferences last; among equals what was
/// stated or used the longest ago. A hundredth more than needed goes, so that this is rare.
fn prune(connection: &Connection, most: usize) -> rusqlite::Result<()> {
    let count: i64 = connection.query_row("SELECT count(*) FROM memories", [], |row| row.get(0))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    if count <= most {
        return Ok(());
    }
    let surplus = count - most + most / 100;
    connection.execute(
        "DELETE FROM memories WHERE id IN (SELECT id FROM memories ORDER BY
           CASE kind WHEN 'preference' THEN 2 WHEN 'decision' THEN 1 ELSE 0 END, max(at, used), id LIMIT ?1)",
        [surplus],
    )?;
    Ok(())
}

/// The log of the database holds old pages. If another process reads at this moment, it does this when it is done.
fn empty_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Brings the index up to date: what is new is added; after a removal by anybody everything is read again.
fn refresh(connection: &Connection, index: &mut VectorIndex, model: &str) -> rusqlite::Result<()> {
    let taken: i64 =
        connection.prepare_cached("SELECT n FROM taken")?.query_row([], |row| row.get(0))?;
    if !index.is_of(model, taken) {
        *index = VectorIndex::new(model, taken);
    }
    let mut statement = connection.prepare_cached(
        "SELECT id, scale, vector FROM vectors WHERE model = ?1 AND id > ?2 ORDER BY id",
    )?;
    let mut rows = statement.query(params![model, index.last()])?;
    while let Some(row) = rows.next()? {
        let scale: f64 = row.get(1)?;
        index.push(row.get(0)?, scale as f32, row.get_ref(2)?.as_blob().unwrap_or_default());
    }
    Ok(())
}
