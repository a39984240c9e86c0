//! The options of an agent: those of the one who starts it as they are now, and what its kind takes away.

use crate::kit::known_tools;
use crate::session::SessionShared;
use crate::session_options::{SessionChoice, SessionOptions};
use ostler_core::permission::Mode;
use ostler_core::ports::{AgentKind, AgentOrder};
use ostler_core::tool_facts::ToolKind;

const EXPLORER: &str = include_str!("../../../../../prompts/agents/explorer.md").trim_ascii();
const PLANNER: &str = include_str!("../../../../../prompts/agents/planner.md").trim_ascii();
const GENERAL: &str = include_str!("../../../../../prompts/agents/general.md").trim_ascii();

pub(super) fn of(above: &SessionShared, order: &AgentOrder, name: &str) -> SessionOptions {
    let own = &above.origin.1;
    let kind = order.kind;
    let model = order.model.clone().unwrap_or_else(|| above.agent.choice().primary.to_string());
    let prompt = [own.append_system_prompt.as_deref().unwrap_or_default(), text(kind)];
    SessionOptions {
        log: SessionChoice::New,
        model,
        keep_model: false,
        append_system_prompt: Some(prompt.join("\n\n").trim().to_owned()),
        // What it finds out does not depend on how the project wants things done.
        instructions: own.instructions.clone().filter(|_| kind != AgentKind::Explorer),
        mode: mode(kind, above.agent.gate.mode()),
        // With what was approved since.
        policy: above.agent.gate.policy(),
        allow: Vec::new(),
        ask: Vec::new(),
        deny: Vec::new(),
        tools: Some(tools(above, own, kind)),
        late_tools: false,
        max_budget_usd: None,
        purse: Some(above.agent.budget.clone()),
        agent: Some(name.to_owned()),
        task: Some(order.description.clone()),
        environment: above.parts.environment.now().to_vec(),
        memory: false,
        slow_call: None,
        event_log: false,
        ..SessionOptions::clone(own)
    }
}

fn text(kind: AgentKind) -> &'static str {
    match kind {
        AgentKind::Explorer => EXPLORER,
        AgentKind::Planner => PLANNER,
        AgentKind::General => GENERAL,
    }
}

/// Never looser than the one above.
fn mode(kind: AgentKind, above: Mode) -> Mode {
    match kind {
        AgentKind::Explorer | AgentKind::Planner => Mode::Plan,
        AgentKind::General => above,
    }
}

/// Of those that the one above can call.
fn tools(above: &SessionShared, own: &SessionOptions, kind: AgentKind) -> Vec<String> {
    let fits = |tool: ToolKind| match kind {
        AgentKind::Explorer => tool == ToolKind::Reads,
        AgentKind::Planner => !matches!(tool, ToolKind::Edits | ToolKind::Delegates),
        AgentKind::General => true,
    };
    let known = known_tools(own);
    let names = known.names().filter(|name| above.tool_choice.offers(name));
    names.filter(|name| fits(known.kind(name))).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_agent_has_a_looser_mode_than_the_one_above() {
        for kind in AgentKind::ALL {
            for above in Mode::ALL {
                let own = mode(kind, above);
                assert!(!above.is_stricter_than(own), "{kind:?} below {above:?} has {own:?}");
            }
        }
    }
}
