//! The small form of a shell text: what would run, with which words, reading and writing where.
//!
//! Pure data. It is made by the `shell` crate; nothing here knows how. A word is either known to the letter, or
//! known to be a pattern over file names, or not known at all; there is no fourth kind, and "not known" is never
//! silently treated as text.

use serde::Serialize;

/// A list of commands in the order written, as separated by `;`, `&` and line ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Script {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    pub first: Pipeline,
    pub rest: Vec<(Join, Pipeline)>,
    /// Ended by `&`: the shell does not wait for it.
    pub background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pipeline {
    pub negated: bool,
    pub timed: bool,
    /// Joined by `|`; `|&` has become a redirection of the stage before it.
    pub stages: Vec<PipelineStage>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineStage {
    Simple(Command),
    Compound { body: Compound, redirects: Vec<Redirect> },
}

/// A simple command: at least one of its three parts is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Command {
    pub assignments: Vec<Assignment>,
    /// The program and its words. Empty for `x=1` or `> file` alone.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compound {
    /// `{ …; }`
    Group(Script),
    /// `( … )`
    Subshell(Script),
    If {
        /// Condition and body of `if` and every `elif`.
        branches: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    While {
        until: bool,
        condition: Script,
        body: Script,
    },
    For {
        variable: String,
        /// `None`: over the positional parameters.
        values: Option<Vec<Word>>,
        body: Script,
    },
    /// `for ((…; …; …))`
    ArithmeticFor {
        header: [Expression; 3],
        body: Script,
    },
    Case {
        value: Word,
        arms: Vec<Arm>,
    },
    Function {
        name: String,
        body: Box<Compound>,
        redirects: Vec<Redirect>,
    },
    Coprocess {
        name: Option<String>,
        body: Box<PipelineStage>,
    },
    /// `[[ … ]]`: every token of it, operators and parentheses as literals. No word of it is split or matched against
    /// file names. Arithmetic operators evaluate their operands even when quoted.
    Test(Vec<Word>),
    /// `(( … ))`
    Arithmetic(Expression),
}

/// One arm of a `case`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arm {
    pub patterns: Vec<Word>,
    pub body: Option<Script>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assignment {
    pub name: String,
    /// The index in `name[index]=…`. The shell evaluates it.
    pub index: Option<Expression>,
    pub append: bool,
    pub value: Assigned,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assigned {
    Scalar(Word),
    Array(Vec<(Option<Word>, Word)>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Exactly this text reaches the program: quotes are removed, nothing is left to expand.
    Literal(String),
    /// A pattern over file names; quoted characters that would mean something carry a backslash. It becomes the
    /// names that match, or stays as it is when none does.
    Glob(String),
    /// Only the shell knows, when it runs; `parts` is what can be said before.
    Dynamic { why: Dynamic, source: String, parts: Vec<WordPart> },
}

/// A piece of a word that is not known as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WordPart {
    /// Exactly this text, quotes removed.
    Literal(String),
    /// Unquoted text with `*`, `?` or `[`, written like [`Word::Glob`].
    Glob(String),
    Parameter {
        /// `x`, `1`, `@`, `a` for `${a[0]}`.
        name: String,
        form: Form,
        quoted: bool,
        /// What its operand runs: `${x:-$(…)}`.
        scripts: Vec<Script>,
    },
    /// `$(…)` or backquotes.
    Command { script: Script, quoted: bool },
    /// `<(…)`, `>(…)`
    Process(Script),
    /// `$((…))`, `$[…]`
    Arithmetic { expression: Expression, quoted: bool },
    /// `~` and the name behind it, mostly empty.
    Tilde(String),
    /// The rest: a brace expansion that is too long, a byte escape, the elements of an array.
    Other(Vec<Word>),
}

/// What an expansion of a parameter does with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// `$x`, `${x}`: the value.
    Value,
    /// `${x:-y}`, `${x#y}`, `${#x}`: something made of it.
    Made,
    /// `${x@P}`, `${!x}`, `${x:a}`, `${a[i]}`: the shell evaluates what a value or an operand says, and that may run
    /// commands.
    Evaluated,
    /// `${x=y}`, `${x:=y}`: also sets it.
    Set,
}

/// An arithmetic expression as written. The shell evaluates the values of its names again, and subscripts in them may
/// run commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Expression {
    pub source: String,
    /// What its substitutions run.
    pub scripts: Vec<Script>,
    /// Nothing but numbers, operators and blanks.
    pub plain: bool,
}

impl Word {
    pub fn literal(&self) -> Option<&str> {
        match self {
            Word::Literal(text) => Some(text),
            Word::Glob(_) | Word::Dynamic { .. } => None,
        }
    }
}

/// What makes a word unknown. With several reasons, the first in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dynamic {
    /// `$x`, `${x…}`, `$1`, `$?`
    Parameter,
    /// `$(…)` or backquotes
    CommandSubstitution,
    /// `<(…)`, `>(…)`
    ProcessSubstitution,
    /// `$((…))`, `$[…]`
    Arithmetic,
    /// `~`, `~user`
    Tilde,
    /// `{a,b}`, `{1..9}`
    Brace,
    /// `$'…'` that makes bytes which are no text, or depends on the locale
    Bytes,
    /// `name=(…)` among the words of a command
    Array,
    /// Digits, perhaps with a sign or with text around them: `-j$(nproc)`
    Number,
    /// Another program gives it: what `xargs` reads, what `find` finds
    Given,
}

impl Dynamic {
    /// In words for a person.
    pub fn name(self) -> &'static str {
        match self {
            Dynamic::Parameter => "a variable",
            Dynamic::CommandSubstitution => "a command substitution",
            Dynamic::ProcessSubstitution => "a process substitution",
            Dynamic::Arithmetic => "an arithmetic expansion",
            Dynamic::Tilde => "a home directory (~)",
            Dynamic::Brace => "a brace expansion",
            Dynamic::Bytes => "a byte escape",
            Dynamic::Array => "an array",
            Dynamic::Number => "a number",
            Dynamic::Given => "known only at run time",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// `None`: the operator's own descriptor (0 for reading, 1 for writing).
    pub fd: Option<u32>,
    pub kind: RedirectKind,
    /// The file, the descriptor (`1`, `-`) or the text of a here-document.
    pub target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>>`
    Append,
    /// `>|`
    Clobber,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&`; with a word that is no descriptor it writes a file
    DuplicateOutput,
    /// `&>`
    Both,
    /// `&>>`
    BothAppend,
    /// `<<`, `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}

/// Why a text has no [`Script`]. Such a text is never allowed by itself: somebody is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Opaque {
    #[error("the command is {bytes} bytes long, the limit is {limit}")]
    TooLong { bytes: usize, limit: usize },
    #[error("the command contains the character U+{0:04X}, which hides what the command does")]
    Character(u32),
    #[error("the command is nested too deep")]
    TooDeep,
    #[error("the command is ambiguous: {0}")]
    Ambiguous(String),
    #[error("the command is not valid shell: {0}")]
    Syntax(String),
    #[error("the shell parser failed on the command")]
    ParserFailed,
}
