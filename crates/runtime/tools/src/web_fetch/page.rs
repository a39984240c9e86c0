//! What a server sent, as text for a model.

use super::markdown::markdown;
use encoding_rs::{Encoding, UTF_8};

/// Bytes of a page in which its encoding is looked for.
const DECLARED: usize = 4_096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageText {
    pub title: Option<String>,
    pub text: String,
}

/// # Errors
/// In words, if it is no text.
pub fn page_text(
    content_type: &str,
    body: &[u8],
    url: &str,
    most: usize,
) -> Result<PageText, String> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = media.starts_with("text/")
        || media.ends_with("+json")
        || media.ends_with("+xml")
        || matches!(
            media.as_str(),
            "" | "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/yaml"
        );
    if !is_text || body.contains(&0) && !has_wide_mark(body) {
        let media = if media.is_empty() { "something that is not text" } else { media.as_str() };
        return Err(format!("the address leads to {media}, which is not shown as text"));
    }
    let text = decoded(content_type, body);
    let start = text.trim_start().get(..200).unwrap_or(&text).to_ascii_lowercase();
    let is_html = matches!(media.as_str(), "text/html" | "application/xhtml+xml")
        || media.is_empty() && (start.contains("<!doctype html") || start.contains("<html"));
    if !is_html {
        return Ok(PageText { title: None, text });
    }
    let (title, text) = markdown(&text, url, most);
    Ok(PageText { title, text })
}

/// UTF-16 with a mark has zeros and is text.
fn has_wide_mark(body: &[u8]) -> bool {
    body.starts_with(&[0xff, 0xfe]) || body.starts_with(&[0xfe, 0xff])
}

/// By the mark at its beginning, by what the server says, by what the page says, else UTF-8.
fn decoded(content_type: &str, body: &[u8]) -> String {
    let start = body.get(..DECLARED).unwrap_or(body);
    let said = [content_type.to_owned(), String::from_utf8_lossy(start).into_owned()];
    let named = said.iter().find_map(|text| charset(text));
    let (text, _, _) = named.unwrap_or(UTF_8).decode(body);
    text.into_owned()
}

/// The encoding behind `charset=`.
fn charset(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, after) = lower.split_once("charset=")?;
    let name = after.trim_start_matches(['"', '\'']);
    let end = name.find(['"', '\'', ';', ' ', '>', '/', ',']).unwrap_or(name.len());
    Encoding::for_label(name.get(..end)?.as_bytes())
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
