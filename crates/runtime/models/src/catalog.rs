//! What is known of models: names, limits, prices, ways of thinking. All of it is data, in `models.toml`.

use crate::capabilities::{
    CacheSetting, Capabilities, EffortSupport, RequestExtras, ThinkingStyle, USUAL_BUDGET,
};
use ostler_core::ids::ModelId;
use ostler_core::ledger::Price;
use ostler_core::ports::ModelInfo;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const UNKNOWN_WINDOW: u64 = 200_000;
const UNKNOWN_OUTPUT: u32 = 32_000;
const BYTES_PER_TOKEN: f64 = 3.5;

static CATALOG: LazyLock<ModelCatalog> =
    LazyLock::new(|| toml::from_str(include_str!("models.toml")).unwrap_or_default());

/// The wire name for what a person types: an alias, or the name itself.
pub fn resolve_model(name: &str) -> ModelId {
    ModelId::new(CATALOG.alias.get(name).map_or(name, String::as_str))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelCatalog {
    alias: BTreeMap<String, String>,
    family: Vec<Family>,
}

/// Models whose names begin alike, as an entry of `models.toml` or of a provider describes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    prefix: String,
    pub(crate) window: u64,
    pub(crate) max_output: u32,
    #[serde(default)]
    pub(crate) thinking: ThinkingStyle,
    #[serde(default)]
    effort: EffortSupport,
    #[serde(default)]
    keep_thinking: bool,
    #[serde(default = "bytes_per_token")]
    bytes_per_token: f64,
    /// It has a fast mode, and all prices are so many times higher in it.
    pub(crate) fast: Option<f64>,
    price: Option<Rates>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rates {
    input: f64,
    output: f64,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    cache_read: Option<f64>,
}

fn bytes_per_token() -> f64 {
    BYTES_PER_TOKEN
}

static UNKNOWN: LazyLock<Family> = LazyLock::new(|| Family {
    prefix: String::new(),
    window: UNKNOWN_WINDOW,
    max_output: UNKNOWN_OUTPUT,
    thinking: ThinkingStyle::Unknown,
    effort: EffortSupport::No,
    keep_thinking: false,
    bytes_per_token: BYTES_PER_TOKEN,
    fast: None,
    price: None,
});

pub(crate) fn family(name: &str) -> &'static Family {
    best(&CATALOG.family, name).unwrap_or(&UNKNOWN)
}

/// The family with the longest prefix of this name.
pub(crate) fn best<'a>(families: &'a [Family], name: &str) -> Option<&'a Family> {
    let fits = |family: &&Family| name.strip_prefix(&*family.prefix).is_some_and(is_same_version);
    families.iter().filter(fits).max_by_key(|family| family.prefix.len())
}

/// `claude-opus-5` is followed by a date in `claude-opus-5-20260724`, but by another version in `claude-opus-5-7`,
/// of which nothing is known.
pub(crate) fn is_same_version(rest: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    match rest.strip_prefix(['-', '.']) {
        Some(next) => !(1..=2).contains(&digits(next)),
        None => digits(rest) == 0,
    }
}

impl Family {
    pub(crate) fn capabilities(&self, model: &str) -> Capabilities {
        Capabilities {
            model: model.to_owned(),
            max_output: self.max_output,
            thinking: self.thinking,
            effort_support: self.effort,
            keep_thinking: self.keep_thinking,
            bytes_per_token: self.bytes_per_token,
            effort: None,
            extras: RequestExtras::default(),
            fast: false,
            cache: CacheSetting::default(),
        }
    }

    pub(crate) fn info(&self) -> ModelInfo {
        let thinking_budget = if self.thinking == ThinkingStyle::Budget { USUAL_BUDGET } else { 0 };
        let (window, max_output) = (self.window, self.max_output);
        ModelInfo { window, max_output, thinking_budget, price: self.price.map(price) }
    }
}

pub(crate) fn times(price: Price, factor: f64) -> Price {
    Price {
        input: price.input * factor,
        output: price.output * factor,
        cache_write: price.cache_write * factor,
        cache_write_1h: price.cache_write_1h * factor,
        cache_read: price.cache_read * factor,
    }
}

pub(crate) fn price(rates: Rates) -> Price {
    Price {
        input: rates.input,
        output: rates.output,
        cache_write: rates.cache_write.unwrap_or(rates.input * 1.25),
        cache_write_1h: rates.cache_write_1h.unwrap_or(rates.input * 2.0),
        cache_read: rates.cache_read.unwrap_or(rates.input * 0.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> ModelInfo {
        family(name).info()
    }

    #[test]
    fn the_table_is_read_whole() {
        let catalog: ModelCatalog =
            toml::from_str(include_str!("models.toml")).expect("models.toml");
        assert_eq!(catalog.family.len(), CATALOG.family.len());
        for (alias, name) in &catalog.alias {
            assert_ne!(
                family(name).thinking,
                ThinkingStyle::Unknown,
                "{alias} leads to a known family"
            );
        }
        for family in &catalog.family {
            assert!(u64::from(family.max_output) < family.window, "{}", family.prefix);
        }
        let mut prefixes: Vec<_> = catalog.family.iter().map(|f| &f.prefix).collect();
        prefixes.sort();
        prefixes.dedup();
        assert_eq!(prefixes.len(), catalog.family.len(), "each prefix stands once");
    }

    #[test]
    fn aliases_and_names() {
        assert_eq!(resolve_model("opus").as_str(), "claude-opus-4-8");
        assert_eq!(resolve_model("sonnet").as_str(), "claude-sonnet-5");
        assert_eq!(resolve_model("haiku").as_str(), "claude-haiku-4-5");
        assert_eq!(resolve_model("my-model").as_str(), "my-model");
    }

    #[test]
    fn families_by_the_longest_prefix_but_never_by_another_version() {
        // (name, window, max output, input price)
        let table: &[(&str, u64, u32, Option<f64>)] = &[
            ("claude-opus-4-8", 1_000_000, 128_000, Some(5.0)),
            ("claude-opus-4-5-20251101", 200_000, 64_000, Some(5.0)),
            ("claude-opus-4-1-20250805", 200_000, 32_000, Some(15.0)),
            ("claude-opus-4-20250514", 200_000, 32_000, Some(15.0)),
            ("claude-sonnet-4-20250514", 200_000, 64_000, Some(3.0)),
            ("claude-haiku-4-5@20251001", 200_000, 64_000, Some(1.0)),
            ("claude-opus-5-5", 1_000_000, 128_000, Some(4.0)),
            ("claude-opus-5-20260724", 1_000_000, 128_000, Some(5.0)),
            ("claude-3-5-haiku-latest", 200_000, 8_192, Some(0.8)),
            ("scripted", 200_000, 64_000, Some(3.0)),
            ("scripted-fast", 200_000, 64_000, Some(3.0)),
            ("claude-opus-5-7", 200_000, 32_000, None),
            ("claude-opus-4-10", 200_000, 32_000, None),
            ("claude-opus-51", 200_000, 32_000, None),
            ("gpt-9", 200_000, 32_000, None),
            ("", 200_000, 32_000, None),
        ];
        for (name, window, max_output, input) in table {
            let info = known(name);
            assert_eq!((info.window, info.max_output), (*window, *max_output), "{name}");
            assert_eq!(info.price.map(|p| p.input), *input, "{name}");
        }
    }

    #[test]
    fn the_cache_is_priced_from_the_input() {
        let price = known("claude-haiku-4-5").price.expect("a price");
        assert_eq!((price.cache_write, price.cache_write_1h), (1.25, 2.0));
        assert!((price.cache_read - 0.1).abs() < 1e-12);
        let listed = known("claude-opus-5-5").price.expect("a price");
        assert_eq!(listed.cache_read, 0.2, "a listed rate wins over the rule");
    }
}
