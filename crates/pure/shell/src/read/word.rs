//! One word of the text, in pieces.

use super::cursor::is_meta;
use super::{ReadText, ScriptReader, ambiguous};
use ostler_policy::script::{Dynamic, Opaque, WordPart};

#[derive(Clone)]
pub(super) enum WordPiece {
    /// Unquoted text.
    Bare(String),
    Quoted(String),
    Part(WordPart, Dynamic),
}

/// A word as pieces, and where it stands.
pub(super) struct Pieces {
    pub(super) list: Vec<WordPiece>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What else a word may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Plain,
    /// The right side of `==` in `[[ ]]`: extended patterns.
    Pattern,
    /// The right side of `=~`.
    Regex,
}

/// Where an expansion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    None,
    Double,
    Document,
    Arithmetic,
}

impl Quote {
    pub(super) fn is_quoted(self) -> bool {
        self != Quote::None
    }
}

impl ScriptReader<'_> {
    /// A word that must be there.
    pub(super) fn word(&mut self, kind: PieceKind) -> ReadText<Pieces> {
        let start = self.at;
        let word = self.maybe_word(kind)?;
        if self.at == start || self.slice(start, self.at).trim_start_matches("\\\n").is_empty() {
            return Err(self.unexpected());
        }
        self.note_word(start);
        Ok(word)
    }

    /// A word; it may be empty.
    pub(super) fn maybe_word(&mut self, kind: PieceKind) -> ReadText<Pieces> {
        let start = self.at;
        let mut list = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'(' if open > 0 || self.opens_pattern(kind, start, &list) => {
                    open += 1;
                    if open > 100 {
                        return Err(Opaque::TooDeep);
                    }
                    self.bare(&mut list, 1);
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.bare(&mut list, 1);
                }
                b'|' if kind == PieceKind::Regex => self.bare(&mut list, 1),
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    if open > 0 || kind != PieceKind::Plain {
                        return Err(ambiguous("a process substitution in a pattern"));
                    }
                    let opened = self.at;
                    self.at += 2;
                    let mask = if byte == b'<' { "<(x)" } else { ">(x)" };
                    let script = self.nested_script(mask, opened)?;
                    list.push(WordPiece::Part(
                        WordPart::Process(script),
                        Dynamic::ProcessSubstitution,
                    ));
                }
                _ if is_meta(byte) && open == 0 => break,
                b'\n' | b'#' if open > 0 => {
                    return Err(ambiguous("a pattern that spans several lines"));
                }
                _ if is_meta(byte) => self.bare(&mut list, 1),
                _ => self.piece(&mut list)?,
            }
        }
        if open > 0 {
            return Err(self.unexpected());
        }
        Ok(Pieces { list, start, end: self.at })
    }

    fn opens_pattern(&self, kind: PieceKind, start: usize, list: &[WordPiece]) -> bool {
        match kind {
            PieceKind::Plain => false,
            PieceKind::Regex => true,
            PieceKind::Pattern => {
                self.at > start
                    && matches!(list.last(), Some(WordPiece::Bare(text)) if text.ends_with(['?', '*', '+', '@', '!']))
            }
        }
    }

    /// Takes so many bytes as unquoted text.
    pub(super) fn bare(&mut self, list: &mut Vec<WordPiece>, bytes: usize) {
        let text = self.text.get(self.at..self.at + bytes).unwrap_or_default();
        match list.last_mut() {
            Some(WordPiece::Bare(before)) => before.push_str(text),
            _ => list.push(WordPiece::Bare(text.to_owned())),
        }
        self.at += bytes;
    }

    fn piece(&mut self, list: &mut Vec<WordPiece>) -> ReadText<()> {
        match self.byte(0) {
            Some(b'\\') if self.at_continuation() => self.cut_continuation(),
            Some(b'\\') => {
                self.at += 1;
                let Some(next) = self.rest().chars().next() else {
                    return Err(ambiguous("a backslash at the end"));
                };
                list.push(WordPiece::Quoted(next.into()));
                self.at += next.len_utf8();
            }
            Some(b'\'') => list.push(WordPiece::Quoted(self.single_quoted()?)),
            Some(b'"') => self.double_quoted(list)?,
            Some(b'$') => self.dollar(Quote::None, list)?,
            Some(b'`') => {
                let part = self.backquoted(Quote::None)?;
                list.push(WordPiece::Part(part, Dynamic::CommandSubstitution));
            }
            _ => {
                let rest = self.rest();
                let special =
                    |byte: u8| is_meta(byte) || matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`');
                let end = rest.bytes().position(special).unwrap_or(rest.len());
                self.bare(list, end);
            }
        }
        Ok(())
    }
}

impl Pieces {
    /// The text if nothing in it was quoted or expanded.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.list.as_slice() {
            [WordPiece::Bare(text)] => Some(text),
            _ => None,
        }
    }
}
