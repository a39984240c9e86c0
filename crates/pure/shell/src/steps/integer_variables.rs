//! Variables that hold integers wherever the text sets them. Bash evaluates what the names of an expression hold, so an
//! expression is understood only if all its names are such variables.

use super::names::{self, VariableKind};
use ostler_policy::script::*;
use std::collections::HashSet;

/// Stands for any number in a word. A file of this name is taken for one that is not known.
pub(super) const ANY: &str = "7190353";

#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Set to integers only, or to what a counting program prints, which can be nothing.
    names: HashSet<String>,
    /// Of them those that may be empty.
    maybe_empty: HashSet<String>,
    /// Set in any way at all.
    set: HashSet<String>,
    /// What sets variables is not known.
    lost: bool,
    /// Names that have been set at this point of the text.
    held: Vec<String>,
    /// Another text runs this one, and may have set any variable.
    inside: bool,
}

/// One token of an expression that holds nothing but numbers, names and operators.
enum Token {
    Number,
    Name(String),
    Operator(char),
}

impl Numbers {
    pub(super) fn of(script: &Script) -> Self {
        let mut found = VariableSearch::default();
        found.script(script);
        let VariableSearch { good, bad, maybe_empty, lost } = found;
        let set: HashSet<String> = good.union(&bad).cloned().collect();
        let fine = |name: &&String| !lost && names::class(name) == VariableKind::Own;
        let names = good.difference(&bad).filter(fine).cloned().collect();
        Numbers { names, maybe_empty, set, lost, held: Vec::new(), inside: false }
    }

    /// Of a text that `eval` or a shell is given.
    pub(super) fn of_nested(script: &Script) -> Self {
        Numbers { inside: true, ..Numbers::of(script) }
    }

    pub(super) fn count(&self) -> usize {
        self.held.len()
    }

    /// What was entered since there were so many.
    pub(super) fn forget(&mut self, count: usize) {
        self.held.truncate(count);
    }

    /// From here on the variable is set.
    pub(super) fn enter(&mut self, name: &str) {
        if self.names.contains(name) {
            self.held.push(name.to_owned());
        }
    }

    fn holds(&self, name: &str) -> bool {
        self.held.iter().any(|held| held == name)
    }

    /// The names that the expression may set, if evaluating it does nothing else.
    pub(super) fn understood(&self, expression: &Expression) -> Option<Vec<String>> {
        let tokens = tokens(expression)?;
        let first = first_set(&tokens);
        let known = |(at, token): (usize, &Token)| match token {
            Token::Name(name) => self.holds(name) || at == 0 && first == Some(name),
            Token::Number | Token::Operator(_) => true,
        };
        let fine = tokens.iter().enumerate().all(known);
        let own = first.is_none_or(|name| self.names.contains(name));
        (fine && own).then(|| set_by(&tokens))
    }

    /// `i=0` at the beginning of `for ((…` sets the variable.
    pub(super) fn enter_header(&mut self, expression: &Expression) {
        let tokens = tokens(expression).unwrap_or_default();
        if let Some(name) = first_set(&tokens) {
            self.enter(name);
        }
    }

    /// The word with a number in place of what is only known to be one. None: it is no such word.
    pub(super) fn resolve(&self, word: &Word, number: &str, in_test: bool) -> Option<Word> {
        let Word::Dynamic { parts, source, .. } = word else { return None };
        if parts.is_empty() || source.contains('[') {
            return None;
        }
        let glued = parts.len() > 1;
        let mut text = String::new();
        for part in parts {
            match part {
                WordPart::Literal(literal) => text.push_str(literal),
                WordPart::Parameter { name, form: Form::Value, quoted, .. } => {
                    let whole = glued || *quoted || in_test || !self.maybe_empty.contains(name);
                    let unset = in_test && self.is_never_set(name);
                    if !(self.holds(name) && whole || unset) {
                        return None;
                    }
                    text.push_str(number);
                }
                WordPart::Command { script, quoted }
                    if glued || in_test || *quoted || is_nproc(script) =>
                {
                    prints_number(script).then(|| text.push_str(number))?;
                }
                WordPart::Arithmetic { expression, .. } => {
                    let plain = expression.plain && !expression.source.trim().is_empty();
                    (plain || self.understood(expression).is_some())
                        .then(|| text.push_str(number))?;
                }
                _ => return None,
            }
        }
        Some(Word::Literal(text))
    }

    /// Nothing in the text sets it: it is empty, or what the environment of the whole session says.
    fn is_never_set(&self, name: &str) -> bool {
        let lower = name.starts_with(|c: char| c.is_ascii_lowercase());
        !self.lost
            && !self.inside
            && lower
            && names::class(name) == VariableKind::Own
            && !self.set.contains(name)
    }
}

/// The number that the word holds may be below zero.
pub(super) fn may_be_negative(word: &Word) -> bool {
    match word {
        Word::Dynamic { parts, .. } => parts
            .iter()
            .any(|p| matches!(p, WordPart::Parameter { .. } | WordPart::Arithmetic { .. })),
        _ => false,
    }
}

fn tokens(expression: &Expression) -> Option<Vec<Token>> {
    if !expression.scripts.is_empty() {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = expression.source.as_str();
    while let Some(c) = rest.chars().next() {
        let bare = rest.strip_prefix('$').unwrap_or(rest);
        let braced = rest.strip_prefix("${");
        let start = braced.unwrap_or(bare);
        let end = start.find(|c| !is_name(c)).unwrap_or(start.len());
        let (word, after) = start.split_at_checked(end)?;
        let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        rest = match (braced.is_some(), word.chars().next()) {
            (true, Some(first)) if !first.is_ascii_digit() => after.strip_prefix('}')?,
            (true, _) => return None,
            (false, Some(_)) if digits && c == '$' => return None,
            // `08` is an error and `16#f` another base.
            (false, Some(_)) if digits && !after.starts_with('#') => after,
            (false, Some(first)) if !first.is_ascii_digit() => after,
            (false, None) if " \t\n+-*/%<>=!&|^~?:,()".contains(c) => {
                tokens.push(Token::Operator(c));
                rest = rest.get(1..)?;
                continue;
            }
            _ => return None,
        };
        tokens.push(if digits { Token::Number } else { Token::Name(word.to_owned()) });
    }
    Some(tokens)
}

/// `name = …`: the name.
fn first_set(tokens: &[Token]) -> Option<&String> {
    let mut rest = tokens.iter().filter(|token| !is_blank(token));
    match (tokens.first(), rest.nth(1), rest.next()) {
        (Some(Token::Name(_)), Some(Token::Operator('=')), Some(Token::Operator('='))) => None,
        (Some(Token::Name(name)), Some(Token::Operator('=')), _) => Some(name),
        _ => None,
    }
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Operator(' ' | '\t' | '\n'))
}

/// Every name, if there is an assignment in it at all.
fn set_by(tokens: &[Token]) -> Vec<String> {
    let text: String = tokens
        .iter()
        .map(|token| match token {
            Token::Operator(c) => *c,
            Token::Number | Token::Name(_) => 'x',
        })
        .collect();
    let plain = ["==", "<=", ">=", "!="].iter().fold(text, |text, equal| text.replace(equal, ""));
    if !(plain.contains('=') || plain.contains("++") || plain.contains("--")) {
        return Vec::new();
    }
    let name = |token: &Token| match token {
        Token::Name(name) => Some(name.clone()),
        _ => None,
    };
    tokens.iter().filter_map(name).collect()
}

/// It does not fail.
fn is_nproc(script: &Script) -> bool {
    let words = match script.items.as_slice() {
        [Item { first, .. }] => match first.stages.as_slice() {
            [PipelineStage::Simple(command)] => command.words.as_slice(),
            _ => return false,
        },
        _ => return false,
    };
    matches!(words, [Word::Literal(name)] if name == "nproc")
}

/// What it prints is a number, or nothing if it fails.
pub(super) fn prints_number(script: &Script) -> bool {
    let [Item { first, rest, background: false }] = script.items.as_slice() else { return false };
    let Some(PipelineStage::Simple(Command { assignments, words, redirects })) =
        first.stages.last()
    else {
        return false;
    };
    // With `2>&1` a message could be among what it prints.
    let quiet = |redirect: &Redirect| match (redirect.kind, redirect.fd) {
        (RedirectKind::Read, None | Some(0)) => true,
        (RedirectKind::Write, Some(2)) => redirect.target.literal() == Some("/dev/null"),
        _ => false,
    };
    let Some(words) = words.iter().map(Word::literal).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let counts = |words: &[&str]| {
        let options: Vec<&&str> = words.iter().filter(|word| word.starts_with('-')).collect();
        let known = |option: &&&str| option.bytes().skip(1).all(|b| b"civEFwx".contains(&b));
        let counts = options.iter().any(|option| option.contains('c'));
        counts && options.iter().all(known) && (1..=2).contains(&(words.len() - options.len()))
    };
    let number = match words.as_slice() {
        ["wc", "-l" | "-c" | "-w" | "-m"]
        | ["nproc"]
        | ["nproc", "--all"]
        | ["id", "-u" | "-g"]
        | ["date", "+%s"] => true,
        ["git", "rev-list", "--count", revisions @ ..] => revisions.len() == 1,
        ["grep", words @ ..] => counts(words),
        _ => false,
    };
    number
        && rest.is_empty()
        && !first.timed
        && assignments.is_empty()
        && redirects.iter().all(quiet)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (1..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Every way in which the text sets variables.
#[derive(Default)]
struct VariableSearch {
    good: HashSet<String>,
    bad: HashSet<String>,
    maybe_empty: HashSet<String>,
    lost: bool,
}

#[cfg(test)]
#[path = "integer_variables_tests.rs"]
mod tests;
#[path = "variable_setters.rs"]
mod variable_setters;
