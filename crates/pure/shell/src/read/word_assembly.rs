//! Pieces to a [`Word`]: quotes are gone, tildes found, patterns told from text.

use super::word::{Pieces, WordPiece};
use super::{ReadText, ScriptReader, ambiguous, brace};
use ostler_policy::script::{Dynamic, Word, WordPart};

/// Words that the braces of a text may make, all together.
const MAX_MADE: usize = 100_000;

/// What the shell does with a word of this place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPlace {
    /// Matched against file names, or a pattern for something else.
    Pattern,
    /// Taken as it is; `~` counts behind `=` and `:`.
    Value,
}

impl ScriptReader<'_> {
    /// The words a command gets: braces are expanded.
    pub(super) fn fields(&mut self, word: Pieces, into: &mut Vec<Word>) -> ReadText<()> {
        if !brace::may_expand(&word.list) {
            into.push(self.single(word, WordPlace::Pattern));
            return Ok(());
        }
        match brace::expand(&word.list) {
            brace::Expanded::Same => into.push(self.single(word, WordPlace::Pattern)),
            brace::Expanded::Unclear => return Err(ambiguous("braces after a variable")),
            brace::Expanded::Unknown(words) => {
                self.made_words(words)?;
                into.push(self.unknown_braces(word));
            }
            brace::Expanded::TooMany => {
                let endless = self.endless_braces(word);
                into.push(endless);
            }
            brace::Expanded::Words(words) => {
                self.made_words(words.len())?;
                let source = self.slice(word.start, word.end);
                into.extend(words.iter().map(|list| finish(list, source, WordPlace::Pattern)));
            }
        }
        Ok(())
    }

    /// A word where the shell wants exactly one.
    pub(super) fn one_field(&mut self, word: Pieces) -> ReadText<Word> {
        let (list, start, end) = (word.list.clone(), word.start, word.end);
        let mut words = Vec::new();
        self.fields(word, &mut words)?;
        match (words.pop(), words.is_empty()) {
            (Some(word), true) => Ok(word),
            _ => Ok(self.unknown_braces(Pieces { list, start, end })),
        }
    }

    pub(super) fn single(&self, mut word: Pieces, place: WordPlace) -> Word {
        if let [WordPiece::Bare(text) | WordPiece::Quoted(text)] = word.list.as_mut_slice()
            && !text.contains(['~', '*', '?', '['])
        {
            return Word::Literal(std::mem::take(text));
        }
        finish(&word.list, self.slice(word.start, word.end), place)
    }

    /// Counts what braces make, over the whole text.
    fn made_words(&mut self, words: usize) -> ReadText<()> {
        self.made += words;
        match self.made > MAX_MADE {
            true => Err(ambiguous("braces that make very many words")),
            false => Ok(()),
        }
    }

    /// A word that is looked into for what it runs, and not understood.
    fn endless_braces(&self, word: Pieces) -> Word {
        let Word::Dynamic { why, source, mut parts } = self.unknown_braces(word) else {
            return Word::Dynamic { why: Dynamic::Brace, source: String::new(), parts: Vec::new() };
        };
        let unseen = Word::Dynamic { why, source: source.clone(), parts: Vec::new() };
        parts.push(WordPart::Other(vec![unseen]));
        Word::Dynamic { why, source, parts }
    }

    fn unknown_braces(&self, word: Pieces) -> Word {
        let source = self.slice(word.start, word.end);
        let parts = match finish(&word.list, source, WordPlace::Pattern) {
            Word::Dynamic { parts, .. } => parts,
            Word::Literal(text) => vec![WordPart::Literal(text)],
            Word::Glob(text) => vec![WordPart::Glob(text)],
        };
        Word::Dynamic { why: Dynamic::Brace, source: source.into(), parts }
    }
}

struct WordMaker {
    literal: String,
    /// The same, with quoted characters that mean something in a pattern escaped.
    pattern: String,
    glob: bool,
    bracket: bool,
    parts: Vec<WordPart>,
    why: Option<Dynamic>,
    place: WordPlace,
}

pub(super) fn finish(list: &[WordPiece], source: &str, place: WordPlace) -> Word {
    let mut maker = WordMaker {
        literal: String::new(),
        pattern: String::new(),
        glob: false,
        bracket: false,
        parts: Vec::new(),
        why: None,
        place,
    };
    let assigns = looks_assigned(list);
    for (index, piece) in list.iter().enumerate() {
        match piece {
            WordPiece::Bare(text) => maker.bare(text, index == 0, assigns),
            WordPiece::Quoted(text) => maker.quoted(text),
            WordPiece::Part(part, why) => maker.part(part.clone(), *why),
        }
    }
    match maker.why {
        Some(why) => {
            maker.flush();
            Word::Dynamic { why, source: source.into(), parts: maker.parts }
        }
        None if maker.glob => Word::Glob(maker.pattern),
        None => Word::Literal(maker.literal),
    }
}

impl WordMaker {
    fn bare(&mut self, text: &str, first: bool, assigns: bool) {
        let mut before = None;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            let tilde = c == '~'
                && match before {
                    None => first,
                    Some('=') => true,
                    Some(':') => assigns || self.place == WordPlace::Value,
                    Some(_) => false,
                };
            before = Some(c);
            if tilde {
                let end = rest.find(['/', ':']).unwrap_or(rest.len());
                let name = rest.get(..end).unwrap_or_default().to_owned();
                rest = rest.get(end..).unwrap_or_default();
                self.part(WordPart::Tilde(name), Dynamic::Tilde);
                continue;
            }
            if self.place == WordPlace::Pattern {
                self.glob |= matches!(c, '*' | '?') || (c == ']' && self.bracket);
                self.bracket |= c == '[';
            }
            self.literal.push(c);
            self.pattern.push(c);
        }
    }

    fn quoted(&mut self, text: &str) {
        self.literal.push_str(text);
        for c in text.chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\' | '-' | '!' | '^') {
                self.pattern.push('\\');
            }
            self.pattern.push(c);
        }
    }

    fn part(&mut self, part: WordPart, why: Dynamic) {
        self.why.get_or_insert(why);
        self.flush();
        self.parts.push(part);
    }

    fn flush(&mut self) {
        let (literal, pattern) =
            (std::mem::take(&mut self.literal), std::mem::take(&mut self.pattern));
        if literal.is_empty() {
            return;
        }
        let part = if self.glob || self.bracket {
            WordPart::Glob(pattern)
        } else {
            WordPart::Literal(literal)
        };
        self.parts.push(part);
        self.glob = false;
    }
}

/// `name=…`: the shell looks for `~` behind colons, too.
fn looks_assigned(list: &[WordPiece]) -> bool {
    match list.first() {
        Some(WordPiece::Bare(text)) => text.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        }),
        _ => false,
    }
}
