//! Where copied, moved and linked files land: in a directory they keep the last part of their name.

use super::inner_commands::caution;
use super::judge::StepVerdict;
use crate::options;
use ostler_policy::script::Word;
use ostler_policy::{Act, Caution, Concern, Touch, TouchKind};

/// What is written besides the destination itself, and why that may not be all.
#[derive(Debug, Default)]
pub(super) struct Landing {
    /// The destination, as a pattern.
    pub(super) folder: Option<String>,
    pub(super) touches: Vec<Touch>,
    pub(super) cautions: Vec<Caution>,
}

/// For a call that its table does not know, or that has none: all it is seen to write.
pub(super) fn guess(name: &str, words: &[Word], verdict: &mut StepVerdict) {
    let mut landing = of(name, words);
    if let Some(folder) = landing.folder.take() {
        landing.writes(folder);
    }
    verdict.touches.append(&mut landing.touches);
    verdict.cautions.append(&mut landing.cautions);
}

/// `words` are those behind the program; cautions count the program as well.
pub(super) fn of(name: &str, words: &[Word]) -> Landing {
    let mut landing = Landing::default();
    if !matches!(name, "cp" | "mv" | "ln" | "install") {
        return landing;
    }
    let DestinationSplit { folder, mut operands, recursive, makes } =
        DestinationSplit::of(name, words);
    if makes {
        operands.iter().filter_map(|(_, word)| pattern(word)).for_each(|path| landing.writes(path));
        return landing;
    }
    if let Some(at) = recursive {
        let why = format!("{name} covers everything in a directory");
        // What is in a directory may become protected where it lands in a hidden one.
        let hidden = operands.iter().any(|(_, word)| may_be_hidden(word));
        let concern = if hidden { Concern::Other } else { Concern::Writes };
        landing.cautions.push(caution(at + 1, why).about(concern));
    }
    let folder = match folder {
        Some(folder) => Some(folder),
        None => operands.pop().and_then(|(_, word)| pattern(word)),
    };
    let Some(folder) = folder else { return landing };
    for (at, word) in operands {
        landing.source(&folder, at + 1, word);
    }
    landing.folder = Some(folder);
    landing
}

impl Landing {
    /// A pattern, for below a plain file there is nothing.
    fn writes(&mut self, path: String) {
        self.touches.push(Touch::new(Act::Write, path, TouchKind::Glob));
    }

    fn source(&mut self, folder: &str, at: usize, word: &Word) {
        let text = match word {
            Word::Literal(text) | Word::Glob(text) => text.trim_end_matches('/'),
            // Such a word is not known to the tables, either.
            Word::Dynamic { .. } => return,
        };
        let last = text.rsplit_once('/').map_or(text, |(_, last)| last);
        let all = matches!(last, "." | ".." | "") || last.trim_start_matches(options::HOME) == "~";
        let hidden = matches!(word, Word::Glob(_)) && last.starts_with(['.', '[', '\\', '(']);
        if all || hidden {
            let why = format!("it is unclear what {text} writes there");
            self.cautions.push(caution(at, why.replace(options::HOME, "")));
        }
        let wild = matches!(word, Word::Glob(_)) && last.contains(['*', '?', '[']);
        if !all && !wild {
            self.writes(format!("{}/{}", folder.trim_end_matches('/'), escaped(last)));
        }
    }
}

/// The words of such a program, read without a table: an option that is not known has no value.
struct DestinationSplit<'a> {
    /// Of `-t`.
    folder: Option<String>,
    operands: Vec<(usize, &'a Word)>,
    /// The place of the option.
    recursive: Option<usize>,
    /// `install -d`: every operand is a directory to make.
    makes: bool,
}

impl<'a> DestinationSplit<'a> {
    fn of(name: &str, words: &'a [Word]) -> Self {
        let mut split =
            DestinationSplit { folder: None, operands: Vec::new(), recursive: None, makes: false };
        let mut words = words.iter().enumerate();
        while let Some((at, word)) = words.next() {
            match word.literal() {
                Some("--") => {
                    split.operands.extend(words);
                    break;
                }
                Some(text) if text.len() > 1 && text.starts_with('-') => {
                    if name == "cp" && is_recursive(text) {
                        split.recursive = split.recursive.or(Some(at));
                    }
                    let long = text.starts_with("--");
                    let folders = text == "--directory" || !long && text.contains('d');
                    split.makes |= name == "install" && folders;
                    match target(text) {
                        Some("") => {
                            split.folder = words.next().and_then(|(_, word)| pattern(word));
                        }
                        Some(glued) => split.folder = pattern(&Word::Literal(glued.to_owned())),
                        None => {}
                    }
                }
                _ => split.operands.push((at, word)),
            }
        }
        split
    }
}

/// A part of the path begins with a dot, or may.
fn may_be_hidden(word: &Word) -> bool {
    let Word::Literal(path) = word else { return true };
    path.split('/').any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
}

fn is_recursive(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => ["recursive", "archive"].iter().any(|name| name.starts_with(long)),
        None => option.contains(['r', 'R', 'a']),
    }
}

/// The directory of `-t` as far as it is glued to it.
fn target(option: &str) -> Option<&str> {
    match option.strip_prefix("--") {
        Some(long) => {
            let (name, value) = long.split_once('=').unwrap_or((long, ""));
            (name.len() > 1 && "target-directory".starts_with(name)).then_some(value)
        }
        None => option.split_once('t').map(|(_, glued)| glued),
    }
}

/// As a pattern that matches this path.
fn pattern(word: &Word) -> Option<String> {
    match word {
        Word::Literal(path) if options::is_special(path) => None,
        Word::Literal(path) => Some(options::written(&escaped(path))),
        Word::Glob(pattern) => options::glob(pattern).ok().map(|named| named.path),
        Word::Dynamic { .. } => None,
    }
}

fn escaped(path: &str) -> String {
    path.replace(['*', '?', '[', '\\'], "?")
}

#[cfg(test)]
#[path = "destinations_tests.rs"]
mod tests;
