//! The tools that the unit tests of `policy` and `core` speak of.

use crate::tool_facts::{FileInput, KnownTools, ToolFacts, ToolKind};

/// What the tests of rules and compaction call tools: the names are well known, the facts are what counts.
pub(crate) fn tools() -> KnownTools {
    const FILE: &[FileInput] = &[FileInput::read("file_path")];
    const TREE: &[FileInput] = &[FileInput::read_tree("path")];
    const CHANGED: &[FileInput] = &[FileInput::write("file_path")];
    let tool = |name: &str, kind: ToolKind, files: &'static [FileInput]| {
        (name.to_owned(), ToolFacts { kind, files, ..ToolFacts::default() })
    };
    KnownTools::new([
        tool("Bash", ToolKind::Runs, &[]),
        tool("Edit", ToolKind::Edits, CHANGED),
        tool("Glob", ToolKind::Reads, TREE),
        tool("Grep", ToolKind::Reads, TREE),
        tool("Read", ToolKind::Reads, FILE),
        tool("Revert", ToolKind::Edits, CHANGED),
        tool("Skill", ToolKind::Instructs, &[]),
        tool("TaskUpdate", ToolKind::Plans, &[]),
        tool("TodoWrite", ToolKind::Plans, &[]),
        tool("Write", ToolKind::Edits, CHANGED),
    ])
}
