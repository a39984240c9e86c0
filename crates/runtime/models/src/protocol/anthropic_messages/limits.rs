//! The numbers in a refusal: how long the prompt is, what the window holds, how long an answer may be.

use ostler_core::model::{ModelErrorKind, ProviderLimits};

pub fn of_refusal(kind: ModelErrorKind, words: &str) -> ProviderLimits {
    let words = words.to_lowercase();
    let mut limits = ProviderLimits::default();
    if let Some((_, sums)) = words.split_once("exceed context limit:") {
        // `input length and max_tokens exceed context limit: A + B > C`
        if let [prompt, _, window, ..] = numbers(sums)[..] {
            (limits.prompt, limits.window) = (Some(prompt), Some(window));
        }
    } else if let Some((_, sums)) = words.split_once("max_tokens:") {
        // `max_tokens: B > M, which is the maximum allowed number of output tokens`
        if words.contains("maximum allowed") {
            limits.max_output = numbers(sums).get(1).copied();
        }
    } else if let Some((before, after)) = words.split_once(" > ")
        && kind == ModelErrorKind::ContextOverflow
    {
        // `prompt is too long: P tokens > W maximum`
        let (prompt, window) = (numbers(before).last().copied(), numbers(after).first().copied());
        if prompt.is_some() && window.is_some() {
            (limits.prompt, limits.window) = (prompt, window);
        }
    }
    limits
}

/// Numbers in the order in which they stand; what is too large to be one ends the list.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map_while(|digits| digits.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_names() {
        let image = "image exceeds 5 MB maximum: 9 bytes > 5 bytes";
        assert_eq!(of_refusal(ModelErrorKind::BadImage, image), ProviderLimits::default());
        let table: &[(&str, [Option<u64>; 3])] = &[
            (
                "prompt is too long: 210000 tokens > 200000 maximum",
                [Some(210_000), Some(200_000), None],
            ),
            ("input length 9000 > 8000", [Some(9_000), Some(8_000), None]),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, decrease it",
                [Some(190_000), Some(200_000), None],
            ),
            (
                "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
                [None, None, Some(8_192)],
            ),
            ("max_tokens: 64000 > 8192", [None; 3]),
            ("exceed context limit: 99999999999999999999 + 1 > 2", [None; 3]),
            ("exceed context limit: words", [None; 3]),
            ("a > b", [None; 3]),
            ("413 Request too large", [None; 3]),
            ("", [None; 3]),
        ];
        for (words, [prompt, window, max_output]) in table {
            let expected =
                ProviderLimits { prompt: *prompt, window: *window, max_output: *max_output };
            assert_eq!(of_refusal(ModelErrorKind::ContextOverflow, words), expected, "{words}");
        }
    }
}
