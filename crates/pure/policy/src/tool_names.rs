//! Names of tools as people write them in rules: ours, those of Claude Code, and spelling mistakes.

use super::rule::{CHANGING, COMMANDS, READING};
use crate::edit_distance::edit_distance;
use crate::tool_facts::{KnownTools, ToolKind};

/// Tools of Claude Code, of this and earlier versions, that do not exist here. Scripts and settings written for it
/// name them, and a rule about such a tool does no harm.
const CLAUDE_CODE: [&str; 45] = [
    "Agent",
    "AgentOutputTool",
    "AskUserQuestion",
    "BashOutput",
    "BashOutputTool",
    "Brief",
    "Config",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "REPL",
    "ReadMcpResource",
    "ReadMcpResourceDirTool",
    "ReadMcpResourceTool",
    "SendMessage",
    "SlashCommand",
    "Sleep",
    "StructuredOutput",
    "Task",
    "TaskOutput",
    "TaskStop",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "ToolSearch",
    "WaitForMcpServers",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "exit_plan_mode",
];

/// What rules mean by these names also where no such tool exists.
const WORDS: [(&str, ToolKind); 4] = [
    (COMMANDS, ToolKind::Runs),
    (READING, ToolKind::Reads),
    (CHANGING, ToolKind::Edits),
    ("WebFetch", ToolKind::Fetches),
];

/// Edits by which a name may differ from one of ours and still be taken for a mistake.
const EDITS: usize = 2;
/// Longer names are not compared.
const LONGEST: usize = 40;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolName<'a> {
    Ours,
    /// A tool of Claude Code or of an MCP server.
    Elsewhere,
    /// Probably meant to be this one of ours.
    Mistake(&'a str),
    Unknown,
}

/// What the tool does that a rule names.
pub fn kind(name: &str, tools: &KnownTools) -> ToolKind {
    let word = WORDS.iter().find(|(word, _)| *word == name && !tools.knows(name));
    word.map_or_else(|| tools.kind(name), |(_, kind)| *kind)
}

impl<'a> ToolName<'a> {
    pub fn of(name: &str, tools: &'a KnownTools) -> Self {
        if tools.knows(tools.first_name(name)) {
            return ToolName::Ours;
        }
        // A name with a wildcard means several tools.
        if CLAUDE_CODE.contains(&name) || name.starts_with("mcp__") || name.contains('*') {
            return ToolName::Elsewhere;
        }
        if name.chars().count() > LONGEST {
            return ToolName::Unknown;
        }
        let edits = |ours: &&str| edit_distance(&name.to_lowercase(), &ours.to_lowercase());
        match tools.names().min_by_key(edits) {
            Some(nearest) if edits(&nearest) <= EDITS => ToolName::Mistake(nearest),
            _ => ToolName::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_facts::ToolFacts;

    #[test]
    fn names_as_people_write_them() {
        let tools = crate::test_tools::tools();
        for (name, expected) in [
            ("Bash", ToolName::Ours),
            ("Bsah", ToolName::Mistake("Bash")),
            ("bash", ToolName::Mistake("Bash")),
            ("Bahs", ToolName::Mistake("Bash")),
            ("Bashh", ToolName::Mistake("Bash")),
            ("Raed", ToolName::Mistake("Read")),
            ("Writ", ToolName::Mistake("Write")),
            ("Edits", ToolName::Mistake("Edit")),
            ("TaskUpdtae", ToolName::Mistake("TaskUpdate")),
            ("todowrite", ToolName::Mistake("TodoWrite")),
            ("TodoRead", ToolName::Elsewhere),
            ("Task", ToolName::Elsewhere),
            ("LS", ToolName::Elsewhere),
            ("mcp__github__create_issue", ToolName::Elsewhere),
            ("mcp__x", ToolName::Elsewhere),
            ("*", ToolName::Elsewhere),
            ("Deploy", ToolName::Unknown),
            ("", ToolName::Unknown),
            (&"Bash".repeat(1_000), ToolName::Unknown),
        ] {
            assert_eq!(ToolName::of(name, &tools), expected, "{name}");
        }
        // Exact names are never taken for mistakes, however near they are to another one.
        for name in CLAUDE_CODE {
            assert_eq!(ToolName::of(name, &tools), ToolName::Elsewhere, "{name}");
        }
        for name in tools.names() {
            assert_eq!(ToolName::of(name, &tools), ToolName::Ours, "{name}");
        }
    }

    #[test]
    fn a_tool_that_exists_here_speaks_for_itself() {
        let facts = ToolFacts { kind: ToolKind::Reads, ..ToolFacts::default() };
        let ours = KnownTools::new([("WebFetch".to_owned(), facts)]);
        assert_eq!(kind("WebFetch", &KnownTools::default()), ToolKind::Fetches);
        assert_eq!(kind("Edit", &KnownTools::default()), ToolKind::Edits);
        assert_eq!(kind("WebFetch", &ours), ToolKind::Reads);
        assert_eq!(kind("WebSearch", &ours), ToolKind::Undeclared);
        assert_eq!(ToolName::of("WebFetch", &ours), ToolName::Ours);
    }
}
