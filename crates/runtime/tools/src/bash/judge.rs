//! What patterns over file names stand for, and what an exit code says.

use ostler_core::permission::script::{PipelineStage, Script, Word};
use std::path::{Path, PathBuf};

/// Names a pattern may stand for; a wider one is not expanded here.
const MAX_NAMES: usize = 200;
/// Names looked at to expand it.
const MAX_LOOKS: usize = 20_000;

/// Exit code 1 of a proved command means "no", not "failed".
pub fn one_is_an_answer(command: &str) -> bool {
    ostler_shell::parse(command).is_ok_and(|script| ends_with_a_question(&script))
}

/// Every name the shell could make of a pattern, and some more: `?` is taken for `*`. As in the shell, a wildcard at the
/// start of a name does not stand for a dot; who changes that (`shopt`, `GLOBIGNORE`) is not understood in the first
/// place. None if it cannot be told or is too much.
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
    if name.starts_with(b".") && !part.starts_with('.') {
        return false;
    }
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
    let Some(PipelineStage::Simple(last)) = item.first.stages.last() else { return false };
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
