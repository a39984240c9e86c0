//! Limits the size of outputs: the full text goes to a file, the beginning and the end are shown.

use crate::message::ResultPart;
use crate::ports::Blobs;
use crate::tool::ToolOutput;
use crate::{prompt_texts, text};

/// Characters shown of each end when the whole can be read as a file.
const HEAD: usize = 2_000;
const TAIL: usize = 2_000;

/// Space for the sentence that says what is missing.
const NOTE: usize = 600;

/// The output with at most `cap` characters of text. What is longer is spilled and shown by its ends, cut between
/// lines. Images are left alone: their size is judged where they are read.
pub fn bound(output: ToolOutput, cap: usize, blobs: &dyn Blobs) -> ToolOutput {
    let texts = output.content.iter().filter_map(|part| match part {
        ResultPart::Text { text } => Some(text.as_str()),
        ResultPart::Image(_) => None,
    });
    let whole: Vec<&str> = texts.collect();
    // Bytes are never fewer than characters, and cheaper to count.
    if whole.iter().map(|text| text.len()).sum::<usize>() <= cap
        || whole.iter().map(|text| text.chars().count()).sum::<usize>() <= cap
    {
        return output;
    }
    // One long text is not copied.
    let shown = match whole.as_slice() {
        [text] => preview(text, cap, blobs),
        texts => preview(&texts.join("\n"), cap, blobs),
    };
    let images = output.content.iter().filter(|part| matches!(part, ResultPart::Image(_))).cloned();
    let instead = output.shown.map(|text| text.chars().take(cap).collect());
    let content = std::iter::once(ResultPart::text(shown)).chain(images).collect();
    ToolOutput { content, shown: instead, ..output }
}

fn preview(whole: &str, cap: usize, blobs: &dyn Blobs) -> String {
    let (where_, room) = match blobs.spill(whole.as_bytes()) {
        Ok(Some(path)) => {
            (text::fill(prompt_texts::SPILLED, &[("file", &text::show(&path))]), HEAD + TAIL)
        }
        Ok(None) => ("The rest is not stored in a file.".to_owned(), cap),
        Err(error) => (format!("The rest could not be stored: {error}."), cap),
    };
    let room = room.min(cap.saturating_sub(NOTE));
    let head = head_lines(whole, room * HEAD / (HEAD + TAIL));
    let tail = tail_lines(whole.get(head.len()..).unwrap_or_default(), room * TAIL / (HEAD + TAIL));
    let size = format!(
        "{}, {}",
        text::counted(whole.chars().count() as u64, "character"),
        text::lines(whole.as_bytes())
    );
    let missing = text::size((whole.len() - head.len() - tail.len()) as u64);
    let line_break = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!(
        "[The output is long ({size}). {where_} Its beginning and end:]\n{head}{line_break}[… {missing} not shown …]\n{tail}"
    )
}

/// The first lines that fit; part of the first if it alone is too long.
fn head_lines(whole: &str, chars: usize) -> &str {
    let (cut, all) = text::head(whole, chars);
    match cut.rfind('\n') {
        Some(end) if !all => cut.get(..=end).unwrap_or(cut),
        _ => cut,
    }
}

/// The last lines that fit; part of the last if it alone is too long.
fn tail_lines(whole: &str, chars: usize) -> &str {
    let cut = text::tail(whole, chars);
    if cut.len() == whole.len() {
        return cut;
    }
    // A newline at the very end begins no line.
    match cut.trim_end_matches('\n').find('\n') {
        Some(start) => cut.get(start + 1..).unwrap_or(cut),
        None => cut,
    }
}

#[cfg(test)]
#[path = "output_bound_tests.rs"]
mod tests;
