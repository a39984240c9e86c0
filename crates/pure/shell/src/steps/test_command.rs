//! `test`, `[` and `[[ ]]`. Questions about strings and files only read; whatever evaluates an operand as an
//! expression or a name is refused, for a quoted subscript in it would run.

use super::words::resolve;
use crate::options::{self, Miss, is_one_word};
use ostler_policy::script::Word;
use ostler_policy::{Act, Touch, TouchKind};

const MAX_PARENTHESES: usize = 16;

type Touches = Result<Vec<Touch>, Miss>;

/// The words of `test`. More than four are read by rules that depend on what variables hold.
pub(super) fn single(words: &[Word]) -> Touches {
    let (before, words) = match words {
        [Word::Literal(not), rest @ ..] if not == "!" && !rest.is_empty() => (1, rest),
        _ => (0, words),
    };
    let several = |(at, word): (usize, &Word)| match word {
        // Whatever it matches is no operator, and the question stays one about files.
        Word::Glob(pattern) => !(at == 1 && words.len() == 2 && options::cannot_be_option(pattern)),
        _ => !is_one_word(word),
    };
    if let Some(at) = words.iter().enumerate().position(several) {
        return Err(Miss::at(at + before, "a word that can be several"));
    }
    let found = match words {
        [] | [_] => Ok(Vec::new()),
        [operator, operand] => match operator.literal() {
            Some(operator) if matches!(operand, Word::Glob(_)) && !is_file_operator(operator) => {
                Err(Miss::at(1, "a word that can be several"))
            }
            Some(operator) => unary(operator, operand),
            None => Err("its operator is not known".into()),
        },
        [left, operator, right] => match operator.literal() {
            // Unlike `[[`, it takes numbers and evaluates nothing.
            Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => Ok(Vec::new()),
            Some(operator) => binary(left, operator, right),
            None => Err("its operator is not known".into()),
        },
        _ => Err("it asks more than one question".into()),
    };
    found.map_err(|miss| Miss { word: miss.word.map(|word| word + before), ..miss })
}

fn unary(operator: &str, operand: &Word) -> Touches {
    match operator {
        "-n" | "-z" => Ok(Vec::new()),
        "-t" => match operand.literal() {
            Some("0" | "1" | "2") => Ok(Vec::new()),
            _ => Err(Miss::at(1, "an unknown descriptor")),
        },
        _ if is_file_operator(operator) => file(operand).map(|touch| vec![touch]),
        _ => Err(Miss::at(0, format!("{operator} may evaluate what it is given"))),
    }
}

fn binary(left: &Word, operator: &str, right: &Word) -> Touches {
    match operator {
        "=" | "==" | "!=" | "<" | ">" | "=~" => Ok(Vec::new()),
        "-nt" | "-ot" | "-ef" => Ok(vec![file(left)?, file(right)?]),
        "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
            let number = |word: &Word| {
                let text = word.literal().map(|text| text.strip_prefix('-').unwrap_or(text));
                text.is_some_and(|text| {
                    (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
                })
            };
            match number(left) && number(right) {
                true => Ok(Vec::new()),
                false => Err(Miss::at(1, format!("{operator} evaluates its operands"))),
            }
        }
        _ => Err(Miss::at(1, format!("{operator} is not known"))),
    }
}

fn is_file_operator(operator: &str) -> bool {
    let mut letters = operator.chars();
    let letter = (letters.next(), letters.next(), letters.next());
    matches!(letter, (Some('-'), Some(letter), None) if "bcdefghkprsuwxGLNOS".contains(letter))
}

fn file(word: &Word) -> Result<Touch, Miss> {
    match resolve(word, &[]) {
        Word::Literal(path) => {
            let named = options::readable(&path, TouchKind::File)?;
            Ok(Touch::new(Act::Read, named.path, named.kind))
        }
        Word::Glob(pattern) => Ok(super::judge::touch(Act::Read)(options::glob(&pattern)?)),
        Word::Dynamic { .. } => Err("it is not known which file it asks about".into()),
    }
}

/// The tokens between `[[` and `]]`. None of them is split or matched, so every one is one operand.
pub(super) fn double(words: &[Word]) -> Touches {
    let mut reader = TestReader { words, at: 0, touches: Vec::new() };
    reader.any(0)?;
    match reader.at == words.len() {
        true => Ok(reader.touches),
        false => Err(Miss::at(reader.at, "a test that is not understood")),
    }
}

struct TestReader<'a> {
    words: &'a [Word],
    at: usize,
    touches: Vec<Touch>,
}

impl TestReader<'_> {
    fn next(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).and_then(Word::literal)
    }

    fn any(&mut self, depth: usize) -> Result<(), Miss> {
        if depth > MAX_PARENTHESES {
            return Err("it is nested too deep".into());
        }
        loop {
            self.one(depth)?;
            match self.next(0) {
                Some("&&" | "||") => self.at += 1,
                _ => return Ok(()),
            }
        }
    }

    fn one(&mut self, depth: usize) -> Result<(), Miss> {
        while self.next(0) == Some("!") {
            self.at += 1;
        }
        if self.next(0) == Some("(") {
            self.at += 1;
            self.any(depth + 1)?;
            if self.next(0) != Some(")") {
                return Err(Miss::at(self.at, "a parenthesis is not closed"));
            }
            self.at += 1;
            return Ok(());
        }
        let place = self.at;
        let refused = |miss: Miss| Miss { word: miss.word.map(|word| word + place), ..miss };
        let is_operator = |text: &str| {
            matches!(text, "=" | "==" | "!=" | "<" | ">" | "=~" | "-nt" | "-ot" | "-ef" | "-eq")
                || matches!(text, "-ne" | "-lt" | "-le" | "-gt" | "-ge")
        };
        let found = match (self.words.get(place..).unwrap_or_default(), self.next(1)) {
            ([left, _, right, ..], Some(operator)) if is_operator(operator) => {
                let found = binary(left, operator, right).map_err(refused)?;
                self.at += 3;
                found
            }
            ([Word::Literal(operator), operand, ..], _) if operator.starts_with('-') => {
                let found = unary(operator, operand).map_err(refused)?;
                self.at += 2;
                found
            }
            _ => return Err(Miss::at(place, "a test that is not understood")),
        };
        self.touches.extend(found);
        Ok(())
    }
}
