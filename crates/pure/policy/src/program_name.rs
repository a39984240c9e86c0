//! A program that is named by a pattern or by what only the shell knows: it may be one that a rule forbids, so it does not
//! run without a question in any mode.

use super::commands::Step;
use super::file_pattern::{match_name, without_sets};
use super::policy::Policy;
use super::rule::{COMMANDS, Matcher, Rule, Tier};
use super::script::{Word, WordPart};

/// The deny or ask rule that may speak of the program.
pub(super) fn covered<'a>(policy: &'a Policy, step: &Step) -> Option<&'a Rule> {
    let pattern = pattern(step.compared().first()?)?;
    let could_be = |name: &str| match name.split_once('*') {
        Some((start, _)) => may_begin(&pattern, start),
        None => match_name(&pattern, name),
    };
    // Of a name that is not known at all, what ships says nothing: under it every `"$PYTHON" x.py` would ask.
    let is_unknown = pattern.chars().all(|c| c == '*');
    let speaks = |rule: &&Rule| {
        rule.names(COMMANDS)
            && !(is_unknown && rule.source.tier == Tier::BuiltIn)
            && match &rule.matcher {
                Matcher::Command(rule) => rule.words().first().is_some_and(|name| could_be(name)),
                Matcher::Regex(regex) => {
                    regex.may_name(could_be, |start| may_begin(&pattern, start))
                }
                _ => false,
            }
    };
    policy.deny.iter().chain(policy.asks()).find(speaks)
}

/// Something that the pattern matches begins like this.
fn may_begin(pattern: &str, start: &str) -> bool {
    let (head, open) = match pattern.split_once('*') {
        Some((head, _)) => (head, true),
        None => (pattern, false),
    };
    let alike = head.chars().zip(start.chars()).all(|(a, b)| a == '?' || a == b);
    alike && (open || head.chars().count() >= start.chars().count())
}

/// What the name of the program looks like, without its directory. None: it is known.
fn pattern(word: &Word) -> Option<String> {
    let whole = match word {
        Word::Literal(_) => return None,
        Word::Glob(pattern) => without_sets(pattern).replace('\\', ""),
        Word::Dynamic { parts, .. } => {
            let part = |part: &WordPart| match part {
                WordPart::Literal(text) => text.clone(),
                WordPart::Glob(pattern) => without_sets(pattern),
                _ => "*".to_owned(),
            };
            parts.iter().map(part).collect::<String>()
        }
    };
    let whole = if whole.is_empty() { "*".to_owned() } else { whole };
    Some(whole.rsplit('/').next().unwrap_or(&whole).to_owned())
}

#[cfg(test)]
#[path = "program_name_tests.rs"]
mod tests;
