//! Names of tools as people write them in rules: ours, those of Claude Code, and spelling mistakes.

use crate::text::edit_distance;

/// The tools there are, by name.
pub const OURS: [&str; 15] = [
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "Memory",
    "Read",
    "Recall",
    "Revert",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoWrite",
    "Write",
];

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

/// Edits by which a name may differ from one of ours and still be taken for a mistake.
const EDITS: usize = 2;
/// Longer names are not compared.
const LONGEST: usize = 40;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolName {
    Ours,
    /// A tool of Claude Code or of an MCP server.
    Elsewhere,
    /// Probably meant to be this one of ours.
    Mistake(&'static str),
    Unknown,
}

impl ToolName {
    pub fn of(name: &str) -> Self {
        if OURS.contains(&name) {
            return ToolName::Ours;
        }
        // A name with a wildcard means several tools.
        if CLAUDE_CODE.contains(&name) || name.starts_with("mcp__") || name.contains('*') {
            return ToolName::Elsewhere;
        }
        if name.chars().count() > LONGEST {
            return ToolName::Unknown;
        }
        let edits = |ours: &&&str| edit_distance(&name.to_lowercase(), &ours.to_lowercase());
        match OURS.iter().min_by_key(edits) {
            Some(nearest) if edits(&nearest) <= EDITS => ToolName::Mistake(nearest),
            _ => ToolName::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_people_write_them() {
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
            assert_eq!(ToolName::of(name), expected, "{name}");
        }
        // Exact names are never taken for mistakes, however near they are to another one.
        for name in CLAUDE_CODE {
            assert_eq!(ToolName::of(name), ToolName::Elsewhere, "{name}");
        }
        for name in OURS {
            assert_eq!(ToolName::of(name), ToolName::Ours, "{name}");
        }
    }
}
