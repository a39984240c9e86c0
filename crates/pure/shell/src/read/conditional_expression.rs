//! `[[ … ]]`: every token of it.

use super::word::{PieceKind, Pieces};
use super::word_assembly::WordPlace;
use super::{ReadText, ScriptReader, ambiguous, mark};
use ostler_policy::script::*;

const BINARY: [&str; 13] =
    ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

const UNARY: &[char] = &[
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'k', 'n', 'o', 'p', 'r', 's', 't', 'u', 'v', 'w', 'x',
    'z', 'G', 'L', 'N', 'O', 'R', 'S',
];

impl ScriptReader<'_> {
    pub(super) fn test_command(&mut self) -> ReadText<Compound> {
        self.expect("[[")?;
        let mut words = Vec::new();
        self.lines()?;
        self.conditions(&mut words)?;
        self.lines()?;
        self.expect("]]")?;
        Ok(Compound::Test(words))
    }

    fn conditions(&mut self, words: &mut Vec<Word>) -> ReadText<()> {
        loop {
            self.lines()?;
            self.condition(words)?;
            self.lines()?;
            let join = match (self.byte(0), self.byte(1)) {
                (Some(b'&'), Some(b'&')) => "&&",
                (Some(b'|'), Some(b'|')) => "||",
                _ => return Ok(()),
            };
            self.take_operator(2)?;
            self.test_operator(join, words);
        }
    }

    /// Spellings of the same question have one shape.
    fn test_operator(&mut self, text: &str, words: &mut Vec<Word>) {
        self.operator(match text {
            "=" => "==",
            "-a" => "-e",
            "-L" => "-h",
            _ => text,
        });
        words.push(Word::Literal(text.into()));
    }

    fn condition(&mut self, words: &mut Vec<Word>) -> ReadText<()> {
        while self.at_reserved("!")? {
            self.at += 1;
            self.test_operator("!", words);
            self.lines()?;
        }
        if self.byte(0) == Some(b'(') {
            self.enter()?;
            self.take_operator(1)?;
            self.test_operator("(", words);
            self.conditions(words)?;
            if self.byte(0) != Some(b')') {
                return Err(self.unexpected());
            }
            self.take_operator(1)?;
            self.test_operator(")", words);
            self.leave();
            return Ok(());
        }
        if self.at_reserved("]]")? {
            return Err(self.unexpected());
        }
        let first = self.bare_word();
        if first.len() == 2 && first.starts_with('-') && first.ends_with(UNARY) {
            self.at += 2;
            self.test_operator(first, words);
            self.blanks();
            return self.operand_word(PieceKind::Plain, words);
        }
        self.comparison(words)
    }

    fn operand_word(&mut self, kind: PieceKind, words: &mut Vec<Word>) -> ReadText<()> {
        if self.at_reserved("]]")? {
            return Err(self.unexpected());
        }
        let word = self.word(kind)?;
        words.push(self.test_word(word));
        Ok(())
    }

    fn test_word(&self, word: Pieces) -> Word {
        self.single(word, WordPlace::Pattern)
    }

    fn comparison(&mut self, words: &mut Vec<Word>) -> ReadText<()> {
        let start = self.frame.shape.len();
        self.operand_word(PieceKind::Plain, words)?;
        self.blanks();
        let operator = match self.byte(0) {
            Some(b'<') => "<",
            Some(b'>') => ">",
            _ => {
                let word = self.bare_word();
                match BINARY.iter().find(|operator| **operator == word) {
                    Some(operator) => operator,
                    None => {
                        // A word alone is asked whether it is empty.
                        self.frame.shape.insert_str(start, &format!("{}-n", mark::OPERATOR));
                        return Ok(());
                    }
                }
            }
        };
        if matches!(operator, "<" | ">") {
            self.take_operator(1)?;
        } else {
            self.at += operator.len();
            if self.at_continuation() {
                return Err(ambiguous("an operator over two lines"));
            }
        }
        self.test_operator(operator, words);
        self.blanks();
        let kind = match operator {
            "=~" => PieceKind::Regex,
            "=" | "==" | "!=" => PieceKind::Pattern,
            _ => PieceKind::Plain,
        };
        self.operand_word(kind, words)
    }
}
