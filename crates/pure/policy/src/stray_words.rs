//! Words that may name a place a rule on a program was not meant for.
//!
//! Of a program without a table nobody knows which words are files. Each further word is taken for one: if it leads out
//! of the workspace, to a protected name, or to where a rule on files speaks, the rule on the program does not vouch.
//! If it leads to a secret, or to a file that a deny or ask rule names, somebody is asked whatever vouches.

use super::access::{Access, PathScope};
use super::commands::{Act, Effect, Step, Touch, TouchKind};
use super::decide::{DecisionScene, Reason, Ruling, Verdict, by_rule, guard};
use super::guarded_names::protected;
use super::rule::{COMMANDS, Matcher, Reach, Rule};
use super::script::{Form, Word, WordPart};
use std::path::{Component, Path, PathBuf};

/// Why one of the words is not plain. `spelled` tells which of them the rule spells out.
pub(super) fn stray(
    scene: DecisionScene<'_>,
    step: &Step,
    spelled: impl Fn(usize) -> bool,
) -> Option<String> {
    if !matches!(step.effect, Effect::Unknown(_)) {
        return None;
    }
    let words = step.compared();
    let place = step.place.as_deref().unwrap_or(&scene.workspace.cwd);
    words.iter().enumerate().skip(1).find_map(|(at, word)| {
        if spelled(at) || is_message(words, at) {
            return None;
        }
        let text = match word {
            Word::Literal(text) => text.as_str(),
            Word::Glob(pattern) => pattern.split(['*', '?', '[']).next().unwrap_or_default(),
            Word::Dynamic { .. } => return None,
        };
        if let Word::Glob(pattern) = word {
            let below = format!("{pattern}/*");
            let deny = scene.policy.deny.iter().filter(|_| !scene.kernel_denies());
            let met = deny.chain(&scene.policy.ask).find(|rule| {
                matches!(&rule.matcher, Matcher::Files(files)
                    if files.may_meet(place, pattern) || files.may_meet(place, &below))
            });
            if let Some(rule) = met {
                return Some(format!("{pattern} may match what {} covers", rule.text()));
            }
        }
        let only_records = is_recorded(words, text);
        candidates(text).into_iter().find_map(|path| refused(scene, place, path, only_records))
    })
}

/// git takes the file into the repository and leaves it as it is. Not what its options name.
fn is_recorded(words: &[Word], text: &str) -> bool {
    let literal = |at: usize| words.get(at).and_then(Word::literal);
    let records = [
        "add",
        "stage",
        "commit",
        "blame",
        "diff",
        "log",
        "show",
        "status",
        "check-ignore",
        "ls-files",
    ];
    literal(0) == Some("git")
        && literal(1).is_some_and(|sub| records.contains(&sub))
        && !text.starts_with('-')
}

/// A place below each directory of the home that is no secret itself, but holds one.
const HELD: [&str; 12] = [
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".config/containers/auth.json",
    ".config/gh",
    ".config/git/credentials",
    ".docker/config.json",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".local/share/keyrings",
    ".m2/settings.xml",
    ".var/app",
    "snap/firefox",
];

/// Why somebody must be asked about a file that the step names, although no table says what it does with it, or nobody
/// knows from which directory.
pub(super) fn named(scene: DecisionScene<'_>, step: &Step) -> Option<Ruling> {
    let place = step.place.as_deref().unwrap_or(&scene.workspace.cwd);
    let unplaced = step.touches.iter().filter(|touch| touch.scopes.is_none());
    if let Some(ruling) = unplaced.into_iter().find_map(|touch| by_name(scene, place, touch)) {
        return Some(ruling);
    }
    if step.transparent || !matches!(step.effect, Effect::Unknown(_)) {
        return None;
    }
    let words = step.compared();
    words.iter().enumerate().skip(1).find_map(|(at, word)| {
        let told = (!is_message(words, at)).then(|| KnownText::of(scene, place, word))?;
        let met = told.pattern.as_deref().and_then(|pattern| matched(scene, place, pattern));
        let whole = Some(told.known.as_str())
            .filter(|known| !known.is_empty() && !known.starts_with('-') && !is_address(known));
        let mut texts = candidates(&told.known).into_iter().chain(whole);
        met.or_else(|| texts.find_map(|text| spoken_of(scene, place, text, None)))
    })
}

/// A file of a table whose place is not known: by its name, as if from here.
fn by_name(scene: DecisionScene<'_>, place: &Path, touch: &Touch) -> Option<Ruling> {
    let text = match touch.kind {
        TouchKind::File
        | TouchKind::Tree
        | TouchKind::Followed
        | TouchKind::Listed
        | TouchKind::InRepository => touch.path.as_str(),
        TouchKind::Glob => touch.path.split(['*', '?', '[']).next().unwrap_or_default(),
        TouchKind::Names | TouchKind::Repository => "",
    };
    let is_file = !text.is_empty() && touch.act != Act::Run;
    is_file.then(|| spoken_of(scene, place, text, Some(touch.act))).flatten()
}

/// What is known of a word before it runs.
struct KnownText {
    /// Up to the first piece that only the shell knows.
    known: String,
    /// All of it, if nothing but names of files is open.
    pattern: Option<String>,
}

impl KnownText {
    fn of(scene: DecisionScene<'_>, place: &Path, word: &Word) -> KnownText {
        let mut told = KnownText { known: String::new(), pattern: None };
        match word {
            Word::Literal(text) => told.known.push_str(text),
            Word::Glob(pattern) => told.open(pattern, true),
            Word::Dynamic { parts, .. } => {
                for (at, part) in parts.iter().enumerate() {
                    match part {
                        WordPart::Literal(text) => told.known.push_str(text),
                        WordPart::Glob(pattern) => {
                            told.open(pattern, at + 1 == parts.len());
                            break;
                        }
                        part => match folder(scene, place, part) {
                            Some(folder) => told.known.push_str(&folder.to_string_lossy()),
                            None => break,
                        },
                    }
                }
            }
        }
        told
    }

    fn open(&mut self, pattern: &str, last: bool) {
        self.pattern = last.then(|| format!("{}{pattern}", self.known));
        let fixed = pattern.split(['*', '?', '[']).next().unwrap_or_default();
        self.known.extend(fixed.chars().filter(|c| *c != '\\'));
    }
}

/// The home or working directory, where a piece of a word stands for one.
fn folder<'a>(scene: DecisionScene<'a>, place: &'a Path, part: &WordPart) -> Option<&'a Path> {
    let home = scene.workspace.home.as_path();
    let found = match part {
        WordPart::Tilde(name) if name.is_empty() => home,
        WordPart::Tilde(name) if home.file_name().is_some_and(|own| own == name.as_str()) => home,
        WordPart::Tilde(name) if name == "+" => place,
        WordPart::Parameter { name, form: Form::Value, .. } if name == "HOME" => home,
        WordPart::Parameter { name, form: Form::Value, .. } if name == "PWD" => place,
        _ => return None,
    };
    found.is_absolute().then_some(found)
}

/// Rules on files that a person wrote to be asked or refused, and which of both.
fn strict<'a>(scene: DecisionScene<'a>) -> impl Iterator<Item = (&'a Rule, Verdict)> {
    let deny = scene.policy.deny.iter().map(|rule| (rule, Verdict::Deny));
    deny.chain(scene.policy.asks().map(|rule| (rule, Verdict::Ask)))
}

/// A rule on a file that the pattern could match, or that holds all of a directory it could match.
fn matched(scene: DecisionScene<'_>, place: &Path, pattern: &str) -> Option<Ruling> {
    let here = place.to_str().and_then(|place| pattern.strip_prefix(place));
    let inside = here.and_then(|rest| rest.strip_prefix('/')).unwrap_or(pattern);
    let below = format!("{inside}/_");
    let meets = |rule: &Rule| {
        matches!(&rule.matcher, Matcher::Files(files)
            if files.may_meet(place, inside) || files.may_meet(place, &below))
    };
    let is_open = |effect: Verdict| effect == Verdict::Ask || !scene.kernel_denies();
    let (rule, _) = strict(scene).find(|(rule, effect)| is_open(*effect) && meets(rule))?;
    let why = format!("{pattern} may match what {} covers", rule.text());
    Some(Ruling::Ask(Reason { why, ..by_rule(rule, Verdict::Ask) }))
}

/// `act` is what happens to it, where that is known.
fn spoken_of(
    scene: DecisionScene<'_>,
    place: &Path,
    text: &str,
    act: Option<Act>,
) -> Option<Ruling> {
    let path = from_home(scene, place, text);
    let held = held_below(scene, place, &path);
    let scope = vec![PathScope::File(path)];
    let (reads, writes) = match act {
        None => (scope.clone(), scope),
        Some(Act::Write | Act::Redirect) => (Vec::new(), scope),
        Some(Act::Read | Act::Run) => (scope, Vec::new()),
    };
    let guarded = if act.is_some() { writes.as_slice() } else { &[] };
    let secret = || held.and_then(|held| guard(scene, &[held], &[], false));
    if let Some(reason) = guard(scene, &reads, guarded, false).or_else(secret) {
        return Some(Ruling::Ask(reason));
    }
    let files = Access { reads, writes, ..Access::nothing() };
    let speaks = |rule: &Rule| rule.touches(COMMANDS, &files) == Reach::Full;
    let (rule, _) = strict(scene).find(|(rule, _)| speaks(rule))?;
    let why = format!("{text} may be a file that the rule {} covers", rule.text());
    Some(Ruling::Ask(Reason { why, ..by_rule(rule, Verdict::Ask) }))
}

/// A secret below the directory. The home directory itself and the working directory are named too often to ask each
/// time.
fn held_below(scene: DecisionScene<'_>, place: &Path, path: &Path) -> Option<PathScope> {
    let home = &scene.workspace.home;
    let below = path.strip_prefix(home).ok().filter(|below| !below.as_os_str().is_empty())?;
    let held = HELD.iter().find(|held| path != place && Path::new(held).starts_with(below))?;
    Some(PathScope::File(home.join(held)))
}

/// Programs take `~/` for the home directory, too, where the shell does not.
fn from_home(scene: DecisionScene<'_>, place: &Path, text: &str) -> PathBuf {
    let home = scene.workspace.home.as_path();
    match text.strip_prefix('~') {
        Some(rest) if home.is_absolute() && (rest.is_empty() || rest.starts_with('/')) => {
            joined(home, rest.trim_start_matches('/'))
        }
        _ => joined(place, text),
    }
}

/// The message of a commit is no file, whatever it says.
pub(super) fn is_message(words: &[Word], at: usize) -> bool {
    let literal = |at: usize| words.get(at).and_then(Word::literal);
    let before = at.checked_sub(1).and_then(literal).unwrap_or_default();
    let commits = literal(0) == Some("git")
        && matches!(literal(1), Some("commit" | "tag" | "merge" | "stash" | "notes"));
    let short = |text: &str| text.starts_with('-') && !text.starts_with("--");
    commits
        && (before == "--message"
            || short(before) && before.len() <= 4 && before.ends_with('m')
            || literal(at).is_some_and(|text| text.starts_with("--message=")))
}

fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// What of a word could be a path: all of it, the value behind `=`, the one glued to a letter, parts of a list.
fn candidates(text: &str) -> Vec<&str> {
    let value = text.split_once('=').map(|(_, value)| value);
    let glued = match text.strip_prefix('-') {
        Some(rest) if !rest.starts_with('-') => rest.get(1..),
        _ => None,
    };
    let whole = if text.starts_with('-') { None } else { Some(text) };
    let all = [whole, value, glued].into_iter().flatten().filter(|text| !is_address(text));
    all.flat_map(|text| text.split([':', ',', '=', ';']))
        .map(|text| text.trim_start_matches(['@', '<']))
        .filter(|text| !text.is_empty())
        .collect()
}

fn refused(
    scene: DecisionScene<'_>,
    place: &Path,
    text: &str,
    only_records: bool,
) -> Option<String> {
    if matches!(text, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr") {
        return None;
    }
    let path = joined(place, text);
    if !scene.workspace.contains(&path) {
        return Some(format!("{text} leads out of the workspace"));
    }
    if let Some(why) = protected(&path, scene.workspace).filter(|_| !only_records) {
        return Some(format!("{text} is a protected name: {why}"));
    }
    let scope = vec![PathScope::File(path)];
    let files = Access { reads: scope.clone(), writes: scope, ..Access::nothing() };
    let mut rules = scene.policy.deny.iter().chain(&scene.policy.ask);
    let speaks = |matcher: &Matcher| matches!(matcher, Matcher::Files(_));
    let rule = rules
        .find(|rule| speaks(&rule.matcher) && rule.touches(COMMANDS, &files) != Reach::None)?;
    Some(format!("{text} may be a file that the rule {} covers", rule.text()))
}

/// By the text alone: links were looked up only where a table says what is a file.
fn joined(place: &Path, text: &str) -> PathBuf {
    let mut made = place.to_path_buf();
    for part in Path::new(text).components() {
        match part {
            Component::RootDir => made = PathBuf::from("/"),
            Component::ParentDir => {
                made.pop();
            }
            Component::Normal(name) => made.push(name),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    made
}

#[cfg(test)]
#[path = "stray_words_tests.rs"]
mod tests;
