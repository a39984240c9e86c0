//! Assignments: `name=value`, `name[index]=value`, `name=(…)`.

use super::arithmetic::Close;
use super::word::PieceKind;
use super::word_assembly::WordPlace;
use super::{ReadText, ScriptReader, ambiguous, brace};
use ostler_policy::script::*;

/// How many bytes the name takes, if one starts here.
fn name_length(text: &str) -> usize {
    match text.bytes().next() {
        Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
            text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
        }
        _ => 0,
    }
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}

impl ScriptReader<'_> {
    /// An assignment, where one may stand in front of a command.
    pub(super) fn assignment(&mut self) -> ReadText<Option<Assignment>> {
        let start = self.at;
        let length = name_length(self.rest());
        let name = self.slice(start, start + length).to_owned();
        match self.byte(length) {
            _ if length == 0 => return Ok(None),
            Some(b'[' | b'=' | b'+') => {}
            Some(b'\\') if self.byte(length + 1) == Some(b'\n') => {
                return self.continued_name(length);
            }
            _ => return Ok(None),
        }
        self.at += length;
        let index = if self.byte(0) == Some(b'[') {
            self.at += 1;
            let index = self.arithmetic(Close::Subscript)?;
            if !matches!((self.byte(0), self.byte(1)), (Some(b'='), _) | (Some(b'+'), Some(b'='))) {
                return self.no_assignment(start, &index);
            }
            Some(index)
        } else {
            None
        };
        let append = self.byte(0) == Some(b'+');
        if append && self.byte(1) != Some(b'=') {
            if self.byte(1) == Some(b'\\') {
                return Err(ambiguous("an assignment over two lines"));
            }
            self.at = start;
            return Ok(None);
        }
        self.at += 1 + usize::from(append);
        if self.at_continuation() {
            return Err(ambiguous("an assignment over two lines"));
        }
        let value = if self.byte(0) == Some(b'(') {
            if index.is_some() {
                return Err(ambiguous("a list as an element of a list"));
            }
            Assigned::Array(self.array(start)?)
        } else {
            let value = self.maybe_word(PieceKind::Plain)?;
            self.note_word(start);
            Assigned::Scalar(self.single(value, WordPlace::Value))
        };
        Ok(Some(Assignment { name, index, append, value }))
    }

    fn continued_name<T>(&self, length: usize) -> ReadText<Option<T>> {
        let mut rest = self.slice(self.at + length, self.text.len());
        while let Some(next) = rest.strip_prefix("\\\n") {
            let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
            rest = next.trim_start_matches(goes_on);
        }
        match rest.bytes().next() {
            Some(b'[' | b'=' | b'+') => Err(ambiguous("a name over two lines")),
            _ => Ok(None),
        }
    }

    /// `name[…]` that is no assignment is a word, and the shell has read it in its own way.
    fn no_assignment<T>(&mut self, start: usize, index: &Expression) -> ReadText<Option<T>> {
        let simple =
            index.source.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-*?.,!^".contains(&b));
        if !simple {
            return Err(ambiguous("a subscript without an assignment"));
        }
        self.at = start;
        Ok(None)
    }

    /// The elements of `name=(…)`; the assignment started at `start`.
    pub(super) fn array(&mut self, start: usize) -> ReadText<Vec<(Option<Word>, Word)>> {
        self.enter()?;
        self.at += 1;
        let head = self.raw(start, self.at);
        self.operator(&head);
        if !self.pending.is_empty() {
            return Err(ambiguous("a here-document around a list"));
        }
        let mut elements = Vec::new();
        loop {
            self.lines()?;
            match self.byte(0) {
                Some(b')') => break,
                Some(b'[') => elements.push(self.keyed()?),
                _ => {
                    let word = self.word(PieceKind::Plain)?;
                    let mut words = Vec::new();
                    self.fields(word, &mut words)?;
                    elements.extend(words.into_iter().map(|word| (None, word)));
                }
            }
        }
        self.at += 1;
        self.operator(")");
        self.leave();
        Ok(elements)
    }

    fn keyed(&mut self) -> ReadText<(Option<Word>, Word)> {
        let start = self.at;
        self.at += 1;
        let index = self.arithmetic(Close::Subscript)?;
        if self.byte(0) != Some(b'=') {
            return Err(ambiguous("a list whose element starts with a bracket"));
        }
        let source = index.source;
        let key = if index.plain || source.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            Word::Literal(source)
        } else {
            let (expression, quoted) =
                (Expression { source: source.clone(), scripts: index.scripts, plain: false }, true);
            let parts = vec![WordPart::Arithmetic { expression, quoted }];
            Word::Dynamic { why: Dynamic::Arithmetic, source, parts }
        };
        self.at += 1;
        let value = self.maybe_word(PieceKind::Plain)?;
        self.note_word(start);
        if brace::may_expand(&value.list) {
            // Expanded first, it is no element with a key any more.
            return Err(ambiguous("braces after the key of an element"));
        }
        Ok((Some(key), self.single(value, WordPlace::Value)))
    }

    /// `name=(…)` among the words of `declare` and its like.
    pub(super) fn array_word(&mut self) -> ReadText<Option<Word>> {
        let start = self.at;
        let length = name_length(self.rest());
        let skip = match (self.byte(length), self.byte(length + 1), self.byte(length + 2)) {
            (Some(b'='), Some(b'('), _) if length > 0 => length + 1,
            (Some(b'+'), Some(b'='), Some(b'(')) if length > 0 => length + 2,
            _ => return Ok(None),
        };
        self.at += skip;
        let head = self.slice(start, self.at).to_owned();
        let elements = self.array(start)?;
        let words = elements.into_iter().flat_map(|(key, word)| key.into_iter().chain([word]));
        Ok(Some(Word::Dynamic {
            why: Dynamic::Array,
            source: self.slice(start, self.at).to_owned(),
            parts: vec![WordPart::Literal(head), WordPart::Other(words.collect())],
        }))
    }
}
