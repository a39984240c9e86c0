use super::*;
use crate::located_json::Document;
use std::path::Path;

fn said(key: &str, json: &str) -> Vec<String> {
    named(key, "has WHAT", Document::root(json, Path::new("f")).unwrap())
}

#[test]
fn commands_are_named_or_said_not_to_be_understood() {
    let hooks = r#"{"Stop": [{"hooks": [{"type": "command", "command": "a\nb"}, {"type": "prompt", "prompt": "p"}]}],
                    "PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "c"}, {"x": 1}]}, {"matcher": "Edit"}]}"#;
    let servers = r#"{"x": {"env": {"A": "1", "B": true}, "command": "npx", "args": ["-y", 3]},
                      "y\u202e": {"type": "http", "url": "https://e.example", "headers": {"A": "Bearer ${TOKEN}", "B": "${B:-b}"}}, "z": 1}"#;
    for (key, json, wanted) in [
        (
            "hooks",
            hooks,
            &[
                "has a hook on Stop: a\\nb",
                "has a hook on Stop: p",
                "has a hook on PreToolUse: c",
                "has a hook on PreToolUse: (invalid)",
            ][..],
        ),
        (
            "mcpServers",
            servers,
            &[
                "starts the MCP server x: A=1 B=true npx -y 3",
                "starts the MCP server y\\u{202e}: https://e.example (reads the variables B, TOKEN)",
                "starts the MCP server z: (invalid)",
            ],
        ),
        ("statusLine", r#"{"type": "command", "command": "s"}"#, &["has WHAT: s"]),
        ("apiKeyHelper", r#""get-key""#, &["has WHAT: get-key"]),
        ("enabledPlugins", r#"{"a": true}"#, &["has WHAT"]),
        // Not as expected, or said twice: nothing is picked out.
        ("hooks", r#"{"Stop": {}}"#, &["has WHAT"]),
        ("hooks", r#"{"Stop": [{"hooks": [], "hooks": [{"command": "x"}]}]}"#, &["has WHAT"]),
        ("mcpServers", "[1]", &["has WHAT"]),
    ] {
        assert_eq!(said(key, json), wanted, "{json}");
    }
}

#[test]
fn what_is_named_is_bounded() {
    let server = |n: usize| format!("\"s{n}\": {{\"command\": \"{}\"}}", "é".repeat(5000));
    let servers: Vec<String> = (0..MOST + 7).map(server).collect();
    let lines = said("mcpServers", &format!("{{{}}}", servers.join(",")));
    assert_eq!(lines.len(), MOST + 1);
    assert_eq!(lines.last().unwrap(), "has WHAT: 7 more");
    assert!(lines.iter().all(|line| line.chars().count() < MOST_SHOWN + 40));
}
