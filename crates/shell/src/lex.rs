//! A second reading of plain text, made independently of the parser.
//!
//! It knows words, quotes, operators, comments and simple here-documents, exactly as bash splits them, and declines
//! everything else. A command is proved harmless only when this reading and the parser's agree token for token: a
//! slip in one of the two then costs a proof, not safety.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Operator(String),
    /// As written, with line continuations removed.
    Word(String),
}

/// Longest first.
const OPERATORS: [&str; 23] = [
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", "<<", ">>", "<&", ">&", "<>",
    ">|", "&", "|", ";", "<", ">", "(", ")",
];

/// `None`: there is something in it that this reading does not know.
pub(crate) fn plain(text: &str) -> Option<Vec<Token>> {
    let mut lexer =
        Lexer { chars: text.chars().collect(), at: 0, tokens: Vec::new(), pending: Vec::new() };
    lexer.run()?;
    Some(lexer.tokens)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    pending: Vec<HereDocument>,
}

/// A here-document whose body starts after the end of the line.
struct HereDocument {
    /// Where its body belongs among the tokens.
    index: usize,
    end: String,
    expands: bool,
    strip_tabs: bool,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn at_continuation(&self) -> bool {
        self.peek(0) == Some('\\') && self.peek(1) == Some('\n')
    }

    fn skip_continuations(&mut self) {
        while self.at_continuation() {
            self.at += 2;
        }
    }

    fn run(&mut self) -> Option<()> {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' => self.at += 1,
                _ if self.at_continuation() => self.at += 2,
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '\n' => self.line_end()?,
                _ if is_operator_char(c) => self.operator()?,
                _ => {
                    let word = self.word()?;
                    self.tokens.push(Token::Word(word));
                }
            }
        }
        self.pending.is_empty().then_some(())
    }

    fn operator(&mut self) -> Option<()> {
        let rest = self.chars.get(self.at..)?;
        let operator =
            OPERATORS.into_iter().find(|op| op.chars().eq(rest.iter().copied().take(op.len())))?;
        self.at += operator.len();
        if self.at_continuation() {
            self.skip_continuations();
            // The shell would join the halves of an operator across the line end.
            if self.peek(0).is_some_and(|c| is_operator_char(c) || c == '-') {
                return None;
            }
        }
        if matches!(operator, "<" | ">" | "(") && self.peek(0) == Some('(') {
            return None;
        }
        self.tokens.push(Token::Operator(operator.into()));
        if matches!(operator, "<<" | "<<-") {
            self.here_document(operator == "<<-")?;
        }
        Some(())
    }

    fn here_document(&mut self, strip_tabs: bool) -> Option<()> {
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let tag = self.word()?;
        let quote = tag.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let end = match quote {
            Some(quote) => tag.strip_prefix(quote)?.strip_suffix(quote)?,
            None => tag.as_str(),
        };
        let simple = !end.is_empty() && end.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !simple {
            return None;
        }
        let end = end.to_owned();
        self.tokens.push(Token::Word(tag));
        self.pending.push(HereDocument {
            index: self.tokens.len(),
            end,
            expands: quote.is_none(),
            strip_tabs,
        });
        Some(())
    }

    fn line_end(&mut self) -> Option<()> {
        self.at += 1;
        for (earlier, document) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let body = self.here_body(&document)?;
            if document.expands && body.contains(['$', '`', '\\']) {
                return None;
            }
            let index = document.index + 2 * earlier;
            self.tokens.insert(index, Token::Word(body));
            self.tokens.insert(index + 1, Token::Word(document.end));
        }
        self.tokens.push(Token::Operator("\n".into()));
        Some(())
    }

    fn here_body(&mut self, document: &HereDocument) -> Option<String> {
        let mut body = String::new();
        loop {
            self.peek(0)?;
            let rest = self.chars.get(self.at..)?;
            let line: String = rest.iter().take_while(|c| **c != '\n').collect();
            self.at += line.chars().count();
            let ended = self.peek(0).is_some();
            if ended {
                self.at += 1;
            }
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { &line };
            if line == document.end {
                return Some(body);
            }
            if !ended {
                return None;
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    fn word(&mut self) -> Option<String> {
        let mut raw = String::new();
        while let Some(c) = self.peek(0) {
            match c {
                _ if is_word_end(c) => break,
                '\\' if self.at_continuation() => self.at += 2,
                // Here the parser is known to open another kind of quote.
                '\\' if self.peek(1) == Some('$') && self.peek(2) == Some('\'') => return None,
                '\\' => {
                    raw.extend([c, self.peek(1)?]);
                    self.at += 2;
                }
                '\'' => self.until_quote(&mut raw)?,
                '"' => self.double_quoted(&mut raw)?,
                '$' => match self.peek(1) {
                    Some('\'') => self.ansi_quoted(&mut raw)?,
                    Some(next) if !is_word_end(next) || next == '(' => return None,
                    _ => self.take(&mut raw),
                },
                '`' => return None,
                _ if c.is_ascii_graphic() || c.is_alphanumeric() => self.take(&mut raw),
                _ => return None,
            }
        }
        (!raw.is_empty()).then_some(raw)
    }

    fn take(&mut self, raw: &mut String) {
        raw.extend(self.peek(0));
        self.at += 1;
    }

    /// From a single quote to the next one.
    fn until_quote(&mut self, raw: &mut String) -> Option<()> {
        self.take(raw);
        while self.peek(0)? != '\'' {
            self.take(raw);
        }
        self.take(raw);
        Some(())
    }

    fn ansi_quoted(&mut self, raw: &mut String) -> Option<()> {
        self.take(raw);
        self.take(raw);
        loop {
            match self.peek(0)? {
                '\'' => break,
                '\\' if self.at_continuation() => return None,
                '\\' => {
                    self.take(raw);
                    self.peek(0)?;
                    self.take(raw);
                }
                _ => self.take(raw),
            }
        }
        self.take(raw);
        Some(())
    }

    fn double_quoted(&mut self, raw: &mut String) -> Option<()> {
        self.take(raw);
        loop {
            match self.peek(0)? {
                '"' => break,
                '`' => return None,
                '\\' if self.at_continuation() => self.at += 2,
                '\\' => {
                    self.take(raw);
                    self.peek(0)?;
                    self.take(raw);
                }
                '$' if !matches!(self.peek(1)?, '"' | ' ' | '|' | ')' | '/' | ',' | '.' | ':') => {
                    return None;
                }
                _ => self.take(raw),
            }
        }
        self.take(raw);
        Some(())
    }
}

fn is_operator_char(c: char) -> bool {
    matches!(c, '&' | '|' | ';' | '<' | '>' | '(' | ')')
}

fn is_word_end(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n') || is_operator_char(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let shown = |token: Token| match token {
            Token::Operator(text) => format!("{text:?}"),
            Token::Word(text) => text,
        };
        plain(text).map(|tokens| tokens.into_iter().map(shown).collect::<Vec<_>>().join(" · "))
    }

    #[test]
    fn plain_text() {
        let cases = [
            ("ls -la", "ls · -la"),
            ("ls|wc -l;pwd", r#"ls · "|" · wc · -l · ";" · pwd"#),
            ("ls 2>&1 >/dev/null", r#"ls · 2 · ">&" · 1 · ">" · /dev/null"#),
            ("a&&b||c |& d &>> e", r#"a · "&&" · b · "||" · c · "|&" · d · "&>>" · e"#),
            ("ls a\\ b 'c d' \"e f\" $'g\\'h'", r#"ls · a\ b · 'c d' · "e f" · $'g\'h'"#),
            ("ls # no 'quote\npwd", r#"ls · "\n" · pwd"#),
            ("ls a#b", "ls · a#b"),
            ("git \\\n  status", "git · status"),
            ("l\\\ns", "ls"),
            ("ls |\\\nwc", r#"ls · "|" · wc"#),
            ("grep x$ f", "grep · x$ · f"),
            ("grep \"x$\" f", "grep · \"x$\" · f"),
            ("grep '\\$' f", "grep · '\\$' · f"),
            (
                "cat <<'E' | wc\na $x\nE\nls",
                "cat · \"<<\" · 'E' · a $x\n · E · \"|\" · wc · \"\\n\" · ls",
            ),
            (
                "cat <<A <<-B\n1\nA\n\t2\n\tB",
                "cat · \"<<\" · A · 1\n · A · \"<<-\" · B · 2\n · B · \"\\n\"",
            ),
            ("( ls )", r#""(" · ls · ")""#),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn declined() {
        for text in [
            "ls $x",
            "ls ${x}",
            "ls $(x)",
            "ls \"$x\"",
            "ls `x`",
            "ls \"`x`\"",
            "ls $((1))",
            "ls $[1]",
            "ls $\"x\"",
            "ls <(x)",
            "ls >(x)",
            "((x))",
            "ls 'a",
            "ls \"a",
            "ls $'a",
            "ls \\",
            "ls $'a\\\nb'",
            "ls &\\\n& x",
            "cat <<E\n$x\nE",
            "cat <<E\n\\x\nE",
            "cat <<E\nno end",
            "cat <<E",
            "cat <<'E'x\nE'x\n",
            "cat <<$x\n",
            "cat <<\\E\nE",
            "ls —",
            "ls $$'a'",
            "ls \\$'a'",
            "cat <<\"\"\n\n",
        ] {
            assert_eq!(plain(text), None, "{text:?}");
        }
    }
}
