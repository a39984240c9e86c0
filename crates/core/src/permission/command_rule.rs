//! What a rule says about commands: words compared with words, never a prefix of a text.
//!
//! `npm run test:*` (or `npm run test *`) is a prefix that ends at the end of a word; `pwd` is exactly that; `*` inside
//! stands for anything, also for several words. A regular expression is compared with the words joined by blanks.

use super::commands::Step;
use super::rule::RuleError;
use super::script::Word;
use regex::Regex;

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
        options.peek().is_some() && begins && options.all(|option| has_option(option, given))
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// A short cluster counts letter by letter, a long option also when it is abbreviated or carries a value.
fn has_option(option: &str, given: &[&str]) -> bool {
    if given.contains(&option) {
        return true;
    }
    if let Some(long) = option.strip_prefix("--") {
        return given.iter().filter_map(|word| word.strip_prefix("--")).any(|word| {
            let name = word.split('=').next().unwrap_or_default();
            !name.is_empty() && long.starts_with(name)
        });
    }
    let letters = option.trim_start_matches('-');
    let clusters = || given.iter().filter(|word| !word.starts_with("--") && word.len() <= 5);
    letters.len() <= 3
        && letters.chars().all(|letter| {
            clusters().filter(|word| is_option(word)).any(|word| word.contains(letter))
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
    anywhere: Regex,
    from_start: Regex,
    whole_words: Regex,
    about_pipes: bool,
}

impl PartialEq for CommandRegex {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
impl Eq for CommandRegex {}

impl CommandRegex {
    pub fn new(pattern: &str) -> Result<Self, RuleError> {
        let build = |text: &str| {
            let mut builder = regex::RegexBuilder::new(text);
            builder.dot_matches_new_line(true).size_limit(1 << 20).dfa_size_limit(1 << 20).build()
        };
        let wrong = |error: regex::Error| RuleError::Regex {
            pattern: pattern.to_owned(),
            why: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        };
        if pattern.is_empty() || pattern.len() > MAX_PATTERN {
            let why = format!("it must have 1 to {MAX_PATTERN} characters");
            return Err(RuleError::Regex { pattern: pattern.to_owned(), why });
        }
        Ok(CommandRegex {
            anywhere: build(pattern).map_err(wrong)?,
            from_start: build(&format!(r"\A(?:{pattern})")).map_err(wrong)?,
            whole_words: build(&format!(r"\A(?:{pattern})(?: |\z)")).map_err(wrong)?,
            about_pipes: pattern.contains(r"\|") || pattern.contains("[|]"),
            source: pattern.to_owned(),
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
        ["x", "zz -y"].iter().all(|text| self.anywhere.is_match(text))
    }

    /// From the program on, and up to the end of a word: words further back are data.
    fn commands(&self, line: &str) -> bool {
        self.whole_words.is_match(line)
            || self.from_start.find(line).is_some_and(|found| {
                found.end() > 0 && (found.end() == line.len() || found.as_str().ends_with(' '))
            })
    }

    pub fn matches(&self, step: &Step) -> bool {
        self.matches_lines(&Lines::of(step))
    }

    pub fn matches_lines(&self, lines: &Lines) -> bool {
        lines.each().any(|line| self.commands(line))
    }

    /// The program is spelled out: with a longer name it would not match.
    pub fn names_program(&self, step: &Step) -> bool {
        let mut words = step.compared().to_vec();
        match words.first_mut() {
            Some(Word::Literal(name)) => name.push('x'),
            _ => return false,
        }
        !self.commands(&joined(&words))
    }

    /// Anywhere in the words.
    pub fn mentions(&self, step: &Step) -> bool {
        self.mentions_lines(&Lines::of(step))
    }

    pub fn mentions_lines(&self, lines: &Lines) -> bool {
        lines.each().any(|line| self.mentions_text(line))
    }

    pub fn mentions_text(&self, text: &str) -> bool {
        self.anywhere.is_match(text)
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

fn joined(words: &[Word]) -> String {
    line(words, ' ').replace('|', BAR.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
#[path = "command_rule_tests.rs"]
mod tests;
