//! find: where it looks, and what it starts for each file.

use super::destruction;
use super::judge::StepVerdict;
use super::listing::Listing;
use super::walk::StepWalk;
use super::wrap::replace;
use crate::options::{self, Miss};
use ostler_policy::script::{Redirect, Word};
use ostler_policy::{Act, Caution, Effect, Touch, TouchKind};

/// Tests and actions without a value.
const PLAIN: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-empty",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-prune",
    "-true",
    "-false",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-daystart",
    "-noleaf",
    "-quit",
    "-a",
    "-o",
    "-and",
    "-or",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-nowarn",
    "-warn",
];
/// With one.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-lname",
    "-ilname",
    "-fstype",
    "-printf",
    "-used",
];
/// With a file.
const FILES: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

/// `-newermt` compares with a time, `-newerma` with a file.
fn is_newer(text: &str, time: bool) -> bool {
    let letters: Vec<char> = text.strip_prefix("-newer").unwrap_or_default().chars().collect();
    match letters.as_slice() {
        [first, 't'] => time && "aBcm".contains(*first),
        [first, second] => !time && "aBcm".contains(*first) && "aBcm".contains(*second),
        _ => false,
    }
}

#[derive(Default)]
struct FindExpression<'a> {
    touches: Vec<Touch>,
    /// The place of `-exec`, and the command behind it.
    starts: Vec<(usize, &'a [Word])>,
    misses: Vec<Miss>,
    /// All it finds are plain files below one directory: then the directory.
    plain: Option<String>,
}

/// Programs that read the files they are given, and write none.
const READERS: &[&str] =
    &["cat", "head", "tail", "wc", "grep", "ls", "stat", "file", "md5sum", "sha256sum", "du", "nl"];

impl StepWalk {
    pub(super) fn find(&mut self, index: usize, words: &[Word], redirects: &[Redirect]) {
        // Loop variables stand for their values here as in every command.
        let variants = self.bindings.variants(words);
        let mut verdict = StepVerdict::default();
        for variant in &variants {
            verdict.join(judge(variant, &read(variant), self.folder.only().map(Vec::as_slice)));
        }
        self.change(index, |step| verdict.apply(step));
        let found = read(words);
        for (at, command) in found.starts.clone() {
            if let Some((folder, kind)) = found.shown_by(words, at, command) {
                self.shows(index, (words, command), (&folder, kind), redirects);
                continue;
            }
            let mut command = command.to_vec();
            replace(&mut command, "{}", "<each file that find finds>");
            let option = words.get(at).and_then(Word::literal).unwrap_or_default();
            self.apart(|walk| {
                if option.ends_with("dir") {
                    walk.folder = super::folders::Folders::UNKNOWN;
                }
                walk.enter(index, &command, redirects);
            });
        }
    }

    /// The command reads files below the directory, each by a name that begins with the directory's.
    fn shows(
        &mut self,
        index: usize,
        (words, command): (&[Word], &[Word]),
        (folder, kind): (&str, TouchKind),
        redirects: &[Redirect],
    ) {
        let file = |word: &Word| match word.literal() {
            Some("{}") => Word::Literal(folder.to_owned()),
            _ => word.clone(),
        };
        let command: Vec<Word> = command.iter().map(file).collect();
        let folders = vec![folder.to_owned()];
        let named = named_files(words, &folders);
        let listing = Listing { folders, named, ..Listing::default() };
        self.reads_below(index, &command, &listing, kind, redirects);
    }
}

fn judge(words: &[Word], found: &FindExpression, folder: Option<&[String]>) -> StepVerdict {
    let mut verdict = StepVerdict::reads(found.touches.clone());
    let starts =
        found.starts.iter().filter(|(at, command)| found.shown_by(words, *at, command).is_none());
    let started = starts.map(|(at, _)| Miss::at(*at, "find starts a command"));
    for miss in found.misses.iter().cloned().chain(started) {
        verdict.effect = Effect::Unknown(format!("find: {}", miss.why));
        verdict.cautions.push(Caution::new(miss.why, miss.word));
    }
    if let Some(why) = destruction::find(words.get(1..).unwrap_or_default(), folder) {
        verdict.effect = Effect::Ruin(why);
    }
    verdict
}

fn read(words: &[Word]) -> FindExpression<'_> {
    let mut found = FindExpression { plain: plain_below(words), ..FindExpression::default() };
    let mut at = 1;
    while matches!(words.get(at).and_then(Word::literal), Some("-H" | "-P")) {
        at += 1;
    }
    at = found.folders(words, at);
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else {
            let word = matches!(word, Word::Glob(_)).then_some(at);
            found.misses.push(Miss { why: "a word of it is not known".into(), word });
            at += 1;
            continue;
        };
        if PLAIN.contains(&text) {
            at += 1;
        } else if VALUED.contains(&text) || is_newer(text, true) {
            if !words.get(at + 1).is_some_and(options::is_one_word) {
                found.misses.push(Miss::at(at, format!("the value of {text} is not known")));
            }
            at += 2;
        } else if FILES.contains(&text) || is_newer(text, false) {
            found.file(words.get(at + 1), TouchKind::File, at + 1);
            at += 2;
        } else if matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            let end = end_of(words, at + 1);
            found.starts.push((at, words.get(at + 1..end).unwrap_or_default()));
            at = end + 1;
        } else {
            found.changes(text, words.get(at + 1));
            found.misses.push(Miss::at(at, format!("{text} is not known to be read-only")));
            at += 1;
        }
    }
    found
}

/// `find DIR -type f …` without a word that makes the test count for a part only.
fn plain_below(words: &[Word]) -> Option<String> {
    let texts: Vec<&str> = words.iter().map(Word::literal).collect::<Option<_>>()?;
    let typed = texts.windows(2).any(|pair| matches!(pair, ["-type", "f"]));
    let branches = ["-o", "-or", "-not", "!", "(", ")", ",", "-H", "-L", "-P", "-follow"];
    let before = texts.iter().skip(1).position(|text| text.starts_with('-')).unwrap_or(0);
    let folder = match (before, texts.get(1)) {
        (0, _) => ".",
        (1, Some(folder)) => folder,
        _ => return None,
    };
    let first_type = texts.iter().position(|text| *text == "-type")?;
    let first_start = texts.iter().position(|text| text.starts_with("-exec"))?;
    let fine =
        typed && first_type < first_start && !texts.iter().any(|text| branches.contains(text));
    (fine && !folder.contains(crate::options::HOME)).then(|| folder.to_owned())
}

impl FindExpression<'_> {
    /// The directory, where the command only reads what is found below it. Of all but plain files links are followed.
    fn shown_by(&self, words: &[Word], at: usize, command: &[Word]) -> Option<(String, TouchKind)> {
        let option = words.get(at).and_then(Word::literal);
        let name = command.first().and_then(Word::literal)?;
        let known = |word: &Word| word.literal().is_some_and(|w| w == "{}" || !w.contains("{}"));
        let last = command.last().and_then(Word::literal) == Some("{}");
        let once = command.iter().filter(|word| word.literal() == Some("{}")).count() == 1;
        let fine = option == Some("-exec") && READERS.contains(&name) && last && once;
        let plain = self.plain.clone().map(|folder| (folder, TouchKind::Tree));
        let any = || Some((one_folder(words)?, TouchKind::Followed));
        plain.or_else(any).filter(|_| fine && command.iter().all(known))
    }

    /// What it deletes or writes, by name: enough to see a protected one.
    fn changes(&mut self, action: &str, value: Option<&Word>) {
        let changed: Vec<String> = match action {
            "-delete" => self.touches.iter().map(|touch| touch.path.clone()).collect(),
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                value.and_then(Word::literal).map(options::written).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let write = |path| Touch::new(Act::Write, path, TouchKind::File);
        self.touches.extend(changed.into_iter().map(write));
    }

    /// Where it looks. Gives the place of what follows.
    fn folders(&mut self, words: &[Word], from: usize) -> usize {
        let is_path = |word: &Word| match word {
            Word::Literal(text) => {
                !text.starts_with('-') && !matches!(text.as_str(), "(" | "!" | ")" | ",")
            }
            Word::Glob(pattern) => options::cannot_be_option(pattern),
            Word::Dynamic { .. } => false,
        };
        let paths = words.iter().skip(from).take_while(|word| is_path(word)).count();
        for at in from..from + paths {
            self.file(words.get(at), TouchKind::Names, at);
        }
        if paths == 0 {
            let (act, kind) = (Act::Read, TouchKind::Names);
            self.touches.push(Touch::new(act, ".", kind));
        }
        from + paths
    }

    fn file(&mut self, word: Option<&Word>, kind: TouchKind, at: usize) {
        let named = match word {
            Some(Word::Literal(path)) => options::readable(path, kind),
            Some(Word::Glob(pattern)) => options::glob(pattern),
            _ => Err("it is not known which file it means".into()),
        };
        match named {
            Ok(named) => self.touches.push(super::judge::touch(Act::Read)(named)),
            Err(why) => self.misses.push(Miss::at(at, why)),
        }
    }
}

/// `;`, or `+` behind `{}`, or the end.
fn end_of(words: &[Word], from: usize) -> usize {
    let literal = |at: usize| words.get(at).and_then(Word::literal);
    let ends = |at: &usize| {
        literal(*at) == Some(";") || literal(*at) == Some("+") && literal(at - 1) == Some("{}")
    };
    (from..words.len()).find(ends).unwrap_or(words.len())
}

/// The one directory below which it looks, following no links.
fn one_folder(words: &[Word]) -> Option<String> {
    let texts: Vec<&str> = words.iter().map(Word::literal).collect::<Option<_>>()?;
    let first = texts.get(1).copied().unwrap_or_default();
    let follows = texts.contains(&"-follow")
        || ["-H", "-L", "-P", "-D", "-O"].iter().any(|option| first.starts_with(option));
    let is_start = |text: &&&str| !text.starts_with(['-', '(', '!']);
    let starts: Vec<&&str> = texts.iter().skip(1).take_while(is_start).collect();
    let folder = match starts.as_slice() {
        [] => ".",
        [folder] => folder,
        _ => return None,
    };
    (!follows && !folder.contains(crate::options::HOME)).then(|| folder.to_owned())
}

/// The directories, where it prints names below them and does nothing else; true if each ends with a zero byte.
pub(super) fn prints_names(words: &[Word]) -> Option<(Vec<String>, bool)> {
    let found = read(words);
    let texts: Vec<&str> = words.iter().map(Word::literal).collect::<Option<_>>()?;
    let others = ["-printf", "-ls", "-H", "-L", "-P", "-follow"];
    let zero = texts.contains(&"-print0");
    if !found.misses.is_empty()
        || !found.starts.is_empty()
        || texts.iter().any(|text| others.contains(text))
        || zero && texts.contains(&"-print")
    {
        return None;
    }
    let is_start = |text: &&&str| !text.starts_with(['-', '(', '!']);
    let starts = texts.iter().skip(1).take_while(is_start);
    let mut folders: Vec<String> = starts.map(|text| (*text).to_owned()).collect();
    if folders.is_empty() {
        folders.push(".".into());
    }
    Some((folders, zero))
}

/// Hidden files that rules are written for. A pattern of find matches them like any other name.
const HIDDEN: [&str; 4] = [".env", ".env.local", ".env.production", ".envrc"];

/// Files that its tests ask for by name, as if they lay in the directories themselves.
pub(super) fn named_files(words: &[Word], folders: &[String]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for pair in words.windows(2) {
        let [Word::Literal(test), Word::Literal(value)] = pair else { continue };
        if !matches!(test.as_str(), "-name" | "-iname" | "-path" | "-ipath" | "-wholename") {
            continue;
        }
        let last = value.rsplit('/').next().unwrap_or(value);
        match last.contains(['*', '?', '[', '\\']) {
            false => names.push(last),
            true => names.extend(HIDDEN.iter().filter(|name| may_match(last, name))),
        }
    }
    let paths = |folder: &String| {
        let folder = folder.trim_end_matches('/').to_owned();
        names.iter().map(move |name| format!("{folder}/{name}")).collect::<Vec<_>>()
    };
    folders.iter().flat_map(paths).collect()
}

/// What stands before the first and behind the last sign of the pattern is in the name; `*` alone asks for nothing.
fn may_match(pattern: &str, name: &str) -> bool {
    let signs = ['*', '?', '[', '\\'];
    let first = pattern.find(signs).and_then(|at| pattern.get(..at)).unwrap_or_default();
    let last =
        pattern.rfind(['*', '?', ']']).and_then(|at| pattern.get(at + 1..)).unwrap_or_default();
    !(first.is_empty() && last.is_empty()) && name.starts_with(first) && name.ends_with(last)
}
