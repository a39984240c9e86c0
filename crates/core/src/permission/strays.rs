//! Words that may name a place a rule on a program was not meant for.
//!
//! Of a program without a table nobody knows which words are files. Each further word is taken for one: if it leads out
//! of the workspace, to a protected name, or to where a rule on files speaks, the rule on the program does not vouch.

use super::access::{Access, PathScope};
use super::commands::{Effect, Step};
use super::decide::Scene;
use super::guarded::protected;
use super::rule::{Matcher, Reach};
use super::script::Word;
use std::path::{Component, Path, PathBuf};

/// Why one of the words is not plain. `spelled` tells which of them the rule spells out.
pub(super) fn stray(
    scene: Scene<'_>,
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
            let met = scene.policy.deny.iter().chain(&scene.policy.ask).find(|rule| {
                matches!(&rule.matcher, Matcher::Files(files)
                    if files.may_meet(place, pattern) || files.may_meet(place, &below))
            });
            if let Some(rule) = met {
                return Some(format!("{pattern} may stand for what {} covers", rule.text()));
            }
        }
        let is_git = words.first().and_then(Word::literal) == Some("git");
        candidates(text).into_iter().find_map(|path| refused(scene, place, path, is_git))
    })
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

/// What of a word could be a path: all of it, the value behind `=`, the one glued to a letter, parts of a list.
fn candidates(text: &str) -> Vec<&str> {
    let is_address = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    let value = text.split_once('=').map(|(_, value)| value);
    let glued = match text.strip_prefix('-') {
        Some(rest) if !rest.starts_with('-') => rest.get(1..),
        _ => None,
    };
    let whole = if text.starts_with('-') { None } else { Some(text) };
    let all = [whole, value, glued].into_iter().flatten().filter(|text| !is_address(text));
    all.flat_map(|text| text.split([':', ',', '=']))
        .map(|text| text.trim_start_matches('@'))
        .filter(|text| !text.is_empty())
        .collect()
}

fn refused(scene: Scene<'_>, place: &Path, text: &str, is_git: bool) -> Option<String> {
    if matches!(text, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr") {
        return None;
    }
    let path = joined(place, text);
    if !scene.workspace.contains(&path) {
        return Some(format!("{text} leads out of the workspace"));
    }
    if let Some(why) = protected(&path, scene.workspace).filter(|_| !is_git) {
        return Some(format!("{text} is a protected name: {why}"));
    }
    let scope = vec![PathScope::File(path)];
    let files = Access { reads: scope.clone(), writes: scope, ..Access::nothing() };
    let mut rules = scene.policy.deny.iter().chain(&scene.policy.ask);
    let speaks = |matcher: &Matcher| matches!(matcher, Matcher::Files(_));
    let rule =
        rules.find(|rule| speaks(&rule.matcher) && rule.touches("Bash", &files) != Reach::None)?;
    Some(format!("{text} may be a file that the rule {} speaks of", rule.text()))
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
mod tests {
    use super::*;

    #[test]
    fn what_of_a_word_could_be_a_path() {
        for (word, expected) in [
            ("a/b", &["a/b"][..]),
            ("-C/tmp", &["/tmp"]),
            ("--junitxml=/tmp/x", &["/tmp/x"]),
            ("--cov-report=html:/tmp/x", &["html", "/tmp/x"]),
            ("@/tmp/args", &["/tmp/args"]),
            ("https://x.example/../y", &[]),
            ("--registry=https://x.example/", &[]),
            ("--release", &[]),
            ("a::b", &["a", "b"]),
        ] {
            assert_eq!(candidates(word), expected, "{word}");
        }
    }

    #[test]
    fn a_message_is_no_file() {
        let words = |line: &str| -> Vec<Word> {
            line.split(' ').map(|word| Word::Literal(word.into())).collect()
        };
        for (line, at, expected) in [
            ("git commit -m /etc", 3, true),
            ("git commit -am /etc", 3, true),
            ("git commit --message=/etc", 2, true),
            ("git commit -F /etc", 3, false),
            ("git add -m /etc", 3, false),
            ("tar -m /etc", 2, false),
        ] {
            assert_eq!(is_message(&words(line), at), expected, "{line}");
        }
    }
}
