//! tar, where it only lists what an archive holds.

use super::judge::{StepVerdict, touch};
use crate::options::{self, Miss, Named};
use ostler_policy::script::Word;
use ostler_policy::{Act, TouchKind};

pub(super) fn lists(words: &[Word]) -> bool {
    let first = words.first().and_then(Word::literal).unwrap_or_default();
    first == "--list" || !first.starts_with("--") && first.trim_start_matches('-').contains('t')
}

pub(super) fn judge(words: &[Word]) -> StepVerdict {
    match read(words) {
        Ok(files) => StepVerdict::reads(files.into_iter().map(touch(Act::Read)).collect()),
        Err(miss) => StepVerdict::miss("tar", miss, 1),
    }
}

fn read(words: &[Word]) -> Result<Vec<Named>, Miss> {
    let mut files = Vec::new();
    let mut takes_file = false;
    for (at, word) in words.iter().enumerate() {
        let refused = |why: String| Miss::at(at, why);
        let text = options::literal(word).map_err(Miss::from)?;
        if std::mem::take(&mut takes_file) {
            // A colon would be a host.
            if text.contains(':') {
                return Err(refused(format!("{text} can name another host")));
            }
            if text != "-" {
                files.push(options::readable(text, TouchKind::File).map_err(refused)?);
            }
            continue;
        }
        let letters = match text.strip_prefix('-') {
            Some(letters) if !letters.starts_with('-') => letters,
            None if at == 0 => text,
            Some("-list" | "-verbose" | "-gzip" | "-bzip2" | "-xz" | "-zstd") => continue,
            Some(_) => return Err(refused(format!("{text} is not known to be read-only"))),
            // What it looks for in the archive.
            None => continue,
        };
        let before = letters.strip_suffix('f').unwrap_or(letters);
        if !before.chars().all(|c| "tvzjJ".contains(c)) {
            return Err(refused(format!("{text} is not known to be read-only")));
        }
        takes_file = letters.ends_with('f');
    }
    match takes_file {
        true => Err("-f lacks its file".into()),
        false => Ok(files),
    }
}
