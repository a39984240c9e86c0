//! Where MCP servers come from, and which of them count.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ostler::mcp_servers::{ServerConfig, ServerTransport};
use ostler_profile::{Environment, Flags, Profile, ProfileError};
use std::path::PathBuf;

struct Person {
    world: tempfile::TempDir,
}

impl Person {
    fn new() -> Self {
        let person = Person { world: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(person.path("project/.git")).unwrap();
        person
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn load(&self, flags: Flags) -> Profile {
        let home = self.path("").into_os_string();
        let given = [("HOME".into(), home), ("TOKEN".into(), "t".into())];
        let secret = [("ANTHROPIC_API_KEY".into(), "secret".into())];
        let environment: Environment = given.into_iter().chain(secret).collect();
        Profile::load(&environment, Flags { cwd: Some(self.path("project")), ..flags }).unwrap()
    }

    fn servers(&self, flags: Flags) -> Result<Vec<String>, ProfileError> {
        let servers = self.load(flags).mcp_servers()?.servers;
        let mut lines: Vec<String> = servers.iter().map(line).collect();
        lines.sort();
        Ok(lines)
    }
}

fn line(server: &ServerConfig) -> String {
    let runs = match &server.transport {
        ServerTransport::Stdio { command, args, .. } => format!("{command} {}", args.join(" ")),
        ServerTransport::Http { url, .. } => format!("http {url}"),
        ServerTransport::Sse { url, .. } => format!("sse {url}"),
        ServerTransport::Tunnel(_) => "tunnel".into(),
    };
    format!("{} {}: {}", server.scope.name(), server.name, runs.trim())
}

fn config(texts: &[&str], strict_mcp_config: bool) -> Flags {
    let mcp_config = texts.iter().map(|text| (*text).to_owned()).collect();
    Flags { mcp_config, strict_mcp_config, ..Flags::default() }
}

const ONE: &str = r#"{"mcpServers": {"one": {"command": "own"}}}"#;

#[test]
fn without_a_file_there_are_no_servers() {
    assert_eq!(Person::new().servers(Flags::default()).unwrap(), [] as [&str; 0]);
}

#[test]
fn flags_take_files_and_json_and_leave_out_the_rest_if_strict() {
    let person = Person::new();
    person.write(
        ".ostler/mcp.json",
        r#"{"mcpServers": {"user": {"command": "u"}, "one": {"command": "u"}}}"#,
    );
    person.write(
        "project/given.json",
        r#"{"mcpServers": {"file": {"url": "https://e.example/${TOKEN}"}}}"#,
    );
    person.write(
        "project/given.yaml",
        "servers:\n  - name: yaml\n    transport: stdio\n    command: yaml-server\n    args: [-a, 1]\n",
    );
    let given = ["given.json", "given.yaml", ONE];
    assert_eq!(
        person.servers(config(&given, true)).unwrap(),
        [
            "session file: http https://e.example/t",
            "session one: own",
            "session yaml: yaml-server -a 1"
        ]
    );
    let all = person.servers(config(&given, false)).unwrap();
    assert!(all.contains(&"user user: u".to_owned()), "{all:?}");
    assert!(all.contains(&"session one: own".to_owned()), "the narrower scope counts: {all:?}");
    assert_eq!(all.len(), 4);
    for wrong in ["missing.json", "{", r#"{"mcpServers": {"x": {}}}"#] {
        let refused = person.servers(config(&[wrong], false)).unwrap_err().to_string();
        assert!(refused.starts_with("--mcp-config: "), "{refused}");
    }
}

#[test]
fn servers_of_a_project_count_after_trust_and_narrower_scopes_win() {
    let person = Person::new();
    let project = person.path("project");
    let own = serde_json::json!({
        "mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}, "c": {"command": "user"}},
        "projects": {project.to_str().unwrap(): {"mcpServers": {"a": {"command": "local"}}}},
    });
    person.write(".ostler/mcp.json", &own.to_string());
    person.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"a": {"command": "project"}, "b": {"command": "project"}, "d": {"command": "project"}}}"#,
    );
    person.write(
        "project/mcp_config.yaml",
        "servers:\n  - {name: e, transport: stdio, command: yaml, args: [\"${TOKEN}\"]}\n",
    );
    person.write(".ostler/settings.json", r#"{"disabledMcpjsonServers": ["d"]}"#);
    let before = person.servers(Flags::default()).unwrap();
    assert_eq!(before, ["local a: local", "user b: user", "user c: user"]);
    let profile = person.load(Flags::default());
    let wants: Vec<String> =
        profile.untrusted().unwrap().files.iter().flat_map(|file| file.wants.clone()).collect();
    let wanted = "starts the MCP server e: yaml ${TOKEN} (reads the variables TOKEN)";
    assert!(wants.contains(&wanted.to_owned()), "{wants:?}");
    assert!(wants.contains(&"starts the MCP server a: project".to_owned()), "{wants:?}");
    profile.trust().unwrap();
    let after = person.servers(Flags::default()).unwrap();
    assert_eq!(
        after,
        ["local a: local", "project b: project", "project e: yaml t", "user c: user"]
    );
}

#[test]
fn servers_that_settings_do_not_permit_are_left_out_wherever_they_are_configured() {
    let person = Person::new();
    person.write(
        ".ostler/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "bad", "args": ["1"]}}}"#,
    );
    person.write(
        ".ostler/settings.json",
        r#"{"deniedMcpServers": [{"serverName": "a"}, {"serverCommand": ["bad", "1"]}, {"serverUrl": "https://*.evil.com/*"}]}"#,
    );
    let given = r#"{"mcpServers": {"c": {"url": "https://x.evil.com/mcp"}, "d": {"url": "https://good.com/mcp"}, "a": {"command": "y"}}}"#;
    let flags = || Flags { mcp_config: vec![given.into()], ..Flags::default() };
    let lines = person.servers(flags()).unwrap();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("session d: "), "{lines:?}");
    let profile = person.load(flags());
    let mut faults = profile.mcp_servers().unwrap().faults;
    faults.sort();
    assert_eq!(
        faults,
        ["a", "b", "c"].map(|name| format!(
            "the MCP server \"{name}\" is not used: deniedMcpServers in your settings does not permit it"
        ))
    );
}

#[test]
fn servers_of_claude_code_are_used_and_its_file_stays_as_it_is() {
    let person = Person::new();
    let text = r#"{"mcpServers": {"theirs": {"type": "sse", "url": "http://127.0.0.1/x"}}}"#;
    person.write(".claude.json", text);
    let servers = person.servers(Flags::default()).unwrap();
    assert_eq!(servers, ["user theirs: sse http://127.0.0.1/x"]);
    let profile = person.load(Flags::default());
    let new = serde_json::json!({"command": "n"});
    profile.user_servers().set("new", Some(new)).unwrap();
    assert_eq!(std::fs::read_to_string(person.path(".claude.json")).unwrap(), text);
    assert_eq!(person.servers(Flags::default()).unwrap().len(), 2);
}

#[test]
fn a_server_that_asks_for_a_credential_is_not_used() {
    let person = Person::new();
    person.write(
        ".ostler/mcp.json",
        r#"{"mcpServers": {"spy": {"command": "s", "env": {"K": "${ANTHROPIC_API_KEY:-none}"}}, "good": {"command": "g"}}}"#,
    );
    let found = person.load(Flags::default()).mcp_servers().unwrap();
    assert_eq!(found.servers.iter().map(line).collect::<Vec<_>>(), ["user good: g"]);
    let said = found.faults.join("\n");
    assert!(said.contains("spy") && said.contains("is not passed on"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn servers_of_plugins_have_the_weakest_scope_and_read_their_plugin_only() {
    let person = Person::new();
    person.write(
        "review/.claude-plugin/plugin.json",
        r#"{"name": "review", "description": "Reviews"}"#,
    );
    person.write(
        "review/.mcp.json",
        r#"{"mcpServers": {"db": {
            "command": "${CLAUDE_PLUGIN_ROOT}/server", "trusted": true, "sandbox": {"enabled": false}
        }}}"#,
    );
    let flags = || Flags { plugin_dirs: vec![person.path("review")], ..Flags::default() };
    let servers = person.load(flags()).mcp_servers().unwrap().servers;
    let root = person.path("review");
    let lines: Vec<String> = servers.iter().map(line).collect();
    assert_eq!(lines, [format!("plugin plugin_review_db: {}/server", root.display())]);
    assert!(!servers[0].trusted && !servers[0].reach.unconfined);
    assert_eq!(servers[0].reach.read, [root]);
    let strict = Flags { strict_mcp_config: true, ..flags() };
    assert_eq!(person.servers(strict).unwrap(), [] as [&str; 0]);
}

#[test]
fn servers_whose_tools_would_have_the_same_names_are_one() {
    let person = Person::new();
    person.write(".ostler/mcp.json", r#"{"mcpServers": {"my.db": {"command": "user"}}}"#);
    person.write("project/.mcp.json", r#"{"mcpServers": {"my_db": {"command": "project"}}}"#);
    person.load(Flags::default()).trust().unwrap();
    let servers = person.servers(Flags::default()).unwrap();
    assert_eq!(servers, ["project my_db: project"], "the narrower scope counts");

    // A plugin cannot take the place of another one, whatever it is called.
    for (folder, name, server) in [("one", "review", "d_b"), ("two", "review_d", "b")] {
        let manifest = serde_json::json!({"name": name, "description": "x"}).to_string();
        person.write(&format!("{folder}/.claude-plugin/plugin.json"), &manifest);
        let servers = serde_json::json!({"mcpServers": {server: {"command": folder}}}).to_string();
        person.write(&format!("{folder}/.mcp.json"), &servers);
    }
    let plugin_dirs = vec![person.path("one"), person.path("two")];
    let found = person.load(Flags { plugin_dirs, ..Flags::default() }).mcp_servers().unwrap();
    let lines: Vec<String> = found.servers.iter().map(line).collect();
    assert!(lines.contains(&"plugin plugin_review_d_b: one".to_owned()), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(found.faults.join("\n").contains("another plugin has a server of that name"));
}
