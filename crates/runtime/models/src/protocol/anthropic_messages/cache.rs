//! Where cache marks go. At most four are allowed: one ends the system prompt, up to three stand in the messages.
//!
//! The provider keeps an entry for each mark and, from each mark of a later request, looks back over a bounded
//! number of blocks for an entry. A mark where the previous request's newest one stood therefore always finds what
//! that request left, however wide the turn in between was.

use crate::capabilities::CacheSetting;

/// Blocks the provider looks back over, the marked one included.
pub const LOOK_BACK: usize = 20;

const FIVE_MINUTES: &str = r#","cache_control":{"type":"ephemeral"}"#;
const ONE_HOUR: &str = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;

/// What is put before a block's closing brace.
pub fn mark(setting: CacheSetting) -> Option<&'static str> {
    match setting {
        CacheSetting::Off => None,
        CacheSetting::FiveMinutes => Some(FIVE_MINUTES),
        CacheSetting::OneHour => Some(ONE_HOUR),
    }
}

/// The blocks to mark, ascending. `cacheable` tells for each block of the messages whether it may carry a mark;
/// `asked` is how many of them stand before the last answer: what the previous request consisted of.
pub fn marks(cacheable: &[bool], asked: usize) -> Vec<usize> {
    let last_in = |end: usize| cacheable.iter().take(end).rposition(|&yes| yes);
    let Some(newest) = last_in(cacheable.len()) else { return Vec::new() };
    let previous = last_in(asked).filter(|&at| at < newest);
    // Between two far marks lies ground that no look-back covers. An entry there (after a paused answer, say)
    // is found from a mark just below the newest one's reach.
    let spare = previous
        .filter(|&from| newest - from > LOOK_BACK)
        .and_then(|from| last_in(newest - LOOK_BACK + 1).filter(|&at| at > from));
    previous.into_iter().chain(spare).chain([newest]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_places() {
        let all = |n| vec![true; n];
        let without =
            |n: usize, not: &[usize]| (0..n).map(|i| !not.contains(&i)).collect::<Vec<_>>();
        let table: &[(&str, Vec<bool>, usize, &[usize])] = &[
            ("nothing", vec![], 0, &[]),
            ("nothing that may be marked", vec![false; 3], 2, &[]),
            ("first request", all(2), 0, &[1]),
            ("one answer", all(4), 1, &[0, 3]),
            ("thinking before the answer's text", without(5, &[1]), 1, &[0, 4]),
            ("the newest block cannot be marked", without(5, &[4]), 1, &[0, 3]),
            ("the previous end cannot be marked", without(6, &[2]), 3, &[1, 5]),
            ("only the newest can be marked", without(4, &[0, 1, 2]), 3, &[3]),
            ("a wide turn at the reach", all(21), 1, &[0, 20]),
            ("a wide turn beyond it", all(22), 1, &[0, 1, 21]),
            ("a very wide turn", all(100), 1, &[0, 79, 99]),
            ("the spare must be markable", without(100, &[79, 78]), 1, &[0, 77, 99]),
            ("a request that ends with an answer", all(5), 3, &[2, 4]),
        ];
        for (name, cacheable, asked, expected) in table {
            assert_eq!(marks(cacheable, *asked), *expected, "{name}");
        }
    }

    /// What a provider would do: an entry per mark, and from each mark a look back for an entry.
    #[derive(Default)]
    struct Provider(std::collections::BTreeSet<usize>);

    impl Provider {
        /// The number of leading blocks that were read from the cache.
        fn ask(&mut self, marks: &[usize]) -> usize {
            let found = |&at: &usize| {
                (0..LOOK_BACK).find_map(|back| at.checked_sub(back).filter(|p| self.0.contains(p)))
            };
            let read = marks.iter().rev().find_map(found).map_or(0, |at| at + 1);
            self.0.extend(marks);
            read
        }
    }

    proptest! {
        /// Each request reads from the cache all that the request before it ended with, however wide the turns are.
        #[test]
        fn nothing_is_paid_twice(
            turns in prop::collection::vec((1usize..80, 0usize..80, prop::bool::weighted(0.1)), 1..12),
            thinking in prop::bool::ANY,
        ) {
            let mut provider = Provider::default();
            let mut cacheable = vec![true];
            let mut asked = 0;
            let mut written = 0;
            for (answer, results, paused) in turns {
                let marks = marks(&cacheable, asked);
                prop_assert!(marks.len() <= 3 && marks.is_sorted());
                prop_assert!(marks.iter().all(|&m| cacheable[m]));
                prop_assert_eq!(provider.ask(&marks), written);
                written = marks.last().map_or(0, |m| m + 1);
                asked = cacheable.len();
                cacheable.extend((0..answer).map(|i| !(thinking && i == 0 && answer > 1)));
                cacheable.extend((0..if paused { 0 } else { results }).map(|_| true));
            }
        }
    }

    #[test]
    fn one_rolling_mark_would_lose_a_wide_turn() {
        let mut provider = Provider::default();
        provider.ask(&[0]);
        assert_eq!(provider.ask(&[40]), 0, "the simulation has a bounded look-back");
        let mut provider = Provider::default();
        provider.ask(&[0]);
        assert_eq!(provider.ask(&marks(&[true; 41], 1)), 1);
    }

    #[test]
    fn the_marks_of_each_setting() {
        assert_eq!(mark(CacheSetting::Off), None);
        assert_eq!(mark(CacheSetting::default()), Some(r#","cache_control":{"type":"ephemeral"}"#));
        assert_eq!(
            mark(CacheSetting::OneHour),
            Some(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#)
        );
    }
}
