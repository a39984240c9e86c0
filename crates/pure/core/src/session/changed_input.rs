//! A person changed the input of a call. The conversation keeps the model's own input, so the result says what ran.

use crate::message::ResultPart;
use crate::prompt_texts::INPUT_CHANGED;
use serde_json::Value;

/// Characters of the input that the model is shown.
const SHOWN: usize = 2000;

/// The first line of the result of such a call.
pub fn changed_input_line(input: &Value) -> String {
    let whole = input.to_string();
    let mut shown: String = whole.chars().take(SHOWN).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    INPUT_CHANGED.replace("{input}", &shown)
}

/// Puts that line in front of a result.
pub fn tell_changed_input(content: &mut Vec<ResultPart>, input: &Value) {
    let line = changed_input_line(input);
    match content.first_mut() {
        Some(ResultPart::Text { text }) => *text = format!("{line}\n{text}"),
        _ => content.insert(0, ResultPart::text(line)),
    }
}
