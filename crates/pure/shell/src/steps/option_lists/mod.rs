//! Options that are plain under a rule on the program: an allow-list for programs that also have options which run
//! something, write elsewhere or lead the network elsewhere.
//!
//! An option that is not listed, an abbreviation of one that is, or an operand that the entry refuses leaves a caution:
//! a rule that names only the program does not vouch for it. Nothing here proves that a command only reads.

mod archives;
mod build;
mod cloud;
mod data;
mod downloads;
mod editors;
mod git;
mod packages;
mod runners;
mod scripts;
mod tools;

use super::inner_commands::caution;
use super::judge::touch;
use crate::options::readable;
use ostler_policy::script::Word;
use ostler_policy::{Act, Caution, Concern, Touch, TouchKind};

/// How a program spells its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `-abc`, `--name`, `--name=value`. Nothing behind `--` is an option.
    Gnu,
    /// `-name` and `--name` are the same, `-name=value`; `--` ends nothing.
    OneDash,
}

#[derive(Debug)]
pub(super) struct OptionList {
    /// A program, or a program with its subcommand.
    pub(super) commands: &'static [&'static str],
    pub(super) style: Style,
    /// Separated by blanks. `-x` stands for a letter or a name without a value, `-x:` and `--name=` take one, glued or as
    /// the next word, `-x?` only a glued one; `-W*` stands for all that begins so, and `!-Wl,*` for what does not count
    /// after all. Several letters without a value may be glued together: `-abc`.
    pub(super) plain: &'static str,
    /// Options whose value is a file that is written: plain with `/dev/null` or `-`, and with nothing else.
    pub(super) sinks: &'static [&'static str],
    /// Options whose value is a name that the program knows: never a file.
    pub(super) names: &'static [&'static str],
    /// Operands and values that are not plain.
    pub(super) refused: fn(&str) -> bool,
    /// The first operand says what is done, and these are not plain.
    pub(super) first: Option<fn(&str) -> bool>,
    /// What follows this operand, counted from one, belongs to another program.
    pub(super) until_operand: usize,
    /// With fewer operands it runs what it reads from its standard input.
    pub(super) least: usize,
    /// So it does without one of these options, if there are any.
    pub(super) needs: &'static [&'static str],
}

/// Their first word is a bundle of letters, with a dash or without.
const TARS: &[&str] = &["tar", "gtar", "bsdtar"];

/// Nothing is refused.
pub(super) fn nothing(_: &str) -> bool {
    false
}

pub(super) const LIST: OptionList = OptionList {
    commands: &[],
    style: Style::Gnu,
    plain: "",
    sinks: &[],
    names: &[],
    refused: nothing,
    first: None,
    until_operand: usize::MAX,
    least: 0,
    needs: &[],
};

fn lists() -> impl Iterator<Item = &'static OptionList> {
    [
        archives::LISTS,
        build::LISTS,
        cloud::LISTS,
        data::LISTS,
        downloads::LISTS,
        editors::LISTS,
        git::LISTS,
        packages::LISTS,
        runners::LISTS,
        scripts::LISTS,
        tools::LISTS,
    ]
    .into_iter()
    .flatten()
}

/// The cautions of a command whose program has a list; none if it has no list. `words` begin with the program.
pub(super) fn cautions(name: &str, words: &[Word]) -> Option<Vec<Caution>> {
    judge(name, words).map(|(cautions, _)| cautions)
}

/// The cautions, and the files that options name for it to write.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<(Vec<Caution>, Vec<Touch>)> {
    let name = build::compiler(name).unwrap_or(name);
    let (list, from) = find(name, words)?;
    let (found, given, written) = Default::default();
    let mut reading = OptionReading { list, name, found, operands: 0, given, written };
    reading.words(words, from);
    let given = |needed: &&str| reading.given.iter().any(|given| given == needed);
    let told = list.needs.is_empty() || list.needs.iter().any(given);
    if reading.operands < list.least || !told {
        let why = format!("{name} runs what it reads from its input");
        reading.found.push(Caution::new(why, None));
    }
    Some((reading.found, reading.written))
}

/// The longest command that the words begin with, and how many words that is.
fn find(name: &str, words: &[Word]) -> Option<(&'static OptionList, usize)> {
    let mut best: Option<(&OptionList, usize)> = None;
    for list in lists() {
        for command in list.commands {
            let mut parts = command.split(' ');
            let named = parts.next() == Some(name);
            let rest: Vec<&str> = parts.collect();
            let begins = |(at, part): (usize, &&str)| {
                words.get(at + 1).and_then(Word::literal) == Some(*part)
            };
            let longer = best.is_none_or(|(_, length)| rest.len() + 1 > length);
            if named && longer && rest.iter().enumerate().all(begins) {
                best = Some((list, rest.len() + 1));
            }
        }
    }
    best
}

struct OptionReading<'a> {
    list: &'static OptionList,
    name: &'a str,
    found: Vec<Caution>,
    operands: usize,
    /// Options, as `-x` or `--name`.
    given: Vec<String>,
    /// Files that options name for it to write.
    written: Vec<Touch>,
}

/// What an option takes from the next word.
enum TakenValue {
    Nothing,
    Value,
    /// A place where nothing is kept.
    Sink,
}

impl OptionReading<'_> {
    fn words(&mut self, words: &[Word], from: usize) {
        let mut at = from;
        let mut dashes = false;
        while let Some(word) = words.get(at) {
            // What only the shell knows has its own caution. A pattern that fits no name stays as it is.
            let unmatched = match word {
                Word::Glob(pattern) => pattern.replace('\\', ""),
                _ => String::new(),
            };
            let text = word.literal().unwrap_or(&unmatched);
            if at == from && TARS.contains(&self.name) && !text.starts_with('-') {
                self.bundle(at, text);
            } else if text == "--" && self.list.style == Style::Gnu {
                dashes = true;
            } else if dashes || !text.starts_with('-') || matches!(text, "-" | "--") {
                self.operands += 1;
                let first = self.list.first.filter(|_| self.operands == 1);
                match first.is_some_and(|refused| !unmatched.is_empty() || refused(text)) {
                    true => self.caution(at, text),
                    false => self.operand(at, text),
                }
                if self.operands == self.list.until_operand {
                    return;
                }
            } else {
                match self.option(text) {
                    Some(TakenValue::Nothing) => self.operand(at, text),
                    Some(TakenValue::Value) => {
                        at += 1;
                        let value = words.get(at).and_then(Word::literal).unwrap_or_default();
                        let option = self.given.last().map(String::as_str).unwrap_or_default();
                        let named = self.list.names.contains(&option) && !is_name(value);
                        match named || value.starts_with('-') && value.len() > 1 {
                            true => self.caution(at, value),
                            false => self.operand(at, value),
                        }
                    }
                    Some(TakenValue::Sink) => {
                        at += 1;
                        let value = words.get(at).and_then(Word::literal).unwrap_or_default();
                        if !is_sink(value) {
                            self.output(at - 1, text, value);
                        }
                    }
                    None => match self.glued_output(text) {
                        Some(file) => self.output(at, text, &file),
                        None => self.caution(at, text),
                    },
                }
            }
            at += 1;
        }
    }

    /// `tar xzf`: letters without a dash, whose values are the words that follow.
    fn bundle(&mut self, at: usize, letters: &str) {
        if !letters.chars().all(|letter| self.entry(letter).is_some()) {
            self.caution(at, letters);
        }
    }

    fn caution(&mut self, at: usize, text: &str) {
        let why = format!("an allow rule covers {text} only if it names it");
        self.found.push(caution(at, why));
    }

    /// It writes a file that is named.
    fn output(&mut self, at: usize, text: &str, file: &str) {
        self.caution(at, text);
        let named = readable(file, TouchKind::File).ok().filter(|_| !file.is_empty());
        if let (Some(last), Some(named)) = (self.found.last_mut(), named) {
            last.concern = Concern::Writes;
            self.written.push(touch(Act::Write)(named));
        }
    }

    /// The file of an option that writes one: `--output=x`, `-sox`.
    fn glued_output(&self, text: &str) -> Option<String> {
        let is_sink = |option: &str| self.list.sinks.contains(&option);
        if let Some((name, file)) = text.split_once('=').filter(|(name, _)| is_sink(name)) {
            let named = name.starts_with("--") || self.list.style == Style::OneDash;
            return (named && !file.is_empty()).then(|| file.to_owned());
        }
        let letters = text.strip_prefix('-').filter(|_| self.list.style == Style::Gnu)?;
        for (at, letter) in letters.char_indices() {
            if is_sink(&format!("-{letter}")) {
                let file = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                return (!file.is_empty()).then(|| file.to_owned());
            }
            // A letter with a value takes the rest of the word.
            if self.entry(letter)?.ends_with([':', '?']) {
                return None;
            }
        }
        None
    }

    fn operand(&mut self, at: usize, text: &str) {
        if (self.list.refused)(text) {
            self.caution(at, text);
        }
    }

    /// None: it is not plain.
    fn option(&mut self, text: &str) -> Option<TakenValue> {
        if self.entries().any(|entry| entry.strip_prefix('!').is_some_and(|not| fits(not, text))) {
            return None;
        }
        let begins = |entry: &str| entry.ends_with('*') && fits(entry, text);
        if self.entries().any(begins) {
            return Some(TakenValue::Nothing);
        }
        match (self.list.style, text.strip_prefix("--")) {
            (Style::Gnu, Some(_)) => self.named(text),
            (Style::Gnu, None) => self.letters(text.strip_prefix('-')?),
            (Style::OneDash, Some(name)) => {
                self.named(text).or_else(|| self.named(&format!("-{name}")))
            }
            (Style::OneDash, None) => self.named(text),
        }
    }

    fn entries(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.list.plain.split_ascii_whitespace()
    }

    /// A whole word, with its value or without.
    fn named(&mut self, text: &str) -> Option<TakenValue> {
        let (name, glued) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text, false),
        };
        self.given.push(name.to_owned());
        if self.list.sinks.contains(&name) {
            let value = text.split_once('=').map(|(_, value)| value);
            return match value {
                Some(value) => is_sink(value).then_some(TakenValue::Nothing),
                None => Some(TakenValue::Sink),
            };
        }
        if self.entries().any(|entry| entry == text) {
            return Some(TakenValue::Nothing);
        }
        let given = text.split_once('=').map(|(_, value)| value);
        if self.list.names.contains(&name) && given.is_some_and(|value| !is_name(value)) {
            return None;
        }
        self.entries().find_map(|entry| {
            let (known, takes) = match entry.strip_suffix([':', '=']) {
                Some(known) => (known, true),
                None => (entry, false),
            };
            let (known, maybe) = match known.strip_suffix('?') {
                Some(known) => (known, true),
                None => (known, false),
            };
            match (known == name, glued, takes, maybe) {
                (true, false, false, _) => Some(TakenValue::Nothing),
                (true, true, true, _) | (true, true, _, true) => Some(TakenValue::Nothing),
                (true, false, true, _) => Some(TakenValue::Value),
                _ => None,
            }
        })
    }

    fn entry(&self, letter: char) -> Option<&'static str> {
        self.entries().find(|entry| {
            let Some(listed) = entry.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
                return false;
            };
            match listed.strip_suffix([':', '?']) {
                Some(valued) => valued.chars().eq([letter]),
                None => !listed.ends_with('*') && listed.contains(letter),
            }
        })
    }

    /// Letters that are glued together; the last one may have a value.
    fn letters(&mut self, letters: &str) -> Option<TakenValue> {
        for (at, letter) in letters.char_indices() {
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            if self.list.sinks.contains(&format!("-{letter}").as_str()) {
                let glued = is_sink(rest).then_some(TakenValue::Nothing);
                return if rest.is_empty() { Some(TakenValue::Sink) } else { glued };
            }
            let entry = self.entry(letter)?;
            self.given.push(format!("-{letter}"));
            match (entry.ends_with(':'), entry.ends_with('?'), !rest.is_empty()) {
                (true, _, true) | (_, true, _) => return Some(TakenValue::Nothing),
                (true, _, false) => return Some(TakenValue::Value),
                (false, false, _) => {}
            }
        }
        Some(TakenValue::Nothing)
    }
}

fn is_name(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_@".contains(c))
}

fn is_sink(value: &str) -> bool {
    matches!(value, "/dev/null" | "-")
}

/// The entry is the word, or its beginning if it ends with a star.
fn fits(entry: &str, text: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => entry == text,
    }
}

#[cfg(test)]
#[path = "../option_lists_tests.rs"]
mod tests;
