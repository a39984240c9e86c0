//! Two rankings → one: the likeness, plus a little for shared words.
//!
//! Scores are added, not ranks: a rare name that is met weighs much, a common word next to nothing, which its rank does
//! not show. The weight was chosen on one half of `fixtures/memory` and tried on the other (`tests/it/quality.rs`).

use crate::memories::{MemoryKey, Rankings};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// How many places of each ranking are looked at.
pub const DEPTH: usize = 50;
/// What a point of BM25 adds to the likeness.
pub const BY_WORDS: f64 = 0.005;

/// Less alike than this is not about the same.
const LEAST_LIKENESS: f64 = 0.25;
/// The part of the best score by words that a memory needs, where words are all there is.
const LEAST_SCORE: f64 = 0.5;

/// Best first; among equals in the order they were met, by meaning first. What was found by words alone is taken for
/// as far away as the last that was found by meaning.
pub fn fuse<T: Copy + Eq + Hash>(
    by_words: &[(T, f64)],
    by_meaning: &[(T, f64)],
    weight: f64,
) -> Vec<(T, f64)> {
    let by_meaning = by_meaning.get(..DEPTH).unwrap_or(by_meaning);
    let far = by_meaning.last().map_or(0.0, |(_, likeness)| *likeness);
    let mut all: Vec<(T, f64)> = by_meaning.to_vec();
    let mut places: HashMap<T, usize> =
        all.iter().enumerate().map(|(place, (item, _))| (*item, place)).collect();
    for (item, score) in by_words.iter().take(DEPTH) {
        let place = *places.entry(*item).or_insert_with(|| {
            all.push((*item, far));
            all.len() - 1
        });
        if let Some((_, sum)) = all.get_mut(place) {
            *sum += weight * score;
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// A poor match is worse than nothing if nobody asked.
pub(crate) fn leave_out_far(rankings: &mut Rankings) {
    let Rankings { by_words, by_meaning, .. } = rankings;
    let best = by_words.first().map_or(0.0, |(_, score)| *score);
    let without_meaning = by_meaning.is_empty();
    by_meaning.retain(|(_, likeness)| *likeness >= LEAST_LIKENESS);
    if without_meaning {
        by_words.retain(|(_, score)| *score >= best * LEAST_SCORE);
    } else {
        // Shared words are not enough if the meaning differs, except for the best match.
        let near: HashSet<MemoryKey> = by_meaning.iter().map(|(key, _)| *key).collect();
        by_words.retain(|(key, score)| near.contains(key) || *score >= best * 0.8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(ranking: &[(u32, f64)]) -> Vec<u32> {
        ranking.iter().map(|(item, _)| *item).collect()
    }

    #[test]
    fn table() {
        for (words, meaning, expected) in [
            (vec![], vec![], vec![]),
            (vec![(1, 8.0), (2, 3.0)], vec![], vec![1, 2]),
            (vec![], vec![(3, 0.5), (4, 0.4)], vec![3, 4]),
            // Of two that are nearly as like, the one with the word.
            (vec![(2, 6.0)], vec![(1, 0.50), (2, 0.48), (3, 0.2)], vec![2, 1, 3]),
            // A common word changes nothing.
            (vec![(2, 0.5)], vec![(1, 0.50), (2, 0.48), (3, 0.2)], vec![1, 2, 3]),
            // A rare name lifts what the meaning did not see.
            (vec![(9, 14.0)], vec![(1, 0.6), (2, 0.31), (3, 0.3)], vec![1, 9, 2, 3]),
        ] {
            assert_eq!(items(&fuse(&words, &meaning, BY_WORDS)), expected, "{words:?} {meaning:?}");
        }
    }

    fn ranking() -> impl Strategy<Value = Vec<(u32, f64)>> {
        let items = proptest::collection::hash_map(0u32..80, 0.0f64..12.0, 0..60);
        items.prop_map(|map| {
            let mut all: Vec<(u32, f64)> = map.into_iter().collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1));
            all
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_doubled_or_out_of_order(words in ranking(), meaning in ranking()) {
            let fused = fuse(&words, &meaning, BY_WORDS);
            let first = |all: &[(u32, f64)]| items(all).into_iter().take(DEPTH).collect::<Vec<_>>();
            let wanted: HashSet<u32> = first(&words).into_iter().chain(first(&meaning)).collect();
            prop_assert_eq!(fused.len(), wanted.len());
            prop_assert_eq!(items(&fused).into_iter().collect::<HashSet<_>>(), wanted);
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            // What is first in both is first.
            if let (Some(a), Some(b)) = (words.first(), meaning.first()) && a.0 == b.0 {
                prop_assert_eq!(fused[0].0, a.0);
            }
        }
    }
}
