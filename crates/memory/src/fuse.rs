//! Two rankings → one, by reciprocal ranks. Measured on `fixtures/memory`: meaning counts twice as much as words, and
//! the first few places matter most.

use std::collections::HashMap;
use std::hash::Hash;

/// How many places of each ranking are looked at.
pub const DEPTH: usize = 50;

/// What a place in a ranking is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Small: a first place weighs much more than a tenth.
    pub k: f32,
    /// Of words, where meaning has 1.
    pub words: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Weights { k: 5.0, words: 0.5 }
    }
}

/// Best first; among equals in the order they were met, by meaning first.
pub fn fuse<T: Copy + Eq + Hash>(by_words: &[T], by_meaning: &[T], by: Weights) -> Vec<(T, f32)> {
    let mut scores: HashMap<T, f32> = HashMap::new();
    let mut order: Vec<T> = Vec::new();
    for (ranking, weight) in [(by_meaning, 1.0), (by_words, by.words)] {
        for (place, item) in ranking.iter().take(DEPTH).enumerate() {
            let score = scores.entry(*item).or_insert_with(|| {
                order.push(*item);
                0.0
            });
            *score += weight / (by.k + place as f32 + 1.0);
        }
    }
    let mut all: Vec<(T, f32)> =
        order.into_iter().map(|item| (item, scores.get(&item).copied().unwrap_or(0.0))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn items(ranking: &[(u32, f32)]) -> Vec<u32> {
        ranking.iter().map(|(item, _)| *item).collect()
    }

    #[test]
    fn table() {
        for (words, meaning, expected) in [
            (vec![], vec![], vec![]),
            (vec![1, 2], vec![], vec![1, 2]),
            (vec![], vec![3, 4], vec![3, 4]),
            // Found by both beats found by one.
            (vec![9, 2], vec![1, 2, 3], vec![2, 1, 3, 9]),
            // The best by words comes before the eighth by meaning.
            (vec![9], vec![1, 2, 3, 4, 5, 6, 7, 8], vec![1, 2, 3, 4, 5, 6, 7, 9, 8]),
        ] {
            assert_eq!(items(&fuse(&words, &meaning, Weights::default())), expected, "{words:?} {meaning:?}");
        }
    }

    fn ranking() -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::hash_set(0u32..80, 0..60)
            .prop_map(|set| set.into_iter().collect::<Vec<_>>())
            .prop_shuffle()
    }

    proptest! {
        #[test]
        fn nothing_is_lost_doubled_or_out_of_order(words in ranking(), meaning in ranking()) {
            let fused = fuse(&words, &meaning, Weights::default());
            let wanted: HashSet<u32> = words.iter().take(DEPTH).chain(meaning.iter().take(DEPTH)).copied().collect();
            prop_assert_eq!(fused.len(), wanted.len());
            prop_assert_eq!(items(&fused).into_iter().collect::<HashSet<_>>(), wanted);
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            // What is first in both is first.
            if let (Some(a), Some(b)) = (words.first(), meaning.first()) && a == b {
                prop_assert_eq!(fused[0].0, *a);
            }
        }
    }
}
