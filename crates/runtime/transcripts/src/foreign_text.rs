//! Names and texts that somebody else wrote, as they may enter a session.

use ostler_core::ids::{CallId, ModelId};
use ostler_core::message::{Block, Image, Message};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Characters of a name of a tool, a call or a model.
const NAME: usize = 128;
/// Base64 characters of one image.
const IMAGE: usize = 14 << 20;
const MEDIA: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A text that no person typed. The tag keeps it from being mistaken for a note of our own.
pub(crate) fn note(text: &str) -> Block {
    Block::Text { text: format!("<imported>\n{text}\n</imported>"), meta: true }
}

/// A summary that another program wrote, as the conversation begins with it.
pub(crate) fn summary(text: &str) -> Message {
    // One that we wrote has the tag already.
    let own = text.trim().strip_prefix("<summary>").and_then(|it| it.strip_suffix("</summary>"));
    let text = own.map_or(text, str::trim).replace("</summary>", "</ summary>");
    let text = format!("<summary>\n{text}\n</summary>");
    Message::User { content: vec![Block::Text { text, meta: true }] }
}

/// What providers accept as the name of a tool.
pub(crate) fn tool_name(name: &str) -> String {
    let name = plain(name);
    if name.is_empty() { "unknown".into() } else { name }
}

fn plain(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    text.chars().take(NAME).map(fits).collect()
}

/// The input of a call is an object, whatever was written.
pub(crate) fn input(value: Option<&Value>) -> Value {
    match value {
        Some(Value::Object(fields)) => Value::Object(fields.clone()),
        Some(Value::Null) | None => Value::Object(Map::new()),
        Some(other) => serde_json::json!({ "input": other }),
    }
}

pub(crate) fn model(name: &str) -> ModelId {
    let name: String = name.chars().filter(|c| c.is_ascii_graphic()).take(NAME).collect();
    ModelId::new(if name.is_empty() { "unknown".into() } else { name })
}

/// None: no provider would take it.
pub(crate) fn image(media: &str, data: &str) -> Option<Image> {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let fits =
        MEDIA.contains(&media) && (1..=IMAGE).contains(&data.len()) && data.bytes().all(is_base64);
    fits.then(|| Image { media: media.to_owned(), data: Arc::from(data), blob: None })
}

/// The same from a URL such as `data:image/png;base64,…`.
pub(crate) fn image_url(url: &str) -> Option<Image> {
    let (media, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    image(media, data)
}

/// Names of calls: what providers accept, and no name twice.
#[derive(Default)]
pub(crate) struct CallNames {
    known: HashMap<String, CallId>,
    used: HashMap<String, u64>,
}

impl CallNames {
    /// The same name for the same text.
    pub fn of(&mut self, text: &str) -> CallId {
        if let Some(id) = self.known.get(text) {
            return id.clone();
        }
        let mut name = plain(text);
        if name.is_empty() {
            name = "call".into();
        }
        let count = self.used.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name}_{count}");
        }
        let id = CallId::new(name);
        self.known.insert(text.to_owned(), id.clone());
        id
    }
}

/// The beginning of a text in one line, for listings.
pub(crate) fn first_words(text: &str) -> String {
    const SHOWN: usize = 200;
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.chars().count() >= SHOWN {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(SHOWN));
    }
    words.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_what_providers_accept() {
        assert_eq!(tool_name("mcp__git__log"), "mcp__git__log");
        assert_eq!(tool_name("a b\u{1b}[2J/ä"), "a_b__2J__");
        assert_eq!(tool_name(""), "unknown");
        assert_eq!(tool_name(&"x".repeat(9000)).len(), NAME);
        let mut names = CallNames::default();
        let (one, two) = (names.of("a/b"), names.of("a b"));
        assert_eq!((one.as_str(), two.as_str()), ("a_b", "a_b_2"));
        assert_eq!(names.of("a/b"), one);
    }

    #[test]
    fn only_images_that_a_provider_takes_are_images() {
        assert!(image("image/png", "iVBORw0KGgo=").is_some());
        assert!(image_url("data:image/jpeg;base64,/9j/4A==").is_some());
        for (media, data) in [
            ("image/svg+xml", "PHN2Zz4="),
            ("image/png", ""),
            ("image/png", "../../etc/passwd\n"),
            ("text/html", "PGI+"),
        ] {
            assert!(image(media, data).is_none(), "{media} {data}");
        }
        assert!(image("image/png", &"A".repeat(IMAGE + 1)).is_none());
        assert!(image_url("https://example.com/a.png").is_none());
        assert!(image_url("file:///etc/passwd").is_none());
    }
}
