//! What an agent of a kind is: the kinds that ship, and those that people defined.

use ostler_core::agent_definition::AgentDefinition;
use ostler_core::permission::Mode;
use ostler_core::ports::AgentKind;
use ostler_core::tool_facts::{KnownTools, ToolKind};

const EXPLORER: &str = include_str!("../../../../../prompts/agents/explorer.md").trim_ascii();
const PLANNER: &str = include_str!("../../../../../prompts/agents/planner.md").trim_ascii();
const GENERAL: &str = include_str!("../../../../../prompts/agents/general.md").trim_ascii();

/// A definition counts before a kind that ships.
pub(super) fn find(
    name: &str,
    defined: &[AgentDefinition],
    known: &KnownTools,
) -> Option<AgentDefinition> {
    let own = defined.iter().find(|definition| definition.name == name).cloned();
    own.or_else(|| AgentKind::parse(name).map(|kind| shipped(kind, known)))
}

fn shipped(kind: AgentKind, known: &KnownTools) -> AgentDefinition {
    let fits = |tool: ToolKind| match kind {
        AgentKind::Explorer => tool == ToolKind::Reads,
        AgentKind::Planner => !matches!(tool, ToolKind::Edits | ToolKind::Delegates),
        AgentKind::General => true,
    };
    let (prompt, mode) = match kind {
        AgentKind::Explorer => (EXPLORER, Some(Mode::Plan)),
        AgentKind::Planner => (PLANNER, Some(Mode::Plan)),
        AgentKind::General => (GENERAL, None),
    };
    let names = known.names().filter(|name| fits(known.kind(name))).map(str::to_owned);
    AgentDefinition {
        name: kind.name().to_owned(),
        prompt: prompt.to_owned(),
        tools: (kind != AgentKind::General).then(|| names.collect()),
        mode,
        ..AgentDefinition::default()
    }
}

/// What it finds out does not depend on how the project wants things done.
pub(super) fn reads_instructions(definition: &AgentDefinition) -> bool {
    definition.name != AgentKind::Explorer.name()
}
