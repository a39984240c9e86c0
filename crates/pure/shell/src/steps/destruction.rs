//! Commands that destroy a system or a home. They are refused whatever the rules say.

use crate::options::{HOME, is_root};
use ostler_policy::script::{Form, Word, WordPart};

/// `words` are those behind the program.
pub(super) fn check(name: &str, words: &[Word], folder: Option<&[String]>) -> Option<String> {
    match name {
        "rm" | "chmod" | "chown" | "chgrp" => {
            if !is_recursive(words) {
                return None;
            }
            let mut operands = operands(words);
            let target = operands.find(|word| is_everything(word, folder))?;
            let what = match name {
                "rm" => "deletes",
                _ => "changes the permissions of",
            };
            Some(format!("it {what} everything below {}", shown(target)))
        }
        "dd" => {
            let mut outputs = words.iter().filter_map(Word::literal);
            let disk = outputs.find_map(|word| word.strip_prefix("of=").filter(|p| is_disk(p)))?;
            Some(format!("it writes to the disk {disk} itself"))
        }
        "wipefs" | "shred" | "blkdiscard" | "mkswap" => {
            let disk = words.iter().filter_map(Word::literal).find(|word| is_disk(word))?;
            Some(format!("it destroys the disk {disk}"))
        }
        _ if name == "mkfs" || name.starts_with("mkfs.") => {
            Some("it makes a new file system over an old one".into())
        }
        _ => None,
    }
}

/// Tests of find that leave nothing out, options that are no tests, and what joins them.
const ALL: &[&str] = &[
    "-depth", "-d", "-xdev", "-mount", "-print", "-print0", "-true", "-noleaf", "-follow", "-warn",
    "-nowarn", "-a", "-and", "(", ")",
];
/// Words before a program that leave it what it is.
const BEFORE: &[&str] = &["sudo", "doas", "env", "command", "nice", "exec"];

/// find that deletes all it finds from the root or the home directory on. `words` are those behind the program.
pub(super) fn find(words: &[Word], folder: Option<&[String]>) -> Option<String> {
    let is_option = |word: &Word| matches!(word.literal(), Some("-H" | "-L" | "-P"));
    let from = words.iter().take_while(|word| is_option(word)).count();
    let words = words.get(from..).unwrap_or_default();
    // A word that is not known could be a test.
    let is_start = |word: &Word| match word {
        Word::Literal(text) => {
            !text.starts_with('-') && !matches!(text.as_str(), "(" | ")" | "!" | ",")
        }
        Word::Glob(_) => true,
        Word::Dynamic { .. } => is_everything(word, folder),
    };
    let starts = words.iter().take_while(|word| is_start(word)).count();
    let (starts, tests) = words.split_at_checked(starts)?;
    let here = [Word::Literal(".".into())];
    let starts = if starts.is_empty() { &here } else { starts };
    let target = starts.iter().find(|word| is_everything(word, folder))?;
    deletes_all(tests).then(|| format!("it deletes everything below {}", shown(target)))
}

/// The first action that deletes comes before any test that could leave something out.
fn deletes_all(tests: &[Word]) -> bool {
    let literal = |at: usize| tests.get(at).and_then(Word::literal);
    let (mut at, mut shallow) = (0, false);
    while let Some(test) = literal(at) {
        let value = literal(at + 1);
        at += match test {
            "-delete" => return !shallow,
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let command = tests.get(at + 1..).unwrap_or_default();
                return removes(command, shallow);
            }
            "-type" | "-mindepth" => 2,
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" if value == Some("*") => 2,
            // Whoever deletes directories goes deeper without it.
            "-maxdepth" => {
                shallow = true;
                2
            }
            _ if ALL.contains(&test) => 1,
            _ => return false,
        };
    }
    false
}

/// `rm {}`, up to the end of the command; where only the top is found, with all that is in it.
fn removes(command: &[Word], shallow: bool) -> bool {
    let end = command.iter().position(|word| matches!(word.literal(), Some(";" | "+")));
    let command = command.get(..end.unwrap_or(command.len())).unwrap_or_default();
    let is_before = |word: &&Word| {
        word.literal().is_some_and(|text| text.starts_with('-') || BEFORE.contains(&text))
    };
    let before = command.iter().take_while(is_before).count();
    let command = command.get(before..).unwrap_or_default();
    let Some((Word::Literal(program), rest)) = command.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or_default();
    let found = rest.iter().any(|word| word.literal() == Some("{}"));
    found
        && match name {
            "rm" => !shallow || is_recursive(rest),
            "unlink" | "shred" => !shallow,
            _ => false,
        }
}

/// A device that holds a file system.
pub(super) fn is_disk(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let kinds =
        ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "loop", "mapper"];
    match parts.as_slice() {
        ["dev", name, ..] if path.starts_with('/') => {
            kinds.iter().any(|kind| name.starts_with(kind))
        }
        _ => false,
    }
}

fn is_recursive(words: &[Word]) -> bool {
    let options = words.iter().filter_map(Word::literal).take_while(|word| *word != "--");
    options.filter(|word| word.starts_with('-')).any(|word| match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => word.contains(['r', 'R']),
    })
}

fn operands(words: &[Word]) -> impl Iterator<Item = &Word> {
    let mut ended = false;
    words.iter().filter(move |word| match word.literal() {
        Some("--") if !ended => {
            ended = true;
            false
        }
        Some(text) => ended || !text.starts_with('-'),
        None => true,
    })
}

/// The root, the home directory, or all that is in one of them.
fn is_everything(word: &Word, folder: Option<&[String]>) -> bool {
    match word {
        Word::Literal(path) => is_top(path, folder),
        Word::Glob(pattern) => {
            let pattern = pattern.trim_end_matches('/');
            let (before, last) = pattern.rsplit_once('/').unwrap_or((".", pattern));
            let before = if before.is_empty() { "/" } else { before };
            matches!(last, "*" | ".*" | "?*" | "**" | ".[!.]*" | ".??*") && is_top(before, folder)
        }
        Word::Dynamic { parts, .. } => match parts.as_slice() {
            [WordPart::Parameter { name, form: Form::Value, .. }, rest @ ..] if name == "HOME" => {
                is_nothing_more(rest)
            }
            [WordPart::Tilde(name), rest @ ..] if name.is_empty() => is_nothing_more(rest),
            _ => false,
        },
    }
}

fn is_nothing_more(rest: &[WordPart]) -> bool {
    rest.iter().all(|part| match part {
        WordPart::Literal(text) => {
            text.chars().all(|c| matches!(c, '/' | '.')) && !text.contains("..")
        }
        WordPart::Glob(text) => text.chars().all(|c| matches!(c, '/' | '.' | '*')),
        _ => false,
    })
}

fn is_top(path: &str, folder: Option<&[String]>) -> bool {
    if let Some(home) = path.strip_prefix(HOME) {
        return home.chars().all(|c| matches!(c, '~' | '/' | '.')) && !home.contains("..");
    }
    if path.starts_with('/') {
        return is_root(path);
    }
    // Relative, after a change of directory to a place that is known.
    let stays = path.split('/').all(|part| matches!(part, "" | "."));
    let at = folder.and_then(|folder| folder.last());
    let top = at.is_some_and(|at| is_root(at) || matches!(at.as_str(), "~" | "~/"));
    stays && top && !path.is_empty()
}

fn shown(word: &Word) -> &str {
    match word {
        Word::Literal(text) => text.trim_start_matches(HOME),
        Word::Glob(text) => text,
        Word::Dynamic { source, .. } => source,
    }
}

#[cfg(test)]
#[path = "destruction_tests.rs"]
mod tests;
