//! What one command runs: its program, or the text that a shell, `eval` or `trap` is given.

use super::folders::{Folders, Move};
use super::integer_variables::Numbers;
use super::judge::StepVerdict;
use super::printed_scripts;
use super::walk::{MAX_WRAPS, StepWalk, WalkPosition};
use super::words::{Bindings, resolve, shown};
use crate::options;
use ostler_policy::script::{Redirect, RedirectKind, Word, WordPart};
use ostler_policy::{Act, Caution, Concern, Effect, Position, Touch, TouchKind};

/// Bytes of nested texts that are read, all together.
const MAX_NESTED: usize = 1024 * 1024;
/// Directories whose programs are the system's.
const SYSTEM: &[&str] = &["/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"];

impl StepWalk {
    /// Judges the command of a step, and adds what it starts.
    pub(super) fn run(&mut self, index: usize, words: &[Word], redirects: &[Redirect]) {
        let Some(first) = words.first() else { return };
        if matches!(first, Word::Glob(pattern) if pattern == "[") {
            // A bracket that is never closed matches nothing but itself.
            let mut plain = words.to_vec();
            plain.iter_mut().take(1).for_each(|word| *word = Word::Literal("[".into()));
            self.leaf(index, "[", &plain);
            return self.change(index, |step| step.normal = plain);
        }
        let Word::Literal(program) = resolve(first, &[]) else {
            self.doubt("a program is named by something that only the shell knows");
            self.may_start(index, words);
            return self.unknown(index, "it is not known which program it is", None);
        };
        let Some(name) = program_name(&program) else {
            return self.own_program(index, &program, words);
        };
        if name != program {
            self.change(index, |step| {
                step.normal = words.to_vec();
                if let Some(first) = step.normal.first_mut() {
                    *first = Word::Literal(name.clone());
                }
            });
        }
        match name.as_str() {
            "bash" | "sh" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "fish" | "rbash" => {
                self.shell(index, &name, words, redirects)
            }
            "eval" => self.eval(index, words),
            "trap" => self.trap(index, words),
            "source" | "." => self.source(index, words),
            "su" | "runuser" => self.su(index, words),
            "find" => self.find(index, words, redirects),
            "sudoedit" => self.sudoedit(index, words),
            "hash" | "alias" => {
                self.renamed(index, &name, words);
                self.leaf(index, &name, words);
            }
            _ if self.wrapping(index, &name, words, redirects) => {}
            _ => self.leaf(index, &name, words),
        }
    }

    /// A program of a file that is not the system's.
    fn own_program(&mut self, index: usize, program: &str, words: &[Word]) {
        self.change(index, |step| {
            step.effect = Effect::Unknown(format!(
                "{} is not one of the system's programs",
                shown(&options::written(program))
            ))
        });
        self.run_file(index, program);
        self.unknown_words(index, words);
    }

    fn run_file(&mut self, index: usize, path: &str) {
        let path = options::written(path);
        let touch = Touch::new(Act::Run, path, TouchKind::File);
        self.change(index, |step| step.touches.push(touch));
    }

    /// Words that only the shell knows could be any option of an unknown program.
    pub(super) fn unknown_words(&mut self, index: usize, words: &[Word]) {
        let dynamic = words.iter().find_map(|word| match resolve(word, &[]) {
            Word::Dynamic { source, why, .. } => {
                Some(format!("{} is {}", shown(&source), why.name()))
            }
            _ => None,
        });
        if let Some(why) = dynamic {
            self.unknown(index, why, None);
        }
        for (at, word) in words.iter().enumerate() {
            if let Word::Glob(pattern) = word
                && !options::cannot_be_option(pattern)
            {
                self.unknown(index, format!("{pattern} can match an option"), Some(at));
            }
        }
    }

    /// The step is given a text to run. True if it could be read.
    pub(super) fn text(&mut self, index: usize, text: &str) -> bool {
        self.nested += text.len();
        if self.wraps >= MAX_WRAPS || self.nested > MAX_NESTED {
            self.doubt("texts are nested too deep");
            return false;
        }
        match super::read(text) {
            Ok(script) => {
                self.wraps += 1;
                let outer = std::mem::replace(&mut self.bindings, Bindings::of(text));
                let numbers = std::mem::replace(&mut self.numbers, Numbers::of_nested(&script));
                self.script(
                    &script,
                    WalkPosition { inside: Some(index), position: Position::Wrapped },
                );
                self.numbers = numbers;
                self.bindings = outer;
                self.wraps -= 1;
                true
            }
            Err(opaque) => {
                self.doubt(format!("in a text that it runs: {opaque}"));
                false
            }
        }
    }

    /// Words that together are a text.
    pub(super) fn joined(&mut self, index: usize, words: &[Word]) {
        let literal: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
        match literal {
            Some(words) => {
                self.text(index, &words.join(" "));
            }
            None => {
                let texts: Vec<String> = words.iter().flat_map(printed_scripts::by_word).collect();
                self.may_run(index, &texts);
                self.doubt("it runs code that only the shell knows");
                self.unknown(index, "the code it runs is not known", None);
            }
        }
    }

    fn eval(&mut self, index: usize, words: &[Word]) {
        let words = match words.get(1).and_then(Word::literal) {
            Some("--") => words.get(2..),
            _ => words.get(1..),
        };
        self.change(index, |step| step.transparent = true);
        self.joined(index, words.unwrap_or_default());
    }

    fn trap(&mut self, index: usize, words: &[Word]) {
        self.change(index, |step| step.effect = Effect::Unknown("it runs a command later".into()));
        let operands = match words.get(1).and_then(Word::literal) {
            Some("--") => words.get(2..),
            Some("-l" | "-p") => return,
            _ => words.get(1..),
        };
        match operands {
            Some([Word::Literal(action), _, ..]) if action == "-" || action.is_empty() => {}
            Some([Word::Literal(action), _, ..]) => self.apart(|walk| {
                walk.folder = Folders::UNKNOWN;
                walk.text(index, action);
            }),
            Some([]) | Some([Word::Literal(_)]) | None => {}
            Some(_) => self.doubt("trap is given code that only the shell knows"),
        }
    }

    fn source(&mut self, index: usize, words: &[Word]) {
        self.shadows.sourced("a file is read into the shell");
        self.moved(&Move::Unknown);
        let at = if words.get(1).and_then(Word::literal) == Some("--") { 2 } else { 1 };
        self.script_file(index, words.get(at), at);
    }

    fn script_file(&mut self, index: usize, file: Option<&Word>, at: usize) {
        match file.map(|word| resolve(word, &[])) {
            Some(Word::Literal(path)) => {
                self.run_file(index, &path);
                self.unknown(index, format!("it runs {}", options::written(&path)), Some(at));
                self.change(index, |step| {
                    if let Some(last) = step.cautions.last_mut() {
                        last.concern = Concern::Code;
                    }
                });
            }
            _ => {
                let texts = file.map(printed_scripts::by_word).unwrap_or_default();
                self.may_run(index, &texts);
                self.doubt("it runs a file that only the shell knows");
                self.unknown(index, "it is not known which file it runs", None);
            }
        }
    }

    fn su(&mut self, index: usize, words: &[Word]) {
        let why = "it runs a command as another user";
        self.change(index, |step| step.effect = Effect::Unknown(why.into()));
        let given = words.windows(2).find_map(|pair| match pair {
            [Word::Literal(option), text] if matches!(option.as_str(), "-c" | "--command") => {
                Some(text)
            }
            _ => None,
        });
        match given {
            Some(text) => self.apart(|walk| {
                walk.past += 1;
                walk.joined(index, std::slice::from_ref(text));
                walk.past -= 1;
            }),
            None if words.len() > 1 => self.doubt("what another user would run is not known"),
            None => {}
        }
    }

    fn shell(&mut self, index: usize, name: &str, words: &[Word], redirects: &[Redirect]) {
        if let [_, Word::Literal(only)] = words
            && matches!(only.as_str(), "--version" | "--help")
        {
            return self.change(index, |step| step.effect = Effect::Reads);
        }
        let Some(options) = ShellOptions::read(words) else {
            self.doubt("an option of a shell is not known");
            return self.unknown(index, "one of its options is not known", None);
        };
        let operand = words.get(options.operand);
        match operand {
            _ if options.command => {
                let text = operand.and_then(Word::literal).map(str::to_owned);
                let texts = operand.map(printed_scripts::by_word).unwrap_or_default();
                self.may_run(index, &texts);
                self.shell_text(index, name, text, options.plain);
            }
            Some(file) if !options.input && !is_input(file) => {
                self.script_file(index, Some(file), options.operand);
            }
            _ => match input(redirects) {
                Some((RedirectKind::Read, file)) => {
                    self.script_file(index, Some(file), words.len());
                    self.change(index, |step| step.cautions.iter_mut().for_each(|c| c.word = None));
                }
                given => {
                    let fed = if given.is_none() { self.fed.clone() } else { Vec::new() };
                    self.may_run(index, &fed);
                    let text = given.and_then(|(_, text)| text.literal()).map(str::to_owned);
                    self.shell_text(index, name, text, options.plain);
                }
            },
        }
    }

    fn shell_text(&mut self, index: usize, name: &str, text: Option<String>, plain: bool) {
        let Some(text) = text else {
            self.doubt("a shell would run code that is not known");
            return self.unknown(index, "the code it runs is not known", None);
        };
        self.apart(|walk| {
            let same = name == "bash" || matches!(name, "sh" | "dash") && is_same_in_sh(&text);
            walk.past += 1;
            let read = walk.text(index, &text);
            walk.past -= 1;
            if read && plain && same {
                walk.change(index, |step| step.transparent = true);
            } else {
                let why = "it starts a shell that may read the text differently";
                walk.unknown(index, why, None);
            }
        });
    }

    /// `for f in src/*; do wc -l $f; done`: it only reads, as long as the names there are plain words. True if so.
    fn reads_each(&mut self, index: usize, name: &str, words: &[Word]) -> bool {
        let Some((quoted, folders)) = self.bindings.quoted(words) else { return false };
        let folder = self.steps.get(index).and_then(|step| step.folder.as_deref());
        let mut verdict = StepVerdict::default();
        for variant in &self.bindings.variants(&quoted) {
            verdict.join(super::judge::judge(name, variant, folder));
        }
        let plain = verdict.effect == Effect::Reads && !verdict.git && verdict.moves.is_none();
        if !plain || verdict.shadows.is_some() || !verdict.sets.is_empty() {
            return false;
        }
        let listed = |folder: String| Touch::new(Act::Read, folder, TouchKind::Listed);
        verdict.touches.extend(folders.into_iter().map(listed));
        self.change(index, |step| verdict.apply(step));
        true
    }

    /// The program itself is judged, once for each value of the loops around it.
    pub(super) fn leaf(&mut self, index: usize, name: &str, words: &[Word]) {
        let open = words.iter().any(|word| matches!(word, Word::Dynamic { .. }));
        if open && self.reads_each(index, name, words) {
            return;
        }
        let made = if open { self.with_numbers(index, name, words) } else { Vec::new() };
        let variants: Vec<&[Word]> =
            if open { made.iter().map(Vec::as_slice).collect() } else { vec![words] };
        let folder = self.steps.get(index).and_then(|step| step.folder.as_deref());
        let mut verdict = StepVerdict::default();
        let mut moves: Vec<Move> = Vec::new();
        for variant in &variants {
            let mut one = super::judge::judge(name, variant, folder);
            if one.names_number() {
                let moves = one.moves.take().map(|_| Move::Unknown);
                one = StepVerdict {
                    moves,
                    ..StepVerdict::careful("a number names one of its files", None)
                };
            }
            moves.extend(one.moves.take());
            verdict.join(one);
        }
        let guarded = self.past == 0 && words.first().and_then(Word::literal) == Some("git");
        if verdict.git && !guarded && super::git::needs_guard(words) {
            let why = "git is started in a way that does not let Ostler keep it from running programs that the repository's settings name";
            verdict.git = false;
            verdict.effect = Effect::Unknown(why.into());
            // A rule on git was not meant to let a repository choose what runs.
            verdict.cautions.push(Caution::new(why, None));
        }
        if !verdict.normal.is_empty() {
            verdict.normal = super::git::normal(words);
        }
        if variants.len() > 1 && !verdict.folder.is_empty() {
            self.change(index, |step| step.folder = None);
        }
        if let Some(why) = verdict.shadows.take() {
            self.shadows.everything(&why);
        }
        for variable in std::mem::take(&mut verdict.sets) {
            if self.sets(&variable) {
                self.change(index, |step| step.variables.push(variable));
            }
        }
        let to = moves.iter().map(|to| self.folder.moved(to)).reduce(|all, one| all.or(&one));
        self.folder = to.unwrap_or_else(|| self.folder.clone());
        self.change(index, |step| verdict.apply(step));
    }
}

/// What a shell gets on its standard input, if the text says so.
fn input(redirects: &[Redirect]) -> Option<(RedirectKind, &Word)> {
    let reads = |r: &&Redirect| {
        matches!(r.kind, RedirectKind::Read | RedirectKind::HereDocument | RedirectKind::HereString)
            && matches!(r.fd, None | Some(0))
    };
    redirects.iter().rev().find(reads).map(|redirect| (redirect.kind, &redirect.target))
}

/// The standard input by a name.
fn is_input(file: &Word) -> bool {
    matches!(file.literal(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Dash and bash read it alike.
fn is_same_in_sh(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " \n\t-_./,:;&|\"'*?@%+>".contains(c);
    // Words that only bash reserves: to dash they name programs.
    let reserved = |word: &str| matches!(word, "time" | "function" | "select" | "coproc");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(plain)
        && !text.contains("&>")
        && !text.contains("|&")
        && !text.split(|c: char| !is_word(c)).any(reserved)
}

/// The name by which a system's program is known. None: it is a file of somebody else.
pub(super) fn program_name(program: &str) -> Option<String> {
    if !program.contains('/') {
        return Some(program.to_owned());
    }
    let (folder, name) = program.rsplit_once('/')?;
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let folder = format!("/{}", parts.join("/"));
    let known = program.starts_with('/') && SYSTEM.contains(&folder.as_str());
    (known && !matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

struct ShellOptions {
    command: bool,
    input: bool,
    /// None of them changes how a text is read or what is read besides.
    plain: bool,
    operand: usize,
}

impl ShellOptions {
    fn read(words: &[Word]) -> Option<Self> {
        let mut found = ShellOptions { command: false, input: false, plain: true, operand: 1 };
        while let Some(word) = words.get(found.operand) {
            let Some(text) = word.literal() else {
                // A word of nobody knows how many is no place to look for the text.
                let pipe = matches!(word, Word::Dynamic { parts, .. } if matches!(parts.as_slice(), [WordPart::Process(_)]));
                return (pipe || crate::options::is_one_word(word)).then_some(found);
            };
            if matches!(text, "--" | "-") {
                found.operand += 1;
                break;
            }
            if !text.starts_with(['-', '+']) {
                break;
            }
            found.operand += 1;
            match text {
                "--norc" | "--noprofile" => {}
                "--posix" | "--login" | "--restricted" | "--verbose" | "--debugger"
                | "--noediting" => found.plain = false,
                "--rcfile" | "--init-file" => {
                    found.plain = false;
                    found.operand += 1;
                }
                _ if text.starts_with("--") => return None,
                _ => found.letters(text, words)?,
            }
        }
        Some(found)
    }

    fn letters(&mut self, text: &str, words: &[Word]) -> Option<()> {
        for letter in text.chars().skip(1) {
            match letter {
                'c' => self.command = true,
                's' => self.input = true,
                'e' | 'u' => {}
                'o' | 'O' => {
                    let value = words.get(self.operand).and_then(Word::literal)?;
                    self.plain &= matches!(value, "pipefail" | "errexit" | "nounset");
                    self.operand += 1;
                }
                _ => self.plain = false,
            }
        }
        Some(())
    }
}

/// A caution about one word.
pub(super) fn caution(word: usize, why: impl Into<String>) -> Caution {
    Caution::new(why, Some(word))
}
