use super::*;
use crate::test_ground::{ConfigGround, TOOLS};
use ostler_core::hook::HookAction;
use ostler_core::permission::Tier;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const MANIFEST: &str = r#"{"name": "review", "version": "1.2.0", "description": "Reviews code"}"#;

/// A directory with a plugin in it.
struct PluginGround {
    folder: tempfile::TempDir,
}

impl PluginGround {
    fn new() -> Self {
        let ground = PluginGround { folder: tempfile::tempdir().unwrap() };
        ground.file(".claude-plugin/plugin.json", MANIFEST);
        ground
    }

    /// With one of each kind.
    fn full() -> Self {
        let ground = PluginGround::new();
        ground.file(
            "skills/check/SKILL.md",
            "---\ndescription: Checks\nallowed-tools: Bash(git log:*)\n---\nRun !`git status`.",
        );
        ground.file("commands/sub/fix.md", "Fix $ARGUMENTS.");
        ground.file("agents/reader.md", "---\ndescription: Reads\ntools: Read\n---\nRead it.");
        ground.file(
            "hooks/hooks.json",
            r#"{"description": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
                {"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/guard.sh\""},
                {"type": "command", "command": "${OSTLER_PLUGIN_ROOT}/guard.sh", "args": ["${CLAUDE_PLUGIN_ROOT}"]}]}]}}"#,
        );
        ground.file(
            ".mcp.json",
            r#"{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/server", "args": ["--port", "${PORT:-1}"],
                "env": {"KEY": "${API_KEY}"}}}}"#,
        );
        ground.file("guard.sh", "exit 0\n");
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn read(&self) -> Result<Plugin, ConfigError> {
        read_plugin(self.folder.path(), &TOOLS)
    }

    fn refused(&self) -> String {
        self.read().map(|plugin| plugin.name).unwrap_err().to_string()
    }
}

#[test]
fn everything_in_a_plugin_has_its_name() {
    let ground = PluginGround::full();
    let plugin = ground.read().unwrap();
    assert_eq!((plugin.name.as_str(), plugin.version.as_str()), ("review", "1.2.0"));
    let skills: Vec<_> =
        plugin.skills.iter().map(|skill| (skill.name.as_str(), skill.is_command)).collect();
    assert_eq!(skills, [("review:check", false), ("review:sub:fix", true)]);
    assert_eq!(plugin.agents[0].definition.name, "review:reader");
    assert_eq!(plugin.servers[0].name, "review:db");
    let root = ground.root();
    assert_eq!(plugin.servers[0].config["command"], format!("{}/server", root.display()));
    assert_eq!(plugin.servers[0].variables, ["API_KEY", "PORT"]);
    let root = root.display();
    let expected = [
        "skill /review:check: Checks".to_owned(),
        "  runs `git status` when the skill review:check is used".into(),
        "  allows Bash(git log:*) while the skill review:check is used".into(),
        "command /review:sub:fix: Fix $ARGUMENTS.".into(),
        "agent review:reader: Reads (tools: Read)".into(),
        "hook on PreToolUse: runs \"${CLAUDE_PLUGIN_ROOT}/guard.sh\"".into(),
        format!("hook on PreToolUse: runs {root}/guard.sh {root}"),
        format!(
            "MCP server review:db: starts {root}/server --port ${{PORT:-1}} (reads API_KEY, PORT)"
        ),
    ];
    // A path may be long.
    let shown: Vec<String> = plugin.abilities();
    for (shown, expected) in shown.iter().zip(&expected) {
        assert!(expected.starts_with(shown.trim_end_matches('…')), "{shown}\n{expected}");
    }
    assert_eq!(shown.len(), expected.len());
}

#[test]
fn hooks_of_a_plugin_stay_in_the_sandbox() {
    let ground = PluginGround::new();
    ground.file(
        "hooks/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "sandbox": false, "outside": true}]}]}}"#,
    );
    let plugin = ground.read().unwrap();
    let hook = &plugin.hooks[0];
    assert!(!hook.outside);
    assert_eq!((hook.plugin.clone(), hook.source.tier), (Some(ground.root()), Tier::User));
    // Whatever its directory is called, the shell fills it in: no part of the name is ever a command.
    let HookAction::Command { command, .. } = &hook.action else { panic!() };
    assert_eq!(command, "x");
}

#[test]
fn every_change_of_a_plugin_changes_its_hash() {
    let ground = PluginGround::full();
    let first = ground.read().unwrap().sha256;
    assert_eq!(ground.read().unwrap().sha256, first);
    let mut seen = vec![first.clone()];
    let mut changed = |what: &str, change: &dyn Fn()| {
        change();
        let now = ground.read().unwrap().sha256;
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    changed("a script", &|| ground.file("guard.sh", "exit 1\n"));
    changed("a new file", &|| ground.file("more/data.bin", "x"));
    changed("an empty directory", &|| fs::create_dir(ground.path("empty")).unwrap());
    changed("the mode", &|| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(ground.path("guard.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    changed("a name", &|| fs::rename(ground.path("more"), ground.path("less")).unwrap());
    changed("a link", &|| symlink("guard.sh", ground.path("link")).unwrap());
    changed("its target", &|| {
        fs::remove_file(ground.path("link")).unwrap();
        symlink("less/data.bin", ground.path("link")).unwrap();
    });
    // The history of a checkout is not a part of it.
    ground.file(".git/config", "x");
    assert_eq!(ground.read().unwrap().sha256, *seen.last().unwrap());
}

#[test]
fn links_out_of_a_plugin_are_refused() {
    for (target, name) in [
        ("/etc/passwd", "skills/x/SKILL.md"),
        ("/etc", "skills"),
        ("../../outside", "a"),
        ("nowhere", "b"),
        ("/proc/self/fd", "c"),
    ] {
        let ground = PluginGround::new();
        let path = ground.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        let refused = ground.refused();
        assert!(refused.contains("a link leads out of the plugin"), "{name}: {refused}");
    }
}

#[test]
fn links_to_what_is_not_hashed_are_refused() {
    let ground = PluginGround::full();
    ground.file(".git/hooks/guard.sh", "exit 0\n");
    ground.read().unwrap();
    symlink(".git/hooks/guard.sh", ground.path("linked.sh")).unwrap();
    let refused = ground.refused();
    assert!(refused.contains("a link leads into .git"), "{refused}");
    fs::remove_file(ground.path("linked.sh")).unwrap();
    fs::remove_dir_all(ground.path(".git")).unwrap();
    // Only a directory is a history: anything else of that name is a part of the plugin.
    let before = ground.read().unwrap().sha256;
    ground.file(".git", "gitdir: elsewhere\n");
    assert_ne!(ground.read().unwrap().sha256, before);
    fs::remove_file(ground.path(".git")).unwrap();
    symlink("/etc", ground.path(".git")).unwrap();
    assert!(ground.refused().contains("a link leads out of the plugin"), "{}", ground.refused());
}

#[test]
fn what_is_too_large_or_strange_is_refused() {
    let ground = PluginGround::new();
    let file = fs::File::create(ground.path("huge")).unwrap();
    file.set_len(17 << 20).unwrap();
    assert!(ground.refused().contains("longer than"), "{}", ground.refused());

    let ground = PluginGround::new();
    for n in 0..5 {
        fs::File::create(ground.path(&format!("big{n}"))).unwrap().set_len(15 << 20).unwrap();
    }
    assert!(ground.refused().contains("bytes"), "{}", ground.refused());

    let ground = PluginGround::new();
    for n in 0..5_001 {
        fs::write(ground.path(&format!("f{n}")), "").unwrap();
    }
    assert!(ground.refused().contains("at most 5000 files"), "{}", ground.refused());

    let ground = PluginGround::new();
    let deep: PathBuf = std::iter::repeat_n("d", 20).collect();
    fs::create_dir_all(ground.path("").join(deep)).unwrap();
    assert!(ground.refused().contains("nested too deep"), "{}", ground.refused());

    let ground = PluginGround::new();
    ground.file("skills/a\u{1b}[2J.md", "x");
    let refused = ground.refused();
    assert!(refused.contains("invisible") && !refused.contains('\u{1b}'), "{refused}");
}

#[test]
fn hostile_names_are_refused() {
    for name in [
        "",
        "..",
        ".",
        "../x",
        "a/b",
        "a b",
        "A",
        "a:b",
        "a\u{1b}[2J",
        "-a",
        "ä",
        "a\nb",
        &"x".repeat(33),
    ] {
        assert!(!is_plugin_name(name), "{name:?}");
        let ground = PluginGround::new();
        let manifest = serde_json::json!({ "name": name }).to_string();
        ground.file(".claude-plugin/plugin.json", &manifest);
        let refused = ground.refused();
        assert!(refused.contains("cannot be the name of a plugin"), "{refused}");
        assert!(!refused.contains(['\u{1b}', '\n']), "{refused:?}");
    }
    let ground = PluginGround::new();
    ground.file(".mcp.json", r#"{"mcpServers": {"a\u001b[2J": {}}}"#);
    assert!(ground.refused().contains("cannot be the name of a server"), "{}", ground.refused());
    // A definition that is not understood is left out and named; the rest is used.
    let ground = PluginGround::full();
    ground.file("agents/bad.md", "---\nname: a/b\ndescription: x\n---\nDo.");
    let plugin = ground.read().unwrap();
    assert_eq!(plugin.agents.len(), 1);
    assert!(plugin.warnings.iter().any(|line| line.contains("\"a/b\"")), "{:?}", plugin.warnings);
}

#[test]
fn what_is_no_plugin_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let refused =
        |path: &Path| read_plugin(path, &TOOLS).map(|it| it.name).unwrap_err().to_string();
    assert!(refused(folder.path()).contains("it has no .ostler-plugin/plugin.json"));
    assert!(refused(&folder.path().join("missing")).contains("cannot find it"));
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(refused(&folder.path().join("file")).contains("a plugin is a directory"));
    let ground = PluginGround::new();
    ground.file(".claude-plugin/plugin.json", "{");
    assert!(ground.refused().contains("not JSON"), "{}", ground.refused());
    // A hook that guards calls and is misspelt would be a guard that is not there.
    let ground = PluginGround::new();
    ground.file("hooks/hooks.json", r#"{"hooks": {"PreTolUse": [{"hooks": []}]}}"#);
    assert!(ground.refused().contains("PreToolUse"), "{}", ground.refused());
}

fn accepted(ground: &PluginGround) -> InstalledPlugin {
    let plugin = ground.read().unwrap();
    InstalledPlugin {
        name: plugin.name,
        source: PluginSource::Path,
        path: plugin.root,
        sha256: plugin.sha256,
        enabled: true,
    }
}

#[test]
fn a_plugin_counts_as_long_as_it_is_what_was_accepted() {
    let ground = ConfigGround::new();
    let plugin = PluginGround::full();
    let places = ground.places.clone();
    keep_plugin(&places, &accepted(&plugin)).unwrap();
    let loaded = ground.load();
    assert_eq!(loaded.plugins.len(), 1);
    assert_eq!(loaded.hooks.len(), 2);
    assert!(loaded.agents.iter().any(|agent| agent.name == "review:reader"));
    assert_eq!(loaded.skills.len(), 2);

    plugin.file("guard.sh", "curl evil\n");
    let loaded = ground.load();
    assert!(loaded.plugins.is_empty() && loaded.hooks.is_empty() && loaded.skills.is_empty());
    assert!(loaded.agents.is_empty());
    let told = loaded.notices.join("\n");
    assert!(told.contains("the plugin review has changed since you accepted it"), "{told}");

    keep_plugin(&places, &accepted(&plugin)).unwrap();
    assert_eq!(ground.load().plugins.len(), 1);
    keep_plugin(&places, &InstalledPlugin { enabled: false, ..accepted(&plugin) }).unwrap();
    assert!(ground.load().plugins.is_empty());
    forget_plugin(&places, "review").unwrap();
    assert!(installed_plugins(&places).unwrap().is_empty());
}

#[test]
fn a_plugin_that_is_gone_or_broken_stops_nothing_else() {
    let ground = ConfigGround::new();
    let places = ground.places.clone();
    let (good, bad) = (PluginGround::full(), PluginGround::new());
    bad.file(".claude-plugin/plugin.json", r#"{"name": "bad"}"#);
    keep_plugin(&places, &accepted(&good)).unwrap();
    keep_plugin(&places, &accepted(&bad)).unwrap();
    drop(bad);
    let loaded = ground.load();
    assert_eq!(loaded.plugins.len(), 1);
    assert!(loaded.notices.iter().any(|line| line.starts_with("the plugin bad is not loaded")));
    // A record that somebody else could have written is not used.
    use std::os::unix::fs::PermissionsExt;
    let file = places.ostler_home.join("plugins.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(ground.try_load().is_err());
}

#[test]
fn a_directory_on_the_command_line_counts_without_being_installed() {
    let ground = ConfigGround::new();
    let plugin = PluginGround::full();
    let mut places = ground.places.clone();
    places.plugin_dirs = vec![plugin.root()];
    let active = active(&places).unwrap();
    assert_eq!(active.plugins.len(), 1);
    assert!(installed_plugins(&places).unwrap().is_empty());
    places.plugin_dirs = vec![places.cwd.join("missing")];
    assert!(super::active(&places).is_err());
}
