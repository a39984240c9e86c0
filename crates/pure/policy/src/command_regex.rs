//! Regular expressions over the words of a command, as `permissions.yaml` holds them: from the program on, up to the end of
//! a word; a pattern with a bar in it speaks of pipelines.

use super::command_rule::{MAX_PATTERN, line};
use super::commands::{Step, Touch, TouchKind};
use super::file_pattern::{match_name, without_sets};
use super::rule::RuleError;
use super::script::Word;
use regex::Regex;
use std::sync::OnceLock;

/// Stands for a bar inside a word, so that an expression about pipelines is not fooled by data.
const BAR: char = '\u{1}';

/// A regular expression over the words of a command. Linear in the length of the text, whatever it says.
#[derive(Clone, Debug)]
pub struct CommandRegex {
    source: String,
    anywhere: Lazy,
    from_start: Lazy,
    whole_words: Lazy,
    with_value: Lazy,
    about_pipes: bool,
    /// What every match begins with, one for each alternative; none if that is not plain.
    beginnings: Option<Vec<Beginning>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Beginning {
    /// Only at the start.
    anchored: bool,
    text: String,
}

/// The literal beginnings of a pattern: most rules are ruled out by them, without their expression being made.
fn beginnings(pattern: &str) -> Option<Vec<Beginning>> {
    if pattern.contains("(?") {
        return None;
    }
    let mut all = vec![Beginning { anchored: false, text: String::new() }];
    // Of the alternative that is being read: nothing literal comes any more.
    let mut over = false;
    let (mut depth, mut in_set) = (0_usize, false);
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        let now = all.last_mut()?;
        match (c, escaped) {
            ('\\', Some(e)) if !over && !e.is_alphanumeric() => now.text.push(e),
            ('\\', _) => over = true,
            (']', _) if in_set => in_set = false,
            _ if in_set => {}
            ('[', _) => (in_set, over) = (true, true),
            ('(', _) => (depth, over) = (depth + 1, true),
            (')', _) => depth = depth.checked_sub(1)?,
            ('|', _) if depth == 0 => {
                all.push(Beginning { anchored: false, text: String::new() });
                over = false;
            }
            ('^', _) if !over && now.text.is_empty() => now.anchored = true,
            ('*' | '?' | '{', _) if !over => {
                now.text.pop();
                over = true;
            }
            // `a+??` and its like may stand for nothing.
            ('+', _) if !over && matches!(chars.peek(), Some('*' | '?' | '{')) => {
                now.text.pop();
                over = true;
            }
            ('.' | '+' | '$' | '^' | '|' | '*' | '?' | '{', _) => over = true,
            (c, _) if !over => now.text.push(c),
            _ => {}
        }
    }
    (depth == 0 && !in_set).then_some(all)
}

/// Compiled when it is first needed: a start must not pay for rules that nothing meets.
#[derive(Clone, Debug)]
struct Lazy {
    text: String,
    made: OnceLock<Option<Regex>>,
}

impl Lazy {
    fn new(text: String) -> Self {
        Lazy { text, made: OnceLock::new() }
    }

    fn get(&self) -> Option<&Regex> {
        self.made.get_or_init(|| build(&self.text).ok()).as_ref()
    }
}

fn build(text: &str) -> Result<Regex, regex::Error> {
    let mut builder = regex::RegexBuilder::new(text);
    builder.dot_matches_new_line(true).size_limit(1 << 20).dfa_size_limit(1 << 20).build()
}

impl PartialEq for CommandRegex {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
impl Eq for CommandRegex {}

impl CommandRegex {
    pub fn new(pattern: &str) -> Result<Self, RuleError> {
        let wrong = |why: String| RuleError::Regex { pattern: pattern.to_owned(), why };
        if pattern.is_empty() || pattern.len() > MAX_PATTERN {
            return Err(wrong(format!("it must have 1 to {MAX_PATTERN} characters")));
        }
        let made = CommandRegex::unchecked(pattern);
        // The longest of the three: if it can be made, so can the others.
        let whole = build(&made.whole_words.text).and_then(|whole| build(pattern).map(|_| whole));
        let whole = whole.map_err(|error| {
            wrong(error.to_string().lines().last().unwrap_or_default().trim().to_owned())
        })?;
        let _ = made.whole_words.made.set(Some(whole));
        Ok(made)
    }

    /// For patterns that are tested before they ship.
    pub(super) fn unchecked(pattern: &str) -> Self {
        CommandRegex {
            anywhere: Lazy::new(pattern.to_owned()),
            from_start: Lazy::new(format!(r"\A(?:{pattern})")),
            whole_words: Lazy::new(format!(r"\A(?:{pattern})(?: |\z)")),
            with_value: Lazy::new(format!(r"\A(?:{pattern})=")),
            about_pipes: pattern.contains(r"\|") || pattern.contains("[|]"),
            beginnings: beginnings(pattern),
            source: pattern.to_owned(),
        }
    }

    /// A program that is only known to be one of these may be one it speaks of.
    pub(super) fn may_name(
        &self,
        could_be: impl Fn(&str) -> bool,
        begins: impl Fn(&str) -> bool,
    ) -> bool {
        self.beginnings.as_ref().is_none_or(|all| {
            all.iter().any(|begin| match begin.text.split_once(' ') {
                Some((program, _)) => could_be(program),
                None => begins(&begin.text),
            })
        })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn is_about_pipes(&self) -> bool {
        self.about_pipes
    }

    /// A single word, taken for a command.
    pub fn matches_word(&self, word: &str) -> bool {
        self.commands(word)
    }

    /// Everything matches it.
    pub fn is_everything(&self) -> bool {
        ["x", "zz -y"].iter().all(|text| self.mentions_text(text))
    }

    fn may_begin(&self, line: &str) -> bool {
        let may = |begin: &Beginning| line.starts_with(&begin.text);
        self.beginnings.as_ref().is_none_or(|all| all.iter().any(may))
    }

    /// From the program on, and up to the end of a word: words further back are data.
    fn commands(&self, line: &str) -> bool {
        if !self.may_begin(line) {
            return false;
        }
        let start = || self.from_start.get().and_then(|regex| regex.find(line));
        self.whole_words.get().is_some_and(|regex| regex.is_match(line))
            || start().is_some_and(|found| {
                found.end() > 0 && (found.end() == line.len() || found.as_str().ends_with(' '))
            })
    }

    pub fn matches(&self, step: &Step) -> bool {
        self.matches_lines(&CommandLines::of(step))
    }

    pub fn matches_lines(&self, lines: &CommandLines) -> bool {
        lines.each().any(|line| self.commands(line))
    }

    /// The same, also for an option that carries a value: `--privileged=true`.
    pub fn matches_loosely(&self, lines: &CommandLines) -> bool {
        let valued = |line: &str| self.with_value.get().is_some_and(|regex| regex.is_match(line));
        let mut begun = lines.each().filter(|line| self.may_begin(line));
        self.matches_lines(lines) || begun.any(valued)
    }

    /// The program is spelled out: with a longer or shorter name it would not match.
    pub fn names_program(&self, step: &Step) -> bool {
        let named = |change: fn(&mut String)| {
            let mut words = step.compared().to_vec();
            match words.first_mut() {
                Some(Word::Literal(name)) => change(name),
                _ => return true,
            }
            self.commands(&joined(&words))
        };
        let shorter = |name: &mut String| {
            name.pop();
        };
        !named(|name| name.push('x')) && !named(shorter)
    }

    /// Anywhere in the words, in what a pattern among them could stand for, or in a file it opens.
    pub fn mentions(&self, step: &Step) -> bool {
        self.mentions_lines(step, &CommandLines::of(step))
    }

    pub fn mentions_lines(&self, step: &Step, lines: &CommandLines) -> bool {
        // Git's own patterns are over files, except where they are over names of branches and tags.
        let word = |at: usize| step.compared().get(at).and_then(Word::literal);
        let names = ["branch", "tag", "for-each-ref", "show-ref", "describe", "remote"];
        let is_git = word(0) == Some("git") && word(1).is_none_or(|sub| !names.contains(&sub));
        lines.each().any(|line| self.mentions_text(line))
            || self.mentions_files(step)
            || step.words.iter().skip(1).any(|word| self.may_expand(word, is_git))
    }

    /// It speaks of a file that the step reads or writes, redirections included.
    pub fn mentions_files(&self, step: &Step) -> bool {
        step.touches.iter().any(|touch| self.mentions_file(step, touch))
    }

    pub fn mentions_file(&self, step: &Step, touch: &Touch) -> bool {
        self.mentions_text(&format!("< {}", touch.path)) || self.leads_there(step, touch)
    }

    /// What a file is written as may be a link: where it leads counts as well, as seen from the step's directory.
    fn leads_there(&self, step: &Step, touch: &Touch) -> bool {
        let Some(place) = &step.place else { return false };
        if matches!(touch.kind, TouchKind::Names | TouchKind::Repository) {
            return false;
        }
        touch.scopes.iter().flatten().any(|scope| {
            let path = scope.path();
            let shared = place.iter().zip(path.iter()).take_while(|(a, b)| a == b).count();
            let below: std::path::PathBuf = path.iter().skip(shared).collect();
            self.mentions_text(&format!("< {}", below.display()))
        })
    }

    /// A pattern that could stand for one of the files that such rules are written for.
    fn may_expand(&self, word: &Word, by_git: bool) -> bool {
        let (text, hidden) = match word {
            Word::Glob(text) => (text, false),
            Word::Literal(text) if by_git && text.contains(['*', '?', '[']) => (text, true),
            _ => return false,
        };
        let last = text.rsplit('/').next().unwrap_or_default();
        // The shell's patterns need the dot of a hidden name spelled out.
        let simple = without_sets(last);
        (hidden || simple.starts_with('.'))
            && HIDDEN.iter().any(|name| self.mentions_text(name) && match_name(&simple, name))
    }

    pub fn mentions_text(&self, text: &str) -> bool {
        let may = |begin: &Beginning| match begin.anchored {
            true => text.starts_with(&begin.text),
            false => text.contains(&begin.text),
        };
        self.beginnings.as_ref().is_none_or(|all| all.iter().any(may))
            && self.anywhere.get().is_some_and(|regex| regex.is_match(text))
    }

    /// A pipeline's stages, one step of each.
    pub fn matches_pipe(&self, stages: &[&Step]) -> bool {
        if !self.about_pipes {
            return false;
        }
        let (mut line, mut starts) = (String::new(), Vec::new());
        for step in stages {
            if !starts.is_empty() {
                line.push_str(" | ");
            }
            starts.push(line.len());
            line.push_str(&joined(step.compared()));
        }
        // A pattern may begin at any stage.
        starts.iter().any(|from| line.get(*from..).is_some_and(|line| self.commands(line)))
    }
}

/// The words of a step as expressions see them, joined once for all rules.
pub struct CommandLines {
    compared: String,
    /// None: the same.
    words: Option<String>,
}

impl CommandLines {
    pub fn of(step: &Step) -> Self {
        let words = (!step.normal.is_empty()).then(|| joined(&step.words));
        CommandLines { compared: joined(step.compared()), words }
    }

    fn each(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.compared.as_str()).chain(self.words.as_deref())
    }
}

/// Names that rules against the reading of secrets are about.
const HIDDEN: [&str; 4] = [".env", ".env.local", ".env.production", ".envrc"];

fn joined(words: &[Word]) -> String {
    line(words, ' ').replace('|', BAR.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
#[path = "command_regex_tests.rs"]
mod tests;
