//! What a rule says about commands: words compared with words, never a prefix of a text.
//!
//! `npm run test:*` (or `npm run test *`) is a prefix that ends at the end of a word; `pwd` is exactly that; `*` inside
//! stands for anything, also for several words. `NAME=value` in front of the program is compared with what is assigned in
//! front of the command. A regular expression is compared with the words joined by blanks.

use super::script::Word;

/// Between words, where a blank could also be inside one.
const GAP: char = '\0';
pub(super) const MAX_PATTERN: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// Words with gaps between them.
    glob: Vec<RulePiece>,
    /// Further words may follow.
    open: bool,
    words: Vec<String>,
    /// What stands in front of the program, each as `NAME=value`.
    assigned: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RulePiece {
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
        let begins = matches!(glob.first(), Some(RulePiece::Char(c)) if *c != GAP);
        if !begins && glob.first() != Some(&RulePiece::Any) {
            return None;
        }
        Some(CommandPattern::of(glob, open))
    }

    fn of(mut glob: Vec<RulePiece>, open: bool) -> Self {
        let mut assigned = Vec::new();
        while let Some((word, rest)) = spelled(&glob).filter(|(word, _)| is_assignment(word)) {
            assigned.push(word);
            glob = rest;
        }
        let shown = |piece: &RulePiece| if let RulePiece::Char(c) = piece { *c } else { '*' };
        let line: String = glob.iter().map(shown).collect();
        let split = |line: String| line.split(GAP).map(str::to_owned).collect();
        let words = if line.is_empty() { Vec::new() } else { split(line) };
        CommandPattern { glob, open, words, assigned }
    }

    /// What it says of the words behind these, which it spells out: `npm test` of `timeout 8 npm test` behind
    /// `timeout 8`.
    pub(super) fn behind(&self, words: &[Word]) -> Option<CommandPattern> {
        let mut glob = self.glob.clone();
        for word in words {
            let (first, rest) = spelled(&glob)?;
            if word.literal() != Some(&first) {
                return None;
            }
            glob = rest;
        }
        (self.assigned.is_empty() && !glob.is_empty()).then(|| CommandPattern::of(glob, self.open))
    }

    /// It spells out what is assigned in front of the command: all of that, if it spells out any.
    pub fn spells_assigned(&self, assigned: &[Word]) -> bool {
        self.assigned.is_empty()
            || assigned
                .iter()
                .map(Word::literal)
                .eq(self.assigned.iter().map(|own| Some(own.as_str())))
    }

    /// What it names in front of the program may be assigned in front of the command.
    pub(super) fn may_be_assigned(&self, assigned: &[Word]) -> bool {
        let is = |own: &String, given: &Word| match given {
            Word::Literal(given) => given == own,
            Word::Glob(given) | Word::Dynamic { source: given, .. } => {
                given.split('=').next() == own.split('=').next()
            }
        };
        self.assigned.iter().all(|own| assigned.iter().any(|given| is(own, given)))
    }

    /// The variables it spells out with their values.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.assigned.iter().any(|own| own.split('=').next() == Some(name))
    }

    /// The words it spells out, its program first.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Leaves nothing open: this command and no other.
    pub fn is_exact(&self) -> bool {
        !self.open && !self.glob.contains(&RulePiece::Any)
    }

    /// Further words may follow those it spells out.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Any command at all.
    pub fn is_everything(&self) -> bool {
        self.glob == [RulePiece::Any]
    }

    /// It says nothing of which program it is about: `* --help`, `X=1:*`.
    pub(super) fn names_no_program(&self) -> bool {
        matches!(self.glob.first(), None | Some(RulePiece::Any))
    }

    pub fn matches(&self, words: &[Word]) -> bool {
        if self.glob.is_empty() {
            return false;
        }
        let subject = line(words, GAP);
        let subject: Vec<char> = subject.chars().collect();
        glob_matches(&self.glob, &subject, self.open)
    }

    /// The words of the rule may stand behind options of the program, and whether a word is such an option's value is not
    /// known: `kubectl -n prod delete`.
    pub fn may_stand_behind_options(&self, words: &[Word]) -> bool {
        let Some((program, rest)) = self.words.split_first() else { return false };
        let given: Vec<&str> = words.iter().map(shown).collect();
        let Some((first, given)) = given.split_first() else { return false };
        if program != first || rest.first().is_none_or(|word| is_option(word)) {
            return false;
        }
        let rest: Vec<&str> =
            rest.iter().map(String::as_str).filter(|word| !is_option(word)).collect();
        let mut after_option = false;
        for at in 0..given.len() {
            let Some(behind) = given.get(at..) else { return false };
            let operands: Vec<&str> =
                behind.iter().copied().filter(|word| !is_option(word)).collect();
            if at > 0
                && behind.first().is_some_and(|word| !is_option(word))
                && operands.starts_with(&rest)
            {
                return true;
            }
            let word = behind.first().copied().unwrap_or_default();
            let option = is_option(word) || word.starts_with('+');
            if !option && !after_option {
                return false;
            }
            after_option = option;
        }
        false
    }

    /// The same command written differently: options in another order, apart or together.
    pub fn matches_loosely(&self, words: &[Word]) -> bool {
        if self.matches(words) {
            return true;
        }
        let Some((program, rest)) = self.words.split_first() else { return false };
        let given: Vec<&str> = words.iter().map(shown).collect();
        let Some((first, given)) = given.split_first() else { return false };
        if self.glob.contains(&RulePiece::Any) || program != first {
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

/// The first word, where nothing of it is open, and what follows it.
fn spelled(glob: &[RulePiece]) -> Option<(String, Vec<RulePiece>)> {
    let end = glob.iter().position(|piece| *piece == RulePiece::Char(GAP)).unwrap_or(glob.len());
    let (word, rest) = glob.split_at_checked(end)?;
    let known = |piece: &RulePiece| if let RulePiece::Char(c) = piece { Some(*c) } else { None };
    let word: Option<String> = word.iter().map(known).collect();
    let word = word.filter(|word| !word.is_empty())?;
    Some((word, rest.get(1..).unwrap_or_default().to_vec()))
}

/// `NAME=value`
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(legal)
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
fn pieces(text: &str) -> Option<Vec<RulePiece>> {
    let mut out: Vec<RulePiece> = Vec::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => out.push(RulePiece::Char(chars.next()?)),
            ('*', None) if out.last() != Some(&RulePiece::Any) => out.push(RulePiece::Any),
            ('*', None) => {}
            (' ' | '\t', None) if out.last() != Some(&RulePiece::Char(GAP)) => {
                out.push(RulePiece::Char(GAP))
            }
            (' ' | '\t', None) => {}
            (GAP, _) => return None,
            (c, _) => out.push(RulePiece::Char(c)),
        }
    }
    (quote.is_none() && !out.is_empty() && out.len() <= MAX_PATTERN).then_some(out)
}

/// Linear in practice: only the last star is ever retried.
fn glob_matches(pattern: &[RulePiece], subject: &[char], open: bool) -> bool {
    let (mut p, mut s, mut star) = (0, 0, None);
    loop {
        let ended = p == pattern.len();
        if ended && (s == subject.len() || (open && subject.get(s) == Some(&GAP))) {
            return true;
        }
        match (pattern.get(p), subject.get(s)) {
            (Some(RulePiece::Any), _) => {
                star = Some((p, s));
                p += 1;
            }
            (Some(RulePiece::Char(c)), Some(d)) if c == d => {
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

pub(super) fn line(words: &[Word], gap: char) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(gap);
        }
        out.push_str(shown(word));
    }
    out
}

#[cfg(test)]
#[path = "command_rule_tests.rs"]
mod tests;
