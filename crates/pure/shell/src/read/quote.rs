//! Quotes: single, double, `$'…'`, and backquotes.

use super::word::{Quote, WordPiece};
use super::{ReadText, ScriptReader, ambiguous};
use ostler_policy::script::{Dynamic, Opaque, Word, WordPart};

impl ScriptReader<'_> {
    pub(super) fn single_quoted(&mut self) -> ReadText<String> {
        let start = self.at;
        self.frame.slip |= self.slice(0, start).ends_with('$');
        self.at += 1;
        let Some(end) = self.rest().find('\'') else { return Err(unclosed()) };
        let text = self.rest().get(..end).unwrap_or_default().to_owned();
        self.at += end + 1;
        self.frame.quiet.push((start, self.at));
        Ok(text)
    }

    pub(super) fn double_quoted(&mut self, list: &mut Vec<WordPiece>) -> ReadText<()> {
        self.at += 1;
        let mut from = self.at - 1;
        let mut literal = String::new();
        let before = list.len();
        loop {
            match self.byte(0) {
                None => return Err(unclosed()),
                Some(b'"') => break,
                Some(b'\\') => self.escaped(&mut literal, true)?,
                Some(b'$' | b'`') => {
                    push_quoted(list, &mut literal);
                    self.frame.quiet.push((from, self.at));
                    self.expansion(Quote::Double, list)?;
                    from = self.at;
                }
                Some(_) => self.take_until(&mut literal, b"\"\\$`"),
            }
        }
        if !literal.is_empty() || list.len() == before {
            list.push(WordPiece::Quoted(literal));
        }
        self.at += 1;
        self.frame.quiet.push((from, self.at));
        Ok(())
    }

    /// A backslash where only some characters can be escaped.
    pub(super) fn escaped(&mut self, literal: &mut String, quotes: bool) -> ReadText<()> {
        match self.byte(1) {
            Some(b'\n') => self.cut_continuation(),
            Some(next @ (b'$' | b'`' | b'\\')) => {
                literal.push(char::from(next));
                self.at += 2;
            }
            Some(b'"') if quotes => {
                literal.push('"');
                self.at += 2;
            }
            _ => {
                literal.push('\\');
                self.at += 1;
            }
        }
        Ok(())
    }

    pub(super) fn expansion(&mut self, quote: Quote, list: &mut Vec<WordPiece>) -> ReadText<()> {
        if self.byte(0) == Some(b'`') {
            let part = self.backquoted(quote)?;
            list.push(WordPiece::Part(part, Dynamic::CommandSubstitution));
            return Ok(());
        }
        self.dollar(quote, list)
    }

    /// Text up to one of these bytes.
    pub(super) fn take_until(&mut self, literal: &mut String, stops: &[u8]) {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| stops.contains(&byte)).unwrap_or(rest.len());
        literal.push_str(rest.get(..end).unwrap_or_default());
        self.at += end;
    }

    /// What stands between backquotes is a text of its own, once its backslashes are taken off.
    pub(super) fn backquoted(&mut self, quote: Quote) -> ReadText<WordPart> {
        let opened = self.at;
        self.at += 1;
        let mut inner = String::new();
        loop {
            self.take_until(&mut inner, b"`\\\"");
            match (self.byte(0), self.byte(1)) {
                (None, _) | (Some(b'\\'), None) => return Err(unclosed()),
                (Some(b'`'), _) => break,
                (Some(b'"' | b'\\'), _) if quote.is_quoted() => {
                    return Err(ambiguous("quotes inside quoted backquotes"));
                }
                (Some(b'\\'), Some(b'\n')) => {
                    return Err(ambiguous("a continued line inside backquotes"));
                }
                (Some(b'\\'), Some(next @ (b'$' | b'`' | b'\\'))) => {
                    inner.push(char::from(next));
                    self.at += 2;
                }
                (Some(byte), _) => {
                    inner.push(char::from(byte));
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        let script = self.apart(&inner, |reader| reader.all())?;
        self.frame.cuts.push((opened, self.at, super::MASK));
        Ok(WordPart::Command { script, quoted: quote.is_quoted() })
    }

    /// `$'…'` from its dollar on.
    pub(super) fn ansi_quoted(&mut self, list: &mut Vec<WordPiece>) -> ReadText<()> {
        let start = self.at;
        self.at += 2;
        let mut made = Some(String::new());
        loop {
            match self.byte(0) {
                None => return Err(unclosed()),
                Some(b'\'') => break,
                Some(b'\\') => {
                    let escape = self.ansi_escape()?;
                    made = made.zip(escape).map(|(text, more)| text + &more);
                }
                Some(_) => {
                    let mut text = String::new();
                    self.take_until(&mut text, b"'\\");
                    made = made.map(|made| made + &text);
                }
            }
        }
        self.at += 1;
        self.frame.quiet.push((start, self.at));
        list.push(match made {
            Some(text) => WordPiece::Quoted(text),
            None => {
                let source = self.slice(start, self.at).to_owned();
                WordPiece::Part(
                    WordPart::Other(vec![Word::Dynamic {
                        why: Dynamic::Bytes,
                        source,
                        parts: Vec::new(),
                    }]),
                    Dynamic::Bytes,
                )
            }
        });
        Ok(())
    }

    /// What the escape makes; `None` for bytes that are no text or depend on the locale.
    fn ansi_escape(&mut self) -> ReadText<Option<String>> {
        self.at += 1;
        let Some(next) = self.rest().chars().next() else { return Err(unclosed()) };
        self.at += next.len_utf8();
        let made = match next {
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '?' => next,
            '0'..='7' => {
                self.at -= 1;
                return Ok(self.numbered(8, 3));
            }
            'x' => return Ok(self.numbered(16, 2)),
            'u' => return Ok(self.numbered(16, 4)),
            'U' => return Ok(self.numbered(16, 8)),
            'c' => {
                if matches!(self.byte(0), Some(b'\\' | b'\'') | None) {
                    return Err(ambiguous("a control escape"));
                }
                return Ok(None);
            }
            _ => return Ok(Some(format!("\\{next}"))),
        };
        Ok(Some(made.into()))
    }

    fn numbered(&mut self, radix: u32, most: usize) -> Option<String> {
        let rest = self.rest();
        let end = rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        self.at += end;
        match u32::from_str_radix(rest.get(..end)?, radix) {
            Ok(code @ 1..=0x7f) => char::from_u32(code).map(String::from),
            _ => None,
        }
    }
}

pub(super) fn push_quoted(list: &mut Vec<WordPiece>, literal: &mut String) {
    if !literal.is_empty() {
        list.push(WordPiece::Quoted(std::mem::take(literal)));
    }
}

pub(super) fn unclosed() -> Opaque {
    Opaque::Syntax("a quote that is not closed".into())
}
