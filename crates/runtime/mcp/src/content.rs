//! The result of a call as the model reads it.

use crate::metadata;
use ostler_core::message::{Image, ResultPart};
use ostler_core::tool::ToolOutput;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Parts of one result; the rest is counted.
const MOST_PARTS: usize = 200;
/// Characters of text of one result; what comes after is cut off before it is stored.
const LONGEST_TEXT: usize = 4 << 20;
/// Bytes of an image in base64, and all of them together.
const LARGEST_IMAGE: usize = 5 << 20;
const LARGEST_IMAGES: usize = 12 << 20;
/// Kinds of images that models read.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(crate) fn output(result: CallToolResult) -> ToolOutput {
    let mut parts = Parts::default();
    let count = result.content.len();
    for block in result.content.into_iter().take(MOST_PARTS) {
        parts.add(block);
    }
    if count > MOST_PARTS {
        parts.text(format!("[{} more parts were left out]", count - MOST_PARTS));
    }
    if let Some(structured) = &result.structured_content {
        parts.structured(structured);
    }
    if parts.content.is_empty() {
        parts.text("(no content)".to_owned());
    }
    ToolOutput {
        content: parts.content,
        is_error: result.is_error.unwrap_or(false),
        detail: result.structured_content.filter(|value| value.to_string().len() <= 100_000),
        ..ToolOutput::default()
    }
}

#[derive(Default)]
struct Parts {
    content: Vec<ResultPart>,
    text: usize,
    images: usize,
}

impl Parts {
    fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(text.text),
            ContentBlock::Image(image) => self.image(image.mime_type, image.data),
            ContentBlock::Audio(audio) => self.binary("audio", &audio.mime_type, &audio.data),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let name = metadata::text(&link.name, 200);
                self.text(format!("[resource {name}: {}]", metadata::text(&link.uri, 1_000)));
            }
            _ => self.text("[content of an unknown kind]".to_owned()),
        }
    }

    fn text(&mut self, text: String) {
        let room = LONGEST_TEXT.saturating_sub(self.text);
        if room == 0 {
            return;
        }
        let cut = text.floor_char_boundary(room);
        let is_all = cut == text.len();
        self.text += cut;
        let mut shown = text;
        shown.truncate(cut);
        if !is_all {
            shown.push_str("\n[the rest was left out: the result is too long]");
        }
        self.content.push(ResultPart::text(shown));
    }

    fn image(&mut self, media: String, data: String) {
        let fits = data.len() <= LARGEST_IMAGE && self.images + data.len() <= LARGEST_IMAGES;
        if !fits || !IMAGES.contains(&media.as_str()) || !is_base64(&data) {
            return self.binary("image", &media, &data);
        }
        self.images += data.len();
        self.content.push(ResultPart::Image(Image { media, data: data.into(), blob: None }));
    }

    /// Only its size: a model cannot read it.
    fn binary(&mut self, what: &str, media: &str, data: &str) {
        let bytes = ostler_core::text::size((data.len() / 4 * 3) as u64);
        self.text(format!("[{what} {}, {bytes}]", metadata::text(media, 100)));
    }

    fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.text(format!("[resource {}]\n{text}", metadata::text(&uri, 1_000)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let media = mime_type.unwrap_or_else(|| "of an unknown kind".into());
                let what = format!("resource {}", metadata::text(&uri, 1_000));
                match IMAGES.contains(&media.as_str()) {
                    true => self.image(media, blob),
                    false => self.binary(&what, &media, &blob),
                }
            }
            _ => self.text("[a resource of an unknown kind]".to_owned()),
        }
    }

    /// Most servers send the same as text, which is enough.
    fn structured(&mut self, structured: &Value) {
        let says_it = |part: &ResultPart| match part {
            ResultPart::Text { text } => {
                serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
            }
            ResultPart::Image(_) => false,
        };
        if self.content.is_empty() || !self.content.iter().any(says_it) {
            self.text(structured.to_string());
        }
    }
}

fn is_base64(data: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    !data.is_empty() && data.len().is_multiple_of(4) && data.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(content: Value) -> Vec<String> {
        let result: CallToolResult = serde_json::from_value(json!({"content": content})).unwrap();
        let part = |part: ResultPart| match part {
            ResultPart::Text { text } => text,
            ResultPart::Image(image) => format!("image {} of {}", image.media, image.data.len()),
        };
        output(result).content.into_iter().map(part).collect()
    }

    #[test]
    fn parts_are_texts_images_or_sizes() {
        let large = "A".repeat(LARGEST_IMAGE + 4);
        for (part, expected) in [
            (json!({"type": "text", "text": "t"}), "t"),
            (
                json!({"type": "image", "mimeType": "image/png", "data": "AAAA"}),
                "image image/png of 4",
            ),
            (
                json!({"type": "image", "mimeType": "image/svg+xml", "data": "AAAA"}),
                "[image image/svg+xml, 3 bytes]",
            ),
            (
                json!({"type": "image", "mimeType": "image/png", "data": "not base64"}),
                "[image image/png, 6 bytes]",
            ),
            (
                json!({"type": "image", "mimeType": "image/png", "data": large}),
                "[image image/png, 3.8 MB]",
            ),
            (
                json!({"type": "audio", "mimeType": "audio/wav\u{1b}", "data": "AAAA"}),
                "[audio audio/wav, 3 bytes]",
            ),
            (
                json!({"type": "resource", "resource": {"uri": "x:y", "text": "z"}}),
                "[resource x:y]\nz",
            ),
            (json!({"type": "resource_link", "uri": "x:y", "name": "n"}), "[resource n: x:y]"),
        ] {
            assert_eq!(shown(json!([part])), [expected]);
        }
        assert_eq!(shown(json!([])), ["(no content)"]);
    }

    #[test]
    fn a_result_is_bounded_before_it_is_stored() {
        let part = json!({"type": "text", "text": "p"});
        let parts = shown(Value::Array(vec![part; MOST_PARTS + 3]));
        assert_eq!(parts.len(), MOST_PARTS + 1);
        assert_eq!(parts.last().unwrap(), "[3 more parts were left out]");
        let half = json!({"type": "text", "text": "ä".repeat(LONGEST_TEXT / 3)});
        let parts = shown(json!([half, half, half]));
        assert_eq!(parts.len(), 2);
        assert!(parts[1].ends_with("[the rest was left out: the result is too long]"));
        assert!(parts.iter().map(String::len).sum::<usize>() < LONGEST_TEXT + 100);
        let image =
            json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(LARGEST_IMAGE)});
        let parts = shown(json!([image, image, image]));
        assert!(parts[1].starts_with("image ") && parts[2].starts_with("[image "), "{}", parts[2]);
    }
}
