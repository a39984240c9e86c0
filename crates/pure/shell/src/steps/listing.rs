//! Names of files that a pipeline prints for `xargs`: `find src -name '*.rs' | xargs wc -l`.
//!
//! Which files they are only the disk knows. But they lie below directories that the text names, and whoever looks up a
//! [`TouchKind::Listed`] makes sure that the names are plain words and where links among them lead.

use super::walk::StepWalk;
use crate::options;
use ostler_policy::script::*;
use ostler_policy::{Act, Effect, Touch, TouchKind};

/// What a stage of a pipeline prints: names below these directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) folders: Vec<String>,
    /// Each ends with a zero byte.
    pub(super) zero: bool,
    /// Files that are asked for by name.
    pub(super) named: Vec<String>,
}

/// Programs that read the files they are given. Judged by their tables as ever, with the directory in place of the
/// names.
const READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "ls",
    "stat",
    "file",
    "md5sum",
    "sha256sum",
    "du",
    "nl",
    "sed",
    "sort",
];

/// What the stage prints, where it is nothing but names; `given` is what it reads.
pub(super) fn of(stage: &PipelineStage, given: Option<Listing>) -> Option<Listing> {
    let PipelineStage::Simple(Command { assignments, words, redirects }) = stage else {
        return None;
    };
    let quiet = |r: &Redirect| r.fd == Some(2) && r.target.literal() == Some("/dev/null");
    if !assignments.is_empty() || !redirects.iter().all(quiet) {
        return None;
    }
    let texts: Vec<&str> = words.iter().map(Word::literal).collect::<Option<_>>()?;
    match texts.as_slice() {
        ["find", ..] => super::find::prints_names(words).map(|(folders, zero)| {
            let named = super::find::named_files(words, &folders);
            Listing { folders, zero, named }
        }),
        ["grep", rest @ ..] => searched(rest).or_else(|| given.filter(|_| is_filter(rest))),
        ["rg", rest @ ..] => by_ripgrep(rest),
        ["head" | "tail", rest @ ..] if is_count(rest) => given,
        ["sort", rest @ ..] if rest.iter().all(|word| is_cluster(word, "urnVfdbh")) => given,
        ["uniq"] => given,
        _ => None,
    }
    .filter(|listing| listing.folders.iter().all(|folder| is_plain(folder)))
}

fn here() -> Listing {
    Listing { folders: vec![".".into()], ..Listing::default() }
}

fn is_cluster(word: &str, letters: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|given| !given.is_empty() && given.chars().all(|c| letters.contains(c)))
}

/// Nothing in it splits into words or looks like an option.
fn is_plain(folder: &str) -> bool {
    !folder.starts_with('-') && folder.chars().all(|c| c.is_alphanumeric() || "-_./+,@".contains(c))
}

/// `-5`, `-n 5`
fn is_count(words: &[&str]) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match words {
        [] => true,
        ["-n", count] => number(count),
        [count] => count.strip_prefix("-n").or_else(|| count.strip_prefix('-')).is_some_and(number),
        _ => false,
    }
}

/// `grep -v x`: whole lines of what it reads.
fn is_filter(words: &[&str]) -> bool {
    matches!(words.split_last(), Some((pattern, options))
        if !pattern.starts_with('-') && options.iter().all(|word| is_cluster(word, "viEFwxP")))
}

/// `grep -rl x src`. Without a directory it would print names as they are.
fn searched(words: &[&str]) -> Option<Listing> {
    let (options, operands): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with('-'));
    let known = |word: &&str| {
        is_cluster(word, "rlLiIEFwvxnP")
            || word.starts_with("--include=")
            || word.starts_with("--exclude")
    };
    let has =
        |letters: &[char]| options.iter().any(|w| !w.starts_with("--") && w.contains(letters));
    let (_, folders) = operands.split_first()?;
    let fine = options.iter().all(known) && has(&['r']) && has(&['l', 'L']) && !folders.is_empty();
    let folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
    fine.then_some(Listing { folders, ..Listing::default() })
}

/// `rg -l x src`, `rg --files src`
fn by_ripgrep(words: &[&str]) -> Option<Listing> {
    let (mut operands, mut lists, mut files) = (Vec::new(), false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--files" => files = true,
            "--files-with-matches" => lists = true,
            "-t" | "-g" => drop(words.next()?),
            _ if is_cluster(word, "liwFSsv") => lists |= word.contains('l'),
            _ if word.starts_with('-') => return None,
            _ => operands.push((*word).to_owned()),
        }
    }
    let folders = operands.get(usize::from(!files)..)?.to_vec();
    let folders = if folders.is_empty() { here().folders } else { folders };
    (lists || files).then_some(Listing { folders, ..Listing::default() })
}

/// The options of xargs that only say how names are read and how many at a time. The mark of `-I`, if there is one.
fn plain_options(words: &[Word]) -> Option<(bool, Option<String>)> {
    let texts: Vec<&str> = words.iter().map(Word::literal).collect::<Option<_>>()?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (mut zero, mut mark) = (false, None);
    let mut texts = texts.into_iter();
    while let Some(text) = texts.next() {
        match text {
            "-0" | "--null" => zero = true,
            "-r0" | "-0r" => zero = true,
            "-r" | "--no-run-if-empty" | "-t" | "--" => {}
            "-n" | "-P" | "-L" => drop(texts.next().filter(|text| number(text))?),
            "-d" => drop(texts.next().filter(|text| matches!(*text, "\\n" | "\n"))?),
            "-I" => mark = Some(texts.next()?.to_owned()),
            _ if text.starts_with("-I") => mark = text.get(2..).map(str::to_owned),
            _ if ["-n", "-P", "-L"].iter().any(|o| text.strip_prefix(o).is_some_and(number)) => {}
            _ => return None,
        }
    }
    Some((zero, mark))
}

impl StepWalk {
    /// The command that xargs starts with listed names, if it only reads them. True if it was one.
    pub(super) fn reads_listed(
        &mut self,
        index: usize,
        options: &[Word],
        command: &[Word],
        redirects: &[Redirect],
    ) -> bool {
        let Some(listing) = self.listing.clone() else { return false };
        let Some((zero, mark)) = plain_options(options) else { return false };
        let name = command.first().and_then(Word::literal);
        let literal = command.iter().all(|word| word.literal().is_some());
        // xargs reads its names from the pipe, and from nowhere else.
        let piped = !redirects.iter().any(|r| r.fd.is_none_or(|fd| fd == 0) && is_input(r.kind));
        if zero != listing.zero || !literal || !piped || !name.is_some_and(|n| READERS.contains(&n))
        {
            return false;
        }
        let mut words = command.to_vec();
        let folders = listing.folders.iter().map(|folder| Word::Literal(folder.clone()));
        match mark {
            None => words.extend(folders),
            Some(mark) => {
                let holds = |word: &Word| word.literal().is_some_and(|text| text.contains(&mark));
                let last = words.pop().filter(|last| last.literal() == Some(&mark));
                if last.is_none() || words.iter().any(holds) || mark.is_empty() {
                    return false;
                }
                words.extend(folders);
            }
        }
        self.change(index, |step| {
            step.effect = Effect::Nothing;
            step.transparent = true;
        });
        let kind = if zero { TouchKind::Followed } else { TouchKind::Listed };
        self.reads_below(index, &words, &listing, kind, redirects);
        true
    }

    /// The command is given names below the directories, which stand for them among its words.
    pub(super) fn reads_below(
        &mut self,
        index: usize,
        words: &[Word],
        listing: &Listing,
        kind: TouchKind,
        redirects: &[Redirect],
    ) {
        let inner = self.steps.len();
        self.enter(index, words, redirects);
        let paths: Vec<String> =
            listing.folders.iter().map(|folder| options::written(folder)).collect();
        let mut named = paths.clone();
        self.change(inner, |step| {
            for touch in step.touches.iter_mut().filter(|touch| paths.contains(&touch.path)) {
                named.retain(|path| *path != touch.path);
                touch.kind = kind;
            }
            let file = |path: &String| Touch::new(Act::Read, path.clone(), TouchKind::File);
            step.touches.extend(listing.named.iter().map(file));
        });
        // One of the names would be something else to it, such as a pattern.
        if !named.is_empty() {
            self.unknown(inner, "it is not known what it does with the names it is given", None);
        }
    }
}

fn is_input(kind: RedirectKind) -> bool {
    use RedirectKind as Kind;
    matches!(
        kind,
        Kind::Read | Kind::ReadWrite | Kind::HereDocument | Kind::HereString | Kind::DuplicateInput
    )
}
