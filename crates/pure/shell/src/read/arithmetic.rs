//! Arithmetic expressions and subscripts: where they end, and what runs inside.

use super::dollar::scripts_of;
use super::quote::unclosed;
use super::word::{Quote, WordPiece};
use super::{ReadText, ScriptReader, ambiguous};
use ostler_policy::script::{Expression, Opaque};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// `))`
    Parentheses,
    /// `]` of `$[…]`
    Bracket,
    /// `]` behind the name of an array; quotes may stand in it.
    Subscript,
    /// A part of `for ((…; …; …))`: `;` or `))`, which is left standing.
    Header,
    /// A part of `${x:…:…}`: `:` or `}`, which is left standing.
    Slice,
}

impl ScriptReader<'_> {
    /// Reads to behind what closes it.
    pub(super) fn arithmetic(&mut self, close: Close) -> ReadText<Expression> {
        self.enter()?;
        let start = self.at;
        let mut expression = Expression { plain: true, ..Expression::default() };
        let (opening, closing) = match close {
            Close::Bracket | Close::Subscript => (b'[', b']'),
            Close::Parentheses | Close::Header | Close::Slice => (b'(', b')'),
        };
        let mut open = 0_usize;
        let end = loop {
            let Some(byte) = self.byte(0) else { return Err(unclosed_expression()) };
            match byte {
                b';' if close == Close::Header && open == 0 => break self.at,
                b':' | b'}' if close == Close::Slice && open == 0 => break self.at,
                b'?' if close == Close::Slice => {
                    return Err(ambiguous("a condition in a substring"));
                }
                _ if byte == closing && open == 0 && close != Close::Slice => {
                    break self.close(close)?;
                }
                b'$' | b'`' | b'\'' | b'"' | b'\\' => {
                    expression.plain = false;
                    self.inside(close, &mut expression)?;
                }
                _ => {
                    if byte == opening {
                        open += 1;
                    } else if byte == closing {
                        open = open.checked_sub(1).ok_or_else(|| self.unexpected())?;
                    }
                    if open > 100 {
                        return Err(Opaque::TooDeep);
                    }
                    expression.plain &=
                        byte.is_ascii_digit() || b" \t\n+-*/%<>=!&|^~?:,()".contains(&byte);
                    self.at += 1;
                }
            }
        };
        expression.source = self.text.get(start..end).unwrap_or_default().to_owned();
        self.leave();
        Ok(expression)
    }

    fn close(&mut self, close: Close) -> ReadText<usize> {
        let end = self.at;
        match close {
            Close::Bracket | Close::Subscript => self.at += 1,
            Close::Parentheses | Close::Header | Close::Slice => {
                if self.byte(1) != Some(b')') {
                    return Err(ambiguous("two parentheses that may be arithmetic or not"));
                }
                if close == Close::Parentheses {
                    self.at += 2;
                }
            }
        }
        Ok(end)
    }

    fn inside(&mut self, close: Close, expression: &mut Expression) -> ReadText<()> {
        let mut list = Vec::new();
        match self.byte(0) {
            Some(b'$') if matches!(self.byte(1), Some(b'\'' | b'"')) => {
                return Err(ambiguous("a quote in an expression"));
            }
            Some(b'$' | b'`') => self.expansion(Quote::Arithmetic, &mut list)?,
            Some(b'\'') if close == Close::Subscript => drop(self.single_quoted()?),
            Some(b'"') if close == Close::Subscript => self.double_quoted(&mut list)?,
            Some(_) => return Err(ambiguous("a quote in an expression")),
            None => return Err(unclosed()),
        }
        for piece in list {
            if let WordPiece::Part(part, _) = piece {
                expression.scripts.extend(scripts_of(part));
            }
        }
        Ok(())
    }
}

fn unclosed_expression() -> Opaque {
    Opaque::Syntax("an expression that is not closed".into())
}
