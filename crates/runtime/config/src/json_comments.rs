//! Settings as people write them by hand: JSON with comments and a comma too many.

use std::borrow::Cow;

/// The same text as plain JSON. Comments (`// …`, `/* … */`) and a comma before a closing bracket become blanks, so
/// every value keeps its line. Anything else that is not JSON stays as it is.
pub(crate) fn plain_json(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !may_need_it(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = bytes.to_vec();
    // Where the comma is that waits for what follows it, and what stood before it.
    let (mut comma, mut before) = (None, None);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => string_end(bytes, at),
            b'/' => comment_end(bytes, at).unwrap_or(at),
            _ => at + 1,
        };
        match byte {
            b'/' if end == at => return Cow::Borrowed(text),
            b'/' => blank(&mut out, at, end),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' => {
                // After an opening bracket or another comma it is a value that is missing.
                let follows = before.is_some_and(|last| !matches!(last, b'[' | b'{' | b',' | b':'));
                (comma, before) = (follows.then_some(at), Some(b','));
            }
            b']' | b'}' => {
                if let Some(at) = comma.take() {
                    blank(&mut out, at, at + 1);
                }
                before = Some(*byte);
            }
            _ => (comma, before) = (None, Some(*byte)),
        }
        at = end.max(at + 1);
    }
    // Only whole characters were replaced, by blanks.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn may_need_it(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| matches!(byte, b'/' | b','))
}

/// Behind the closing quote, or the end of the text.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// Behind the comment that begins there, if one does and ends.
fn comment_end(bytes: &[u8], start: usize) -> Option<usize> {
    let inside = bytes.get(start + 2..)?;
    match bytes.get(start + 1)? {
        b'/' => {
            let line = inside.iter().position(|byte| *byte == b'\n').unwrap_or(inside.len());
            Some(start + 2 + line)
        }
        b'*' => inside.windows(2).position(|two| two == b"*/").map(|at| start + 2 + at + 2),
        _ => None,
    }
}

/// Ends of lines stay.
fn blank(bytes: &mut [u8], start: usize, end: usize) {
    for byte in bytes.get_mut(start..end).unwrap_or_default() {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_and_last_commas_become_blanks() {
        for (text, plain) in [
            ("{}", "{}"),
            ("// é\n{}", "     \n{}"),
            ("{/* a\nb */}", "{    \n    }"),
            ("{\"a\": 1,}", "{\"a\": 1 }"),
            ("[1, 2 , // x\n]", "[1, 2       \n]"),
            ("[[1,],]", "[[1 ] ]"),
            ("{\"a\": \"b\",\n}", "{\"a\": \"b\" \n}"),
            ("{} // end", "{}       "),
            ("{}//", "{}  "),
            // Inside a string nothing is touched.
            (r#"{"u": "http://x/*,]*/"}"#, r#"{"u": "http://x/*,]*/"}"#),
            (r#"["\"//", "a,]"]"#, r#"["\"//", "a,]"]"#),
        ] {
            assert_eq!(plain_json(text), plain, "{text:?}");
            assert_eq!(plain.len(), text.len());
        }
    }

    /// What is not JSON does not become JSON that says something else.
    #[test]
    fn nothing_else_is_repaired() {
        for text in
            ["[,]", "{,}", "[1,,]", "{\"a\":,}", "{\"a\" / 1}", "{ /* no end", "{/}", "[1 2]", ","]
        {
            let plain = plain_json(text);
            assert!(serde_json::from_str::<serde_json::Value>(&plain).is_err(), "{text}: {plain}");
        }
    }

    proptest! {
        /// Plain JSON is left alone, and lines never move.
        #[test]
        fn json_stays_as_it_is(
            keys in prop::collection::vec("[a-z/*,\\\\\"\\[\\]{}\n]{0,8}", 0..6),
        ) {
            let value = serde_json::json!({ "list": keys, "one": { "k": keys } });
            for text in [value.to_string(), format!("{value:#}")] {
                prop_assert_eq!(plain_json(&text), text.as_str());
            }
        }

        #[test]
        fn length_and_lines_stay(text in "[a,\\[\\]{}/*\" \n\\\\é]{0,60}") {
            let plain = plain_json(&text);
            prop_assert_eq!(plain.len(), text.len());
            let ends = |text: &str| -> Vec<usize> { text.match_indices('\n').map(|(at, _)| at).collect() };
            prop_assert_eq!(ends(&plain), ends(&text));
        }
    }
}
