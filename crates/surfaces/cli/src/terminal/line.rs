//! The line that is being typed. Pure.

use super::keys::{Key, MOST};

/// A pasted text that is longer, or has several lines, is shown by its size.
const SHOWN: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Char(char),
    Paste(String),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Char(c) => c.len_utf8(),
            Piece::Paste(text) => text.len(),
        }
    }

    fn shown(&self) -> String {
        match self {
            Piece::Char('\t') => " ".into(),
            Piece::Char(c) => (*c).into(),
            Piece::Paste(text) => match text.lines().count() {
                0 | 1 => format!("[pasted {} characters]", text.chars().count()),
                lines => format!("[pasted {lines} lines]"),
            },
        }
    }

    fn is_blank(&self) -> bool {
        matches!(self, Piece::Char(c) if c.is_whitespace())
    }
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Nothing,
    Changed,
    Entered,
    Ended,
}

#[derive(Default)]
pub struct Line {
    pieces: Vec<Piece>,
    /// The cursor stands before this piece.
    at: usize,
    bytes: usize,
}

impl Line {
    pub fn of(text: &str) -> Self {
        let mut line = Line::default();
        line.insert(text);
        line
    }

    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes);
        for piece in &self.pieces {
            match piece {
                Piece::Char(c) => text.push(*c),
                Piece::Paste(paste) => text.push_str(paste),
            }
        }
        text
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn key(&mut self, key: &Key) -> Effect {
        let before = (self.at, self.pieces.len());
        match key {
            Key::Enter => return Effect::Entered,
            Key::EndOfInput if self.is_empty() => return Effect::Ended,
            Key::Char(c) => self.put(Piece::Char(*c)),
            Key::Paste(text) => self.insert(text),
            Key::Backspace => self.erase(self.at.saturating_sub(1), self.at),
            Key::Delete | Key::EndOfInput => self.erase(self.at, self.at + 1),
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.pieces.len()),
            Key::WordLeft => self.at = self.word_start(),
            Key::WordRight => self.at = self.word_end(),
            Key::Home => self.at = 0,
            Key::End => self.at = self.pieces.len(),
            Key::EraseWord => self.erase(self.word_start(), self.at),
            Key::EraseToStart => self.erase(0, self.at),
            Key::EraseToEnd => self.erase(self.at, self.pieces.len()),
            Key::Up | Key::Down | Key::Suspend | Key::TooLong => {}
        }
        if before == (self.at, self.pieces.len()) { Effect::Nothing } else { Effect::Changed }
    }

    /// A short text of one line can be edited; any other stays in one piece.
    fn insert(&mut self, text: &str) {
        if text.len() > SHOWN || text.contains('\n') {
            return self.put(Piece::Paste(text.to_owned()));
        }
        text.chars().for_each(|c| self.put(Piece::Char(c)));
    }

    fn put(&mut self, piece: Piece) {
        if self.bytes + piece.len() <= MOST {
            self.bytes += piece.len();
            self.pieces.insert(self.at, piece);
            self.at += 1;
        }
    }

    fn erase(&mut self, from: usize, to: usize) {
        let to = to.min(self.pieces.len());
        let gone: usize = self.pieces.drain(from.min(to)..to).map(|piece| piece.len()).sum();
        self.bytes -= gone;
        self.at = from.min(to);
    }

    fn word_start(&self) -> usize {
        let before = self.pieces.get(..self.at).unwrap_or_default();
        let word = before.iter().rposition(|piece| !piece.is_blank()).map_or(0, |last| last + 1);
        let front = before.get(..word).unwrap_or_default();
        front.iter().rposition(Piece::is_blank).map_or(0, |blank| blank + 1)
    }

    fn word_end(&self) -> usize {
        let after = self.pieces.get(self.at..).unwrap_or_default();
        let word = after.iter().position(|piece| !piece.is_blank()).unwrap_or(after.len());
        let rest = after.get(word..).unwrap_or_default();
        let end = rest.iter().position(Piece::is_blank).unwrap_or(rest.len());
        self.at + word + end
    }

    /// As it looks, before and behind the cursor. Never more than one line.
    pub fn shown(&self) -> (String, String) {
        let (front, back) = self.pieces.split_at(self.at.min(self.pieces.len()));
        let shown = |pieces: &[Piece]| pieces.iter().map(Piece::shown).collect();
        (shown(front), shown(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[Key]) -> Line {
        let mut line = Line::default();
        for key in keys {
            line.key(key);
        }
        line
    }

    fn chars(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn keys_edit_the_line() {
        for (text, keys, expected) in [
            ("abc", vec![Key::Left, Key::Left, Key::Char('x')], "axbc"),
            ("abc", vec![Key::Home, Key::Delete, Key::End, Key::Backspace], "b"),
            ("abc", vec![Key::Right, Key::Up, Key::Down, Key::Delete], "abc"),
            ("one two  ", vec![Key::EraseWord], "one "),
            ("one two", vec![Key::WordLeft, Key::EraseToEnd], "one "),
            ("one two", vec![Key::Home, Key::WordRight, Key::EraseToStart], " two"),
            ("", vec![Key::Backspace, Key::Delete, Key::Left, Key::EraseWord], ""),
            ("ü中", vec![Key::Backspace, Key::Left, Key::Char('x')], "xü"),
            ("ab", vec![Key::Left, Key::EndOfInput], "a"),
            ("ab", vec![Key::Paste("1\n2".into()), Key::Char('c')], "ab1\n2c"),
            ("ab", vec![Key::Paste("1\n2".into()), Key::Backspace], "ab"),
            ("ab", vec![Key::Paste("12".into()), Key::Backspace], "ab1"),
        ] {
            let line = typed(&[chars(text), keys.clone()].concat());
            assert_eq!(line.text(), expected, "{text:?} {keys:?}");
            assert_eq!(line.bytes, expected.len(), "{text:?} {keys:?}");
        }
        let mut line = Line::default();
        assert_eq!(line.key(&Key::EndOfInput), Effect::Ended);
        assert_eq!(line.key(&Key::Char('a')), Effect::Changed);
        assert_eq!(line.key(&Key::EndOfInput), Effect::Nothing);
        assert_eq!(line.key(&Key::Enter), Effect::Entered);
    }

    #[test]
    fn a_line_is_bounded() {
        let mut line = Line::of(&"x".repeat(MOST));
        assert_eq!(line.key(&Key::Char('x')), Effect::Nothing);
        line.key(&Key::Backspace);
        assert_eq!(line.key(&Key::Char('x')), Effect::Changed);
    }
}
