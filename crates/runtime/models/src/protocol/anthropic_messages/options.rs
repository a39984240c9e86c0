//! Everything of a request besides tools, system text and messages: limits, thinking, betas. Decided from what is
//! asked, what is known of the model, and what the provider has refused before.

use super::cache::CacheSetting;
use crate::catalog::{EffortSupport, Family, Style};
use ostler_core::model::Thinking;
use serde::Serialize;
use std::collections::BTreeSet;

/// The provider's own lower bound for a thinking budget, also the least answer worth asking for.
pub const LEAST_TOKENS: u32 = 1_024;
/// What a model with a fixed sum may think when nobody said how much.
pub(crate) const USUAL_BUDGET: u32 = 16_000;

const EFFORT_BETA: &str = "effort-2025-11-24";
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";
const CONTEXT_BETA: &str = "context-management-2025-06-27";

/// What may be left out when a provider does not know it; an answer without it is better than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    ContextManagement,
    InterleavedThinking,
    Effort,
    Thinking,
    LongCache,
    CacheMarks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    pub fn name(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max]
            .into_iter()
            .find(|effort| effort.name() == name)
    }
}

#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    pub max_output: u32,
    pub thinking: Thinking,
    pub effort: Option<Effort>,
    pub cache: CacheSetting,
    pub family: &'a Family,
    pub refused: &'a BTreeSet<Feature>,
    /// A lower output limit that the provider has asked for.
    pub ceiling: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub max_tokens: u32,
    pub thinking: Option<WireThinking>,
    /// Whether earlier thinking of the same model is replayed.
    pub replay_thinking: bool,
    pub keep_thinking: bool,
    pub effort: Option<Effort>,
    pub cache: CacheSetting,
    pub betas: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WireThinking {
    Adaptive,
    Enabled { budget_tokens: u32 },
    Disabled,
}

impl Options {
    pub(crate) fn decide(wishes: &Wishes<'_>) -> Self {
        let usable = |feature| !wishes.refused.contains(&feature);
        let (thinking, max_tokens) = think(wishes);
        let thinks =
            matches!(thinking, Some(WireThinking::Adaptive | WireThinking::Enabled { .. }));
        let budgeted = matches!(thinking, Some(WireThinking::Enabled { .. }));
        let keep_thinking =
            thinks && wishes.family.keep_thinking && usable(Feature::ContextManagement);
        let effort = wishes
            .effort
            .filter(|_| wishes.family.effort != EffortSupport::No && usable(Feature::Effort));
        let mut betas = Vec::new();
        if keep_thinking {
            betas.push(CONTEXT_BETA);
        }
        if effort.is_some() && wishes.family.effort == EffortSupport::Beta {
            betas.push(EFFORT_BETA);
        }
        if budgeted && usable(Feature::InterleavedThinking) {
            betas.push(INTERLEAVED_BETA);
        }
        let off = wishes.thinking == Thinking::Disabled && wishes.family.thinking != Style::Always;
        let cache = match wishes.cache {
            _ if !usable(Feature::CacheMarks) => CacheSetting::Off,
            CacheSetting::OneHour if !usable(Feature::LongCache) => CacheSetting::FiveMinutes,
            cache => cache,
        };
        Options { max_tokens, thinking, replay_thinking: !off, keep_thinking, effort, cache, betas }
    }

    /// What of this request the provider might not know.
    pub fn features(&self) -> Vec<Feature> {
        let sent = [
            (self.keep_thinking, Feature::ContextManagement),
            (self.betas.contains(&INTERLEAVED_BETA), Feature::InterleavedThinking),
            (self.effort.is_some(), Feature::Effort),
            (self.thinking.is_some(), Feature::Thinking),
            (self.cache == CacheSetting::OneHour, Feature::LongCache),
            (self.cache != CacheSetting::Off, Feature::CacheMarks),
        ];
        sent.into_iter().filter_map(|(sent, feature)| sent.then_some(feature)).collect()
    }
}

/// The thinking field and the output limit, which depend on each other.
fn think(wishes: &Wishes<'_>) -> (Option<WireThinking>, u32) {
    let most = wishes.family.max_output.min(wishes.ceiling.unwrap_or(u32::MAX)).max(1);
    // Of an unknown model the limit is not known either: what is asked for is sent.
    let most = match wishes.family.thinking {
        Style::Unknown => wishes.ceiling.unwrap_or(u32::MAX),
        _ => most,
    };
    let limit = wishes.max_output.clamp(1, most);
    if wishes.refused.contains(&Feature::Thinking) {
        return (None, limit);
    }
    let budgeted = |sum: u32| {
        let limit = wishes.max_output.saturating_add(sum).clamp(1, most);
        // The rest must hold an answer.
        let sum = sum.min(limit.saturating_sub(LEAST_TOKENS));
        match sum >= LEAST_TOKENS {
            true => (Some(WireThinking::Enabled { budget_tokens: sum }), limit),
            false => (None, wishes.max_output.clamp(1, most)),
        }
    };
    match (wishes.family.thinking, wishes.thinking) {
        (Style::None, _) => (None, limit),
        (Style::Adaptive | Style::Unknown, Thinking::Disabled) => {
            (Some(WireThinking::Disabled), limit)
        }
        (Style::Budget | Style::Always, Thinking::Disabled) => (None, limit),
        // The newer models refuse a fixed sum.
        (Style::Adaptive | Style::Always, _) => (Some(WireThinking::Adaptive), limit),
        (Style::Budget, Thinking::Budget(sum)) => budgeted(sum),
        (Style::Budget, _) => budgeted(USUAL_BUDGET),
        (Style::Unknown, Thinking::Auto) => (None, limit),
        (Style::Unknown, Thinking::Adaptive) => (Some(WireThinking::Adaptive), limit),
        (Style::Unknown, Thinking::Budget(sum)) => budgeted(sum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::family;
    use ostler_core::ids::ModelId;

    fn decide(model: &str, max_output: u32, thinking: Thinking, refused: &[Feature]) -> Options {
        Options::decide(&Wishes {
            max_output,
            thinking,
            effort: Some(Effort::High),
            cache: CacheSetting::OneHour,
            family: family(&ModelId::new(model)),
            refused: &refused.iter().copied().collect(),
            ceiling: None,
        })
    }

    #[test]
    fn thinking_and_limit_by_family() {
        use Thinking::{Adaptive, Auto, Budget, Disabled};
        let enabled = |n| Some(WireThinking::Enabled { budget_tokens: n });
        let adaptive = Some(WireThinking::Adaptive);
        let table = [
            ("claude-opus-4-8", 32_000, Auto, adaptive, 32_000),
            ("claude-opus-4-8", 500_000, Auto, adaptive, 128_000),
            ("claude-opus-4-8", 32_000, Disabled, Some(WireThinking::Disabled), 32_000),
            ("claude-opus-4-8", 32_000, Budget(5_000), adaptive, 32_000),
            ("claude-opus-5-5", 32_000, Disabled, None, 32_000),
            ("claude-haiku-4-5", 32_000, Auto, enabled(16_000), 48_000),
            ("claude-haiku-4-5", 64_000, Auto, enabled(16_000), 64_000),
            ("claude-haiku-4-5", 32_000, Budget(5_000), enabled(5_000), 37_000),
            ("claude-haiku-4-5", 32_000, Budget(90_000), enabled(62_976), 64_000),
            ("claude-haiku-4-5", 32_000, Budget(100), None, 32_000),
            ("claude-haiku-4-5", 32_000, Adaptive, enabled(16_000), 48_000),
            ("claude-haiku-4-5", 32_000, Disabled, None, 32_000),
            ("claude-3-haiku", 32_000, Auto, None, 4_096),
            ("claude-3-haiku", 0, Auto, None, 1),
            ("scripted", 32_000, Auto, None, 32_000),
            ("unknown", 64_000, Auto, None, 64_000),
            ("unknown", 64_000, Adaptive, adaptive, 64_000),
            ("unknown", 64_000, Budget(2_000), enabled(2_000), 66_000),
            ("unknown", 64_000, Disabled, Some(WireThinking::Disabled), 64_000),
        ];
        for (model, max_output, asked, thinking, max_tokens) in table {
            let options = decide(model, max_output, asked, &[]);
            assert_eq!(
                (options.thinking, options.max_tokens),
                (thinking, max_tokens),
                "{model} {max_output} {asked:?}"
            );
            if let Some(WireThinking::Enabled { budget_tokens }) = options.thinking {
                assert!(budget_tokens < options.max_tokens);
            }
        }
    }

    #[test]
    fn a_ceiling_holds_for_answer_and_thinking_together() {
        let family = family(&ModelId::new("claude-haiku-4-5"));
        let with = |ceiling| {
            let refused = BTreeSet::new();
            let wishes = Wishes {
                max_output: 32_000,
                thinking: Thinking::Auto,
                effort: None,
                cache: CacheSetting::Off,
                family,
                refused: &refused,
                ceiling: Some(ceiling),
            };
            let options = Options::decide(&wishes);
            (options.thinking, options.max_tokens)
        };
        assert_eq!(with(9_000), (Some(WireThinking::Enabled { budget_tokens: 7_976 }), 9_000));
        assert_eq!(with(2_000), (None, 2_000), "too little to think");
    }

    #[test]
    fn thinking_is_replayed_unless_it_is_switched_off() {
        assert!(decide("claude-opus-4-8", 1, Thinking::Auto, &[]).replay_thinking);
        assert!(!decide("claude-opus-4-8", 1, Thinking::Disabled, &[]).replay_thinking);
        assert!(
            decide("claude-opus-5-5", 1, Thinking::Disabled, &[]).replay_thinking,
            "it cannot be switched off"
        );
        assert!(
            decide("unknown", 1, Thinking::Auto, &[]).replay_thinking,
            "it may think by itself"
        );
    }

    #[test]
    fn features_follow_the_family_and_go_when_refused() {
        use Feature::{CacheMarks, ContextManagement, InterleavedThinking, LongCache};
        let (effort, thinking) = (Feature::Effort, Feature::Thinking);
        let sent =
            |model, refused: &[Feature]| decide(model, 32_000, Thinking::Auto, refused).features();
        assert_eq!(sent("claude-opus-4-8", &[]), [effort, thinking, LongCache, CacheMarks]);
        assert_eq!(sent("claude-opus-4-8", &[effort, LongCache]), [thinking, CacheMarks]);
        assert_eq!(sent("claude-opus-4-8", &[thinking, CacheMarks]), [effort]);
        let haiku = [ContextManagement, InterleavedThinking, thinking, LongCache, CacheMarks];
        assert_eq!(sent("claude-haiku-4-5", &[]), haiku);
        assert_eq!(
            sent("claude-haiku-4-5", &[thinking]),
            [LongCache, CacheMarks],
            "what depends on it goes too"
        );
        assert_eq!(sent("scripted", &[]), [LongCache, CacheMarks]);
        let betas =
            |model, refused: &[Feature]| decide(model, 32_000, Thinking::Auto, refused).betas;
        assert_eq!(betas("claude-opus-4-5", &[]), [EFFORT_BETA, INTERLEAVED_BETA]);
        assert_eq!(betas("claude-haiku-4-5", &[ContextManagement]), [INTERLEAVED_BETA]);
        assert!(betas("claude-opus-4-8", &[]).is_empty());
    }

    #[test]
    fn efforts_have_one_name() {
        for name in ["low", "medium", "high", "xhigh", "max"] {
            assert_eq!(Effort::named(name).map(Effort::name), Some(name));
        }
        assert_eq!(Effort::named("huge"), None);
    }
}
