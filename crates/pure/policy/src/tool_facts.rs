//! What a tool declares about itself to everybody but the model. Rules, `permissions explain`, compaction, the screen
//! and the memory go by this, so that no tool is known by its name outside its own file.

use serde_json::Value;
use std::sync::Arc;

/// What a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolKind {
    /// Nothing is declared, as for the tools of an MCP server.
    #[default]
    Undeclared,
    /// Reads files.
    Reads,
    /// Changes files itself.
    Edits,
    /// Runs commands.
    Runs,
    /// Contacts hosts.
    Fetches,
    /// Asks a service of the web; rules name it without a host.
    Searches,
    /// The provider runs it: its schema holds its options.
    Provided,
    /// Has another agent do the work.
    Delegates,
    /// Shows or changes the task board, which other processes share.
    Coordinates,
    /// Session only: shows or changes the plan.
    Plans,
    /// Session only: its results are instructions that hold until the conversation is summarized.
    Instructs,
    /// Session only: keeps or finds what was said earlier.
    Remembers,
    /// Session only: puts a question to the person.
    Asks,
    /// Session only: lets time pass until something arrives.
    Waits,
}

/// Everything about a tool that is not for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFacts {
    pub kind: ToolKind,
    pub subject: Subject,
    /// The inputs that are paths, the most important one first.
    pub files: &'static [FileInput],
    /// Shorter names of inputs and what they stand for, understood where people write calls by hand.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Names by which models and rules of other programs call it.
    pub other_names: &'static [&'static str],
    /// Values of the inputs that a call needs besides its main one, for calls that nobody is going to run.
    pub sample: &'static [(&'static str, &'static str)],
    pub result: ResultView,
}

/// The one thing that tells calls of a tool apart: what a line about a call shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The first of these inputs that is a text.
    Inputs(&'static [&'static str]),
    /// How many items this input lists, and what one of them is called.
    Count { input: &'static str, one: &'static str },
}

/// Inputs that most often say what a call is about, for tools that do not declare one.
const USUAL: &[&str] = &["command", "file_path", "pattern", "path", "url", "query", "description"];

impl Default for ToolFacts {
    fn default() -> Self {
        ToolFacts::UNDECLARED
    }
}

/// An input that is a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileInput {
    pub input: &'static str,
    pub extent: Extent,
    /// Otherwise it is only read.
    pub writes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    File,
    /// Everything below it; the working directory if it is not given.
    Tree,
    /// A pattern for names below the tree that another input gives.
    Pattern,
}

impl FileInput {
    pub const fn read(input: &'static str) -> Self {
        FileInput { input, extent: Extent::File, writes: false }
    }

    pub const fn read_tree(input: &'static str) -> Self {
        FileInput { input, extent: Extent::Tree, writes: false }
    }

    pub const fn pattern(input: &'static str) -> Self {
        FileInput { input, extent: Extent::Pattern, writes: false }
    }

    pub const fn write(input: &'static str) -> Self {
        FileInput { input, extent: Extent::File, writes: true }
    }
}

/// What the screen shows of a result that is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultView {
    /// Its first lines.
    Lines,
    /// A difference: the changed lines, without those around them.
    Changes,
    /// Nothing: it changed the plan, and that is shown.
    Plan,
}

impl ToolFacts {
    /// Of a tool that says nothing of itself.
    pub const UNDECLARED: ToolFacts = ToolFacts {
        kind: ToolKind::Undeclared,
        subject: Subject::Inputs(USUAL),
        files: &[],
        aliases: &[],
        other_names: &[],
        sample: &[],
        result: ResultView::Lines,
    };

    /// What a call is about, in words.
    pub fn subject_of(&self, input: &Value) -> String {
        let said = match self.subject {
            Subject::Inputs(names) => {
                names.iter().find_map(|name| Some(input.get(name)?.as_str()?.to_owned()))
            }
            Subject::Count { input: list, one } => {
                let count = input.get(list).and_then(Value::as_array).map(Vec::len);
                count.map(|count| format!("{count} {one}{}", if count == 1 { "" } else { "s" }))
            }
        };
        said.unwrap_or_else(|| input.to_string())
    }

    /// The files that a call changes, as its input names them.
    pub fn changed<'a>(&self, input: &'a Value) -> impl Iterator<Item = &'a str> {
        let written = self.files.iter().filter(|file| file.writes);
        written.filter_map(|file| input.get(file.input)?.as_str())
    }

    /// The file that a call reads from its beginning to its end: nothing else was asked for.
    pub fn read_whole<'a>(&self, input: &'a Value) -> Option<&'a str> {
        let [FileInput { input: name, extent: Extent::File, writes: false }] = self.files else {
            return None;
        };
        let given = input.as_object()?;
        let path = given.get(*name)?.as_str()?;
        (given.len() == 1).then_some(path)
    }

    /// The input that a bare text stands for, where a person gives no more than that.
    pub fn main_input(&self) -> Option<&'static str> {
        let subject = match self.subject {
            Subject::Inputs(names) => names.first().copied(),
            Subject::Count { .. } => None,
        };
        self.files.first().map(|file| file.input).or(subject)
    }

    /// A call for which a person gave no more than a text.
    pub fn call_with(&self, text: &str) -> Value {
        let main = self.main_input().map(|name| (name, text));
        let all = main.into_iter().chain(self.sample.iter().copied());
        all.map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
    }
}

/// The tools that rules can name and logs can hold, with what they declare. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KnownTools(Arc<[(String, ToolFacts)]>);

impl KnownTools {
    /// Of several with the same name the first counts.
    pub fn new(tools: impl IntoIterator<Item = (String, ToolFacts)>) -> Self {
        KnownTools(tools.into_iter().collect())
    }

    /// The same with one more tool, or with another declaration of it.
    #[must_use]
    pub fn and(&self, name: &str, facts: ToolFacts) -> Self {
        let others = self.0.iter().filter(|(known, _)| known != name).cloned();
        KnownTools(others.chain([(name.to_owned(), facts)]).collect())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub fn knows(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The name of the tool that is also called this; else the name itself.
    pub fn first_name<'a>(&'a self, name: &'a str) -> &'a str {
        if self.knows(name) {
            return name;
        }
        let also = |(_, facts): &&(String, ToolFacts)| facts.other_names.contains(&name);
        self.0.iter().find(also).map_or(name, |(first, _)| first)
    }

    /// What the tool declares; nothing for one that is not known.
    pub fn facts(&self, name: &str) -> ToolFacts {
        let known = self.0.iter().find(|(known, _)| known == name);
        known.map(|(_, facts)| *facts).unwrap_or_default()
    }

    pub fn kind(&self, name: &str) -> ToolKind {
        self.facts(name).kind
    }

    pub fn of_kind(&self, kind: ToolKind) -> impl Iterator<Item = &str> {
        let like = move |(_, facts): &&(String, ToolFacts)| facts.kind == kind;
        self.0.iter().filter(like).map(|(name, _)| name.as_str())
    }
}

/// By name: the facts are data that never changes.
impl std::fmt::Debug for KnownTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
#[path = "tool_facts_tests.rs"]
mod tests;
