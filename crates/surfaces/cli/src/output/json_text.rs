//! JSON that does nothing to a terminal: what it would obey or hide is written as `\uXXXX`. The value stays the same.

use std::fmt::Write;

/// `json` is a serialized value, in which such characters stand in strings only.
pub fn escaped(json: &str) -> String {
    if json.is_ascii() && !json.contains('\u{7f}') {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_treacherous(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Controls (those below a blank are escaped by every serializer), marks that change the direction of text, ends of
/// lines, and characters without a shape.
fn is_treacherous(c: char) -> bool {
    matches!(c,
        '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::escaped;
    use serde_json::{Value, json};

    #[test]
    fn the_value_stays_and_the_terminal_sees_nothing() {
        let codes = (0x7f..=0x9f).chain(0x200b..=0x200f).chain(0x2028..=0x202e);
        let codes = codes.chain(0x2060..=0x206f).chain([0xad, 0x61c, 0xfeff, 0xe0041]);
        let hostile: String = codes.filter_map(char::from_u32).collect();
        let value =
            json!({ format!("key{hostile}"): [format!("\u{1b}[2J{hostile}\n\\u009b"), "ü 中 😀"] });
        let text = escaped(&value.to_string());
        assert!(text.chars().all(|c| !c.is_control()), "{text:?}");
        assert!(!text.chars().any(|c| hostile.contains(c)), "{text:?}");
        assert!(text.contains("\\u009b") && text.contains("\\u202e") && text.contains("ü 中 😀"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(escaped("{\"a\":1}"), "{\"a\":1}");
    }
}
