//! Prices that a person knows better than the built-in table: `prices.toml`.
//!
//! ```toml
//! ["my-model"]
//! input = 1.5        # US dollars per million tokens
//! output = 6.0
//! cache_read = 0.15  # these may be left out: a tenth, 1.25 times and twice the input
//! cache_write = 1.875
//! cache_write_1h = 3.0
//! ```

use crate::catalog::{Rates, is_same_version, price};
use ostler_core::ledger::Price;
use std::collections::BTreeMap;

/// By the beginning of the model's name, as in the built-in table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceBook(BTreeMap<String, Price>);

impl PriceBook {
    /// # Errors
    /// The line and what is wrong there: nothing is counted by half a list.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let read: BTreeMap<String, toml::Spanned<Rates>> =
            toml::from_str(text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                (line(text, at), error.message().to_owned())
            })?;
        let mut book = BTreeMap::new();
        for (model, rates) in read {
            let found = price(*rates.get_ref());
            let all = [
                found.input,
                found.output,
                found.cache_write,
                found.cache_write_1h,
                found.cache_read,
            ];
            if model.is_empty() || all.iter().any(|rate| !rate.is_finite() || *rate < 0.0) {
                let what = format!(
                    "the prices of \"{model}\" must be numbers from 0, of a model with a name"
                );
                return Err((line(text, rates.span().start), what));
            }
            book.insert(model, found);
        }
        Ok(PriceBook(book))
    }

    pub fn price(&self, model: &str) -> Option<Price> {
        let fits =
            |prefix: &String| model.strip_prefix(prefix.as_str()).is_some_and(is_same_version);
        let found = self.0.iter().filter(|(prefix, _)| fits(prefix));
        found.max_by_key(|(prefix, _)| prefix.len()).map(|(_, price)| *price)
    }
}

fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_counts() {
        let text =
            "[my]\ninput = 1\noutput = 2\n[my-big]\ninput = 10\noutput = 20\ncache_read = 0.5\n";
        let book = PriceBook::parse(text).unwrap();
        let of = |name: &str| book.price(name).map(|p| (p.input, p.cache_read));
        assert_eq!(of("my"), Some((1.0, 0.1)));
        assert_eq!(of("my-big-20260101"), Some((10.0, 0.5)));
        assert_eq!(of("my-2"), None, "another version");
        assert_eq!(of("other"), None);
        assert_eq!(PriceBook::parse("").unwrap(), PriceBook::default());
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, line) in [
            ("[a]\ninput = 1\noutput = \"x\"", 3),
            ("[a]\ninput = 1\noutput = 2\nprize = 3", 4),
            ("[a]\ninput = 1", 1),
            ("\n\n[a]\ninput = -1\noutput = 2", 3),
            ("a = [", 1),
        ] {
            let (at, what) = PriceBook::parse(text).unwrap_err();
            assert_eq!(at, line, "{text}: {what}");
            assert!(!what.is_empty());
        }
    }
}
