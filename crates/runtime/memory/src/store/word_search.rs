//! By words: FTS5 and BM25. Words that nearly every entry has are not asked for; ranking them takes long and says
//! nothing.

use super::Store;
use ostler_core::memory::MemoryError;
use rusqlite::{Connection, params};

/// Words of a question that are looked for.
const MOST_WORDS: usize = 24;
/// A word in more entries than this is common.
const COMMON: i64 = 2_000;

/// Words that carry no meaning in a question.
const EMPTY: &str = " a about all also am an and any are as at be been but by can could did do does for from get got
 had has have he her here him his how i if in into is it its just let may me might must my no not now of on one only
 or our out please shall she should so some such than that the their them then there these they this those to too up
 us use used very want was we were what when where which who whom why will with would you your ";

impl Store {
    /// Rows with their score, best first.
    pub(crate) fn by_words(
        &self,
        query: &str,
        limit: usize,
    ) -> Result<Vec<(i64, f64)>, MemoryError> {
        let words = words(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.with(|connection, _| {
            let Some(expression) = expression(connection, &words)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(
                "SELECT rowid, bm25(words) FROM words WHERE words MATCH ?1 ORDER BY bm25(words), rowid DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![expression, limit], |row| {
                Ok((row.get(0)?, -row.get::<_, f64>(1)?))
            })?;
            rows.collect()
        })
    }
}

/// The words of a question worth looking for; a name such as `a_b::c` or `x-y` is looked for as a whole.
pub(super) fn words(query: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let empty = |word: &str| EMPTY.split_whitespace().any(|empty| empty == word);
    for keep_empty in [false, true] {
        for word in query.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let useful = word.chars().any(char::is_alphanumeric) && (keep_empty || !empty(&word));
            if useful && found.len() < MOST_WORDS && !found.contains(&word) {
                found.push(word);
            }
        }
        // A question of empty words only is better than nothing.
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// What FTS5 is asked. Only common words: they must stand together.
fn expression(connection: &Connection, words: &[String]) -> rusqlite::Result<Option<String>> {
    let entries: i64 = connection
        .prepare_cached("SELECT coalesce(max(id), 0) FROM memories")?
        .query_row([], |row| row.get(0))?;
    let quoted: Vec<String> =
        words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    if entries <= 2 * COMMON {
        return Ok(Some(quoted.join(" OR ")));
    }
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)",
    )?;
    let (mut rare, mut common) = (Vec::new(), Vec::new());
    for word in &quoted {
        match statement.query_row(params![word, COMMON + 1], |row| row.get::<_, i64>(0))? {
            0 => {}
            n if n > COMMON => common.push(word.as_str()),
            _ => rare.push(word.as_str()),
        }
    }
    Ok(match (rare.is_empty(), common.is_empty()) {
        (false, _) => Some(rare.join(" OR ")),
        (true, false) => Some(common.join(" AND ")),
        (true, true) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn questions_are_reduced_to_what_counts() {
        for (query, expected) in [
            ("how do I use the `normalize_path` function?", vec!["normalize_path", "function"]),
            ("What is it?", vec!["what", "is", "it"]),
            ("???", vec![]),
            ("Grüße an \"OSTLER_HOME\"", vec!["grüße", "ostler_home"]),
            ("a::b() a::b()", vec!["a::b"]),
        ] {
            assert_eq!(words(query), expected, "{query}");
        }
        assert_eq!(words(&(0..99).map(|n| format!("w{n} ")).collect::<String>()).len(), 24);
    }
}
