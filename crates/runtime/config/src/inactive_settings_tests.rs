use super::*;
use crate::test_ground::ConfigGround;

/// Whoever relies on something that is not run yet is told so, one line a kind, trusted or not.
#[test]
fn each_kind_is_one_line_with_its_places() {
    let mut ground = ConfigGround::new();
    ground.write("home/.claude/settings.json", r#"{"fileSuggestion": {"command": "f"}}"#);
    ground.write("home/.ostler/settings.json", r#"{"apiKeyHelper": "k"}"#);
    ground.write(
        "etc/managed-settings.json",
        r#"{"enabledPlugins": {"a": true}, "statusLine": {"command": "s"}}"#,
    );
    ground.write("ws/.mcp.json", r#"{"mcpServers": {"a": {}, "b": {}, /* c */ }}"#);
    ground.write("ws/.claude/settings.json", r#"{"enabledMcpjsonServers": ["a"]}"#);
    ground.places.settings_arg = Some(r#"{"mcpServers": {"a": {"command": "b"}}}"#.into());
    let at = |file: &str| ground.path(file).display().to_string();
    let wanted = [
        format!("fileSuggestion is not supported yet: {}", at("home/.claude/settings.json")),
        format!("apiKeyHelper is not supported yet: {}", at("home/.ostler/settings.json")),
        format!(
            "MCP servers are not supported yet: {} (2), {}, --settings (1)",
            at("ws/.mcp.json"),
            at("ws/.claude/settings.json")
        ),
        format!("plugins are not supported yet: {}", at("etc/managed-settings.json")),
        format!("statusLine is not supported yet: {}", at("etc/managed-settings.json")),
    ];
    let loaded = ground.load();
    assert_eq!(loaded.warnings, wanted);
    crate::accept(&ground.places, &loaded.untrusted.unwrap()).unwrap();
    assert_eq!(ground.load().warnings, wanted);
    // What asks for nothing is not mentioned.
    let ground = ConfigGround::new();
    ground.write(
        "home/.claude/settings.json",
        r#"{"hooks": {}, "enableAllProjectMcpServers": false}"#,
    );
    assert_eq!(ground.load().warnings, [] as [&str; 0]);
}

#[test]
fn agents_are_counted_with_those_in_directories_below() {
    let mut ground = ConfigGround::new();
    assert_eq!(ground.load().warnings, [] as [&str; 0]);
    fs::create_dir_all(ground.path("ws/.claude/agents/team/deep")).unwrap();
    for name in ["a.md", "team/b.md", "team/deep/c.md", "notes.txt"] {
        ground.write(&format!("ws/.claude/agents/{name}"), "---\nname: x\n---\n");
    }
    let theirs = format!("{} (3)", ground.path("ws/.claude/agents").display());
    assert_eq!(ground.load().warnings, [format!("agents are not supported yet: {theirs}")]);
    fs::create_dir(ground.path("home/.claude/agents")).unwrap();
    ground.write("home/.claude/agents/mine.md", "x");
    // A link to everything is not walked through.
    ground.link("", "home/.claude/agents/all");
    let mine = format!("{} (1)", ground.path("home/.claude/agents").display());
    assert_eq!(ground.load().warnings, [format!("agents are not supported yet: {mine}, {theirs}")]);
    ground.places.sources.user = false;
    assert_eq!(ground.load().warnings, [format!("agents are not supported yet: {theirs}")]);
    ground.places.sources.project = false;
    assert_eq!(ground.load().warnings, [] as [&str; 0]);
}

#[test]
fn lines_are_bounded() {
    let mut all = InactiveSettings::default();
    (0..100).for_each(|n| all.add("MCP servers", Path::new(&format!("/{n}")), None));
    let lines = all.lines();
    assert_eq!(lines, ["MCP servers are not supported yet: /0, /1, /2, /3, /4, /5 and 94 more"]);
}
