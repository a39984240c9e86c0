//! What is refused before any parsing: length, and characters that do not show what they do.

use ostler_policy::script::Opaque;

/// Longer texts are not read at all.
pub const MAX_BYTES: usize = 256 * 1024;

pub(crate) fn check(text: &str) -> Result<(), Opaque> {
    if text.len() > MAX_BYTES {
        return Err(Opaque::TooLong { bytes: text.len(), limit: MAX_BYTES });
    }
    let before = std::iter::once(' ').chain(text.chars());
    match before.zip(text.chars()).find(|&(before, c)| is_unclear(c) || hides(before, c)) {
        Some((_, c)) => Err(Opaque::Character(u32::from(c))),
        None => Ok(()),
    }
}

/// A selector says how the character before it looks. Behind a letter it shows nothing.
fn hides(before: char, c: char) -> bool {
    let keycap = c == '\u{FE0F}' && (before.is_ascii_digit() || matches!(before, '#' | '*'));
    matches!(c, '\u{FE00}'..='\u{FE0F}') && before.is_ascii() && !keycap
}

/// Control characters end or join words differently from reader to reader (CR), or cannot reach the shell at all
/// (NUL); invisible and blank-looking ones make a text show something other than what runs.
fn is_unclear(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\n' && c != '\t';
    }
    c.is_control()
        || c.is_whitespace()
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{0600}'..='\u{0605}' | '\u{061C}' | '\u{06DD}' | '\u{070F}'
            | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{2800}'
            | '\u{3164}' | '\u{1D173}'..='\u{1D17A}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFF}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters() {
        for fine in [
            "ls\t-l\n",
            "echo '✔\u{fe0f} 1\u{fe0f}\u{20e3}'",
            "ls 'café'",
            "ls '😀.txt'",
            "echo 日本語",
            "",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine:?}");
        }
        for unclear in [
            "ls\rsudo",
            "ls\0",
            "ls \u{1b}[2K",
            "ls\u{2003}-la",
            "git\u{2028}status",
            "ls \u{feff}",
            "ls \u{a0}",
            "ls '\u{202e}'",
            "ls \u{200b}",
            "ls \u{7f}",
            "ls \u{85}",
            "ls \u{fe0f}",
            "l\u{fe00}s",
            "\u{fe0f}ls",
            "ls \u{1d173}",
        ] {
            assert!(matches!(check(unclear), Err(Opaque::Character(_))), "{unclear:?}");
        }
    }

    #[test]
    fn length() {
        assert_eq!(check(&"a".repeat(MAX_BYTES)), Ok(()));
        assert!(matches!(check(&"a".repeat(MAX_BYTES + 1)), Err(Opaque::TooLong { .. })));
    }
}
