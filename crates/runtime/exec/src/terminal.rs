//! Output made harmless for a terminal. The model's text stays as it is; this is for people.

use std::iter::Peekable;
use std::str::Chars;

/// Removes what a terminal would obey: escape sequences, titles and other control strings, text
/// overwritten after a carriage return, and marks that reverse the direction of text. Other
/// control characters become visible pictures. Newlines and tabs stay.
pub fn strip_terminal(text: &str) -> String {
    let mut screen = TerminalFilter::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => screen.newline(),
            '\r' => screen.returned = true,
            '\u{8}' => screen.backspace(),
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\u{80}'..='\u{9f}' => {}
            '\t' => screen.put(c),
            '\0'..='\u{1f}' => screen.put(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\u{7f}' => screen.put('\u{2421}'),
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                screen.put('\u{fffd}');
            }
            c => screen.put(c),
        }
    }
    screen.text
}

#[derive(Default)]
struct TerminalFilter {
    text: String,
    line_start: usize,
    returned: bool,
}

impl TerminalFilter {
    // A program that returns to the start of the line rewrites the line (a progress bar). Only
    // its last state is kept; `\r\n` writes nothing over it.
    fn put(&mut self, c: char) {
        if std::mem::take(&mut self.returned) {
            self.text.truncate(self.line_start);
        }
        self.text.push(c);
    }

    fn newline(&mut self) {
        self.returned = false;
        self.text.push('\n');
        self.line_start = self.text.len();
    }

    fn backspace(&mut self) {
        if !self.returned && self.text.len() > self.line_start {
            self.text.pop();
        }
    }
}

fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_sequence(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

/// Parameters and a final byte. Anything else ends it, so that text after a broken one is shown.
fn skip_sequence(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to its terminator, but never past the line: an unfinished one must not hide all that follows.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                if chars.next_if_eq(&'\\').is_none() {
                    skip_escape(chars);
                }
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_terminal_is_told_nothing() {
        let check =
            |input: &str, expected: &str| assert_eq!(strip_terminal(input), expected, "{input:?}");
        check("plain\ttext\n", "plain\ttext\n");
        check("\x1b[1;31mred\x1b[0m", "red");
        check("\x1b[2J\x1b[Hgone", "gone");
        check("\x1b]0;title\x07after", "after");
        check("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
        check("\x1b]52;c;aGk=\x07clip", "clip");
        check("\x1bPq#0\x1b\\sixel", "sixel");
        check("\x1b]0;never ends\nnext line", "\nnext line");
        check("\x1b(Bcharset\x1b7\x1b8", "charset");
        check("\u{9b}31mC1\u{9d}0;t\u{9c}!", "C1!");
        check("\x1b[31", "");
        check("\x1b", "");
        check("\x1b[31\nshown", "\nshown");
        check("bell\x07 null\0 del\x7f", "bell\u{2407} null\u{2400} del\u{2421}");
        check("a\u{202e}b", "a\u{fffd}b");
    }

    #[test]
    fn a_line_written_over_shows_its_last_state() {
        let check =
            |input: &str, expected: &str| assert_eq!(strip_terminal(input), expected, "{input:?}");
        check("10%\r50%\r100%\ndone", "100%\ndone");
        check("dos\r\nlines\r\n", "dos\nlines\n");
        check("kept\r", "kept");
        check("long line\r\x1b[Kshort", "short");
        check("first\nsecond\rthird", "first\nthird");
        check("ab\u{8}c", "ac");
        check("\u{8}\u{8}x\n\u{8}y", "x\ny");
        check("N\u{8}NA\u{8}A", "NA");
    }

    proptest! {
        #[test]
        fn nothing_a_terminal_obeys_is_left(input in "[\\PC\x00-\x1f\u{7f}-\u{9f}]{0,80}") {
            let clean = strip_terminal(&input);
            prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{clean:?}");
            prop_assert_eq!(strip_terminal(&clean), clean.clone());
            let lines = |text: &str| text.matches('\n').count();
            prop_assert_eq!(lines(&clean), lines(&input));
        }
    }
}
