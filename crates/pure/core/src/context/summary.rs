//! The texts around a summary: the instruction for the model, and what is made of its answer.

use super::carry_over::{CarryOver, Stated};
use super::extract;
use crate::message::Message;
use crate::tool_facts::KnownTools;
use crate::{prompt_texts, text};

/// What the summarizer is asked, as the last message of an otherwise unchanged conversation.
pub fn instruction(words: Option<&str>, tokens: u64) -> Message {
    let extra = match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => prompt_texts::SUMMARY_WISH.replace("{words}", words),
        None => String::new(),
    };
    let most = (tokens * 3 / 4).to_string();
    let form = text::fill(prompt_texts::SUMMARISE, &[("words", &most), ("wish", &extra)]);
    Message::meta(form.trim_end())
}

/// What a later piece of a conversation begins with.
pub fn so_far(summary: &str) -> Message {
    Message::meta(prompt_texts::SUMMARY_SO_FAR.replace("{summary}", summary))
}

/// What a model answered, cut to the length that was asked for. None if it is empty.
pub fn clean(answer: &str, bytes: usize) -> Option<String> {
    let answer = answer.trim();
    (!answer.is_empty()).then(|| bounded(answer, bytes))
}

/// Whole lines as far as they fit.
pub fn bounded(words: &str, bytes: usize) -> String {
    if words.len() <= bytes {
        return words.to_owned();
    }
    let mut end = bytes;
    while end > 0 && !words.is_char_boundary(end) {
        end -= 1;
    }
    let start = words.get(..end).unwrap_or_default();
    let start = start.rfind('\n').and_then(|at| start.get(..at)).unwrap_or(start);
    format!("{start}\n…")
}

/// The summary that no model wrote.
pub fn extracted<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    bytes: usize,
    tools: &KnownTools,
) -> String {
    extract::story(messages, bytes, tools)
}

/// The text that takes the place of the messages, and what is carried on beside it.
pub fn frame(summary: &str, carried: CarryOver, bytes: usize) -> (String, CarryOver) {
    let Stated { carry, rest } = CarryOver::stated(summary);
    let carry = carried.and(carry);
    let words =
        text::fill(prompt_texts::SUMMARY, &[("carry", &carry.words(bytes)), ("summary", &rest)]);
    (words, carry)
}
