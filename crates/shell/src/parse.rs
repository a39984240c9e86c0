//! Text to [`Script`]. The only file that knows the parser crate.
//!
//! The parser is recursive and backtracks, so a hostile text could exhaust the stack or the clock. Before it runs,
//! everything that could make it nest or try again is counted; beyond the bounds a text is opaque.

use crate::{lex, screen, word};
use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Part, IoFileRedirectTarget as Target};
use brush_parser::{ParserOptions, Token};
use ostler_core::permission::script::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Longer texts have no second reading.
pub(crate) const MAX_PLAIN_CHARS: usize = 10_000;
/// Up to here nested constructs fit any ordinary stack: a level was measured to take at most 21 KB, unoptimised.
const MAX_INLINE_OPENERS: usize = 16;
/// Up to here they fit the stack of a thread made for it.
const MAX_OPENERS: usize = 512;
const BIG_STACK: usize = 32 * 1024 * 1024;
/// How many tokens the parser may look at, counting those it looks at again: each nested parenthesis and each
/// `case` can double its work. (A token takes some 6 µs, unoptimised.)
const MAX_WORK: usize = 300_000;
/// How deep the result may be.
const MAX_DEPTH: usize = 48;

/// What a text says.
pub(crate) struct Reading {
    pub(crate) script: Script,
    /// Both readings agree. Without it nothing may be called harmless.
    pub(crate) plain: bool,
}

pub(crate) fn read(text: &str) -> Result<Reading, Opaque> {
    screen::check(text)?;
    let short = text.len() <= MAX_PLAIN_CHARS || text.chars().count() <= MAX_PLAIN_CHARS;
    let plain = short.then(|| lex::plain(text)).flatten();
    if let (None, Some(slip)) = (&plain, known_slip(text)) {
        return Err(Opaque::Ambiguous(slip.into()));
    }
    let expansions =
        text.as_bytes().windows(2).filter(|pair| matches!(*pair, b"$(" | b"${" | b"$[")).count();
    let tokens = with_stack(expansions, || tokenize(text))?;
    if plain.as_ref().is_some_and(|plain| !same(plain, &tokens)) {
        return Err(Opaque::Ambiguous("its words can be split differently".into()));
    }
    let openers = count_openers(&tokens)?;
    let script = with_stack(openers, || {
        let program = brush_parser::parse_tokens(&tokens, &options())
            .map_err(|e| Opaque::Syntax(e.to_string()))?;
        Converter { text }.program(&program)
    })?;
    Ok(Reading { script, plain: plain.is_some() })
}

/// As `bash -c` starts: extended patterns are off.
fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

fn tokenize(text: &str) -> Result<Vec<Token>, Opaque> {
    brush_parser::uncached_tokenize_str(text, &options().tokenizer_options())
        .map_err(|e| Opaque::Syntax(e.to_string()))
}

/// Runs the parser where its recursion fits. It must not panic, but if it does, the text is opaque.
fn with_stack<T: Send>(
    openers: usize,
    work: impl FnOnce() -> Result<T, Opaque> + Send,
) -> Result<T, Opaque> {
    let guarded = || catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Opaque::ParserFailed));
    if openers <= MAX_INLINE_OPENERS {
        return guarded();
    }
    if openers > MAX_OPENERS {
        return Err(Opaque::TooDeep);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(BIG_STACK).spawn_scoped(scope, guarded);
        thread.map_err(|_| Opaque::ParserFailed)?.join().unwrap_or(Err(Opaque::ParserFailed))
    })
}

fn same(plain: &[lex::Token], tokens: &[Token]) -> bool {
    let equal = |pair: (&lex::Token, &Token)| match pair {
        (lex::Token::Operator(a), Token::Operator(b, _))
        | (lex::Token::Word(a), Token::Word(b, _)) => a == b,
        _ => false,
    };
    plain.len() == tokens.len() && plain.iter().zip(tokens).all(equal)
}

/// Where the parser is known to end a quote elsewhere than bash does, or not to end at all. Only asked about texts
/// that have no second reading, and answered for any text that could be meant.
fn known_slip(text: &str) -> Option<&'static str> {
    if text.contains("\\$'") || text.contains("$$'") {
        return Some("a quote after an escaped dollar");
    }
    let quote_inside =
        |part: &str| part.split('}').next().is_some_and(|inner| inner.contains('\''));
    if text.split("${").skip(1).any(quote_inside) {
        return Some("a quote inside ${…}");
    }
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("<<")) {
        let start = at + found;
        let after = text.get(start..).unwrap_or_default().trim_start_matches('<');
        let signs = text.len() - after.len() - start;
        let here_string =
            signs.is_multiple_of(3) && !text.get(..start).unwrap_or_default().ends_with('\\');
        if !here_string && !starts_with_tag(after) {
            return Some("a here-document with an unusual end");
        }
        at = start + signs;
    }
    None
}

/// A here-document whose end is empty makes the parser run for ever, so it must be a plain name, quoted or not.
fn starts_with_tag(text: &str) -> bool {
    let tag = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
    let quote = tag.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let tag = tag.strip_prefix(['\'', '"', '\\']).unwrap_or(tag);
    let rest = tag.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let rest_after_quote = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote));
    let ended = rest_after_quote.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '&', '|', '<', '>', ')'])
    });
    rest.len() < tag.len() && ended
}

/// How often the parser could nest, at most. Refuses what would make it try again and again.
fn count_openers(tokens: &[Token]) -> Result<usize, Opaque> {
    let (mut openers, mut depth, mut deepest, mut cases, mut joins) = (0, 0_usize, 0, 0, 0);
    let mut in_tests = false;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            // Only the body of a here-document ends so, and it is no word of the grammar.
            Token::Word(text, _) if text.ends_with('\n') => {}
            Token::Word(text, _) => match text.as_str() {
                "{" | "if" | "while" | "until" | "for" | "select" | "coproc" | "function" => {
                    openers += 1
                }
                "case" => cases += 1,
                "[[" => in_tests = true,
                "!" => joins += 1,
                _ => check_word(text, tokens.get(index + 1))?,
            },
            Token::Operator(text, _) => match text.as_str() {
                "(" => {
                    openers += 1;
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                ")" => depth = depth.saturating_sub(1),
                "&&" | "||" => joins += 1,
                _ => {}
            },
        }
    }
    let doublings = u32::try_from(deepest + cases).unwrap_or(u32::MAX);
    let work = 2_usize.checked_pow(doublings).and_then(|times| times.checked_mul(tokens.len()));
    if work.is_none_or(|work| work > MAX_WORK) {
        return Err(Opaque::TooDeep);
    }
    Ok(openers + cases + if in_tests { joins + 1 } else { 0 })
}

fn check_word(text: &str, next: Option<&Token>) -> Result<(), Opaque> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    if digits
        && text.len() > 9
        && matches!(next, Some(Token::Operator(op, _)) if op.starts_with(['<', '>']))
    {
        return Err(Opaque::Syntax("a descriptor number that is too large".into()));
    }
    let name = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let index = text.get(name..).and_then(|rest| rest.strip_prefix('['));
    match index {
        Some(index) if name > 0 && (index.contains(['(', '[', '`']) || index.contains("${")) => {
            Err(Opaque::Ambiguous("an array index that is itself an expression".into()))
        }
        _ => Ok(()),
    }
}

struct Converter<'a> {
    text: &'a str,
}

impl Converter<'_> {
    fn program(&self, program: &ast::Program) -> Result<Script, Opaque> {
        let mut items = Vec::new();
        for list in &program.complete_commands {
            items.extend(self.list(list, 0)?.items);
        }
        Ok(Script { items })
    }

    fn list(&self, list: &ast::CompoundList, depth: usize) -> Result<Script, Opaque> {
        if depth > MAX_DEPTH {
            return Err(Opaque::TooDeep);
        }
        let mut items = Vec::new();
        for ast::CompoundListItem(list, separator) in &list.0 {
            let first = self.pipeline(&list.first, depth)?;
            let mut rest = Vec::new();
            for next in &list.additional {
                rest.push(match next {
                    ast::AndOr::And(pipeline) => (Join::And, self.pipeline(pipeline, depth)?),
                    ast::AndOr::Or(pipeline) => (Join::Or, self.pipeline(pipeline, depth)?),
                });
            }
            let background = matches!(separator, ast::SeparatorOperator::Async);
            items.push(Item { first, rest, background });
        }
        Ok(Script { items })
    }

    fn pipeline(&self, pipeline: &ast::Pipeline, depth: usize) -> Result<Pipeline, Opaque> {
        let stages = pipeline
            .seq
            .iter()
            .map(|command| self.stage(command, depth))
            .collect::<Result<_, _>>()?;
        Ok(Pipeline { negated: pipeline.bang, timed: pipeline.timed.is_some(), stages })
    }

    fn stage(&self, command: &ast::Command, depth: usize) -> Result<Stage, Opaque> {
        let (body, redirects) = match command {
            ast::Command::Simple(simple) => return Ok(Stage::Simple(self.simple(simple))),
            ast::Command::Compound(compound, redirects) => {
                (self.compound(compound, depth + 1)?, redirects)
            }
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                let body = Box::new(self.compound(body, depth + 1)?);
                let (name, redirects) =
                    (function.fname.value.clone(), self.redirects(redirects.as_ref()));
                (Compound::Function { name, body, redirects }, &None)
            }
            ast::Command::ExtendedTest(test, redirects) => {
                let mut words = Vec::new();
                test_words(&test.expr, &mut words);
                (Compound::Test(words), redirects)
            }
        };
        Ok(Stage::Compound { body, redirects: self.redirects(redirects.as_ref()) })
    }

    fn compound(&self, compound: &ast::CompoundCommand, depth: usize) -> Result<Compound, Opaque> {
        use ast::CompoundCommand as C;
        Ok(match compound {
            C::Arithmetic(arithmetic) => {
                // The parser takes `( ( x ) )` for `((x))`; to bash it is a subshell in a subshell.
                let mut start = self.text.chars().skip(arithmetic.loc.start.index);
                if (start.next(), start.next()) != (Some('('), Some('(')) {
                    return Err(Opaque::Ambiguous("parentheses that are no arithmetic".into()));
                }
                Compound::Arithmetic(written(&arithmetic.expr.value))
            }
            C::ArithmeticForClause(clause) => {
                let part = |e: &Option<ast::UnexpandedArithmeticExpr>| {
                    e.as_ref().map_or(Expression::default(), |e| written(&e.value))
                };
                let header =
                    [part(&clause.initializer), part(&clause.condition), part(&clause.updater)];
                Compound::ArithmeticFor { header, body: self.list(&clause.body.list, depth)? }
            }
            C::BraceGroup(group) => Compound::Group(self.list(&group.list, depth)?),
            C::Subshell(subshell) => Compound::Subshell(self.list(&subshell.list, depth)?),
            C::ForClause(clause) => Compound::For {
                variable: clause.variable_name.clone(),
                values: clause.values.as_deref().map(words),
                body: self.list(&clause.body.list, depth)?,
            },
            C::CaseClause(clause) => {
                let arm = |item: &ast::CaseItem| {
                    let body = item.cmd.as_ref().map(|body| self.list(body, depth)).transpose()?;
                    Ok(Arm { patterns: words(&item.patterns), body })
                };
                let arms = clause.cases.iter().map(arm).collect::<Result<_, Opaque>>()?;
                Compound::Case { value: word::read(&clause.value.value), arms }
            }
            C::IfClause(clause) => self.if_clause(clause, depth)?,
            C::WhileClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                let (condition, body) =
                    (self.list(condition, depth)?, self.list(&body.list, depth)?);
                Compound::While { until: false, condition, body }
            }
            C::UntilClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                let (condition, body) =
                    (self.list(condition, depth)?, self.list(&body.list, depth)?);
                Compound::While { until: true, condition, body }
            }
            C::Coprocess(coprocess) => Compound::Coprocess {
                name: coprocess.name.as_ref().map(|name| name.value.clone()),
                body: Box::new(self.stage(&coprocess.body, depth)?),
            },
        })
    }

    fn if_clause(&self, clause: &ast::IfClauseCommand, depth: usize) -> Result<Compound, Opaque> {
        let mut branches =
            vec![(self.list(&clause.condition, depth)?, self.list(&clause.then, depth)?)];
        let mut otherwise = None;
        for part in clause.elses.iter().flatten() {
            let body = self.list(&part.body, depth)?;
            match &part.condition {
                Some(condition) => branches.push((self.list(condition, depth)?, body)),
                None => otherwise = Some(body),
            }
        }
        Ok(Compound::If { branches, otherwise })
    }

    fn simple(&self, simple: &ast::SimpleCommand) -> Command {
        let mut command = Command::default();
        for part in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match part {
                Part::AssignmentWord(assignment, _) => {
                    command.assignments.push(self.assignment(assignment))
                }
                _ => self.part(part, &mut command),
            }
        }
        command.words.extend(simple.word_or_name.as_ref().map(|name| word::read(&name.value)));
        for part in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.part(part, &mut command);
        }
        command
    }

    fn part(&self, part: &Part, command: &mut Command) {
        match part {
            Part::IoRedirect(redirect) => command.redirects.push(self.redirect(redirect)),
            Part::Word(text) => command.words.push(word::read(&text.value)),
            Part::AssignmentWord(assignment, text) => command.words.push(match assignment.value {
                ast::AssignmentValue::Scalar(_) => word::read(&text.value),
                ast::AssignmentValue::Array(_) => Word::Dynamic {
                    why: Dynamic::Array,
                    source: text.value.clone(),
                    parts: Vec::new(),
                },
            }),
            Part::ProcessSubstitution(kind, body) => command.words.push(self.process(kind, body)),
        }
    }

    fn assignment(&self, assignment: &ast::Assignment) -> Assignment {
        let (name, index) = match &assignment.name {
            ast::AssignmentName::VariableName(name) => (name.clone(), None),
            ast::AssignmentName::ArrayElementName(name, index) => {
                (name.clone(), Some(written(index)))
            }
        };
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(value) => Assigned::Scalar(word::read(&value.value)),
            ast::AssignmentValue::Array(elements) => {
                let read = |word: &ast::Word| word::read(&word.value);
                Assigned::Array(
                    elements
                        .iter()
                        .map(|(key, value)| (key.as_ref().map(read), read(value)))
                        .collect(),
                )
            }
        };
        Assignment { name, index, append: assignment.append, value }
    }

    fn process(&self, kind: &ast::ProcessSubstitutionKind, body: &ast::SubshellCommand) -> Word {
        let sign = match kind {
            ast::ProcessSubstitutionKind::Read => '<',
            ast::ProcessSubstitutionKind::Write => '>',
        };
        let inner = self.text.chars().skip(body.loc.start.index).take(body.loc.length());
        Word::Dynamic {
            why: Dynamic::ProcessSubstitution,
            source: std::iter::once(sign).chain(inner).collect(),
            parts: Vec::new(),
        }
    }

    fn redirects(&self, redirects: Option<&ast::RedirectList>) -> Vec<Redirect> {
        redirects.iter().flat_map(|list| &list.0).map(|redirect| self.redirect(redirect)).collect()
    }

    fn redirect(&self, redirect: &ast::IoRedirect) -> Redirect {
        let (fd, kind, target) = match redirect {
            ast::IoRedirect::File(fd, kind, target) => {
                let target = match target {
                    Target::Filename(target) | Target::Duplicate(target) => {
                        word::read(&target.value)
                    }
                    Target::Fd(fd) => Word::Literal(fd.to_string()),
                    Target::ProcessSubstitution(kind, body) => self.process(kind, body),
                };
                (fd, file_kind(kind), target)
            }
            ast::IoRedirect::HereDocument(fd, document) => {
                let body = word::here_document(&document.doc.value, document.requires_expansion);
                (fd, RedirectKind::HereDocument, body)
            }
            ast::IoRedirect::HereString(fd, text) => {
                (fd, RedirectKind::HereString, word::read(&text.value))
            }
            ast::IoRedirect::OutputAndError(target, append) => {
                let kind = if *append { RedirectKind::BothAppend } else { RedirectKind::Both };
                (&None, kind, word::read(&target.value))
            }
        };
        Redirect { fd: fd.and_then(|fd| u32::try_from(fd).ok()), kind, target }
    }
}

/// What its substitutions run is not looked for.
fn written(source: &str) -> Expression {
    Expression { source: source.into(), ..Expression::default() }
}

fn words(words: &[ast::Word]) -> Vec<Word> {
    words.iter().map(|word| word::read(&word.value)).collect()
}

fn file_kind(kind: &ast::IoFileRedirectKind) -> RedirectKind {
    match kind {
        ast::IoFileRedirectKind::Read => RedirectKind::Read,
        ast::IoFileRedirectKind::Write => RedirectKind::Write,
        ast::IoFileRedirectKind::Append => RedirectKind::Append,
        ast::IoFileRedirectKind::ReadAndWrite => RedirectKind::ReadWrite,
        ast::IoFileRedirectKind::Clobber => RedirectKind::Clobber,
        ast::IoFileRedirectKind::DuplicateInput => RedirectKind::DuplicateInput,
        ast::IoFileRedirectKind::DuplicateOutput => RedirectKind::DuplicateOutput,
    }
}

fn test_words(test: &ast::ExtendedTestExpr, words: &mut Vec<Word>) {
    use ast::ExtendedTestExpr as T;
    match test {
        T::And(a, b) | T::Or(a, b) => {
            test_words(a, words);
            test_words(b, words);
        }
        T::Not(a) | T::Parenthesized(a) => test_words(a, words),
        T::UnaryTest(_, a) => words.push(word::read(&a.value)),
        T::BinaryTest(_, a, b) => words.extend([word::read(&a.value), word::read(&b.value)]),
    }
}
