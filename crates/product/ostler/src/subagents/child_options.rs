//! The options of an agent: those of the one who starts it as they are now, and what its definition takes away.

use super::kinds;
use crate::jobs::JobOptions;
use crate::kit::known_tools;
use crate::mcp::{McpChoice, McpOptions};
use crate::session::SessionShared;
use crate::session_options::{SessionChoice, SessionOptions};
use crate::task_board::BoardOptions;
use crate::team::TeamOptions;
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::event::AgentPath;
use ostler_core::permission::Mode;
use ostler_core::tool_facts::KnownTools;
use ostler_skills::Skill;
use std::sync::Arc;

/// The model that is asked for goes before that of the definition.
pub(super) fn of(
    above: &SessionShared,
    definition: &AgentDefinition,
    (path, task): (&AgentPath, &str),
    model: Option<&str>,
) -> SessionOptions {
    let own = &above.origin.1;
    let model = model.or(definition.model.as_deref()).filter(|model| *model != "inherit");
    let model = model.map_or_else(|| above.agent.choice().primary.to_string(), str::to_owned);
    let skills = skills(above, &definition.skills);
    let given = [own.append_system_prompt.as_deref().unwrap_or_default(), &definition.prompt];
    let given = given.into_iter().chain(skills.iter().map(String::as_str));
    let given = given.collect::<Vec<_>>().join("\n\n");
    let max_turns = definition.max_turns.into_iter().chain(own.max_turns).min();
    SessionOptions {
        log: SessionChoice::New,
        model,
        keep_model: false,
        effort: definition.effort.or(own.effort),
        append_system_prompt: Some(given.trim().to_owned()),
        instructions: own.instructions.clone().filter(|_| kinds::reads_instructions(definition)),
        mode: mode(definition.mode, above.agent.gate.mode()),
        // With what was added and approved since.
        add_dirs: above.workspace.now().roots[1..].to_vec(),
        policy: above.agent.gate.policy(),
        allow: Vec::new(),
        ask: Vec::new(),
        deny: Vec::new(),
        tools: Some(tools(above, own, definition)),
        late_tools: false,
        mcp: McpOptions {
            servers: above.parts.servers.enabled(),
            choice: McpChoice::of_agent(&own.mcp.choice, definition),
            ..own.mcp.clone()
        },
        team: TeamOptions::default(),
        board: BoardOptions { tools: false, ..own.board.clone() },
        max_turns,
        max_budget_usd: None,
        purse: Some(above.agent.budget.clone()),
        agent: Some(path.names().join("/")),
        task: Some(task.to_owned()),
        environment: above.parts.environment.now().to_vec(),
        memory: false,
        slow_call: None,
        event_log: false,
        // It ends with its call, and nobody would get its report.
        jobs: JobOptions { keep: false, ..own.jobs },
        ..SessionOptions::clone(own)
    }
}

/// The texts of skills, as somebody reads them who uses none of what they could run. A skill that is not there is left
/// out: the agent can still be told what to do.
fn skills(above: &SessionShared, names: &[String]) -> Vec<String> {
    let catalog = above.parts.skills.catalog();
    let found = names.iter().filter_map(|name| catalog.find(name));
    let text = |skill: Arc<Skill>| {
        let Skill { name, body, .. } = &*skill;
        format!("<skill name=\"{name}\">\n{}\n</skill>", body.trim())
    };
    found.map(text).collect()
}

/// Never looser than the one above.
fn mode(own: Option<Mode>, above: Mode) -> Mode {
    own.filter(|own| own.is_stricter_than(above)).unwrap_or(above)
}

/// Of those that the one above can call.
fn tools(above: &SessionShared, own: &SessionOptions, definition: &AgentDefinition) -> Vec<String> {
    let known = known_tools(own);
    let names = known.names().filter(|name| above.tool_choice.offers(name));
    names.filter(|name| offers(definition, name, &known)).map(str::to_owned).collect()
}

/// A tool that is named with a pattern, as in a rule, is the whole tool: rules are not given by definitions.
fn offers(definition: &AgentDefinition, name: &str, known: &KnownTools) -> bool {
    let is = |other: &String| {
        let other = other.split('(').next().unwrap_or_default().trim();
        known.first_name(other) == name
    };
    let chosen = definition.tools.as_ref().is_none_or(|tools| tools.iter().any(is));
    chosen && !definition.disallowed_tools.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_agent_has_a_looser_mode_than_the_one_above() {
        for own in Mode::ALL.into_iter().map(Some).chain([None]) {
            for above in Mode::ALL {
                let has = mode(own, above);
                assert!(!above.is_stricter_than(has), "{own:?} below {above:?} has {has:?}");
                assert!(own.is_none_or(|own| own == has || !own.is_stricter_than(above)));
            }
        }
    }

    #[test]
    fn a_definition_names_tools_as_rules_do() {
        let known = ostler_tools::known_tools();
        let definition = AgentDefinition {
            tools: Some(vec!["Read".into(), "Bash(git log:*)".into(), "Task".into()]),
            disallowed_tools: vec!["Bash".into()],
            ..AgentDefinition::default()
        };
        let offered: Vec<&str> =
            known.names().filter(|name| offers(&definition, name, &known)).collect();
        assert_eq!(offered, ["Agent", "Read"]);
    }
}
