//! What fills the context window, as the answer to `get_context_usage`.

use ostler::ContextReport;
use ostler::mcp_servers::ServerStatus;
use serde_json::{Value, json};

/// A category's id and name, and the colour that readers show it in.
type Category = (&'static str, &'static str, &'static str);

fn category(owner: &str) -> Category {
    match owner {
        "system" => ("system_prompt", "System prompt", "promptBorder"),
        "tools" => ("system_tools", "System tools", "inactive"),
        "mcp" => ("mcp_tools", "MCP tools", "cyan_FOR_SUBAGENTS_ONLY"),
        "instructions" => ("memory_files", "Memory files", "claude"),
        "skills" => ("skills", "Skills", "warning"),
        _ => ("messages", "Messages", "purple_FOR_SUBAGENTS_ONLY"),
    }
}

pub fn context_usage(report: &ContextReport, auto_compact: bool, known: &[ServerStatus]) -> Value {
    let mut categories: Vec<(Category, u64)> = Vec::new();
    let (mut files, mut servers) = (Vec::new(), Vec::new());
    let mut of_messages = [("prompts", 0), ("answers", 0), ("results", 0)];
    for share in &report.shares {
        let category = category(&share.owner);
        match categories.iter_mut().find(|(had, _)| *had == category) {
            Some((_, tokens)) => *tokens += share.tokens,
            None => categories.push((category, share.tokens)),
        }
        if let Some((_, tokens)) = of_messages.iter_mut().find(|(owner, _)| *owner == share.owner) {
            *tokens += share.tokens;
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
    categories.push((("free_space", "Free space", "promptBorder"), free));
    let listed = |((id, name, color), tokens): &(Category, u64)| {
        let kind = if *id == "free_space" { "free" } else { "used" };
        json!({ "id": id, "name": name, "tokens": tokens, "color": color, "kind": kind })
    };
    let [(_, prompts), (_, answers), (_, results)] = of_messages;
    let messages = json!({
        "userMessageTokens": prompts, "assistantMessageTokens": answers,
        "toolResultTokens": results, "toolCallTokens": 0, "attachmentTokens": 0,
        "redirectedContextTokens": 0, "unattributedTokens": 0, "toolCallsByType": [],
        "attachmentsByType": [], "messages": report.messages,
    });
    let percentage = match report.window {
        0 => 0.0,
        window => (report.tokens as f64 * 100.0 / window as f64).round(),
    };
    json!({
        "categories": categories.iter().map(listed).collect::<Vec<_>>(),
        "totalTokens": report.tokens, "maxTokens": report.window, "rawMaxTokens": report.window,
        "percentage": percentage, "model": report.model, "isAutoCompactEnabled": auto_compact,
        "autoCompactThreshold": report.threshold, "memoryFiles": files, "mcpTools": servers,
        "agents": [], "gridRows": [], "messageBreakdown": messages,
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
            json!({
                "id": "messages", "name": "Messages", "tokens": 60, "kind": "used",
                "color": "purple_FOR_SUBAGENTS_ONLY",
            })
        );
        assert_eq!((&usage["percentage"], &usage["totalTokens"]), (&json!(10.0), &json!(100)));
        assert_eq!(usage["memoryFiles"][0]["path"], "/p/CLAUDE.md");
        let free = categories.last().unwrap();
        assert_eq!((&free["id"], &free["kind"]), (&json!("free_space"), &json!("free")));
        let messages = &usage["messageBreakdown"];
        assert_eq!(
            (&messages["userMessageTokens"], &messages["assistantMessageTokens"]),
            (&json!(20), &json!(40))
        );
        assert_eq!(usage["isAutoCompactEnabled"], true);
        assert_eq!(context_usage(&report, false, &[])["isAutoCompactEnabled"], false);
    }
}
