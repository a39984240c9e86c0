//! Rules that spell out a wrapper together with what it starts: `Bash(timeout 8 npm run dev:*)`.

use super::commands::{Commands, Position, Step};
use super::rule::{Matcher, Rule};
use super::script::Word;

/// What the rules say of a command that stands behind a wrapper, where they spell out everything in front of it.
pub(super) fn rules_behind(rules: &[Rule], commands: &Commands, step: &Step) -> Vec<Rule> {
    let mut found = Vec::new();
    for before in in_front(commands, step) {
        for rule in rules {
            let Matcher::Command(pattern) = &rule.matcher else { continue };
            if let Some(rest) = pattern.behind(before) {
                let mut behind = rule.clone();
                behind.matcher = Matcher::Command(rest);
                found.push(behind);
            }
        }
    }
    found
}

/// The rule that speaks of a wrapper around the step, and leaves open what that starts.
pub(super) fn rule_around<'a>(
    rules: &'a [Rule],
    commands: &Commands,
    step: &Step,
) -> Option<(&'a Rule, String)> {
    let outer = outer(commands, step)?;
    let name = outer.compared().first().and_then(Word::literal)?;
    let speaks = |rule: &&Rule| match &rule.matcher {
        Matcher::Command(pattern) => {
            pattern.words().len() == 1 && pattern.is_open() && pattern.matches(outer.compared())
        }
        _ => false,
    };
    rules.iter().find(speaks).map(|rule| (rule, name.to_owned()))
}

fn outer<'a>(commands: &'a Commands, step: &Step) -> Option<&'a Step> {
    let is_wrapped = step.position == Position::Wrapped;
    commands.steps.get(step.inside.filter(|_| is_wrapped)?)
}

/// The words in front of the step, for each wrapper around it that only hands over.
fn in_front<'a>(commands: &'a Commands, step: &Step) -> Vec<&'a [Word]> {
    let mut found = Vec::new();
    let mut inner = step;
    while let Some(around) = outer(commands, inner).filter(|around| around.transparent) {
        match around.words.strip_suffix(step.words.as_slice()) {
            Some(before) if !before.is_empty() => found.push(before),
            _ => break,
        }
        inner = around;
    }
    found
}
