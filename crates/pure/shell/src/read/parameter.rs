//! `${…}`: which parameter, what is done with it, and what that runs.

use super::arithmetic::Close;
use super::dollar::scripts_of;
use super::word::{Quote, WordPiece};
use super::{ReadText, ScriptReader, ambiguous};
use ostler_policy::script::{Form, Opaque, Script, WordPart};

struct ParameterFound {
    form: Form,
    scripts: Vec<Script>,
}

impl ParameterFound {
    /// The form that says most about what may happen.
    fn raise(&mut self, form: Form) {
        let rank = |form: Form| match form {
            Form::Value => 0,
            Form::Made => 1,
            Form::Set => 2,
            Form::Evaluated => 3,
        };
        if rank(form) > rank(self.form) {
            self.form = form;
        }
    }
}

impl ScriptReader<'_> {
    pub(super) fn braced_parameter(&mut self, quote: Quote) -> ReadText<WordPart> {
        self.enter()?;
        self.at += 2;
        let mut found = ParameterFound { form: Form::Value, scripts: Vec::new() };
        let second_is_end = self.byte(1) == Some(b'}');
        match self.byte(0) {
            Some(b'#') if !second_is_end => {
                self.at += 1;
                found.raise(Form::Made);
            }
            Some(b'!') if !second_is_end => {
                self.at += 1;
                found.raise(Form::Evaluated);
            }
            _ => {}
        }
        let length = found.form == Form::Made;
        let name = self.parameter_name()?;
        if self.byte(0) == Some(b'[') {
            self.subscript(quote, &mut found)?;
        }
        if length && self.byte(0) != Some(b'}') {
            return Err(ambiguous("a length of something else"));
        }
        if self.byte(0) != Some(b'}') {
            self.operation(quote, &mut found)?;
        }
        if self.byte(0) != Some(b'}') {
            return Err(ambiguous("a parameter expansion of an unknown kind"));
        }
        self.at += 1;
        self.leave();
        let ParameterFound { form, scripts } = found;
        Ok(WordPart::Parameter { name, form, quoted: quote.is_quoted(), scripts })
    }

    fn parameter_name(&mut self) -> ReadText<String> {
        let rest = self.rest();
        let length = match rest.bytes().next() {
            Some(b'*' | b'@' | b'#' | b'?' | b'-' | b'$' | b'!') => 1,
            Some(b'0'..=b'9') => rest.bytes().take_while(u8::is_ascii_digit).count(),
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
                rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
            }
            _ => return Err(ambiguous("a parameter expansion of an unknown kind")),
        };
        self.at += length;
        if self.at_continuation() {
            return Err(ambiguous("a name over two lines"));
        }
        Ok(rest.get(..length).unwrap_or_default().to_owned())
    }

    fn subscript(&mut self, quote: Quote, found: &mut ParameterFound) -> ReadText<()> {
        self.at += 1;
        let start = self.at;
        let expression = self.arithmetic(Close::Subscript)?;
        if quote.is_quoted() && self.slice(start, self.at).contains(['"', '\'']) {
            return Err(ambiguous("quotes inside quotes"));
        }
        let whole = matches!(expression.source.as_str(), "@" | "*");
        let number = expression.source.bytes().all(|byte| byte.is_ascii_digit());
        if !whole && (!number || expression.source.is_empty()) {
            found.raise(Form::Evaluated);
        }
        found.scripts.extend(expression.scripts);
        Ok(())
    }

    fn operation(&mut self, quote: Quote, found: &mut ParameterFound) -> ReadText<()> {
        match (self.byte(0), self.byte(1)) {
            (Some(b':'), Some(b'=')) | (Some(b'='), _) => {
                self.at += if self.byte(0) == Some(b':') { 2 } else { 1 };
                found.raise(Form::Set);
                self.operand(quote, found)
            }
            (Some(b':'), Some(b'-' | b'+' | b'?')) => {
                self.at += 2;
                found.raise(Form::Made);
                self.operand(quote, found)
            }
            (Some(b':'), _) => {
                found.raise(Form::Made);
                while self.byte(0) == Some(b':') {
                    self.at += 1;
                    let expression = self.arithmetic(Close::Slice)?;
                    if !expression.plain {
                        found.raise(Form::Evaluated);
                    }
                    found.scripts.extend(expression.scripts);
                }
                Ok(())
            }
            (Some(b'@'), Some(letter)) if self.byte(2) == Some(b'}') => {
                let form = match letter {
                    b'P' => Form::Evaluated,
                    b'Q' | b'U' | b'u' | b'L' | b'A' | b'a' | b'K' | b'k' | b'E' => Form::Made,
                    _ => return Err(ambiguous("a parameter expansion of an unknown kind")),
                };
                found.raise(form);
                self.at += 2;
                Ok(())
            }
            // `${!x*}` and `${!x@}` list names.
            (Some(b'*' | b'@'), Some(b'}')) => {
                self.at += 1;
                Ok(())
            }
            (Some(b'-' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b','), _) => {
                self.at += 1;
                found.raise(Form::Made);
                self.operand(quote, found)
            }
            _ => Err(ambiguous("a parameter expansion of an unknown kind")),
        }
    }

    /// Up to the closing brace.
    fn operand(&mut self, quote: Quote, found: &mut ParameterFound) -> ReadText<()> {
        let mut list = Vec::new();
        loop {
            let before = self.at;
            match (self.byte(0), self.byte(1)) {
                (None, _) => return Err(Opaque::Syntax("an expansion that is not closed".into())),
                (Some(b'}'), _) => break,
                (Some(b'\\'), None | Some(b'\n')) => {
                    return Err(ambiguous("a line that ends inside an expansion"));
                }
                (Some(b'\\'), Some(_)) => {
                    self.at += 1;
                    self.at += self.rest().chars().next().map_or(0, char::len_utf8);
                }
                (Some(b'\'' | b'"'), _) if quote.is_quoted() => {
                    return Err(ambiguous("quotes inside a quoted expansion"));
                }
                (Some(b'\''), _) => drop(self.single_quoted()?),
                (Some(b'"'), _) => self.double_quoted(&mut list)?,
                (Some(b'<' | b'>'), Some(b'(')) => {
                    return Err(ambiguous("a process substitution inside an expansion"));
                }
                (Some(b'$'), Some(b'\'')) if !quote.is_quoted() => {
                    self.ansi_quoted(&mut list)?;
                    if !list.last().is_some_and(is_plain) {
                        return Err(ambiguous("an escaped string inside an expansion"));
                    }
                }
                (Some(b'$' | b'`'), _) => self.expansion(quote, &mut list)?,
                _ => {
                    let mut text = String::new();
                    self.at += 1;
                    self.take_until(&mut text, b"}\\'\"<>$`");
                }
            }
            if self.at == before {
                self.at += 1;
            }
        }
        for piece in list {
            if let WordPiece::Part(part, _) = piece {
                match &part {
                    // A variable that an operand sets would be known under the outer name only.
                    WordPart::Parameter { form: Form::Set, .. } => found.raise(Form::Evaluated),
                    WordPart::Parameter { form, .. } => found.raise(*form),
                    WordPart::Arithmetic { expression, .. } if !expression.plain => {
                        found.raise(Form::Evaluated);
                    }
                    _ => {}
                }
                found.scripts.extend(scripts_of(part));
            }
        }
        Ok(())
    }
}

/// Bash puts what `$'…'` makes into the text without quotes where the expansion stands in a quoted substitution:
/// `"$(echo ${s=$'\x24(date)'})"` runs `date`.
fn is_plain(piece: &WordPiece) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " \t\n,.:_/-".contains(c);
    matches!(piece, WordPiece::Quoted(text) if text.chars().all(plain))
}
