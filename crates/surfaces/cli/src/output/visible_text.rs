//! Foreign text for a person to judge: what a terminal would obey or hide is written out.

/// The text on one line, with everything in it to be seen: control characters, marks that reverse the direction of
/// text and characters without a shape appear as escapes. Nothing is left out.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            c => out.extend(c.escape_debug()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn everything_can_be_seen() {
        for (text, shown) in [
            ("plain 'quoted' \"text\" \\ ü 中 ✓", "plain 'quoted' \"text\" \\ ü 中 ✓"),
            ("a\rb\nc\td\u{8}\u{7f}\0", r"a\rb\nc\td\u{8}\u{7f}\0"),
            ("\u{1b}[2J\u{9b}2J", r"\u{1b}[2J\u{9b}2J"),
            (
                "a\u{202e}b\u{200b}c\u{a0}\u{feff}\u{e0041}",
                r"a\u{202e}b\u{200b}c\u{a0}\u{feff}\u{e0041}",
            ),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
