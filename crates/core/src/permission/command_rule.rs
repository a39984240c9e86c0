//! What a rule says about commands: words compared with words, never a prefix of a text.
//!
//! `npm run test:*` (or `npm run test *`) is a prefix that ends at the end of a word; `pwd` is exactly that; `*` inside
//! stands for anything, also for several words. A regular expression is compared with the words joined by blanks.

use super::commands::Step;
use super::files::{match_name, without_sets};
use super::rule::RuleError;
use super::script::Word;
use regex::Regex;
use std::sync::OnceLock;

/// Between words, where a blank could also be inside one.
const GAP: char = '\0';
/// Stands for a bar inside a word, so that an expression about pipelines is not fooled by data.
const BAR: char = '\u{1}';
const MAX_PATTERN: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// Words with gaps between them.
    glob: Vec<Piece>,
    /// Further words may follow.
    open: bool,
    words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Char(char),
    Any,
}

impl CommandPattern {
    pub fn parse(text: &str) -> Option<Self> {
        let (text, open) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(prefix) => (prefix, true),
            None => (text, false),
        };
        let glob = pieces(text.trim())?;
        let begins = matches!(glob.first(), Some(Piece::Char(c)) if *c != GAP);
        if !begins && glob.first() != Some(&Piece::Any) {
            return None;
        }
        let shown = |piece: &Piece| if let Piece::Char(c) = piece { *c } else { '*' };
        let line: String = glob.iter().map(shown).collect();
        let words = line.split(GAP).map(str::to_owned).collect();
        Some(CommandPattern { glob, open, words })
    }

    /// The words it spells out, its program first.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Leaves nothing open: this command and no other.
    pub fn is_exact(&self) -> bool {
        !self.open && !self.glob.contains(&Piece::Any)
    }

    /// The program may be any.
    pub fn is_everything(&self) -> bool {
        self.glob.first() == Some(&Piece::Any)
    }

    pub fn matches(&self, words: &[Word]) -> bool {
        let subject = line(words, GAP);
        let subject: Vec<char> = subject.chars().collect();
        glob_matches(&self.glob, &subject, self.open)
    }

    /// The same command written differently: options in another order, apart or together.
    pub fn matches_loosely(&self, words: &[Word]) -> bool {
        if self.matches(words) {
            return true;
        }
        let Some((program, rest)) = self.words.split_first() else { return false };
        let given: Vec<&str> = words.iter().map(shown).collect();
        let Some((first, given)) = given.split_first() else { return false };
        if self.glob.contains(&Piece::Any) || program != first {
            return false;
        }
        let operands = |words: &[&str]| -> Vec<String> {
            words.iter().filter(|word| !is_option(word)).map(|word| (*word).to_owned()).collect()
        };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let (wanted, found) = (operands(&rest), operands(given));
        let begins = if self.open { found.starts_with(&wanted) } else { found == wanted };
        let mut options = rest.iter().filter(|word| is_option(word)).peekable();
        let alike = alike(program);
        options.peek().is_some() && begins && options.all(|option| has_option(option, given, alike))
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Letters and the long options that say the same, where a rule on one is meant for the other.
type Alike = &'static [(&'static str, &'static str)];

fn alike(program: &str) -> Alike {
    match program {
        "rm" | "cp" | "chmod" | "chown" | "chgrp" => &[("rR", "recursive"), ("f", "force")],
        "git" => &[("f", "force")],
        _ => &[],
    }
}

/// A short cluster counts letter by letter, a long option also when it is abbreviated or carries a value.
fn has_option(option: &str, given: &[&str], alike: Alike) -> bool {
    if given.contains(&option) {
        return true;
    }
    let has_long = |long: &str| {
        given.iter().filter_map(|word| word.strip_prefix("--")).any(|word| {
            let name = word.split('=').next().unwrap_or_default();
            !name.is_empty() && long.starts_with(name)
        })
    };
    // Where letters are known to stand together, a cluster may be as long as it likes.
    let most = if alike.is_empty() { 5 } else { usize::MAX };
    let has_letter = |letter: char| {
        let clusters = given.iter().filter(|w| !w.starts_with("--") && w.len() <= most);
        clusters.into_iter().any(|word| is_option(word) && word.contains(letter))
    };
    if let Some(long) = option.strip_prefix("--") {
        let letters = alike.iter().find(|(_, known)| *known == long).map(|(letters, _)| *letters);
        return has_long(long) || letters.is_some_and(|letters| letters.chars().any(has_letter));
    }
    let letters = option.trim_start_matches('-');
    letters.len() <= 3
        && letters.chars().all(|letter| match alike.iter().find(|(l, _)| l.contains(letter)) {
            Some((same, long)) => same.chars().any(has_letter) || has_long(long),
            None => has_letter(letter),
        })
}

/// Quotes are removed as in a shell; a star in quotes is a star.
fn pieces(text: &str) -> Option<Vec<Piece>> {
    let mut out: Vec<Piece> = Vec::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => out.push(Piece::Char(chars.next()?)),
            ('*', None) if out.last() != Some(&Piece::Any) => out.push(Piece::Any),
            ('*', None) => {}
            (' ' | '\t', None) if out.last() != Some(&Piece::Char(GAP)) => {
                out.push(Piece::Char(GAP))
            }
            (' ' | '\t', None) => {}
            (GAP, _) => return None,
            (c, _) => out.push(Piece::Char(c)),
        }
    }
    (quote.is_none() && !out.is_empty() && out.len() <= MAX_PATTERN).then_some(out)
}

/// Linear in practice: only the last star is ever retried.
fn glob_matches(pattern: &[Piece], subject: &[char], open: bool) -> bool {
    let (mut p, mut s, mut star) = (0, 0, None);
    loop {
        let ended = p == pattern.len();
        if ended && (s == subject.len() || (open && subject.get(s) == Some(&GAP))) {
            return true;
        }
        match (pattern.get(p), subject.get(s)) {
            (Some(Piece::Any), _) => {
                star = Some((p, s));
                p += 1;
            }
            (Some(Piece::Char(c)), Some(d)) if c == d => {
                p += 1;
                s += 1;
            }
            _ => match star {
                Some((at, from)) if from < subject.len() => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    s = from + 1;
                }
                _ => return false,
            },
        }
    }
}

fn shown(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Glob(text) => text,
        Word::Dynamic { source, .. } => source,
    }
}

fn line(words: &[Word], gap: char) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(gap);
        }
        out.push_str(shown(word));
    }
    out
}

/// A regular expression over the words of a command. Linear in the length of the text, whatever it says.
#[derive(Clone, Debug)]
pub struct CommandRegex {
    source: String,
    anywhere: Lazy,
    from_start: Lazy,
    whole_words: Lazy,
    with_value: Lazy,
    about_pipes: bool,
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
            source: pattern.to_owned(),
        }
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

    /// From the program on, and up to the end of a word: words further back are data.
    fn commands(&self, line: &str) -> bool {
        let start = || self.from_start.get().and_then(|regex| regex.find(line));
        self.whole_words.get().is_some_and(|regex| regex.is_match(line))
            || start().is_some_and(|found| {
                found.end() > 0 && (found.end() == line.len() || found.as_str().ends_with(' '))
            })
    }

    pub fn matches(&self, step: &Step) -> bool {
        self.matches_lines(&Lines::of(step))
    }

    pub fn matches_lines(&self, lines: &Lines) -> bool {
        lines.each().any(|line| self.commands(line))
    }

    /// The same, also for an option that carries a value: `--privileged=true`.
    pub fn matches_loosely(&self, lines: &Lines) -> bool {
        let valued = |regex: &Regex| lines.each().any(|line| regex.is_match(line));
        self.matches_lines(lines) || self.with_value.get().is_some_and(valued)
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
        self.mentions_lines(step, &Lines::of(step))
    }

    pub fn mentions_lines(&self, step: &Step, lines: &Lines) -> bool {
        let is_git = step.compared().first().and_then(Word::literal) == Some("git");
        lines.each().any(|line| self.mentions_text(line))
            || step.touches.iter().any(|touch| self.mentions_text(&format!("< {}", touch.path)))
            || step.words.iter().skip(1).any(|word| self.may_expand(word, is_git))
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
        self.anywhere.get().is_some_and(|regex| regex.is_match(text))
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
pub struct Lines {
    compared: String,
    /// None: the same.
    words: Option<String>,
}

impl Lines {
    pub fn of(step: &Step) -> Self {
        let words = (!step.normal.is_empty()).then(|| joined(&step.words));
        Lines { compared: joined(step.compared()), words }
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
#[path = "command_rule_tests.rs"]
mod tests;
