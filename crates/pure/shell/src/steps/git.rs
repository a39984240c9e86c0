//! git: its global options, the subcommands that only read, and which of its files they show.

pub mod config;

use super::judge::{StepVerdict, touch};
use super::option_lists;
use super::risky_options;
use crate::options::{self, Miss, Named, Parsed};
use crate::table::{self, Operands};
use ostler_policy::script::Word;
use ostler_policy::{Act, Caution, Concern, Effect, TouchKind};

pub(super) fn judge(words: &[Word]) -> StepVerdict {
    let mut globals = Globals::default();
    let at = globals.read(words);
    let normal = without(words, at);
    let mut verdict = subcommand(&normal);
    if !globals.cautions.is_empty() {
        let why = globals.cautions.first().map(|caution| caution.why.clone()).unwrap_or_default();
        verdict.git = false;
        verdict.effect = Effect::Unknown(why);
        verdict.cautions.append(&mut globals.cautions);
    }
    if normal.as_slice() != words {
        verdict.normal = normal;
    }
    verdict.folder = globals.folder;
    verdict
}

/// The words without the options before the subcommand.
pub(super) fn normal(words: &[Word]) -> Vec<Word> {
    without(words, Globals::default().read(words))
}

fn without(words: &[Word], globals: usize) -> Vec<Word> {
    let mut normal = vec![Word::Literal("git".into())];
    normal.extend_from_slice(words.get(globals..).unwrap_or_default());
    normal
}

/// Only [`GIT_PRELUDE`](crate::GIT_PRELUDE) keeps it from running what the configuration names.
pub(super) fn needs_guard(words: &[Word]) -> bool {
    let at = Globals::default().read(words);
    let sub = words.get(at).and_then(Word::literal);
    matches!(sub, Some("diff" | "log" | "show" | "status" | "blame"))
}

/// Options before the subcommand.
#[derive(Default)]
struct Globals {
    folder: Vec<String>,
    cautions: Vec<Caution>,
}

impl Globals {
    fn read(&mut self, words: &[Word]) -> usize {
        let mut at = 1;
        while let Some(text) = words.get(at).and_then(Word::literal) {
            let (name, glued) = match text.split_once('=') {
                Some((name, _)) => (name, true),
                None => (text, false),
            };
            match name {
                "-C" if !glued => {
                    at += 1;
                    match words.get(at).and_then(Word::literal) {
                        Some(folder) => self.folder.push(options::written(folder)),
                        None => self.caution("git -C leads to an unknown directory"),
                    }
                }
                "-P" | "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" => {}
                "--version" if words.len() == 2 => break,
                "-c" | "--config-env" | "--git-dir" | "--work-tree" | "--namespace"
                | "--super-prefix" | "--attr-source" => {
                    self.caution(format!("git {name} changes what git runs or reads"));
                    at += usize::from(!glued);
                }
                _ if text.starts_with('-') => {
                    self.caution(format!("git {text} changes what git runs"));
                }
                _ => break,
            }
            at += 1;
        }
        at
    }

    fn caution(&mut self, why: impl Into<String>) {
        self.cautions.push(Caution::new(why, None));
    }
}

fn subcommand(words: &[Word]) -> StepVerdict {
    let Some(sub) = words.get(1) else { return StepVerdict::unknown("git without a subcommand") };
    let Some(sub) = sub.literal() else {
        return StepVerdict::careful("the git subcommand is not known", None);
    };
    let rest = words.get(2..).unwrap_or_default();
    let literal: Option<Vec<&str>> = rest.iter().map(Word::literal).collect();
    let fixed = matches!(
        (sub, literal.as_deref()),
        ("--version" | "version", Some([])) | ("remote", Some(["get-url", _]))
    );
    if fixed || is_reading_form(words.get(1..).unwrap_or_default()) {
        return StepVerdict { git: true, ..StepVerdict::reads(Vec::new()) };
    }
    let Some(program) = table::git_subcommand(sub) else {
        let mut verdict = risky_options::git(words);
        if sub == "config" {
            verdict.touches.extend(config::change(rest));
        }
        return verdict;
    };
    let found = Parsed::read(program, rest).and_then(|parsed| named(sub, &parsed));
    match found {
        Ok(named) => StepVerdict {
            git: true,
            ..StepVerdict::reads(named.into_iter().map(touch(Act::Read)).collect())
        },
        Err(miss) => {
            let mut verdict = StepVerdict::miss(&format!("git {sub}"), miss, 2);
            if changes_refs(sub, words) {
                let writes = |caution: &mut Caution| caution.concern = Concern::Writes;
                verdict.cautions.iter_mut().for_each(writes);
            }
            verdict
        }
    }
}

/// It makes, moves or removes names of commits, and starts nothing else.
fn changes_refs(sub: &str, words: &[Word]) -> bool {
    matches!(sub, "branch" | "tag")
        && words.iter().all(|word| word.literal().is_some())
        && option_lists::cautions("git", words).is_some_and(|found| found.is_empty())
}

/// One of the forms in which a subcommand only shows something.
fn is_reading_form(words: &[Word]) -> bool {
    let begins = |form: &[&str]| {
        let mut both = form.iter().enumerate();
        both.all(|(at, word)| words.get(at).and_then(Word::literal) == Some(*word))
    };
    table::git_refs::FORMS.iter().filter(|(form, _)| begins(form)).any(|(form, program)| {
        let rest = words.get(form.len()..).unwrap_or_default();
        Parsed::read(program, rest).is_ok_and(|parsed| {
            let operands = parsed.operands.as_slice();
            let fits = |word: &Word| match program.operands {
                Operands::Fit(value) => word.literal().is_some_and(|word| value.fits(word)),
                _ => false,
            };
            let asks = match program.name {
                "config" => is_question(&parsed, rest.len()),
                "config get" => operands.len() == 1,
                _ => true,
            };
            asks && operands.len() <= program.most && operands.iter().all(|(_, word)| fits(word))
        })
    })
}

/// `git config` that only asks. A name with a dot is a name; other words are what it should do. Behind the first operand
/// nothing is an option: `git config core.pager --get` sets it.
fn is_question(parsed: &Parsed, words: usize) -> bool {
    let behind = parsed.operands.first().map_or(0, |(at, _)| words.saturating_sub(*at));
    if behind != parsed.operands.len() {
        return false;
    }
    let gets = parsed.has(&["--get", "--get-all", "--get-regexp"]);
    let lists = parsed.has(&["-l", "--list"]);
    match parsed.operands.as_slice() {
        [] => lists,
        [(_, Word::Literal(name))] => gets || !lists && name.contains('.'),
        [_, _] => gets && !lists,
        _ => false,
    }
}

/// Options with which an operand of `branch` or `tag` is a pattern, not a name to make.
const LISTS: [&str; 7] =
    ["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];

fn named(sub: &str, parsed: &Parsed) -> Result<Vec<Named>, Miss> {
    let operands = parsed.operands.as_slice();
    let (before, paths) = operands.split_at_checked(parsed.after_dashes).unwrap_or((operands, &[]));
    if operands.len() > parsed.program.most {
        return Err("it has too many operands".into());
    }
    let mut named = Vec::new();
    match sub {
        "branch" | "tag" => {
            if let (Some((at, _)), false) = (operands.first(), parsed.has(&LISTS)) {
                return Err(Miss::at(
                    *at,
                    "without --list, git would create a branch or tag with this name",
                ));
            }
            literals(operands)?;
        }
        "for-each-ref" | "show-ref" | "symbolic-ref" | "name-rev" | "count-objects"
        | "check-ignore" | "check-attr" | "diff-tree" => literals(operands)?,
        "var" => {
            literals(operands)?;
            let fits = |word: &Word| match parsed.program.operands {
                Operands::Fit(value) => word.literal().is_some_and(|word| value.fits(word)),
                _ => false,
            };
            if operands.is_empty() || !operands.iter().all(|(_, word)| fits(word)) {
                return Err("the variable that it shows is not known".into());
            }
        }
        "status" | "ls-files" | "rev-parse" | "describe" | "shortlog" | "ls-tree"
        | "merge-base" | "rev-list" | "reflog" | "cherry" => literals(operands)?,
        "cat-file" => {
            literals(operands)?;
            objects(before, true, parsed.has(&["-p"]), &mut named)?;
        }
        "blame" => {
            for (at, word) in operands {
                named.push(pathspec(*at, word)?);
            }
        }
        "grep" => named = searched(parsed, before, paths)?,
        _ => {
            objects(before, parsed.dashes, false, &mut named)?;
            for (at, word) in paths {
                named.push(pathspec(*at, word)?);
            }
            for file in ranged(parsed) {
                named.push(options::readable(file, TouchKind::File)?);
            }
            let all_in_files = sub == "show"
                && !before.is_empty()
                && before.iter().all(|(_, word)| word.literal().is_some_and(|w| w.contains(':')));
            if shows_content(sub, parsed) && paths.is_empty() && !all_in_files {
                named.push(repository());
            }
        }
    }
    Ok(named)
}

/// The files of `-L`.
fn ranged<'a>(parsed: &'a Parsed<'a>) -> impl Iterator<Item = &'a str> {
    let ranges = parsed.values.iter().filter(|(option, _)| option == "-L");
    ranges.filter_map(|(_, range)| table::line_range(range))
}

fn searched(
    parsed: &Parsed,
    before: &[(usize, &Word)],
    paths: &[(usize, &Word)],
) -> Result<Vec<Named>, Miss> {
    let given = parsed.has(&["-e"]);
    let (pattern, files) = before.split_at_checked(usize::from(!given)).unwrap_or((before, &[]));
    literals(pattern)?;
    if !given && pattern.is_empty() {
        return Err("it has no pattern".into());
    }
    let mut named = Vec::new();
    for (at, word) in files.iter().chain(paths) {
        named.push(pathspec(*at, word)?);
    }
    match (files.is_empty(), paths.is_empty()) {
        (true, true) => named.push(Named { path: ".".into(), kind: TouchKind::Tree }),
        (true, false) => {}
        // A revision, perhaps.
        (false, _) => named.push(repository()),
    }
    Ok(named)
}

fn repository() -> Named {
    Named { path: String::new(), kind: TouchKind::Repository }
}

fn literals(operands: &[(usize, &Word)]) -> Result<(), Miss> {
    for (at, word) in operands {
        let text = options::literal(word)?;
        if text.starts_with(':') {
            return Err(Miss::at(*at, format!("{text:?} can mean more than a path")));
        }
    }
    Ok(())
}

/// Revisions. Without a `--` behind them, each could be a path as well.
fn objects(
    operands: &[(usize, &Word)],
    only: bool,
    shown: bool,
    named: &mut Vec<Named>,
) -> Result<(), Miss> {
    for (at, word) in operands {
        let refused = |why: String| Miss::at(*at, why);
        let Word::Literal(text) = word else {
            return Err("it is not known which revision it means".into());
        };
        if text.starts_with(':') || text == "-" || text.is_empty() {
            return Err(refused(format!("{text:?} can mean more than a path")));
        }
        match text.split_once(':') {
            Some((_, inside)) if inside.starts_with("./") || inside.starts_with("../") => {
                named.push(options::readable(inside, TouchKind::Tree).map_err(refused)?);
            }
            Some((_, inside)) => {
                let path = inside.to_owned();
                named.push(Named { path, kind: TouchKind::InRepository });
            }
            None if shown => named.push(repository()),
            None => {}
        }
        if !only {
            named.push(options::readable(text, TouchKind::Tree).map_err(refused)?);
        }
    }
    Ok(())
}

/// `:!package-lock.json`: whatever it means, git shows less.
fn leaves_out(text: &str) -> bool {
    let rest = [":!", ":^", ":(exclude)"].iter().find_map(|start| text.strip_prefix(start));
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/*".contains(c);
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "._*".contains(c))
            && !rest.contains("..")
            && rest.chars().all(plain)
    })
}

/// git matches patterns itself, across directories.
fn pathspec(at: usize, word: &Word) -> Result<Named, Miss> {
    let text = match word {
        Word::Literal(text) => text.as_str(),
        Word::Glob(pattern) => return options::glob(pattern).map_err(|why| Miss::at(at, why)),
        Word::Dynamic { .. } => return Err("it is not known which path it means".into()),
    };
    if leaves_out(text) {
        return Ok(repository());
    }
    if text.starts_with(':') || text.is_empty() || text == "-" {
        return Err(Miss::at(at, format!("{text:?} can mean more than a path")));
    }
    let fixed = match text.find(['*', '?', '[']) {
        Some(wild) => match text.get(..wild).unwrap_or_default().rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/"),
            None => ".".to_owned(),
        },
        None => text.to_owned(),
    };
    options::readable(&fixed, TouchKind::Tree).map_err(|why| Miss::at(at, why))
}

/// It shows what files hold, not only which there are.
fn shows_content(sub: &str, parsed: &Parsed) -> bool {
    let patch = [
        "-p",
        "-u",
        "-U",
        "-W",
        "-c",
        "-m",
        "-S",
        "-G",
        "--patch",
        "--unified",
        "--cc",
        "--word-diff",
        "--function-context",
        "--patch-with-stat",
        "--binary",
        "--text",
    ];
    let names = [
        "--stat",
        "--name-only",
        "--name-status",
        "--numstat",
        "--shortstat",
        "--summary",
        "--raw",
        "--quiet",
        "--compact-summary",
        "-s",
        "--no-patch",
    ];
    parsed.has(&patch) || sub != "log" && !parsed.has(&names)
}
