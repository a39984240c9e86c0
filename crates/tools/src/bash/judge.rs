//! What a command would touch: proved, with the files it reads, or unknown.

use super::git;
use crate::workspace::Files;
use ostler_core::permission::script::{Script, Stage, Word};
use ostler_core::permission::{Access, Commands, PathScope};
use ostler_shell::{Proof, ReadKind, ReadPath};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names a pattern may stand for; a wider one is not expanded here.
const MAX_NAMES: usize = 200;
/// Names looked at to expand it.
const MAX_LOOKS: usize = 20_000;

/// A command whose text is proved to change nothing. That holds whatever the files are by the time it runs.
pub struct Proved {
    reads: Vec<ReadPath>,
    /// It runs git, which must be kept from running what a repository names.
    pub git: bool,
}

pub fn prove(command: &str) -> Option<Proved> {
    match ostler_shell::prove(command) {
        Proof::Harmless { reads, git } => Some(Proved { reads, git }),
        Proof::Unproved { .. } => None,
    }
}

/// Exit code 1 of a proved command means "no", not "failed".
pub fn one_is_an_answer(command: &str) -> bool {
    ostler_shell::parse(command).is_ok_and(|script| ends_with_a_question(&script))
}

/// Known only if it is proved, every file it reads can be named, and git would find nothing but a plain repository
/// inside the workspace.
pub fn access(command: &str, proved: Option<&Proved>, files: &Files) -> Access {
    let runs = Some(Arc::new(Commands { text: command.to_owned(), ..Commands::default() }));
    let reads = proved.and_then(|proved| {
        let scopes: Option<Vec<_>> = proved.reads.iter().map(|read| scopes(read, files)).collect();
        let mut scopes = scopes?.concat();
        if proved.git {
            // Its history holds every file, so a rule about one of them is a rule about all of it.
            let workspace = files.workspace();
            let repository = git::repository(&workspace.cwd, workspace).ok()?;
            scopes.extend(repository.map(PathScope::Tree));
        }
        Some(scopes)
    });
    match reads {
        Some(reads) => Access { reads, runs, ..Access::nothing() },
        None => Access { runs, ..Access::unknown() },
    }
}

fn scopes(read: &ReadPath, files: &Files) -> Option<Vec<PathScope>> {
    match read.kind {
        ReadKind::File => Some(vec![PathScope::File(files.resolve(&read.path).ok()?)]),
        ReadKind::Tree => Some(vec![PathScope::Tree(files.resolve(&read.path).ok()?)]),
        ReadKind::Glob => {
            let names = expand(&files.workspace().cwd, &read.path)?;
            let resolve = |path: PathBuf| files.resolve(path.to_str()?).ok().map(PathScope::Tree);
            names.into_iter().map(resolve).collect()
        }
    }
}

/// Every name the shell could make of a pattern, and some more: hidden names are included, and `?` is taken for `*`.
/// None if it cannot be told or is too much.
pub(super) fn expand(cwd: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    if pattern.contains(['[', '\\', '(', '{']) {
        return None;
    }
    let start = if pattern.starts_with('/') { Path::new("/") } else { cwd };
    let mut found = vec![start.to_path_buf()];
    let mut looks = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if !part.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for folder in found {
            for entry in folder.read_dir().into_iter().flatten() {
                looks += 1;
                let name = entry.ok()?.file_name();
                if matches(part, name.as_encoded_bytes()) {
                    next.push(folder.join(name));
                }
                if looks > MAX_LOOKS || next.len() > MAX_NAMES {
                    return None;
                }
            }
        }
        found = next;
    }
    // A pattern that matches nothing stays as it is.
    if found.is_empty() {
        found.push(start.join(pattern));
    }
    Some(found)
}

/// `*` and `?` stand for any bytes: never fewer names than in the shell, whatever its locale.
fn matches(part: &str, name: &[u8]) -> bool {
    let mut pieces = part.split(['*', '?']).map(str::as_bytes);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last: &[u8] = &[];
    let mut middle: Vec<&[u8]> = pieces.collect();
    if let Some(end) = middle.pop() {
        last = end;
    }
    for piece in middle.into_iter().filter(|piece| !piece.is_empty()) {
        match rest.windows(piece.len()).position(|window| window == piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The exit code is that of one program that answers with it: 1 is "no", not "failed".
fn ends_with_a_question(script: &Script) -> bool {
    let [item] = script.items.as_slice() else { return false };
    let Some(Stage::Simple(last)) = item.first.stages.last() else { return false };
    let word = |at: usize| last.words.get(at).and_then(Word::literal);
    let asks = match word(0) {
        Some("grep" | "egrep" | "fgrep" | "rg" | "diff" | "cmp" | "test" | "[") => true,
        Some("git") => matches!(word(1), Some("grep" | "diff")),
        _ => false,
    };
    asks && item.rest.is_empty() && !item.first.negated
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
