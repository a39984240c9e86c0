//! One command, its words as far as they are known, against every table.

use super::folders::Move;
use super::inner_commands::caution;
use super::words::shown;
use super::{
    builtins, destinations, destruction, git, languages, risky_options, sed, tar, writers,
};
use crate::options::{self, Miss, Named};
use crate::table;
use ostler_policy::script::{Word, WordPart};
use ostler_policy::{Act, Caution, Effect, Step, Touch, TouchKind};

/// What is known of one command.
#[derive(Debug, Default)]
pub(super) struct StepVerdict {
    pub(super) effect: Effect,
    pub(super) touches: Vec<Touch>,
    pub(super) hosts: Vec<String>,
    pub(super) cautions: Vec<Caution>,
    pub(super) git: bool,
    pub(super) normal: Vec<Word>,
    /// Directories it changes to for itself.
    pub(super) folder: Vec<String>,
    /// Why it makes other names of the text mean something else.
    pub(super) shadows: Option<String>,
    /// Variables it sets.
    pub(super) sets: Vec<String>,
    /// It changes the directory of the shell.
    pub(super) moves: Option<Move>,
}

impl StepVerdict {
    pub(super) fn reads(touches: Vec<Touch>) -> Self {
        StepVerdict { effect: Effect::Reads, touches, ..StepVerdict::default() }
    }

    pub(super) fn unknown(why: impl Into<String>) -> Self {
        StepVerdict { effect: Effect::Unknown(why.into()), ..StepVerdict::default() }
    }

    /// Unknown, and a rule on its name does not vouch for it.
    pub(super) fn careful(why: impl Into<String>, word: Option<usize>) -> Self {
        let why = why.into().replace(options::HOME, "");
        let cautions = vec![Caution::new(why.clone(), word)];
        StepVerdict { effect: Effect::Unknown(why), cautions, ..StepVerdict::default() }
    }

    /// `miss` counts the words behind the first `before`.
    pub(super) fn miss(name: &str, miss: Miss, before: usize) -> Self {
        StepVerdict::careful(format!("{name}: {}", miss.why), miss.word.map(|word| word + before))
    }

    fn rank(&self) -> u8 {
        match self.effect {
            Effect::Nothing => 0,
            Effect::Reads => 1,
            Effect::Writes => 2,
            Effect::Unknown(_) => 3,
            Effect::Ruin(_) => 4,
        }
    }

    /// Both of them happen.
    pub(super) fn join(&mut self, other: StepVerdict) {
        if other.rank() > self.rank() {
            self.effect = other.effect;
        }
        for touch in other.touches {
            if !self.touches.contains(&touch) {
                self.touches.push(touch);
            }
        }
        for caution in other.cautions {
            if !self.cautions.contains(&caution) {
                self.cautions.push(caution);
            }
        }
        for host in other.hosts {
            if !self.hosts.contains(&host) {
                self.hosts.push(host);
            }
        }
        self.git |= other.git;
        self.normal = other.normal;
        self.folder = other.folder;
        self.shadows = self.shadows.take().or(other.shadows);
        self.sets.extend(other.sets);
    }

    pub(super) fn apply(self, step: &mut Step) {
        step.effect = self.effect;
        step.touches.extend(self.touches);
        step.hosts.extend(self.hosts);
        step.cautions.extend(self.cautions);
        step.git |= self.git;
        if !self.normal.is_empty() {
            step.normal = self.normal;
        }
        if let Some(folder) = &mut step.folder {
            folder.extend(self.folder);
        }
    }
}

pub(super) fn touch(act: Act) -> impl Fn(Named) -> Touch {
    move |named| Touch::new(act, named.path, named.kind)
}

pub(super) fn judge(name: &str, words: &[Word], folder: Option<&[String]>) -> StepVerdict {
    let mut verdict = known(name, words, folder);
    if matches!(verdict.effect, Effect::Unknown(_)) {
        let counted = if verdict.normal.is_empty() { words } else { &verdict.normal };
        verdict.cautions.extend(unclear(counted));
    }
    verdict
}

fn known(name: &str, words: &[Word], folder: Option<&[String]>) -> StepVerdict {
    let rest = words.get(1..).unwrap_or_default();
    if let Some(why) = destruction::check(name, rest, folder) {
        return StepVerdict { effect: Effect::Ruin(why), ..StepVerdict::default() };
    }
    if let Some(verdict) = builtins::judge(name, rest).or_else(|| languages::version(name, rest)) {
        return verdict;
    }
    match name {
        "git" => return git::judge(words),
        "sed" | "gsed" => return sed::judge(rest),
        "awk" | "gawk" | "mawk" | "nawk" => return languages::awk(rest),
        "jq" => return languages::jq(rest),
        "tar" if tar::lists(rest) => return tar::judge(rest),
        _ => {}
    }
    if let Some(program) = table::program(name) {
        if let Some(verdict) = printed(name, program, rest) {
            return verdict;
        }
        let held = operands(name, rest);
        return match options::check(program, held.as_deref().unwrap_or(rest)) {
            Ok(named) if name == "diff" => StepVerdict::reads(compared(named)),
            Ok(named) => StepVerdict::reads(named.into_iter().map(touch(Act::Read)).collect()),
            Err(miss) => StepVerdict::miss(name, miss, 1),
        };
    }
    let mut verdict =
        writers::judge(name, rest).unwrap_or_else(|| risky_options::judge(name, words));
    if matches!(verdict.effect, Effect::Unknown(_)) {
        destinations::guess(name, rest, &mut verdict);
    }
    verdict
}

/// Programs that print their operands and open none of them.
const PRINTERS: &[&str] = &["basename", "dirname", "printf"];

/// Of what they print only the options must be known; a pattern tells names. None: it is judged like all the others.
fn printed(name: &str, program: &table::Program, words: &[Word]) -> Option<StepVerdict> {
    let is_open = |word: &&Word| match word {
        Word::Literal(_) => false,
        // A name that it matches could be an option.
        Word::Glob(pattern) => name == "printf" || options::cannot_be_option(pattern),
        // All they do with any word is print it, or fail.
        Word::Dynamic { parts, .. } => {
            name != "printf"
                && !parts.is_empty()
                && !parts.iter().any(|p| matches!(p, WordPart::Glob(_) | WordPart::Other(_)))
        }
    };
    let from = usize::from(name == "printf");
    let (first, rest) = words.split_at_checked(from)?;
    if !PRINTERS.contains(&name) || !rest.iter().any(|word| is_open(&word)) {
        return None;
    }
    let mut kept = first.to_vec();
    kept.extend(rest.iter().filter(|word| !is_open(word)).cloned());
    let mut named = options::check(program, &kept).ok()?;
    for word in rest {
        if let Word::Glob(pattern) = word {
            named.push(options::glob(pattern).ok()?);
        }
    }
    Some(StepVerdict::reads(named.into_iter().map(touch(Act::Read)).collect()))
}

/// Of two directories diff reads the files, and follows links.
fn compared(named: Vec<Named>) -> Vec<Touch> {
    let mut touches = Vec::new();
    for Named { path, kind } in named {
        let escaped = path.replace(['*', '?', '[', '\\'], "?");
        let below = Named { path: format!("{escaped}/*"), kind: TouchKind::Glob };
        touches.extend([Named { path, kind }, below].map(touch(Act::Read)));
    }
    touches
}

/// Programs without an option that writes, runs or waits. To them a file whose name looks like an option is no danger.
const WHATEVER: &[&str] = &["grep", "head", "wc", "cut", "stat", "du"];

/// Programs that read a pipe like any file they are given.
const PIPED: &[&str] = &["cat", "diff", "comm", "cmp", "head", "tail", "wc", "paste", "sort"];

/// The words as an entry of the table can judge them, where they differ: `*.rs` is `./*.rs`, and a process substitution
/// is a pipe like the standard input.
fn operands(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let plain = |word: &Word| match word {
        Word::Glob(pattern) if WHATEVER.contains(&name) && pattern.starts_with(['*', '?', '[']) => {
            Some(Word::Glob(format!("./{pattern}")))
        }
        Word::Dynamic { parts, .. } if PIPED.contains(&name) => match parts.as_slice() {
            [WordPart::Process(_)] => Some(Word::Literal("-".into())),
            _ => None,
        },
        _ => None,
    };
    let changes = words.iter().any(|word| plain(word).is_some());
    changes.then(|| words.iter().map(|word| plain(word).unwrap_or_else(|| word.clone())).collect())
}

/// Words that could be any option.
fn unclear(words: &[Word]) -> Vec<Caution> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match word {
            Word::Literal(_) => {}
            Word::Glob(pattern) if options::cannot_be_option(pattern) => {}
            Word::Glob(pattern) => {
                found.push(caution(at, format!("{pattern} can match an option")))
            }
            Word::Dynamic { .. } if is_message(words, at) => {}
            Word::Dynamic { source, why, .. } => {
                let why = format!("{} is {}", shown(source), why.name());
                found.push(Caution::new(why, None));
            }
        }
    }
    found
}

/// `git commit -m "…"`: whatever it says, it is the message.
fn is_message(words: &[Word], at: usize) -> bool {
    let literal = |at: usize| words.get(at).and_then(Word::literal);
    let before = at.checked_sub(1).and_then(literal);
    (literal(0), literal(1)) == (Some("git"), Some("commit"))
        && matches!(before, Some("-m" | "--message" | "-am"))
        && words.get(at).is_some_and(crate::options::is_one_word)
}
