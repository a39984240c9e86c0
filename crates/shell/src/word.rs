//! Quote removal: what one word of a shell text becomes before the program sees it.

use ostler_core::permission::script::{Dynamic, Word};

/// A word as written (line continuations may already be gone).
pub(crate) fn read(raw: &str) -> Word {
    let mut reader = Reader::new(raw);
    match reader.word() {
        Err(why) => Word::Dynamic { why, source: raw.into(), parts: Vec::new() },
        Ok(()) if reader.braces() => {
            Word::Dynamic { why: Dynamic::Brace, source: raw.into(), parts: Vec::new() }
        }
        Ok(()) if reader.glob => Word::Glob(reader.pattern),
        Ok(()) => Word::Literal(reader.literal),
    }
}

/// The body of a here-document.
pub(crate) fn here_document(body: &str, expands: bool) -> Word {
    if !expands {
        return Word::Literal(body.into());
    }
    let mut reader = Reader::new(body);
    match reader.expanding_text(None) {
        Err(why) => Word::Dynamic { why, source: body.into(), parts: Vec::new() },
        Ok(()) => Word::Literal(reader.literal),
    }
}

struct Reader<'a> {
    raw: &'a str,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    literal: String,
    /// The same, with quoted characters that mean something in a pattern escaped.
    pattern: String,
    glob: bool,
    /// An unquoted `{` was seen.
    brace: bool,
    /// The last character, if it was unquoted.
    before: Option<char>,
}

impl<'a> Reader<'a> {
    fn new(raw: &'a str) -> Self {
        let (literal, pattern) = (String::new(), String::new());
        Reader {
            raw,
            rest: raw.chars().peekable(),
            literal,
            pattern,
            glob: false,
            brace: false,
            before: None,
        }
    }

    fn bare(&mut self, c: char) {
        self.literal.push(c);
        self.pattern.push(c);
        self.before = Some(c);
    }

    fn quoted(&mut self, c: char) {
        self.literal.push(c);
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '-' | '!' | '^') {
            self.pattern.push('\\');
        }
        self.pattern.push(c);
        self.before = None;
    }

    fn word(&mut self) -> Result<(), Dynamic> {
        let mut first = true;
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => match self.rest.next() {
                    Some('\n') => {}
                    next => self.quoted(next.unwrap_or('\\')),
                },
                '\'' => self.single_quoted(),
                '"' => self.expanding_text(Some('"'))?,
                '$' if self.rest.next_if_eq(&'\'').is_some() => self.ansi_quoted()?,
                '$' if self.rest.next_if_eq(&'"').is_some() => self.expanding_text(Some('"'))?,
                '$' => self.dollar()?,
                '`' => return Err(Dynamic::CommandSubstitution),
                '~' if first || matches!(self.before, Some('=' | ':')) => {
                    return Err(Dynamic::Tilde);
                }
                _ => {
                    self.glob |= matches!(c, '*' | '?' | '[');
                    self.brace |= c == '{';
                    self.bare(c);
                }
            }
            first = false;
        }
        Ok(())
    }

    /// Braces expand around an unquoted comma or `..`; `{name}` before a redirection names a variable. Where the
    /// quotes stand inside is not worked out: any comma counts.
    fn braces(&self) -> bool {
        self.brace
            && self.raw != "{}"
            && (self.raw.starts_with('{') || self.raw.contains(',') || self.raw.contains(".."))
    }

    fn single_quoted(&mut self) {
        self.before = None;
        while let Some(c) = self.rest.next() {
            if c == '\'' {
                break;
            }
            self.quoted(c);
        }
    }

    /// Inside double quotes, or a here-document (no closing quote).
    fn expanding_text(&mut self, close: Option<char>) -> Result<(), Dynamic> {
        self.before = None;
        while let Some(c) = self.rest.next() {
            match c {
                _ if Some(c) == close => break,
                '`' => return Err(Dynamic::CommandSubstitution),
                '$' => self.dollar()?,
                '\\' => match self.rest.peek().copied() {
                    Some('\n') => {
                        self.rest.next();
                    }
                    Some(next) if matches!(next, '$' | '`' | '\\') || Some(next) == close => {
                        self.rest.next();
                        self.quoted(next);
                    }
                    _ => self.quoted('\\'),
                },
                _ => self.quoted(c),
            }
        }
        self.before = None;
        Ok(())
    }

    /// After a `$` that opens no quote: an expansion, or the character itself.
    fn dollar(&mut self) -> Result<(), Dynamic> {
        match self.rest.peek().copied() {
            Some('(') => {
                self.rest.next();
                let arithmetic = self.rest.peek() == Some(&'(');
                Err(if arithmetic { Dynamic::Arithmetic } else { Dynamic::CommandSubstitution })
            }
            Some('[') => Err(Dynamic::Arithmetic),
            Some('{' | '*' | '@' | '#' | '?' | '-' | '$' | '!' | '_') => Err(Dynamic::Parameter),
            Some(c) if c.is_ascii_alphanumeric() => Err(Dynamic::Parameter),
            _ => {
                self.quoted('$');
                Ok(())
            }
        }
    }

    /// `$'…'` after its opening quote.
    fn ansi_quoted(&mut self) -> Result<(), Dynamic> {
        self.before = None;
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => break,
                '\\' => self.ansi_escape()?,
                _ => self.quoted(c),
            }
        }
        Ok(())
    }

    fn ansi_escape(&mut self) -> Result<(), Dynamic> {
        let Some(c) = self.rest.next() else { return Err(Dynamic::Bytes) };
        let made = match c {
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '?' => c,
            '0'..='7' => {
                let more = self.digits(8, 2);
                number_as_char(&format!("{c}{more}"), 8)?
            }
            'x' => number_as_char(&self.digits(16, 2), 16)?,
            'u' => number_as_char(&self.digits(16, 4), 16)?,
            'U' => number_as_char(&self.digits(16, 8), 16)?,
            'c' => return Err(Dynamic::Bytes),
            _ => {
                self.quoted('\\');
                c
            }
        };
        self.quoted(made);
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> String {
        let mut digits = String::new();
        while digits.len() < most {
            match self.rest.next_if(|c| c.is_digit(radix)) {
                Some(digit) => digits.push(digit),
                None => break,
            }
        }
        digits
    }
}

/// NUL ends the string, and what is not ASCII is bytes or depends on the locale.
fn number_as_char(digits: &str, radix: u32) -> Result<char, Dynamic> {
    match u8::from_str_radix(digits, radix) {
        Ok(byte @ 1..=0x7f) => Ok(char::from(byte)),
        _ => Err(Dynamic::Bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let cases = [
            ("ls", "ls"),
            ("l's'", "ls"),
            ("\\ls", "ls"),
            ("''", ""),
            ("a\\\nb", "ab"),
            ("'a\\b'", "a\\b"),
            (r#""a\b""#, "a\\b"),
            (r#""a\"\$\`\\b""#, "a\"$`\\b"),
            ("\"a\\\nb\"", "ab"),
            ("'a\\\nb'", "a\\\nb"),
            (r"$'\x72\155'", "rm"),
            (r"$'a\'b'", "a'b"),
            (r"$'a\qb'", "a\\qb"),
            (r"$'\u0041\101'", "AA"),
            ("$\"rm\"", "rm"),
            (r"\$'a\'", "$a\\"),
            ("x$", "x$"),
            ("\"x$\"", "x$"),
            ("\"$'a'\"", "$'a'"),
            ("HEAD~3", "HEAD~3"),
            ("HEAD@{1}", "HEAD@{1}"),
            ("{}", "{}"),
            ("'*'\\?\"[\"", "*?["),
            ("\\~", "~"),
            ("''~", "~"),
            ("a'='~", "a=~"),
            ("'{a,b}'", "{a,b}"),
            ("!x", "!x"),
        ];
        for (raw, expected) in cases {
            assert_eq!(read(raw), Word::Literal(expected.into()), "{raw:?}");
        }
    }

    #[test]
    fn patterns() {
        let cases = [
            ("*.rs", "*.rs"),
            ("src/'*'*.rs", "src/\\**.rs"),
            ("[a'-'z]", "[a\\-z]"),
            ("'-'*", "\\-*"),
        ];
        for (raw, expected) in cases {
            assert_eq!(read(raw), Word::Glob(expected.into()), "{raw:?}");
        }
    }

    #[test]
    fn unknown() {
        let cases = [
            ("$x", Dynamic::Parameter),
            ("\"a$x\"", Dynamic::Parameter),
            ("${x:-y}", Dynamic::Parameter),
            ("$$", Dynamic::Parameter),
            ("$(x)", Dynamic::CommandSubstitution),
            ("\"`x`\"", Dynamic::CommandSubstitution),
            ("$((1))", Dynamic::Arithmetic),
            ("$[1]", Dynamic::Arithmetic),
            ("~", Dynamic::Tilde),
            ("~root/x", Dynamic::Tilde),
            ("a=~", Dynamic::Tilde),
            ("a:~", Dynamic::Tilde),
            ("{a,b}", Dynamic::Brace),
            ("a{1..3}", Dynamic::Brace),
            ("{fd}", Dynamic::Brace),
            ("x*{a,b}", Dynamic::Brace),
            (r"$'\xff'", Dynamic::Bytes),
            (r"$'\0'", Dynamic::Bytes),
            (r"$'\u00e9'", Dynamic::Bytes),
            (r"$'\cA'", Dynamic::Bytes),
            (r"$'\x{41}'", Dynamic::Bytes),
        ];
        for (raw, expected) in cases {
            assert_eq!(
                read(raw),
                Word::Dynamic { why: expected, source: raw.into(), parts: Vec::new() },
                "{raw:?}"
            );
        }
    }

    #[test]
    fn here_documents() {
        assert_eq!(here_document("a $x\n", false), Word::Literal("a $x\n".into()));
        assert_eq!(here_document("\"a\" \\$x\n", true), Word::Literal("\"a\" $x\n".into()));
        assert!(matches!(
            here_document("$(x)", true),
            Word::Dynamic { why: Dynamic::CommandSubstitution, .. }
        ));
    }
}
