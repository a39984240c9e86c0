//! What a `$` starts.

use super::arithmetic::Close;
use super::word::{Quote, WordPiece};
use super::{MASK, ReadText, ScriptReader, ambiguous};
use ostler_policy::script::{Dynamic, Form, Script, WordPart};

impl ScriptReader<'_> {
    /// At a `$`: an expansion, a quote, or the character itself.
    pub(super) fn dollar(&mut self, quote: Quote, list: &mut Vec<WordPiece>) -> ReadText<()> {
        let quoted = quote.is_quoted();
        let opened = self.at;
        let (part, why) = match (self.byte(1), self.byte(2)) {
            (Some(b'('), Some(b'(')) => {
                self.at += 3;
                let expression = self.arithmetic(Close::Parentheses)?;
                (WordPart::Arithmetic { expression, quoted }, Dynamic::Arithmetic)
            }
            (Some(b'('), _) => {
                self.at += 2;
                let script = self.nested_script(MASK, opened)?;
                (WordPart::Command { script, quoted }, Dynamic::CommandSubstitution)
            }
            (Some(b'['), _) => {
                self.at += 2;
                let expression = self.arithmetic(Close::Bracket)?;
                (WordPart::Arithmetic { expression, quoted }, Dynamic::Arithmetic)
            }
            (Some(b'{'), _) => {
                let part = self.braced_parameter(quote)?;
                // What follows cannot become part of the name.
                list.extend([
                    WordPiece::Part(part, Dynamic::Parameter),
                    WordPiece::Quoted(String::new()),
                ]);
                return Ok(());
            }
            (Some(b'\\'), Some(b'\n')) => return Err(ambiguous("a line that ends in a dollar")),
            (Some(b'\''), _) if !quoted => return self.ansi_quoted(list),
            (Some(b'"'), _) if !quoted => {
                self.at += 1;
                return self.double_quoted(list);
            }
            (Some(byte), _) => match self.simple_name(byte)? {
                Some(name) => {
                    let (form, scripts) = (Form::Value, Vec::new());
                    (WordPart::Parameter { name, form, quoted, scripts }, Dynamic::Parameter)
                }
                None => return self.lone_dollar(quote, list),
            },
            (None, _) => return self.lone_dollar(quote, list),
        };
        list.push(WordPiece::Part(part, why));
        Ok(())
    }

    fn lone_dollar(&mut self, quote: Quote, list: &mut Vec<WordPiece>) -> ReadText<()> {
        if quote.is_quoted() {
            list.push(WordPiece::Quoted("$".into()));
            self.at += 1;
        } else {
            self.bare(list, 1);
        }
        Ok(())
    }

    /// `$name`, `$1`, `$?`
    fn simple_name(&mut self, first: u8) -> ReadText<Option<String>> {
        let length = match first {
            b'*' | b'@' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9' => 1,
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                let name = self.text.get(self.at + 1..).unwrap_or_default();
                name.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
            }
            _ => return Ok(None),
        };
        let end = self.at + 1 + length;
        let name = self.text.get(self.at + 1..end).unwrap_or_default().to_owned();
        self.at = end;
        if first.is_ascii_alphabetic() || first == b'_' {
            self.no_continued_name()?;
        }
        Ok(Some(name))
    }

    /// The shell joins a name that is cut by a line end.
    pub(super) fn no_continued_name(&self) -> ReadText<()> {
        let joined = self.rest().trim_start_matches("\\\n");
        let goes_on = joined.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        if self.at_continuation() && goes_on {
            return Err(ambiguous("a name over two lines"));
        }
        Ok(())
    }
}

/// What the part runs.
pub(super) fn scripts_of(part: WordPart) -> Vec<Script> {
    match part {
        WordPart::Command { script, .. } | WordPart::Process(script) => vec![script],
        WordPart::Parameter { scripts, .. } => scripts,
        WordPart::Arithmetic { expression, .. } => expression.scripts,
        WordPart::Literal(_) | WordPart::Glob(_) | WordPart::Tilde(_) | WordPart::Other(_) => {
            Vec::new()
        }
    }
}
