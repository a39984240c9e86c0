//! Simple commands, redirections, and the choice between a simple command and the others.

use super::assign::is_name;
use super::cursor::is_meta;
use super::word::PieceKind;
use super::word_assembly::WordPlace;
use super::{ReadText, ScriptReader, ambiguous, mark};
use ostler_policy::script::*;

/// Their words may be assignments of lists.
const DECLARING: [&str; 6] = ["alias", "declare", "typeset", "export", "readonly", "local"];

impl ScriptReader<'_> {
    pub(super) fn stage(&mut self) -> ReadText<PipelineStage> {
        self.blanks();
        if self.byte(0) == Some(b'(') {
            return if self.byte(1) == Some(b'(') {
                self.arithmetic_command()
            } else {
                self.subshell()
            };
        }
        match self.reserved()? {
            None => self.simple(),
            // Behind a pipe it is the program.
            Some("time") => self.simple(),
            Some(word) => self.compound(word),
        }
    }

    fn simple(&mut self) -> ReadText<PipelineStage> {
        let mut command = Command::default();
        let mut declares = false;
        let begin = self.at;
        loop {
            self.blanks();
            let Some(byte) = self.byte(0) else { break };
            if let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                continue;
            }
            match byte {
                b'(' => return self.function_or_error(&command, begin),
                b'<' | b'>' => {}
                _ if is_meta(byte) => break,
                _ => {}
            }
            if command.words.is_empty() {
                if let Some(assignment) = self.assignment()? {
                    command.assignments.push(assignment);
                    continue;
                }
            } else if declares && let Some(word) = self.array_word()? {
                command.words.push(word);
                continue;
            }
            let first = command.words.is_empty();
            let word = self.word(PieceKind::Plain)?;
            self.not_a_descriptor(&word)?;
            if first {
                self.not_reserved_again(&word, &command)?;
                declares = word.bare().is_some_and(|name| DECLARING.contains(&name));
            }
            self.fields(word, &mut command.words)?;
        }
        if command == Command::default() {
            Err(self.unexpected())
        } else {
            Ok(PipelineStage::Simple(command))
        }
    }

    /// Bash writes a substitution out and reads it again, redirections last; then the word is reserved.
    fn not_reserved_again(&self, word: &super::word::Pieces, command: &Command) -> ReadText<()> {
        if self.frame.nested
            && !command.redirects.is_empty()
            && command.assignments.is_empty()
            && word.bare().is_some_and(super::cursor::is_reserved)
        {
            return Err(ambiguous("a reserved word after a redirection"));
        }
        Ok(())
    }

    /// `{name}>file` opens a descriptor of the shell's choice.
    fn not_a_descriptor(&self, word: &super::word::Pieces) -> ReadText<()> {
        let redirected = matches!(self.byte(0), Some(b'<' | b'>'));
        match word.bare() {
            Some(text) if redirected && text.starts_with('{') && text.ends_with('}') => {
                Err(ambiguous("a descriptor kept in a variable"))
            }
            _ => Ok(()),
        }
    }

    /// `name ()`
    fn function_or_error(&mut self, command: &Command, begin: usize) -> ReadText<PipelineStage> {
        let before = self.slice(begin, self.at).trim_end_matches([' ', '\t']);
        let alone = command.assignments.is_empty() && command.redirects.is_empty();
        let name = match command.words.as_slice() {
            [Word::Literal(name)] if alone && name == before => name.clone(),
            _ => return Err(self.unexpected()),
        };
        self.take_operator(1)?;
        self.blanks();
        if self.byte(0) != Some(b')') {
            return Err(self.unexpected());
        }
        self.take_operator(1)?;
        self.operator("()");
        self.function_body(name)
    }

    pub(super) fn redirects(&mut self) -> ReadText<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    fn redirect(&mut self) -> ReadText<Option<Redirect>> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let (sign, next) = (self.byte(digits), self.byte(digits + 1));
        match (sign, next) {
            (Some(b'<' | b'>'), Some(b'(')) => return Ok(None),
            (Some(b'<' | b'>'), _) => {}
            (Some(b'&'), Some(b'>')) if digits == 0 => {}
            (Some(b'\\'), Some(b'\n')) if digits > 0 => {
                return Err(ambiguous("a number over two lines"));
            }
            _ => return Ok(None),
        }
        let fd: Option<u32> = match self.slice(self.at, self.at + digits) {
            "" => None,
            text if text.len() <= 9 => text.parse().ok(),
            _ => return Err(Opaque::Syntax("a descriptor number that is too large".into())),
        };
        self.at += digits;
        let (kind, operator) = self.redirect_operator()?;
        self.take_operator(operator.len())?;
        self.blanks();
        self.frame.shape.push(mark::REDIRECT);
        if let Some(fd) = fd {
            self.frame.shape.push_str(&fd.to_string());
        }
        self.frame.shape.push_str(operator);
        let target = self.target(kind, operator)?;
        Ok(Some(Redirect { fd, kind, target }))
    }

    fn redirect_operator(&self) -> ReadText<(RedirectKind, &'static str)> {
        use RedirectKind as K;
        const OPERATORS: [(&str, RedirectKind); 13] = [
            ("&>>", K::BothAppend),
            ("<<<", K::HereString),
            ("<<-", K::HereDocument),
            ("&>", K::Both),
            ("<<", K::HereDocument),
            (">>", K::Append),
            ("<&", K::DuplicateInput),
            (">&", K::DuplicateOutput),
            ("<>", K::ReadWrite),
            (">|", K::Clobber),
            ("<", K::Read),
            (">", K::Write),
            ("", K::Write),
        ];
        let found = OPERATORS.into_iter().find(|(text, _)| self.rest().starts_with(text));
        found
            .filter(|(text, _)| !text.is_empty())
            .map(|(text, kind)| (kind, text))
            .ok_or_else(|| self.unexpected())
    }

    fn target(&mut self, kind: RedirectKind, operator: &str) -> ReadText<Word> {
        let duplicates =
            matches!(kind, RedirectKind::DuplicateInput | RedirectKind::DuplicateOutput);
        if duplicates && self.byte(0) == Some(b'-') {
            self.at += 1;
            self.note_word(self.at - 1);
            return Ok(Word::Literal("-".into()));
        }
        if kind == RedirectKind::HereDocument {
            return self.here_document(operator == "<<-");
        }
        let word = self.word(PieceKind::Plain)?;
        let number = word.bare().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
        if number && !duplicates && matches!(self.byte(0), Some(b'<' | b'>')) {
            return Err(self.unexpected());
        }
        self.not_a_descriptor(&word)?;
        if kind == RedirectKind::HereString {
            return Ok(self.single(word, WordPlace::Value));
        }
        self.one_field(word)
    }

    pub(super) fn note_redirect(&mut self, fd: Option<u32>, operator: &str, target: &str) {
        let fd = fd.map(|fd| fd.to_string()).unwrap_or_default();
        let (redirect, word) = (mark::REDIRECT, mark::WORD);
        self.frame.shape.push_str(&format!("{redirect}{fd}{operator}{word}{target}"));
    }

    /// The name behind `for`, `select` or `function`.
    pub(super) fn name(&mut self, strict: bool) -> ReadText<String> {
        self.blanks();
        let word = self.word(PieceKind::Plain)?;
        match word.bare() {
            Some(name) if is_name(name) => Ok(name.to_owned()),
            Some(name) if !strict && !name.contains(['$', '*', '?', '[', '{', '~', '=']) => {
                Ok(name.to_owned())
            }
            _ => Err(ambiguous("an invalid name")),
        }
    }
}
