//! One declaration, two decisions: the gate and the scheduler both judge a call by what it would touch.

use super::commands::Commands;
use super::person_request::PersonRequest;
use crate::tool_facts::KnownTools;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a call would touch. The default is "unknown": exclusive, and asked about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Access {
    pub reads: Vec<PathScope>,
    pub writes: Vec<PathScope>,
    /// The commands it would run, with their paths looked up.
    pub runs: Option<Arc<Commands>>,
    pub hosts: Vec<String>,
    /// Everything it touches is listed above. False: it may touch anything.
    pub known: bool,
    /// The tool itself leaves out of a tree what may not be read.
    pub filtered: bool,
    /// Places that a rule speaks of, looked for below the trees above and not there.
    pub absent: Vec<PathBuf>,
    /// How well the kernel holds what it runs.
    pub hold: Hold,
    /// Who keeps what it runs from files that deny rules cover.
    #[serde(skip_serializing_if = "Denials::is_decision")]
    pub denials: Denials,
    /// What stands behind the rules that allow it.
    #[serde(skip)]
    pub backing: Backing,
    /// Something it would remove and that could not be brought back.
    pub unkept: Option<PathBuf>,
    /// What it changes of the session itself. Nothing in the world, but it waits for the seal, for its like and for
    /// every changing call before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inward: Option<Inward>,
    /// It keeps a note in our own memory, which is no file of anybody's; not before the answer is sealed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub notes: bool,
    /// The names of the kind of agent that does the work; empty where none does. What that agent does is judged call by
    /// call, so this says only that it may be anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegates: Vec<String>,
    /// It changes the task board, which other processes and machines see; not before the answer is sealed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub board: bool,
    /// The call is a question to the person, who alone can answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<Arc<PersonRequest>>,
}

/// A change of the session itself: of its plan, or of the rules of the turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inward {
    /// The skill it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Rules it would add until the turn ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loosens: Vec<String>,
}

/// What stands between the commands of a call and everything they were not judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Everything that is promised, or all that the user asked for.
    #[default]
    Whole,
    /// A layer is missing; in words, with what to do about it.
    Weak(String),
    /// The call asks to run outside.
    Lifted,
}

/// What stands behind an allow rule that names a program. Where it is whole, the rule also covers what the program
/// ordinarily changes in the workspace, and the code that an interpreter is there to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Every layer of the sandbox keeps the commands to the workspace, and undo can take back what they change there.
    Whole,
    /// In words, what is missing of it.
    Missing(Cow<'static, str>),
}

impl Default for Backing {
    fn default() -> Self {
        Backing::Missing("neither was checked".into())
    }
}

/// Who enforces deny rules on files for the commands of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Denials {
    /// Nobody but this decision, which goes by what the text of a command shows.
    #[default]
    Decision,
    /// The kernel: every file that a deny rule covers was found, and a command that opens one fails.
    Kernel {
        /// One of them is tracked by git, which keeps a copy that the kernel does not know of.
        tracked: bool,
    },
    /// The kernel should and cannot; in words, why. Asks in every mode.
    Unenforced(String),
}

impl Denials {
    fn is_decision(&self) -> bool {
        *self == Denials::Decision
    }
}

/// A path that has been made absolute and freed of links as far as it exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathScope {
    File(PathBuf),
    /// Everything below it, too.
    Tree(PathBuf),
}

impl PathScope {
    pub fn path(&self) -> &Path {
        match self {
            PathScope::File(path) | PathScope::Tree(path) => path,
        }
    }

    fn overlaps(&self, other: &PathScope) -> bool {
        match (self, other) {
            (PathScope::File(a), PathScope::File(b)) => a == b,
            (PathScope::File(file), PathScope::Tree(tree))
            | (PathScope::Tree(tree), PathScope::File(file)) => file.starts_with(tree),
            (PathScope::Tree(a), PathScope::Tree(b)) => a.starts_with(b) || b.starts_with(a),
        }
    }
}

impl Access {
    pub fn unknown() -> Self {
        Access::default()
    }

    /// Touches nothing at all.
    pub fn nothing() -> Self {
        Access { known: true, ..Access::default() }
    }

    /// Touches nothing but the session itself.
    pub fn inward(inward: Inward) -> Self {
        Access { inward: Some(inward), ..Access::nothing() }
    }

    pub fn reading(scope: PathScope) -> Self {
        Access { reads: vec![scope], ..Access::nothing() }
    }

    pub fn writing(scope: PathScope) -> Self {
        Access { writes: vec![scope], ..Access::nothing() }
    }

    /// Keeps a note and touches nothing else.
    pub fn noting() -> Self {
        Access { notes: true, ..Access::nothing() }
    }

    /// Has another agent do the work.
    pub fn delegating(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Access { delegates: names.into_iter().map(Into::into).collect(), ..Access::nothing() }
    }

    /// Changes the task board and touches nothing else.
    pub fn changing_board() -> Self {
        Access { board: true, ..Access::nothing() }
    }

    /// Asks the person, and touches nothing but the session itself.
    pub fn asking(request: PersonRequest) -> Self {
        Access { person: Some(Arc::new(request)), ..Access::inward(Inward::default()) }
    }

    pub fn is_delegation(&self) -> bool {
        !self.delegates.is_empty()
    }

    /// Changes nothing and reaches nobody: may run while the answer is still open.
    pub fn is_harmless(&self) -> bool {
        self.hosts.is_empty() && self.changes_nothing()
    }

    /// Nothing here is changed; hosts may be contacted.
    pub fn changes_nothing(&self) -> bool {
        self.known && self.writes.is_empty() && !self.notes && !self.board && !self.is_delegation()
    }

    /// May begin before the answer is sealed, as far as its effects go: dropping the answer leaves no trace.
    pub fn may_begin_early(&self) -> bool {
        self.is_harmless() && self.inward.is_none()
    }

    /// Running both at once could give another result than one after the other.
    pub fn conflicts(&self, other: &Access) -> bool {
        match (&self.inward, &other.inward) {
            (Some(_), Some(_)) => return true,
            (Some(_), None) => return !other.is_harmless(),
            (None, Some(_)) => return !self.is_harmless(),
            (None, None) => {}
        }
        match (self.is_delegation(), other.is_delegation()) {
            // Their calls are kept apart like those of any two sessions in one directory.
            (true, true) => return false,
            (true, false) => return !other.is_harmless(),
            (false, true) => return !self.is_harmless(),
            (false, false) => {}
        }
        if self.is_harmless() && other.is_harmless() {
            return false;
        }
        // What one of them does decides what the other finds.
        if self.board && other.board {
            return true;
        }
        if !self.known || !other.known {
            return true;
        }
        let touches = |writer: &Access, reader: &Access| {
            writer.writes.iter().any(|write| {
                reader.writes.iter().chain(&reader.reads).any(|scope| write.overlaps(scope))
            })
        };
        touches(self, other) || touches(other, self)
    }
}

/// Where an agent works. Roots come from the user only, and are absolute and free of links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub cwd: PathBuf,
    pub roots: Vec<PathBuf>,
    /// Directories of our own that may be read besides: spilled outputs.
    pub readable: Vec<PathBuf>,
    pub home: PathBuf,
    /// Where we keep sessions, settings and rules: nobody else's to write or read.
    pub ours: Vec<PathBuf>,
    /// The roots are worktrees that were made for this agent: nothing else may be changed, and they are not ours although
    /// they lie there.
    #[serde(default)]
    pub isolated: bool,
    /// The tools that can be called here and named in rules.
    #[serde(skip)]
    pub tools: KnownTools,
}

impl Workspace {
    /// A root of `/` contains nothing: whoever works there is asked about everything.
    pub fn contains(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.parent().is_some() && path.starts_with(root))
    }

    /// As a person would write it from the working directory.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
            _ => path.display().to_string(),
        }
    }

    pub fn is_ours(&self, path: &Path) -> bool {
        let is_in_tree = self.isolated && self.contains(path);
        !is_in_tree && self.ours.iter().any(|folder| path.starts_with(folder))
    }

    pub fn may_read(&self, path: &Path) -> bool {
        self.contains(path) || self.readable.iter().any(|root| path.starts_with(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Access {
        Access::reading(PathScope::File(path.into()))
    }
    fn write(path: &str) -> Access {
        Access::writing(PathScope::File(path.into()))
    }
    fn write_tree(path: &str) -> Access {
        Access::writing(PathScope::Tree(path.into()))
    }

    #[test]
    fn conflicts_table() {
        let cases = [
            (read("/a"), read("/a"), false),
            (read("/a"), write("/a"), true),
            (read("/a"), write("/b"), false),
            (write("/a"), write("/a"), true),
            (write("/a"), write("/b"), false),
            (write("/d/a"), write_tree("/d"), true),
            (write("/da"), write_tree("/d"), false),
            (write_tree("/d/e"), write_tree("/d"), true),
            (write_tree("/d"), write_tree("/e"), false),
            (Access::unknown(), read("/a"), true),
            (Access::unknown(), Access::unknown(), true),
            (Access::nothing(), Access::unknown(), true),
            (Access::nothing(), write("/a"), false),
            (Access::inward(Inward::default()), Access::inward(Inward::default()), true),
            (Access::inward(Inward::default()), write("/a"), true),
            (Access::inward(Inward::default()), Access::unknown(), true),
            (Access::inward(Inward::default()), read("/a"), false),
            (Access::noting(), write("/a"), false),
            (Access::noting(), Access::noting(), false),
            (Access::changing_board(), Access::changing_board(), true),
            (Access::changing_board(), write("/a"), false),
            (Access::changing_board(), Access::inward(Inward::default()), true),
        ];
        for (a, b, expected) in cases {
            assert_eq!(a.conflicts(&b), expected, "{a:?} {b:?}");
            assert_eq!(b.conflicts(&a), expected, "{b:?} {a:?}");
        }
    }

    #[test]
    fn the_whole_disk_is_no_workspace() {
        let of = |root: &str| Workspace { roots: vec![root.into()], ..Workspace::default() };
        for (root, path, expected) in [
            ("/", "/etc/x", false),
            ("/", "/", false),
            ("/ws", "/ws", true),
            ("/ws", "/ws/a", true),
            ("/ws", "/ws-evil/a", false),
        ] {
            assert_eq!(of(root).contains(Path::new(path)), expected, "{root} {path}");
        }
    }

    #[test]
    fn unknown_is_never_harmless() {
        assert!(!Access::unknown().is_harmless());
        assert!(!Access { hosts: vec!["h".into()], ..Access::nothing() }.is_harmless());
        assert!(read("/a").is_harmless());
        assert!(read("/a").may_begin_early());
        let inward = Access::inward(Inward::default());
        assert!(inward.is_harmless() && !inward.may_begin_early());
        assert!(!Access::noting().is_harmless(), "a dropped answer must leave no note");
        assert!(!Access::changing_board().may_begin_early(), "nor a task on the board");
        let agent = Access::delegating(["explorer"]);
        assert!(!agent.may_begin_early(), "a dropped answer must leave no agent");
        assert!(!agent.conflicts(&agent), "agents run side by side");
        assert!(!agent.conflicts(&read("/a")) && !read("/a").conflicts(&agent));
        for other in [write("/a"), Access::unknown(), inward.clone()] {
            assert!(agent.conflicts(&other) && other.conflicts(&agent), "{other:?}");
        }
    }
}
