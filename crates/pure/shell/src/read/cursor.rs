//! Looking at the text: bytes, blanks, comments, line ends, operators, reserved words.

use super::{ReadText, ScriptReader, ambiguous, mark};
use ostler_policy::script::Opaque;

pub(super) fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')
}

/// Words that end a list where a command could start.
const ENDS: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];
const RESERVED: [&str; 14] = [
    "if", "while", "until", "for", "case", "select", "function", "coproc", "{", "[[", "!", "time",
    "in", "]]",
];

pub(super) fn is_reserved(word: &str) -> bool {
    ENDS.contains(&word) || RESERVED.contains(&word)
}

impl<'a> ScriptReader<'a> {
    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn at_continuation(&self) -> bool {
        self.byte(0) == Some(b'\\') && self.byte(1) == Some(b'\n')
    }

    pub(super) fn cut_continuation(&mut self) {
        self.frame.cuts.push((self.at, self.at + 2, ""));
        self.at += 2;
    }

    /// Blanks, continuations and a comment: up to the next token of the line.
    pub(super) fn blanks(&mut self) {
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.at_continuation() => self.at += 2,
                b'#' => {
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.frame.quiet.push((self.at, self.at + end));
                    self.at += end;
                }
                _ => break,
            }
        }
    }

    /// As [`Self::blanks`], and line ends with the here-documents that start behind them.
    pub(super) fn lines(&mut self) -> ReadText<()> {
        loop {
            self.blanks();
            if self.byte(0) != Some(b'\n') {
                return Ok(());
            }
            self.line_end()?;
        }
    }

    pub(super) fn line_end(&mut self) -> ReadText<()> {
        self.at += 1;
        if self.pending.is_empty() { Ok(()) } else { self.bodies() }
    }

    /// Behind an operator: the shell would join its halves across a continued line.
    pub(super) fn take_operator(&mut self, length: usize) -> ReadText<()> {
        self.at += length;
        if !self.at_continuation() {
            return Ok(());
        }
        while self.at_continuation() {
            self.at += 2;
        }
        match self.byte(0) {
            Some(b'&' | b'|' | b';' | b'<' | b'>' | b'(' | b')' | b'-') => {
                Err(ambiguous("an operator over two lines"))
            }
            _ => Ok(()),
        }
    }

    /// The bytes up to the next one that ends a word, quotes not considered.
    pub(super) fn bare_word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(is_meta).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// The reserved word that stands here, in a place where one counts.
    pub(super) fn reserved(&self) -> ReadText<Option<&'a str>> {
        let word = self.bare_word();
        if word.ends_with('\\') && self.byte(word.len()) == Some(b'\n') {
            return self.reserved_over_lines(word);
        }
        Ok(is_reserved(word).then_some(word))
    }

    fn reserved_over_lines(&self, word: &str) -> ReadText<Option<&'a str>> {
        let mut joined = word.trim_end_matches('\\').to_owned();
        let mut rest = self.rest().get(joined.len()..).unwrap_or_default();
        while let Some(next) = rest.strip_prefix("\\\n") {
            let end = next.bytes().position(|b| is_meta(b) || b == b'\\').unwrap_or(next.len());
            joined.push_str(next.get(..end).unwrap_or_default());
            rest = next.get(end..).unwrap_or_default();
        }
        if is_reserved(&joined) {
            return Err(ambiguous("a reserved word over two lines"));
        }
        Ok(None)
    }

    /// Nothing more of this list starts here.
    pub(super) fn at_list_end(&self) -> ReadText<bool> {
        Ok(match self.byte(0) {
            None | Some(b')') => true,
            Some(b';') => matches!(self.byte(1), Some(b';' | b'&')),
            _ => self.reserved()?.is_some_and(|word| ENDS.contains(&word)),
        })
    }

    pub(super) fn at_reserved(&self, word: &str) -> ReadText<bool> {
        Ok(self.reserved()? == Some(word))
    }

    /// Takes the reserved word, or refuses.
    pub(super) fn expect(&mut self, word: &'static str) -> ReadText<()> {
        self.blanks();
        if !self.at_reserved(word)? {
            return Err(self.unexpected());
        }
        self.at += word.len();
        self.operator(word);
        Ok(())
    }

    pub(super) fn unexpected(&self) -> Opaque {
        match self.rest().chars().next() {
            None => Opaque::Syntax("it ends too early".into()),
            Some('\n') => Opaque::Syntax("an unexpected line end".into()),
            Some(first) if is_meta(first as u8) && first.is_ascii() => {
                Opaque::Syntax(format!("an unexpected '{first}'"))
            }
            Some(_) => {
                let word: String = self.bare_word().chars().take(40).collect();
                Opaque::Syntax(format!("an unexpected '{word}'"))
            }
        }
    }

    pub(super) fn operator(&mut self, text: &str) {
        self.frame.shape.push(mark::OPERATOR);
        self.frame.shape.push_str(text);
    }

    /// The word as written, without continuations, its substitutions masked.
    pub(super) fn raw(&self, start: usize, end: usize) -> String {
        let from = self.frame.cuts.partition_point(|cut| cut.0 < start);
        super::spliced(
            self.text,
            start,
            end,
            self.frame.cuts.get(from..).unwrap_or_default().iter(),
        )
    }

    pub(super) fn note_word(&mut self, start: usize) {
        self.frame.shape.push(mark::WORD);
        let raw = self.raw(start, self.at);
        self.frame.shape.push_str(&raw);
    }
}
