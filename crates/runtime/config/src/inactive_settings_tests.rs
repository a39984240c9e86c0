use super::*;
use crate::test_ground::ConfigGround;
use std::fs;

/// Whoever relies on something that is not run yet is told so, one line a kind, trusted or not.
#[test]
fn each_kind_is_one_line_with_its_places() {
    let ground = ConfigGround::new();
    ground.write("home/.claude/settings.json", r#"{"fileSuggestion": {"command": "f"}}"#);
    ground.write("home/.ostler/settings.json", r#"{"apiKeyHelper": "k"}"#);
    ground.write(
        "etc/managed-settings.json",
        r#"{"enabledPlugins": {"a": true}, "statusLine": {"command": "s"}}"#,
    );
    ground.write("ws/.claude/settings.json", r#"{"extraKnownMarketplaces": {"a": {}}}"#);
    let at = |file: &str| ground.path(file).display().to_string();
    let wanted = [
        format!("fileSuggestion is not supported yet: {}", at("home/.claude/settings.json")),
        format!("apiKeyHelper is not supported yet: {}", at("home/.ostler/settings.json")),
        format!(
            "plugins are not supported yet: {}, {}",
            at("ws/.claude/settings.json"),
            at("etc/managed-settings.json")
        ),
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
fn teammates_of_a_project_count_after_trust() {
    let ground = ConfigGround::new();
    fs::create_dir_all(ground.path("ws/.ostler")).unwrap();
    let team = |role: &str| format!("teammates:\n- name: writer\n- name: tester\n  role: {role}\n");
    ground.write("ws/.ostler/team.yaml", &team("Test it."));
    let names = || -> Vec<(String, String)> {
        let team = ground.load().team;
        team.into_iter().map(|teammate| (teammate.name, teammate.prompt)).collect()
    };
    assert!(names().is_empty());
    let untrusted = ground.load().untrusted.unwrap();
    assert!(format!("{untrusted:?}").contains("defines the teammate tester"), "{untrusted:?}");
    crate::accept(&ground.places, &untrusted).unwrap();
    let both = [("writer", ""), ("tester", "Test it.")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(names(), both);
    // Another content is another file.
    ground.write("ws/.ostler/team.yaml", &team("Delete everything."));
    assert!(names().is_empty());
    // The person's own file counts at once.
    let tools = "teammates:\n- name: writer\n  tools: [Read, Raed]\n";
    ground.write("home/.ostler/team.yaml", tools);
    let warnings = ground.load().warnings;
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(
        warning.ends_with("team.yaml: unknown tool \"Raed\" (did you mean \"Read\"?); ignored"),
        "{warning}"
    );
}

#[test]
fn agents_of_a_project_count_after_trust() {
    let mut ground = ConfigGround::new();
    assert!(ground.load().agents.is_empty());
    fs::create_dir_all(ground.path("ws/.claude/agents/team")).unwrap();
    fs::create_dir_all(ground.path("home/.claude/agents")).unwrap();
    let agent = |text: &str| format!("---\ndescription: {text}\n---\nDo it.");
    ground.write("ws/.claude/agents/same.md", &agent("theirs"));
    ground.write("ws/.claude/agents/team/other.md", &agent("theirs"));
    ground.write("home/.claude/agents/same.md", &agent("mine"));
    ground.write("home/.claude/agents/broken.md", "x");
    // A link to everything is not walked through.
    ground.link("", "home/.claude/agents/all");
    let found = |loaded: &crate::LoadedSettings| -> Vec<(String, String)> {
        let agents = loaded.agents.iter();
        agents.map(|agent| (agent.name.clone(), agent.description.clone())).collect()
    };
    let loaded = ground.load();
    assert_eq!(found(&loaded), [("same".to_owned(), "mine".to_owned())]);
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].contains("broken.md: it has no front matter"));
    let untrusted = format!("{:?}", loaded.untrusted.unwrap());
    assert!(untrusted.contains("defines the agent other"), "{untrusted}");
    crate::accept(&ground.places, &ground.load().untrusted.unwrap()).unwrap();
    let both = [("same", "mine"), ("other", "theirs")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(found(&ground.load()), both);
    // Another content is another file.
    ground.write("ws/.claude/agents/team/other.md", &agent("changed"));
    assert_eq!(found(&ground.load()), both[..1]);
    ground.places.sources.user = false;
    assert!(ground.load().agents.is_empty());
}

#[test]
fn lines_are_bounded() {
    let mut all = InactiveSettings::default();
    (0..100).for_each(|n| all.add("MCP servers", Path::new(&format!("/{n}")), None));
    let lines = all.lines();
    assert_eq!(lines, ["MCP servers are not supported yet: /0, /1, /2, /3, /4, /5 and 94 more"]);
}
