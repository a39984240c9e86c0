//! A 400 that can be healed by asking for less: a field the provider does not know, or too high a limit.

use super::options::{Feature, LEAST_TOKENS};

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
const NAMES: [(&str, Feature); 11] = [
    ("context_management", Feature::ContextManagement),
    ("context-management", Feature::ContextManagement),
    ("clear_thinking", Feature::ContextManagement),
    ("interleaved-thinking", Feature::InterleavedThinking),
    ("interleaved thinking", Feature::InterleavedThinking),
    ("output_config", Feature::Effort),
    ("effort", Feature::Effort),
    ("ttl", Feature::LongCache),
    ("cache_control", Feature::CacheMarks),
    ("prompt caching", Feature::CacheMarks),
    ("thinking", Feature::Thinking),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Never send it to this model again.
    Without(Feature),
    /// The history holds an answer without thinking where one with thinking is expected: do not think this time.
    WithoutThinkingOnce,
    /// Ask for at most so much output.
    Ceiling(u32),
}

/// What to do about a refused request, given what of it could be left out.
pub fn remedy(message: &str, sent: &[Feature]) -> Option<Remedy> {
    let message = message.to_lowercase();
    if let Some(ceiling) = fitting_output(&message) {
        return Some(Remedy::Ceiling(ceiling));
    }
    if message.contains("expected `thinking`") && sent.contains(&Feature::Thinking) {
        return Some(Remedy::WithoutThinkingOnce);
    }
    refused_feature(&message, sent).map(Remedy::Without)
}

fn refused_feature(message: &str, sent: &[Feature]) -> Option<Feature> {
    if !REFUSALS.iter().any(|words| message.contains(words)) {
        return None;
    }
    // What is wrong with a message's content is not healed by another option, unless it is a mark on it.
    let in_content = message.starts_with("messages.") || message.starts_with("tools.");
    let may_go = |feature: Feature| {
        sent.contains(&feature)
            && (!in_content || matches!(feature, Feature::LongCache | Feature::CacheMarks))
    };
    NAMES
        .iter()
        .find(|(name, feature)| message.contains(name) && may_go(*feature))
        .map(|(_, feature)| *feature)
}

/// `input length and max_tokens exceed context limit: A + B > C`, or `max_tokens: B > M, which is the maximum`.
fn fitting_output(message: &str) -> Option<u32> {
    if let Some((_, sums)) = message.split_once("exceed context limit:") {
        let mut numbers = numbers(sums);
        let (input, _, window) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let left = window.checked_sub(input)?.checked_sub(MARGIN)?;
        return u32::try_from(left).ok().filter(|left| *left >= LEAST_TOKENS);
    }
    if let Some((_, sums)) = message.split_once("max_tokens:")
        && message.contains("maximum allowed")
    {
        let most = numbers(sums).nth(1)?;
        return u32::try_from(most).ok().filter(|most| *most >= LEAST_TOKENS);
    }
    None
}

fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map_while(|digits| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Feature::*;

    const ALL: [Feature; 6] =
        [ContextManagement, InterleavedThinking, Effort, Thinking, LongCache, CacheMarks];

    #[test]
    fn what_is_left_out() {
        let table: &[(&str, Option<Remedy>)] = &[
            (
                "context_management: Extra inputs are not permitted",
                Some(Remedy::Without(ContextManagement)),
            ),
            (
                "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header",
                Some(Remedy::Without(ContextManagement)),
            ),
            (
                "Unexpected value(s) `interleaved-thinking-2025-05-14` for the `anthropic-beta` header",
                Some(Remedy::Without(InterleavedThinking)),
            ),
            (
                "Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header",
                Some(Remedy::Without(Effort)),
            ),
            ("output_config: Extra inputs are not permitted", Some(Remedy::Without(Effort))),
            ("This model does not support the effort parameter.", Some(Remedy::Without(Effort))),
            ("adaptive thinking is not supported on this model", Some(Remedy::Without(Thinking))),
            ("thinking: Extra inputs are not permitted", Some(Remedy::Without(Thinking))),
            ("unexpected field: thinking", Some(Remedy::Without(Thinking))),
            (
                "system.1.cache_control.ephemeral.ttl: Extra inputs are not permitted",
                Some(Remedy::Without(LongCache)),
            ),
            (
                "messages.0.content.0.text.cache_control.ttl: Extra inputs are not permitted",
                Some(Remedy::Without(LongCache)),
            ),
            (
                "messages.0.content.0.cache_control: Extra inputs are not permitted",
                Some(Remedy::Without(CacheMarks)),
            ),
            ("messages.1.content.0.thinking.foo: Extra inputs are not permitted", None),
            ("tools.0.custom.thinking: Extra inputs are not permitted", None),
            (
                "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
                Some(Remedy::WithoutThinkingOnce),
            ),
            ("temperature: Extra inputs are not permitted", None),
            ("thinking is a fine thing", None),
            ("", None),
        ];
        for (message, expected) in table {
            assert_eq!(remedy(message, &ALL), *expected, "{message}");
        }
    }

    #[test]
    fn only_what_was_sent_can_be_left_out() {
        assert_eq!(remedy("thinking: Extra inputs are not permitted", &[Effort, CacheMarks]), None);
        let ttl = "cache_control.ttl: Extra inputs are not permitted";
        assert_eq!(remedy(ttl, &[CacheMarks]), Some(Remedy::Without(CacheMarks)), "the next best");
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
        assert_eq!(limit("190000 + 64000 > 200000"), Some(Remedy::Ceiling(9_000)));
        assert_eq!(limit("197976 + 64000 > 200000"), Some(Remedy::Ceiling(1_024)));
        assert_eq!(limit("197977 + 64000 > 200000"), None, "too little is left");
        assert_eq!(limit("250000 + 64000 > 200000"), None);
        assert_eq!(limit("99999999999999999999 + 1 > 2"), None);
        assert_eq!(limit("words"), None);
        let most = "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku";
        assert_eq!(remedy(most, &[]), Some(Remedy::Ceiling(8_192)));
    }
}
