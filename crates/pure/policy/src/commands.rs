//! What a shell text would run, flat: every simple command in every position, and whatever is wrapped in one.
//!
//! Pure data. The `shell` crate makes it from a text and knows nothing of the disk; [`Places`] says
//! where its paths lead; `decide` judges it. What could not be worked out is a doubt, and a text
//! with a doubt is never allowed by a rule on commands.

mod deduplication;
mod programs;

use super::access::{Access, PathScope};
use super::places::Places;
use super::script::Word;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Commands {
    /// The whole text.
    pub text: String,
    /// In the order found; a step comes after the step it is inside.
    pub steps: Vec<Step>,
    /// Every pipeline of two or more stages: for each stage the steps that run in it.
    pub pipes: Vec<Vec<Vec<usize>>>,
    /// Why the text as a whole is not understood; none of its steps may then be taken for all of it.
    pub doubts: Vec<String>,
    /// Where there are doubts: every literal word of the text, for the search for danger. It may only make an answer
    /// stricter.
    pub suspects: Vec<String>,
}

/// One simple command, or the redirections of a compound one (then it has no words).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// What the program gets, its own name first. Words that begin a wrapped command are in the inner step, too.
    pub words: Vec<Word>,
    /// The step this one was found in: `timeout` for the command it starts, `echo` for a substitution in its words.
    pub inside: Option<usize>,
    pub position: Position,
    /// The directories it has changed to since the start, in order; none if that is not known.
    pub folder: Option<Vec<String>>,
    /// Where that leads. None: not looked up yet, or it cannot be told.
    pub place: Option<PathBuf>,
    pub effect: Effect,
    /// Files it names, as far as its effect says so.
    pub touches: Vec<Touch>,
    /// Hosts it contacts: names, or `*` if it may be any.
    pub hosts: Vec<String>,
    /// Only hands over to the steps inside it (`timeout 5 …`, `bash -c '…'`): needs no rule of its own.
    pub transparent: bool,
    /// Variables set for it or by it that could change what runs, e.g. `PATH`.
    pub variables: Vec<String>,
    /// What is assigned in front of it, each as one word: `NAME=value`.
    pub assigned: Vec<Word>,
    /// Why a rule that names only the program does not vouch for it.
    pub cautions: Vec<Caution>,
    /// The words a rule is compared with, where they differ: without git's global options, with a program's path
    /// reduced to its name. Empty: the words themselves.
    pub normal: Vec<Word>,
    /// It runs git, whose overrides must then be in force.
    pub git: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    #[default]
    Plain,
    /// `&`
    Background,
    /// In a branch or loop.
    Conditional,
    /// In the body of a function.
    Function,
    /// `$(…)`, backquotes, `<(…)`.
    Substitution,
    /// Started by the step it is inside: a wrapper's, `find -exec`, `bash -c`, `eval`, `trap`, text on standard input.
    Wrapped,
}

/// What is known of what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Only reads, and only what `touches` names. Proved by a table.
    Reads,
    /// Changes files, and only what `touches` names. Proved by a table.
    Writes,
    /// Deletes everything below a directory that must not be deleted, or the like: refused whatever the rules say.
    Ruin(String),
    /// May do anything; in words, why it is not known.
    Unknown(String),
    #[default]
    Nothing,
}

/// A file as written, after quote removal, relative to the step's directory. `~` at its beginning is the home
/// directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Touch {
    pub act: Act,
    pub path: String,
    pub kind: TouchKind,
    /// Where it leads. None: not looked up yet, or it cannot be told.
    pub scopes: Option<Vec<PathScope>>,
    /// For a file that is run: the hash of what it holds now.
    pub content: Option<String>,
    /// The shell opens it for a redirection, whatever the step's words say of it.
    #[serde(skip)]
    pub redirected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    Read,
    /// By the program itself.
    Write,
    /// By a redirection of the shell: a rule on the program does not speak for it.
    Redirect,
    /// A program or script that is started from this file.
    Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TouchKind {
    /// This file.
    File,
    /// This file, or the directory and everything below it. Links below it are not followed.
    Tree,
    /// The same, and links below it are followed.
    Followed,
    /// The same, and its names are words that `xargs` reads: blanks and quotes in one would make others of it.
    Listed,
    /// Only the names below it, not what the files hold.
    Names,
    /// A pattern: whatever it matches, and everything below that.
    Glob,
    /// The repository that git finds from the step's directory: all it holds.
    Repository,
    /// A path inside that repository, relative to its top.
    InRepository,
}

/// A word that makes a known program write or run something, or that its table does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caution {
    pub why: String,
    /// Its place among the words that rules are compared with. A rule that spells this word out vouches for it. None:
    /// nothing short of the exact command does.
    pub word: Option<usize>,
    pub concern: Concern,
}

/// What a caution is about: some of it a rule on the program covers all the same where its backing is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// Other programs, other places, words that nobody knows: never covered.
    #[default]
    Other,
    /// It changes files, and all of them are among the step's touches or in the repository that git finds.
    Writes,
    /// It runs code, as the program is there to do: the script of an interpreter.
    Code,
}

impl Caution {
    pub fn new(why: impl Into<String>, word: Option<usize>) -> Self {
        Caution { why: why.into(), word, concern: Concern::Other }
    }

    pub fn about(self, concern: Concern) -> Self {
        Caution { concern, ..self }
    }
}

impl Step {
    pub fn compared(&self) -> &[Word] {
        if self.normal.is_empty() { &self.words } else { &self.normal }
    }

    /// Something of it a rule on its program covers only with the whole backing behind it.
    pub fn needs_backing(&self) -> bool {
        self.cautions.iter().any(|caution| caution.concern != Concern::Other)
            || self.touches.iter().any(|touch| touch.act == Act::Redirect)
    }
}

/// What was looked up for one text: every question is asked once, so that all its steps see the same disk.
struct SeenStep<'a> {
    places: &'a dyn Places,
    programs: HashMap<String, bool>,
    /// By directory, then by path as written.
    paths: HashMap<Vec<String>, HashMap<String, Kinds>>,
}

type NamedPath = Option<Vec<PathScope>>;
type Kinds = Vec<(TouchKind, NamedPath)>;

impl SeenStep<'_> {
    fn is_program(&mut self, name: &str) -> bool {
        if let Some(known) = self.programs.get(name) {
            return *known;
        }
        let known = BUILT_IN.contains(&name) || self.places.is_system_program(name);
        self.programs.insert(name.to_owned(), known);
        known
    }

    fn look_up(&mut self, at: &[String], path: &str, kind: TouchKind) -> NamedPath {
        let known = self.paths.get(at).and_then(|paths| paths.get(path));
        if let Some((_, found)) = known.into_iter().flatten().find(|(known, _)| *known == kind) {
            return found.clone();
        }
        let found = self.places.look_up(at, path, kind);
        let paths = self.paths.entry(at.to_vec()).or_default();
        paths.entry(path.to_owned()).or_default().push((kind, found.clone()));
        found
    }
}

/// Names that the shell itself answers to.
const BUILT_IN: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// What is spoken of below the trees that are read, and is not there. Each tree is looked at once.
fn absent(
    reads: &[PathScope],
    places: &dyn Places,
    spoken_of: impl Fn(&Path) -> Vec<PathBuf>,
) -> Vec<PathBuf> {
    let (mut trees, mut found) = (HashSet::new(), Vec::new());
    for scope in reads {
        if let PathScope::Tree(tree) = scope
            && trees.insert(tree)
        {
            let gone = |place: &PathBuf| !places.exists(place);
            found.extend(spoken_of(tree).into_iter().filter(gone));
        }
    }
    found
}

impl Touch {
    pub fn new(act: Act, path: impl Into<String>, kind: TouchKind) -> Self {
        Touch { act, path: path.into(), kind, scopes: None, content: None, redirected: false }
    }
}

impl Commands {
    /// Nothing is known of it but its text.
    pub fn opaque(text: &str, why: String, suspects: Vec<String>) -> Self {
        Commands { text: text.to_owned(), doubts: vec![why], suspects, ..Commands::default() }
    }

    /// Understood to the last word, and every step only reads.
    pub fn only_reads(&self) -> bool {
        let reads = |step: &Step| {
            matches!(step.effect, Effect::Reads | Effect::Nothing) || step.transparent
        };
        self.doubts.is_empty() && !self.steps.is_empty() && self.steps.iter().all(reads)
    }

    /// Looks up every path. Where a program is not the system's, its step is not taken for what its table says.
    pub fn look_up(&mut self, places: &dyn Places) {
        let mut seen = SeenStep { places, programs: HashMap::new(), paths: HashMap::new() };
        for step in &mut self.steps {
            let name = step.words.first().and_then(Word::literal).unwrap_or_default();
            if !name.is_empty() && !name.contains('/') && !seen.is_program(name) {
                let why = format!("no program outside the workspace is called {name}");
                step.effect = Effect::Unknown(why.clone());
                step.cautions.push(Caution::new(why, None));
            }
            let folder = step.folder.as_deref();
            let mut find = |path: &str, kind| folder.and_then(|at| seen.look_up(at, path, kind));
            let place = find(".", TouchKind::Names);
            let path = |scope| match scope {
                PathScope::File(path) | PathScope::Tree(path) => path,
            };
            step.place = place.and_then(|found| found.into_iter().next().map(path));
            for touch in &mut step.touches {
                touch.scopes = find(&touch.path, touch.kind);
                if touch.act == Act::Run {
                    let path = touch.scopes.as_deref().and_then(<[PathScope]>::first);
                    touch.content = path.and_then(|scope| places.content(scope.path()));
                }
            }
            if step.git && step.effect == Effect::Reads && find("", TouchKind::Repository).is_none()
            {
                let why = "the repository git finds there is not a plain one in the workspace";
                step.effect = Effect::Unknown(why.into());
                step.cautions.push(Caution::new(why, None));
            }
        }
    }

    /// What it touches, for the gate and the scheduler. `spoken_of` names the places below a directory that rules speak
    /// of.
    pub fn access(self, places: &dyn Places, spoken_of: impl Fn(&Path) -> Vec<PathBuf>) -> Access {
        let mut access = Access { known: self.doubts.is_empty(), ..Access::default() };
        for step in &self.steps {
            let sure = matches!(step.effect, Effect::Reads | Effect::Writes | Effect::Nothing);
            access.known &= (sure || step.transparent) && step.variables.is_empty();
            access.hosts.extend(step.hosts.iter().cloned());
            for touch in &step.touches {
                access.known &= touch.scopes.is_some() || touch.act == Act::Run;
                let scopes = touch.scopes.iter().flatten().cloned();
                match touch.act {
                    Act::Read | Act::Run => access.reads.extend(scopes),
                    Act::Write | Act::Redirect => access.writes.extend(scopes),
                }
            }
        }
        access.absent = absent(&access.reads, places, spoken_of);
        access.known &= !self.steps.is_empty();
        access.runs = Some(Arc::new(self));
        access
    }

    /// Every git among them only reads.
    pub fn git_only_reads(&self) -> bool {
        let is_git = |step: &Step| {
            step.git
                || step
                    .words
                    .first()
                    .and_then(Word::literal)
                    .is_none_or(|name| name.ends_with("git"))
        };
        let mut gits = self.steps.iter().filter(|step| !step.words.is_empty() && is_git(step));
        self.doubts.is_empty() && gits.all(|step| step.effect == Effect::Reads)
    }

    /// Git is what changes something, and nothing runs beside it of which it is not known what it does.
    pub fn changes_by_git(&self) -> bool {
        let is_git = |step: &&Step| {
            let name = step.words.first().and_then(Word::literal);
            name.is_some_and(|name| name.rsplit('/').next() == Some("git"))
        };
        let is_unknown =
            |step: &&Step| matches!(step.effect, Effect::Unknown(_)) && !step.transparent;
        let mut gits = self.steps.iter().filter(is_git);
        self.doubts.is_empty()
            && gits.any(|step| step.effect != Effect::Reads)
            && !self.steps.iter().filter(is_unknown).any(|step| !is_git(&step))
    }

    pub fn runs_git(&self) -> bool {
        self.steps.iter().any(|step| step.git)
    }
}
