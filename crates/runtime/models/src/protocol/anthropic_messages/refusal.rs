//! A 400 that can be healed by asking for less: a field the provider does not know, or too high a limit.

use super::options::{BetaFeature, LEAST_TOKENS};
use crate::protocol::{self, Refusal, Remedy, SentFeatures};
use ostler_core::model::ProviderLimits;

/// Left free when an output limit is made to fit, because the provider's count is not ours.
const MARGIN: u64 = 1_000;

const REFUSALS: [&str; 9] = [
    "extra inputs are not permitted",
    "unexpected field",
    "unexpected value",
    "not supported",
    "does not support",
    "unsupported",
    "unknown field",
    "unrecognized",
    "not available",
];

/// How each feature is called when it is refused. The longer names stand first: one is part of another.
const NAMES: [(&str, BetaFeature); 14] = [
    ("context_management", BetaFeature::ContextManagement),
    ("context-management", BetaFeature::ContextManagement),
    ("clear_thinking", BetaFeature::ContextManagement),
    ("interleaved-thinking", BetaFeature::InterleavedThinking),
    ("interleaved thinking", BetaFeature::InterleavedThinking),
    ("output_config", BetaFeature::Effort),
    ("effort", BetaFeature::Effort),
    ("ttl", BetaFeature::LongCache),
    ("cache_control", BetaFeature::CacheMarks),
    ("prompt caching", BetaFeature::CacheMarks),
    ("fast-mode", BetaFeature::FastMode),
    ("fast mode", BetaFeature::FastMode),
    ("speed", BetaFeature::FastMode),
    ("thinking", BetaFeature::Thinking),
];

const NO_THINKING: &str =
    "the history does not allow thinking here; this request is sent without it";

/// What to do about a refused request, given what of it could be left out.
pub fn remedy(refusal: &Refusal, sent: &SentFeatures) -> Option<Remedy> {
    if let Some(most) = fitting_output(&refusal.limits) {
        return Some(Remedy::MaxOutput(most));
    }
    let message = refusal.words.to_lowercase();
    let thinking = BetaFeature::Thinking.public();
    // The history holds an answer without thinking where one with thinking is expected.
    if message.contains("expected `thinking`") && sent.features.contains(&thinking) {
        return Some(Remedy::WithoutOnce(thinking, NO_THINKING));
    }
    refused_feature(&message, &sent.features).map(|feature| Remedy::Without(feature.public()))
}

fn refused_feature(message: &str, sent: &[protocol::Feature]) -> Option<BetaFeature> {
    if !REFUSALS.iter().any(|words| message.contains(words)) {
        return None;
    }
    // What is wrong with a message's content is not healed by another option, unless it is a mark on it.
    let in_content = message.starts_with("messages.") || message.starts_with("tools.");
    let may_go = |feature: BetaFeature| {
        sent.contains(&feature.public())
            && (!in_content || matches!(feature, BetaFeature::LongCache | BetaFeature::CacheMarks))
    };
    NAMES
        .iter()
        .find(|(name, feature)| message.contains(name) && may_go(*feature))
        .map(|(_, feature)| *feature)
}

/// The most output that the limits allow, if that is worth asking for.
fn fitting_output(limits: &ProviderLimits) -> Option<u32> {
    let left = match (limits.prompt, limits.window) {
        (Some(prompt), Some(window)) => window.checked_sub(prompt)?.checked_sub(MARGIN)?,
        _ => limits.max_output?,
    };
    u32::try_from(left).ok().filter(|left| *left >= LEAST_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Protocol as _;
    use crate::protocol::anthropic_messages::AnthropicMessages;
    use BetaFeature::*;
    use http::HeaderMap;

    fn remedy(message: &str, sent: &[BetaFeature]) -> Option<Remedy> {
        let body = serde_json::json!({"error": {"message": message}}).to_string();
        let refusal = AnthropicMessages.classify(400, &HeaderMap::new(), body.as_bytes());
        let features = sent.iter().map(|feature| feature.public()).collect();
        AnthropicMessages.remedy(&refusal, &SentFeatures { features, max_output: 64_000 })
    }

    fn without(feature: BetaFeature) -> Option<Remedy> {
        Some(Remedy::Without(feature.public()))
    }

    #[test]
    fn what_is_left_out() {
        let table: &[(&str, Option<Remedy>)] = &[
            ("context_management: Extra inputs are not permitted", without(ContextManagement)),
            (
                "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header",
                without(ContextManagement),
            ),
            (
                "Unexpected value(s) `interleaved-thinking-2025-05-14` for the `anthropic-beta` header",
                without(InterleavedThinking),
            ),
            (
                "Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header",
                without(Effort),
            ),
            ("output_config: Extra inputs are not permitted", without(Effort)),
            ("This model does not support the effort parameter.", without(Effort)),
            ("adaptive thinking is not supported on this model", without(Thinking)),
            ("thinking: Extra inputs are not permitted", without(Thinking)),
            ("unexpected field: thinking", without(Thinking)),
            (
                "system.1.cache_control.ephemeral.ttl: Extra inputs are not permitted",
                without(LongCache),
            ),
            (
                "messages.0.content.0.text.cache_control.ttl: Extra inputs are not permitted",
                without(LongCache),
            ),
            (
                "messages.0.content.0.cache_control: Extra inputs are not permitted",
                without(CacheMarks),
            ),
            ("messages.1.content.0.thinking.foo: Extra inputs are not permitted", None),
            ("tools.0.custom.thinking: Extra inputs are not permitted", None),
            (
                "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
                Some(Remedy::WithoutOnce(Thinking.public(), NO_THINKING)),
            ),
            ("temperature: Extra inputs are not permitted", None),
            ("thinking is a fine thing", None),
            ("", None),
        ];
        for (message, expected) in table {
            assert_eq!(remedy(message, &BetaFeature::ALL), *expected, "{message}");
        }
    }

    #[test]
    fn only_what_was_sent_can_be_left_out() {
        assert_eq!(remedy("thinking: Extra inputs are not permitted", &[Effort, CacheMarks]), None);
        let ttl = "cache_control.ttl: Extra inputs are not permitted";
        assert_eq!(remedy(ttl, &[CacheMarks]), without(CacheMarks), "the next best");
    }

    #[test]
    fn an_output_limit_that_fits() {
        let limit = |sums: &str| {
            remedy(
                &format!(
                    "input length and `max_tokens` exceed context limit: {sums}, decrease input length"
                ),
                &[],
            )
        };
        assert_eq!(limit("190000 + 64000 > 200000"), Some(Remedy::MaxOutput(9_000)));
        assert_eq!(limit("197976 + 64000 > 200000"), Some(Remedy::MaxOutput(1_024)));
        assert_eq!(limit("197977 + 64000 > 200000"), None, "too little is left");
        assert_eq!(limit("250000 + 64000 > 200000"), None);
        assert_eq!(limit("99999999999999999999 + 1 > 2"), None);
        assert_eq!(limit("words"), None);
        let most = "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku";
        assert_eq!(remedy(most, &[]), Some(Remedy::MaxOutput(8_192)));
    }
}
