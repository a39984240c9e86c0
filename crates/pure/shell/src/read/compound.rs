//! Commands made of commands.

use super::arithmetic::Close;
use super::word::PieceKind;
use super::word_assembly::WordPlace;
use super::{ReadText, ScriptReader, ambiguous};
use ostler_policy::script::*;

impl ScriptReader<'_> {
    /// The command that starts with this reserved word.
    pub(super) fn compound(&mut self, word: &str) -> ReadText<PipelineStage> {
        if word == "coproc" {
            return self.coprocess();
        }
        if word == "function" {
            self.at += word.len();
            return self.function();
        }
        self.enter()?;
        let body = self.compound_body(word)?;
        self.leave();
        let redirects = self.redirects()?;
        Ok(PipelineStage::Compound { body, redirects })
    }

    fn compound_body(&mut self, word: &str) -> ReadText<Compound> {
        match word {
            "{" => {
                self.expect("{")?;
                let script = self.some_list()?;
                self.expect("}")?;
                Ok(Compound::Group(script))
            }
            "if" => self.if_command(),
            "while" | "until" => {
                let until = word == "until";
                self.expect(if until { "until" } else { "while" })?;
                let condition = self.some_list()?;
                Ok(Compound::While { until, condition, body: self.do_group()? })
            }
            "for" | "select" => self.for_command(if word == "for" { "for" } else { "select" }),
            "case" => self.case_command(),
            "[[" => self.test_command(),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn subshell(&mut self) -> ReadText<PipelineStage> {
        let body = self.subshell_body()?;
        let redirects = self.redirects()?;
        Ok(PipelineStage::Compound { body, redirects })
    }

    fn subshell_body(&mut self) -> ReadText<Compound> {
        self.enter()?;
        self.take_operator(1)?;
        self.operator("(");
        let script = self.some_list()?;
        if self.byte(0) != Some(b')') {
            return Err(self.unexpected());
        }
        self.take_operator(1)?;
        self.operator(")");
        self.leave();
        Ok(Compound::Subshell(script))
    }

    pub(super) fn arithmetic_command(&mut self) -> ReadText<PipelineStage> {
        let body = self.arithmetic_body()?;
        let redirects = self.redirects()?;
        Ok(PipelineStage::Compound { body, redirects })
    }

    fn arithmetic_body(&mut self) -> ReadText<Compound> {
        self.at += 2;
        let start = self.at;
        let expression = self.arithmetic(Close::Parentheses)?;
        self.note_expression("((", start, self.at - 2);
        Ok(Compound::Arithmetic(expression))
    }

    fn note_expression(&mut self, opener: &str, start: usize, end: usize) {
        let mut raw = self.raw(start, end);
        raw.retain(|c| !c.is_ascii_whitespace());
        self.operator(opener);
        self.frame.shape.push_str(&raw);
    }

    fn if_command(&mut self) -> ReadText<Compound> {
        self.expect("if")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.some_list()?;
            self.expect("then")?;
            branches.push((condition, self.some_list()?));
            if !self.at_reserved("elif")? {
                break;
            }
            self.expect("elif")?;
        }
        let mut otherwise = None;
        if self.at_reserved("else")? {
            self.expect("else")?;
            otherwise = Some(self.some_list()?);
        }
        self.expect("fi")?;
        Ok(Compound::If { branches, otherwise })
    }

    fn do_group(&mut self) -> ReadText<Script> {
        self.expect("do")?;
        let script = self.some_list()?;
        self.expect("done")?;
        Ok(script)
    }

    /// `do … done`, or `{ … }`, which is the same behind `for`.
    fn loop_body(&mut self) -> ReadText<Script> {
        self.lines()?;
        if !self.at_reserved("{")? {
            return self.do_group();
        }
        self.expect("{")?;
        let script = self.some_list()?;
        self.expect("}")?;
        Ok(script)
    }

    fn for_command(&mut self, word: &'static str) -> ReadText<Compound> {
        self.expect(word)?;
        self.blanks();
        if self.rest().starts_with("((") && word == "for" {
            return self.arithmetic_for();
        }
        let variable = self.name(true)?;
        self.blanks();
        let mut values = None;
        if self.byte(0) == Some(b';') {
            self.take_operator(1)?;
        } else {
            self.lines()?;
            if self.at_reserved("in")? {
                self.expect("in")?;
                values = Some(self.values()?);
            }
        }
        Ok(Compound::For { variable, values, body: self.loop_body()? })
    }

    fn values(&mut self) -> ReadText<Vec<Word>> {
        let mut values = Vec::new();
        loop {
            self.blanks();
            match (self.byte(0), self.byte(1)) {
                (Some(b'\n'), _) => {
                    self.line_end()?;
                    return Ok(values);
                }
                (Some(b';'), Some(b';' | b'&')) => return Err(self.unexpected()),
                (Some(b';'), _) => {
                    self.take_operator(1)?;
                    return Ok(values);
                }
                _ => {
                    let word = self.word(PieceKind::Plain)?;
                    self.fields(word, &mut values)?;
                }
            }
        }
    }

    fn arithmetic_for(&mut self) -> ReadText<Compound> {
        self.at += 2;
        let mut part = |opener: &str, last: bool| -> ReadText<Expression> {
            let start = self.at;
            let expression = self.arithmetic(Close::Header)?;
            self.note_expression(opener, start, self.at);
            if (self.byte(0) == Some(b';')) == last {
                return Err(self.unexpected());
            }
            self.at += if last { 2 } else { 1 };
            Ok(expression)
        };
        let header = [part("((", false)?, part(";", false)?, part(";", true)?];
        self.blanks();
        if self.byte(0) == Some(b';') {
            self.take_operator(1)?;
        }
        Ok(Compound::ArithmeticFor { header, body: self.loop_body()? })
    }

    fn case_command(&mut self) -> ReadText<Compound> {
        self.expect("case")?;
        self.blanks();
        let value = self.word(PieceKind::Plain)?;
        let value = self.single(value, WordPlace::Value);
        self.lines()?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.lines()?;
            if self.at_reserved("esac")? {
                break;
            }
            let (arm, last) = self.arm()?;
            arms.push(arm);
            if last {
                break;
            }
        }
        self.expect("esac")?;
        Ok(Compound::Case { value, arms })
    }

    fn arm(&mut self) -> ReadText<(Arm, bool)> {
        if self.byte(0) == Some(b'(') {
            self.take_operator(1)?;
            self.blanks();
        }
        self.operator("arm");
        let mut patterns = Vec::new();
        loop {
            self.blanks();
            let word = self.word(PieceKind::Plain)?;
            patterns.push(self.single(word, WordPlace::Pattern));
            self.blanks();
            match (self.byte(0), self.byte(1)) {
                (Some(b'|'), Some(b'|' | b'&')) => return Err(self.unexpected()),
                (Some(b'|'), _) => self.take_operator(1)?,
                (Some(b')'), _) => break,
                _ => return Err(self.unexpected()),
            }
        }
        self.take_operator(1)?;
        self.operator(")");
        let body = self.list()?;
        let body = (!body.items.is_empty()).then_some(body);
        self.lines()?;
        let end = [";;&", ";;", ";&"].into_iter().find(|end| self.rest().starts_with(end));
        self.operator(end.unwrap_or(";;"));
        if let Some(end) = end {
            self.take_operator(end.len())?;
        }
        Ok((Arm { patterns, body }, end.is_none()))
    }

    fn function(&mut self) -> ReadText<PipelineStage> {
        let name = self.name(false)?;
        // The name was noted as a word; the shape of both spellings is the same from here.
        self.blanks();
        if self.byte(0) == Some(b'(') {
            self.take_operator(1)?;
            self.blanks();
            if self.byte(0) != Some(b')') {
                return Err(self.unexpected());
            }
            self.take_operator(1)?;
        }
        self.operator("()");
        self.function_body(name)
    }

    pub(super) fn function_body(&mut self, name: String) -> ReadText<PipelineStage> {
        self.lines()?;
        self.enter()?;
        let body = match (self.byte(0), self.byte(1)) {
            (Some(b'('), Some(b'(')) => self.arithmetic_body()?,
            (Some(b'('), _) => self.subshell_body()?,
            _ => match self.reserved()? {
                Some(
                    word @ ("{" | "if" | "while" | "until" | "for" | "select" | "case" | "[["),
                ) => self.compound_body(word)?,
                _ => return Err(self.unexpected()),
            },
        };
        self.leave();
        let redirects = self.redirects()?;
        let body = Compound::Function { name, body: Box::new(body), redirects };
        Ok(PipelineStage::Compound { body, redirects: Vec::new() })
    }

    fn coprocess(&mut self) -> ReadText<PipelineStage> {
        self.expect("coproc")?;
        if self.frame.nested {
            // Bash writes the command out and reads it again, with a name that was not there.
            return Err(ambiguous("coproc inside a substitution"));
        }
        self.enter()?;
        self.blanks();
        let start = self.at;
        let first = self.bare_word();
        let plain = super::assign::is_name(first) && self.reserved()?.is_none();
        let mut name = None;
        if plain {
            self.at += first.len();
            self.blanks();
            match (self.byte(0), self.reserved()?) {
                (_, Some("{")) => {
                    name = Some(first.to_owned());
                    self.operator(first);
                }
                (Some(b'('), _) | (_, Some(_)) => {
                    return Err(ambiguous("a name that may belong to coproc"));
                }
                _ => self.at = start,
            }
        }
        let body = match self.reserved()? {
            Some("!" | "time" | "coproc" | "function") => return Err(self.unexpected()),
            _ => self.stage()?,
        };
        if matches!(&body, PipelineStage::Compound { body: Compound::Function { .. }, .. }) {
            return Err(self.unexpected());
        }
        self.leave();
        let body = Compound::Coprocess { name, body: Box::new(body) };
        Ok(PipelineStage::Compound { body, redirects: Vec::new() })
    }
}
