//! Which tools of servers are on offer.

use ostler_core::agent_definition::AgentDefinition;

/// How the names of such tools begin.
pub(crate) const MCP_TOOL: &str = "mcp__";

/// By names such as `mcp__server__tool`, `mcp__server` and `mcp__server__*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpChoice {
    /// None: all of them.
    pub only: Option<Vec<String>>,
    pub not: Vec<String>,
}

impl McpChoice {
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let named = |names: &Vec<String>| names.iter().any(|name| names_tool(name, tool));
        self.only.as_ref().is_none_or(named) && !named(&self.not)
    }

    /// An agent has what the one above it has and its definition leaves.
    pub(crate) fn of_agent(above: &McpChoice, definition: &AgentDefinition) -> Self {
        let only = match (&above.only, &definition.tools) {
            (None, own) => own.clone(),
            (Some(above), None) => Some(above.clone()),
            // What both name; a name that is wider than the other gives way.
            (Some(above), Some(own)) => {
                let narrower = own.iter().filter(|own| above.iter().any(|it| names_tool(it, own)));
                let wider = above.iter().filter(|it| own.iter().any(|own| names_tool(own, it)));
                Some(narrower.chain(wider).cloned().collect())
            }
        };
        let not = above.not.iter().chain(&definition.disallowed_tools).cloned().collect();
        McpChoice { only, not }
    }
}

fn names_tool(name: &str, tool: &str) -> bool {
    let name = name.split('(').next().unwrap_or_default().trim();
    if let Some(beginning) = name.strip_suffix('*') {
        return beginning.starts_with(MCP_TOOL) && tool.starts_with(beginning);
    }
    let is_server = name.strip_prefix(MCP_TOOL).is_some_and(|server| !server.contains("__"));
    name == tool || is_server && tool.strip_prefix(name).is_some_and(|rest| rest.starts_with("__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_tools_servers_or_beginnings() {
        for (name, tool, expected) in [
            ("mcp__a__b", "mcp__a__b", true),
            ("mcp__a__b", "mcp__a__bc", false),
            ("mcp__a", "mcp__a__b", true),
            ("mcp__a", "mcp__ab__b", false),
            ("mcp__a__*", "mcp__a__b", true),
            ("mcp__*", "mcp__a__b", true),
            ("*", "mcp__a__b", false),
            ("Read", "mcp__a__b", false),
        ] {
            assert_eq!(names_tool(name, tool), expected, "{name} {tool}");
        }
    }

    #[test]
    fn an_agent_never_has_more_than_the_one_above_it() {
        let agent = |tools: Option<&[&str]>, not: &[&str]| AgentDefinition {
            tools: tools.map(list),
            disallowed_tools: list(not),
            ..AgentDefinition::default()
        };
        let all = McpChoice::default();
        assert!(McpChoice::of_agent(&all, &agent(None, &[])).offers("mcp__a__b"));
        assert!(!McpChoice::of_agent(&all, &agent(Some(&["Read"]), &[])).offers("mcp__a__b"));
        assert!(!McpChoice::of_agent(&all, &agent(None, &["mcp__a"])).offers("mcp__a__b"));
        let some = McpChoice { only: Some(list(&["mcp__a"])), not: list(&["mcp__a__c"]) };
        let below = McpChoice::of_agent(&some, &agent(Some(&["mcp__a__b", "mcp__d__e"]), &[]));
        assert!(below.offers("mcp__a__b") && !below.offers("mcp__d__e"));
        let below = McpChoice::of_agent(&some, &agent(Some(&["mcp__*"]), &[]));
        assert!(
            below.offers("mcp__a__b") && !below.offers("mcp__a__c") && !below.offers("mcp__d__e")
        );
    }
}
