//! Everything of a request besides tools, system prompt and messages: limits, thinking, betas. Decided from what is
//! asked, what is known of the model, and what the provider has refused before.

use crate::capabilities::{
    CacheSetting, Capabilities, Effort, EffortSupport, ThinkingStyle, USUAL_BUDGET,
};
use crate::protocol::{self, RefusedFeatures};
use ostler_core::model::Thinking;
use serde::Serialize;

/// The provider's own lower bound for a thinking budget, also the least answer worth asking for.
pub const LEAST_TOKENS: u32 = 1_024;

const EFFORT_BETA: &str = "effort-2025-11-24";
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";
const FAST_BETA: &str = "fast-mode-2026-02-01";
const TASK_BUDGET_BETA: &str = "task-budgets-2026-03-13";
const CONTEXT_BETA: &str = "context-management-2025-06-27";

/// What may be left out when a provider does not know it; an answer without it is better than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BetaFeature {
    ContextManagement,
    InterleavedThinking,
    Effort,
    Thinking,
    LongCache,
    CacheMarks,
    FastMode,
}

impl BetaFeature {
    pub const ALL: [BetaFeature; 7] = [
        BetaFeature::ContextManagement,
        BetaFeature::InterleavedThinking,
        BetaFeature::Effort,
        BetaFeature::Thinking,
        BetaFeature::LongCache,
        BetaFeature::CacheMarks,
        BetaFeature::FastMode,
    ];

    pub fn name(self) -> &'static str {
        self.public().name
    }

    pub fn public(self) -> protocol::Feature {
        let (name, label) = match self {
            BetaFeature::ContextManagement => ("context_management", "`context_management`"),
            BetaFeature::InterleavedThinking => ("interleaved_thinking", "thinking between calls"),
            BetaFeature::Effort => ("effort", "`effort`"),
            BetaFeature::Thinking => ("thinking", "`thinking`"),
            BetaFeature::LongCache => ("one_hour_cache", "a cache of one hour"),
            BetaFeature::CacheMarks => ("cache_control", "`cache_control`"),
            BetaFeature::FastMode => ("fast_mode", "fast mode"),
        };
        protocol::Feature { name, label }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct BodyOptions {
    pub max_tokens: u32,
    pub thinking: Option<WireThinking>,
    /// Goes with thinking that is on.
    pub thinking_display: Option<String>,
    /// Whether earlier thinking of the same model is replayed.
    pub replay_thinking: bool,
    pub keep_thinking: bool,
    pub effort: Option<Effort>,
    pub task_budget: Option<u64>,
    pub fast: bool,
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

impl BodyOptions {
    /// `max_output` and `wanted` are the request's own.
    pub fn decide(
        max_output: u32,
        wanted: Thinking,
        capabilities: &Capabilities,
        refused: &RefusedFeatures,
    ) -> Self {
        let usable = |feature: BetaFeature| !refused.contains(feature.name());
        let (thinking, max_tokens) = think(max_output, wanted, capabilities, refused);
        let thinks =
            matches!(thinking, Some(WireThinking::Adaptive | WireThinking::Enabled { .. }));
        let budgeted = matches!(thinking, Some(WireThinking::Enabled { .. }));
        let keep_thinking =
            thinks && capabilities.keep_thinking && usable(BetaFeature::ContextManagement);
        let effort = capabilities.effort.filter(|_| {
            capabilities.effort_support != EffortSupport::No && usable(BetaFeature::Effort)
        });
        let mut betas = Vec::new();
        if keep_thinking {
            betas.push(CONTEXT_BETA);
        }
        if effort.is_some() && capabilities.effort_support == EffortSupport::Beta {
            betas.push(EFFORT_BETA);
        }
        if budgeted && usable(BetaFeature::InterleavedThinking) {
            betas.push(INTERLEAVED_BETA);
        }
        let task_budget = capabilities.extras.task_budget;
        if task_budget.is_some() {
            betas.push(TASK_BUDGET_BETA);
        }
        let fast = capabilities.fast && usable(BetaFeature::FastMode);
        if fast {
            betas.push(FAST_BETA);
        }
        let off = wanted == Thinking::Disabled && capabilities.thinking != ThinkingStyle::Always;
        let cache = match capabilities.cache {
            _ if !usable(BetaFeature::CacheMarks) => CacheSetting::Off,
            CacheSetting::OneHour if !usable(BetaFeature::LongCache) => CacheSetting::FiveMinutes,
            cache => cache,
        };
        let replay_thinking = !off;
        let thinking_display = capabilities.extras.thinking_display.clone().filter(|_| thinks);
        BodyOptions {
            max_tokens,
            thinking,
            thinking_display,
            replay_thinking,
            keep_thinking,
            effort,
            task_budget,
            fast,
            cache,
            betas,
        }
    }

    /// What of this request the provider might not know.
    pub fn features(&self) -> Vec<BetaFeature> {
        let sent = [
            (self.keep_thinking, BetaFeature::ContextManagement),
            (self.betas.contains(&INTERLEAVED_BETA), BetaFeature::InterleavedThinking),
            (self.effort.is_some(), BetaFeature::Effort),
            (self.thinking.is_some(), BetaFeature::Thinking),
            (self.cache == CacheSetting::OneHour, BetaFeature::LongCache),
            (self.cache != CacheSetting::Off, BetaFeature::CacheMarks),
            (self.fast, BetaFeature::FastMode),
        ];
        sent.into_iter().filter_map(|(sent, feature)| sent.then_some(feature)).collect()
    }
}

/// The thinking field and the output limit, which depend on each other.
fn think(
    max_output: u32,
    wanted: Thinking,
    capabilities: &Capabilities,
    refused: &RefusedFeatures,
) -> (Option<WireThinking>, u32) {
    use ThinkingStyle::{Adaptive, Always, Budget, None as Never, Unknown};
    let ceiling = refused.max_output.unwrap_or(u32::MAX);
    // Of an unknown model the limit is not known either: what is asked for is sent.
    let most = match capabilities.thinking {
        Unknown => ceiling,
        _ => capabilities.max_output.min(ceiling).max(1),
    };
    let limit = max_output.clamp(1, most);
    if refused.contains(BetaFeature::Thinking.name()) {
        return (None, limit);
    }
    let budgeted = |sum: u32| {
        let limit = max_output.saturating_add(sum).clamp(1, most);
        // The rest must hold an answer.
        let sum = sum.min(limit.saturating_sub(LEAST_TOKENS));
        match sum >= LEAST_TOKENS {
            true => (Some(WireThinking::Enabled { budget_tokens: sum }), limit),
            false => (None, max_output.clamp(1, most)),
        }
    };
    match (capabilities.thinking, wanted) {
        (Never, _) => (None, limit),
        (Adaptive | Unknown, Thinking::Disabled) => (Some(WireThinking::Disabled), limit),
        (Budget | Always, Thinking::Disabled) => (None, limit),
        // The newer models refuse a fixed sum.
        (Adaptive | Always, _) => (Some(WireThinking::Adaptive), limit),
        (Budget, Thinking::Budget(sum)) => budgeted(sum),
        (Budget, _) => budgeted(USUAL_BUDGET),
        (Unknown, Thinking::Auto) => (None, limit),
        (Unknown, Thinking::Adaptive) => (Some(WireThinking::Adaptive), limit),
        (Unknown, Thinking::Budget(sum)) => budgeted(sum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::family;

    fn decide(
        model: &str,
        max_output: u32,
        thinking: Thinking,
        refused: &[BetaFeature],
    ) -> BodyOptions {
        let capabilities = Capabilities {
            effort: Some(Effort::High),
            cache: CacheSetting::OneHour,
            ..family(model).capabilities(model)
        };
        let refused = refused.iter().map(|feature| feature.name()).collect();
        BodyOptions::decide(max_output, thinking, &capabilities, &refused)
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
        let capabilities = family("claude-haiku-4-5").capabilities("claude-haiku-4-5");
        let with = |ceiling| {
            let refused =
                RefusedFeatures { max_output: Some(ceiling), ..RefusedFeatures::default() };
            let options = BodyOptions::decide(32_000, Thinking::Auto, &capabilities, &refused);
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
        use BetaFeature::{CacheMarks, ContextManagement, InterleavedThinking, LongCache};
        let (effort, thinking) = (BetaFeature::Effort, BetaFeature::Thinking);
        let sent = |model, refused: &[BetaFeature]| {
            decide(model, 32_000, Thinking::Auto, refused).features()
        };
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
            |model, refused: &[BetaFeature]| decide(model, 32_000, Thinking::Auto, refused).betas;
        assert_eq!(betas("claude-opus-4-5", &[]), [EFFORT_BETA, INTERLEAVED_BETA]);
        assert_eq!(betas("claude-haiku-4-5", &[ContextManagement]), [INTERLEAVED_BETA]);
        assert!(betas("claude-opus-4-8", &[]).is_empty());
    }
}
