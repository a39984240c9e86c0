//! The programs that are known to be read-only, as data. Each entry carries its own examples.
//!
//! An entry lists what is *known*, not what is dangerous: an option that is not here, an abbreviation of one that
//! is, or a value of another shape, and the command is not proved. Left out on purpose are options that write
//! (`sort -o`), run something (`rg --pre`), never end (`tail -f`), take names from a file (`--files0-from`) or
//! follow links out of the tree (`grep -R`).

mod basics;
mod contents;
pub(crate) mod git;
mod git_history;
pub(crate) mod git_refs;
mod layout;
mod system;
mod text;

use ostler_policy::TouchKind;

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Letters that take no value.
    pub(crate) short: &'static str,
    pub(crate) short_values: &'static [(char, Takes, Value)],
    /// Without `--`.
    pub(crate) long: &'static [&'static str],
    pub(crate) long_values: &'static [(&'static str, Takes, Value)],
    /// `-20`
    pub(crate) count: Count,
    pub(crate) operands: Operands,
    /// How many operands there may be.
    pub(crate) most: usize,
    /// An operand with a leading sign has a meaning of its own, even after `--`.
    pub(crate) signs_mean: bool,
    /// None of its options does harm, listed or not: a file name that looks like one is fine.
    pub(crate) any_option: bool,
    #[allow(dead_code, reason = "examples are for readers and tests")]
    pub(crate) matches: &'static [&'static str],
    #[allow(dead_code, reason = "examples are for readers and tests")]
    pub(crate) misses: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Its value is glued to it, or the next word.
    Always,
    /// Glued to it, or none.
    Maybe,
    /// Glued to it.
    Glued,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    No,
    /// Only as the first word.
    First,
    Anywhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Anything, options included.
    Words,
    /// No files; each of this shape.
    Fit(Value),
    /// With `Tree`, the working directory when there is none.
    Files(TouchKind),
    /// A pattern, unless an option of `given_by` gave it, then files.
    PatternAndFiles {
        /// Options that make it walk directories; empty: it always does.
        tree_if: &'static [&'static str],
        given_by: &'static [&'static str],
    },
    /// Of git.
    Revisions,
    /// Of printf.
    Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Any,
    Number,
    /// `5`, `+5`, `-5`, `10K`
    Size,
    /// `1.5`
    Decimal,
    /// `0.5s`
    Duration,
    /// `1,3-5`
    Fields,
    /// `2,2nr`
    SortKey,
    OneOf(&'static [&'static str]),
    /// `+%Y-%m-%d`
    DateFormat,
    /// A name without a slash.
    Name,
    PrintfFormat,
    /// How git prints a commit.
    PrettyFormat,
    /// How git prints a ref.
    RefFormat,
    /// `10,20:file`, `:name:file`
    LineRange,
    /// A variable whose name does not sound like a secret.
    Variable,
    /// Seven digits before the point and three behind it, at most.
    Step,
}

impl Value {
    pub(crate) fn fits(self, text: &str) -> bool {
        let digits =
            |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        match self {
            Value::Any => true,
            Value::Number => digits(text),
            Value::Size => {
                let number = text.strip_prefix(['+', '-']).unwrap_or(text);
                let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
                let (number, unit) = number.split_at(end);
                digits(number)
                    && ["", "b", "k", "K", "M", "G", "kB", "KB", "MB", "GB", "KiB", "MiB"]
                        .contains(&unit)
            }
            Value::Decimal => match text.split_once('.') {
                Some((whole, fraction)) => digits(whole) && digits(fraction),
                None => digits(text),
            },
            Value::Duration => {
                Value::Decimal.fits(text.strip_suffix(['s', 'm', 'h']).unwrap_or(text))
            }
            Value::Fields => {
                !text.is_empty()
                    && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'-'))
            }
            Value::SortKey => {
                text.starts_with(|c: char| c.is_ascii_digit())
                    && text.bytes().all(|b| b.is_ascii_digit() || b",.bdfgiMhnRrV".contains(&b))
            }
            Value::OneOf(choices) => choices.contains(&text),
            Value::DateFormat => text.starts_with('+'),
            Value::Name => !text.is_empty() && !text.contains('/') && !text.starts_with('-'),
            Value::PrintfFormat => printf_only_prints(text),
            Value::PrettyFormat => git::pretty_only_prints(text),
            Value::RefFormat => git::ref_only_prints(text),
            Value::LineRange => line_range(text).is_some(),
            Value::Variable => is_plain_variable(text),
            Value::Step => {
                let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
                digits(whole) && whole.len() <= 7 && digits(fraction) && fraction.len() <= 3
            }
        }
    }
}

/// The file of `git log -L`. Of the ways to name its lines only numbers and plain names are known.
pub(crate) fn line_range(text: &str) -> Option<&str> {
    let (lines, file) = match text.strip_prefix(':') {
        Some(named) => named.split_once(':')?,
        None => text.split_once(':')?,
    };
    let is_number = |part: &str| {
        let digits = part.strip_prefix(['+', '-']).unwrap_or(part);
        (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let known = match text.starts_with(':') {
        true => !lines.is_empty() && lines.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
        false => lines.split(',').count() <= 2 && lines.split(',').all(is_number),
    };
    (known && !file.is_empty() && !file.starts_with(':')).then_some(file)
}

/// Names of variables that often hold a secret.
const SECRETS: &[&str] = &[
    "KEY", "TOKEN", "SECRET", "PASS", "PWD_", "CRED", "AUTH", "PRIVATE", "COOKIE", "SESSION",
    "DSN", "CERT", "SIGN", "SALT", "PIN", "OTP", "JWT", "PAT", "URL", "URI", "CONN", "PROXY",
    "WEBHOOK", "ACCOUNT", "LICENSE",
];

fn is_plain_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fine = matches!(
        name,
        "PATH"
            | "MANPATH"
            | "PYTHONPATH"
            | "GOPATH"
            | "NODE_PATH"
            | "LD_LIBRARY_PATH"
            | "PWD"
            | "OLDPWD"
    );
    let secret = SECRETS.iter().any(|part| upper.contains(part));
    !name.is_empty() && name.chars().all(legal) && (fine || !secret)
}

/// `%n` stores into a variable whose name, subscript included, bash evaluates. So every conversion must be known.
fn printf_only_prints(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let after = after.trim_start_matches(['-', '+', ' ', '0', '#']);
        let width = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let precise = width
            .strip_prefix('.')
            .unwrap_or(width)
            .trim_start_matches(|c: char| c.is_ascii_digit());
        // A width of millions is memory of millions.
        if after.len() - precise.len() > 6 {
            return false;
        }
        let mut conversion = precise.chars();
        match conversion.next() {
            Some(
                '%' | 's' | 'b' | 'q' | 'c' | 'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'e' | 'E' | 'f'
                | 'F' | 'g' | 'G',
            ) => {
                rest = conversion.as_str();
            }
            Some('(') => match conversion.as_str().split_once(")T") {
                Some((time, after)) if !time.contains(['(', ')']) => rest = after,
                _ => return false,
            },
            _ => return false,
        }
    }
    true
}

pub(crate) fn programs() -> impl Iterator<Item = &'static Program> {
    let tables = [
        basics::PROGRAMS,
        text::PROGRAMS,
        layout::PROGRAMS,
        contents::PROGRAMS,
        &contents::SUMS,
        system::PROGRAMS,
        &system::BARES,
    ];
    tables.into_iter().flatten()
}

pub(crate) fn program(name: &str) -> Option<&'static Program> {
    programs().find(|program| program.name == name)
}

pub(crate) fn git_subcommands() -> impl Iterator<Item = &'static Program> {
    let tables = [git::SUBCOMMANDS, git_history::SUBCOMMANDS, git_refs::SUBCOMMANDS];
    tables.into_iter().flatten()
}

pub(crate) fn git_subcommand(name: &str) -> Option<&'static Program> {
    git_subcommands().find(|program| program.name == name)
}

/// Known by name only: no option, no operand.
pub(crate) const BARE: Program = Program {
    name: "",
    short: "",
    short_values: &[],
    long: &[],
    long_values: &[],
    count: Count::No,
    operands: Operands::Fit(Value::OneOf(&[])),
    most: usize::MAX,
    signs_mean: false,
    any_option: false,
    matches: &[],
    misses: &[],
};
