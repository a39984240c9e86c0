//! Words that are not known to the letter: what they run, and what can be said of them all the same.

use super::names::{self, VariableKind};
use super::walk::{StepWalk, WalkPosition};
use crate::options::HOME;
use ostler_policy::Position;
use ostler_policy::script::*;

/// Ways that the values of several loops may be put together.
const MAX_VARIANTS: usize = 64;

/// Commands that can set a variable without showing it to this reading.
const SETTERS: &[&str] = &[
    "read",
    "mapfile",
    "readarray",
    "wait",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "let",
    "getopts",
    "eval",
    "source",
    "trap",
    "unset",
    "select",
    "coproc",
    "builtin",
    "command",
];

/// Variables whose values are known: those of loops, and those that one assignment sets.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// Names that stand once in the text but for their uses.
    names: Vec<String>,
    held: Vec<Option<(String, Vec<Word>)>>,
}

impl Bindings {
    /// Looks for names that are set once and by nothing else: they may stand in the text with a `$` before
    /// them, and once without.
    pub(super) fn of(text: &str) -> Self {
        if !(text.contains("for") || text.contains('=')) || text.len() > 10_000 {
            return Bindings::default();
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut bare: Vec<&str> = Vec::new();
        let mut start = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (start, is_name(c)) {
                (None, true) => start = Some(at),
                (Some(from), false) => {
                    let before = text.get(..from).unwrap_or_default();
                    let after = text.get(at..).unwrap_or_default();
                    let sets = after.starts_with('=') || after.starts_with(":=");
                    let used = before.ends_with('$')
                        || before.ends_with("${") && !sets
                        || at == from + 1 && is_option(before, after);
                    bare.extend(text.get(from..at).filter(|_| !used));
                    start = None;
                }
                _ => {}
            }
        }
        let sets = |name: &&str| SETTERS.contains(name);
        let prints_into = bare.contains(&"printf") && text.contains("-v");
        if bare.iter().any(sets) || prints_into {
            return Bindings::default();
        }
        bare.sort_unstable();
        let once = bare.chunk_by(|a, b| a == b).filter(|same| same.len() == 1);
        let names = once.flatten().map(|name| (*name).to_owned()).collect();
        Bindings { names, held: Vec::new() }
    }

    /// True if the values are known from here on.
    pub(super) fn enter(&mut self, variable: &str, values: Option<&[Word]>) -> bool {
        let known = |word: &Word| match word {
            // What is empty `${x:=y}` would set.
            Word::Literal(text) => !text.is_empty() && !text.contains(HOME),
            Word::Glob(_) => true,
            Word::Dynamic { .. } => false,
        };
        // `_`, `RANDOM` and their like do not keep what they are given.
        let keeps = names::class(variable) == VariableKind::Own;
        let values = values.filter(|values| {
            keeps && values.iter().all(known) && self.names.iter().any(|name| name == variable)
        });
        self.held.push(values.map(|values| (variable.to_owned(), values.to_vec())));
        values.is_some()
    }

    pub(super) fn leave(&mut self) {
        self.held.pop();
    }

    pub(super) fn count(&self) -> usize {
        self.held.len()
    }

    /// What was entered since there were so many.
    pub(super) fn forget(&mut self, count: usize) {
        self.held.truncate(count);
    }

    /// Nothing but variables with known values keeps the word from being known.
    pub(super) fn holds(&self, word: &Word) -> bool {
        let known = |part: &WordPart| match part {
            WordPart::Literal(_) => true,
            WordPart::Parameter { name, form: Form::Value, .. } => self.values(name).is_some(),
            _ => false,
        };
        match word {
            Word::Dynamic { parts, .. } => parts.iter().all(known),
            _ => true,
        }
    }

    fn values(&self, name: &str) -> Option<&[Word]> {
        let mut held = self.held.iter().flatten();
        held.find(|(held, _)| held == name).map(|(_, values)| values.as_slice())
    }

    /// The words with every loop variable in turn for each of its values. One variant if there is none.
    pub(super) fn variants(&self, words: &[Word]) -> Vec<Vec<Word>> {
        let mut used: Vec<(&str, &[Word])> = Vec::new();
        let parts = words.iter().filter_map(|word| match word {
            Word::Dynamic { parts, .. } => Some(parts),
            _ => None,
        });
        for part in parts.flatten() {
            if let WordPart::Parameter { name, form: Form::Value, .. } = part
                && let Some(values) = self.values(name)
                && !used.iter().any(|(known, _)| known == name)
            {
                used.push((name, values));
            }
        }
        let count = used.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()));
        let mut chosen: Vec<Vec<(&str, &Word)>> = vec![Vec::new()];
        if count.is_some_and(|count| (1..=MAX_VARIANTS).contains(&count)) {
            for (name, values) in used {
                let with = |choice: &Vec<(_, _)>, value| {
                    let mut choice = choice.clone();
                    choice.push((name, value));
                    choice
                };
                let each = |choice| values.iter().map(move |value| with(choice, value));
                chosen = chosen.iter().flat_map(each).collect();
            }
        }
        let variant = |choice: &Vec<_>| words.iter().map(|word| resolve(word, choice)).collect();
        chosen.iter().map(variant).collect()
    }

    /// The words with quotes around loop variables over patterns, and the directories whose names these stand for. As
    /// long as the names there are plain words, the quotes make no difference. None if there is no such variable.
    pub(super) fn quoted(&self, words: &[Word]) -> Option<(Vec<Word>, Vec<String>)> {
        let mut folders: Vec<String> = Vec::new();
        let mut quoted = words.to_vec();
        for word in &mut quoted {
            let Word::Dynamic { parts, .. } = word else { continue };
            let [WordPart::Parameter { name, form: Form::Value, quoted, .. }] =
                parts.as_mut_slice()
            else {
                continue;
            };
            if *quoted {
                continue;
            }
            for value in self.values(name)? {
                match value {
                    Word::Literal(text) if is_solid(text) => {}
                    Word::Glob(pattern) => folders.push(listed_below(pattern)?),
                    _ => return None,
                }
            }
            *quoted = true;
        }
        (!folders.is_empty()).then_some((quoted, folders))
    }
}

/// The last directory of a plain pattern that is spelled out.
fn listed_below(pattern: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "-_./+,@*?".contains(c);
    let fixed: Vec<&str> =
        pattern.split('/').take_while(|part| !part.contains(['*', '?'])).collect();
    let folder = match fixed.as_slice() {
        [] => ".".to_owned(),
        [""] => return None,
        fixed => fixed.join("/"),
    };
    pattern.chars().all(plain).then_some(folder)
}

/// `-f` between blanks: no place where a variable could be set, for what evaluates names is a doubt of its own.
fn is_option(before: &str, after: &str) -> bool {
    let dashed = before.strip_suffix('-').is_some_and(|before| before.ends_with([' ', '\t']));
    dashed && after.starts_with([' ', '\t'])
}

/// A word that is known after all: the home directory, the working directory, or a loop variable stands in it.
pub(super) fn resolve(word: &Word, chosen: &[(&str, &Word)]) -> Word {
    let Word::Dynamic { parts, source, .. } = word else { return word.clone() };
    // An element of an array is not the variable.
    if parts.is_empty() || source.contains('[') {
        return word.clone();
    }
    let whole = |name: &str| chosen.iter().find(|(known, _)| *known == name).map(|(_, word)| *word);
    if let [WordPart::Parameter { name, form: Form::Value, quoted: true, .. }] = parts.as_slice()
        && let Some(value) = whole(name)
    {
        return value.clone();
    }
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        match part {
            WordPart::Literal(literal) => text.push_str(literal),
            WordPart::Tilde(name) if index == 0 && !name.starts_with(['+', '-']) => {
                text.push(HOME);
                text.push('~');
                text.push_str(name);
            }
            WordPart::Parameter { name, form: Form::Value, quoted, .. } => {
                match (name.as_str(), whole(name)) {
                    (_, Some(Word::Literal(value))) if *quoted || is_solid(value) => {
                        text.push_str(value);
                    }
                    ("HOME", None) if *quoted && index == 0 => text.extend([HOME, '~']),
                    ("PWD", None) if *quoted && index == 0 => text.push('.'),
                    _ => return word.clone(),
                }
            }
            _ => return word.clone(),
        }
    }
    // `~x` and `.x` would be other names.
    let joined = parts.get(1).is_some_and(|part| match part {
        WordPart::Literal(literal) => !literal.is_empty() && !literal.starts_with('/'),
        _ => true,
    });
    let replaced = match parts.first() {
        Some(WordPart::Tilde(_)) => true,
        Some(WordPart::Parameter { name, .. }) => whole(name).is_none(),
        _ => false,
    };
    if replaced && joined { word.clone() } else { Word::Literal(text) }
}

/// Stays one word, and the same, without quotes.
fn is_solid(value: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:@%+=".contains(c);
    !value.is_empty() && value.chars().all(plain)
}

impl StepWalk {
    /// What the words of a step run, added inside it.
    pub(super) fn descend(&mut self, words: &[Word], index: usize) {
        let at = WalkPosition { inside: Some(index), position: Position::Substitution };
        words.iter().for_each(|word| self.word(word, at));
    }

    pub(super) fn word(&mut self, word: &Word, at: WalkPosition) {
        match word {
            Word::Literal(text) | Word::Glob(text) if text.contains(HOME) => {
                self.doubt("a word contains an invalid character");
            }
            Word::Literal(_) | Word::Glob(_) => {}
            Word::Dynamic { why, source, parts } if parts.is_empty() => {
                self.doubt(format!("{} is {}, which is not analysed", shown(source), why.name()))
            }
            Word::Dynamic { parts, source, .. } => {
                parts.iter().for_each(|part| self.part(part, source, at))
            }
        }
    }

    fn part(&mut self, part: &WordPart, source: &str, at: WalkPosition) {
        match part {
            WordPart::Literal(_) | WordPart::Glob(_) | WordPart::Tilde(_) => {}
            WordPart::Parameter { name, form, scripts, .. } => {
                match form {
                    Form::Value | Form::Made => {}
                    Form::Evaluated => {
                        self.doubt(format!("the shell evaluates what {} says", shown(source)))
                    }
                    Form::Set => {
                        self.sets(name);
                    }
                }
                scripts.iter().for_each(|script| self.substitution(script, at));
            }
            WordPart::Command { script, .. } | WordPart::Process(script) => {
                self.substitution(script, at)
            }
            WordPart::Arithmetic { expression, .. } => self.expression(expression, at),
            WordPart::Other(words) => words.iter().for_each(|word| self.word(word, at)),
        }
    }

    fn substitution(&mut self, script: &Script, at: WalkPosition) {
        self.apart(|walk| walk.script(script, at));
    }

    pub(super) fn expression(&mut self, expression: &Expression, at: WalkPosition) {
        expression.scripts.iter().for_each(|script| self.substitution(script, at));
        if expression.plain || expression.source.trim().is_empty() {
            return;
        }
        if let Some(names) = self.numbers.understood(expression) {
            for name in &names {
                self.sets(name);
            }
        } else {
            let source = shown(&expression.source);
            self.doubt(format!("the shell evaluates the names in the expression {source}"));
        }
    }
}

/// Enough of a source to know which is meant.
pub(super) fn shown(source: &str) -> String {
    match source.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", source.get(..end).unwrap_or_default()),
        None => source.to_owned(),
    }
}
