//! What fills the context window, as the answer to `get_context_usage`.

use ostler::ContextReport;
use ostler::mcp_servers::ServerStatus;
use serde_json::{Value, json};

/// A category's name and the colour that readers show it in.
fn category(owner: &str) -> (&str, &'static str) {
    match owner {
        "system" => ("System prompt", "promptBorder"),
        "tools" => ("System tools", "inactive"),
        "mcp" => ("MCP tools", "cyan_FOR_SUBAGENTS_ONLY"),
        "instructions" => ("Memory files", "claude"),
        "skills" => ("Skills", "warning"),
        _ => ("Messages", "purple_FOR_SUBAGENTS_ONLY"),
    }
}

pub fn context_usage(report: &ContextReport, auto_compact: bool, known: &[ServerStatus]) -> Value {
    let mut categories: Vec<(&str, &str, u64)> = Vec::new();
    let (mut files, mut servers) = (Vec::new(), Vec::new());
    for share in &report.shares {
        let (name, color) = category(&share.owner);
        match categories.iter_mut().find(|(had, _, _)| *had == name) {
            Some((_, _, tokens)) => *tokens += share.tokens,
            None => categories.push((name, color, share.tokens)),
        }
        match (share.owner.as_str(), &share.name) {
            ("instructions", Some(path)) => {
                files.push(json!({ "path": path, "type": "Project", "tokens": share.tokens }));
            }
            ("mcp", Some(server)) => {
                servers.extend(tools_of(server, share.tokens, known));
            }
            _ => {}
        }
    }
    let free = report.window.saturating_sub(report.tokens);
    categories.push(("Free space", "promptBorder", free));
    let listed = |(name, color, tokens): &(&str, &str, u64)| json!({ "name": name, "tokens": tokens, "color": color });
    let percentage = match report.window {
        0 => 0.0,
        window => (report.tokens as f64 * 100.0 / window as f64).round(),
    };
    json!({
        "categories": categories.iter().map(listed).collect::<Vec<_>>(),
        "totalTokens": report.tokens, "maxTokens": report.window, "rawMaxTokens": report.window,
        "percentage": percentage, "model": report.model, "isAutoCompactEnabled": auto_compact,
        "autoCompactThreshold": report.threshold, "memoryFiles": files, "mcpTools": servers,
        "agents": [], "gridRows": [], "messageBreakdown": { "messages": report.messages },
        "apiUsage": null,
    })
}

/// The tools of a server with an equal share each of what the server takes.
fn tools_of(server: &str, tokens: u64, known: &[ServerStatus]) -> Vec<Value> {
    let tools = known.iter().find(|one| one.name == server).map_or(&[][..], |one| &one.tools);
    let entry = |name: String, tokens: u64| json!({ "name": name, "serverName": server, "tokens": tokens, "isLoaded": true });
    match tools.len() as u64 {
        0 => vec![entry(server.to_owned(), tokens)],
        count => {
            let named = tools.iter().map(|tool| format!("mcp__{server}__{}", tool.name));
            named.map(|name| entry(name, tokens / count)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::Share;

    #[test]
    fn categories_add_up_to_the_window() {
        let share = |owner: &str, name: Option<&str>, tokens| Share {
            owner: owner.into(),
            name: name.map(str::to_owned),
            tokens,
        };
        let report = ContextReport {
            model: "m".into(),
            window: 1000,
            tokens: 100,
            threshold: 900,
            messages: 2,
            shares: vec![
                share("system", None, 10),
                share("prompts", None, 20),
                share("answers", None, 40),
                share("instructions", Some("/p/CLAUDE.md"), 30),
            ],
        };
        let usage = context_usage(&report, true, &[]);
        let categories = usage["categories"].as_array().unwrap();
        let sum: u64 = categories.iter().map(|one| one["tokens"].as_u64().unwrap()).sum();
        assert_eq!(sum, 1000);
        assert_eq!(
            categories[1],
            json!({"name": "Messages", "tokens": 60, "color": "purple_FOR_SUBAGENTS_ONLY"})
        );
        assert_eq!((&usage["percentage"], &usage["totalTokens"]), (&json!(10.0), &json!(100)));
        assert_eq!(usage["memoryFiles"][0]["path"], "/p/CLAUDE.md");
    }
}
