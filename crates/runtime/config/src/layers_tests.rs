use super::*;
use crate::test_ground::{ConfigGround, texts};
use crate::values::{AUTO_COMPACT, AUTO_COMPACT_WINDOW, MODEL};
use crate::{FileApprovals, Sources, accept};
use ostler_core::permission::Fallback;
use ostler_core::ports::Approvals;
use std::fs;

const LOOSE: &str = r#"{"permissions": {"allow": ["Bash(%)"], "deny": ["Bash(no-%)"], "ask": ["Bash(may-%)"]},
"model": "%", "env": {"WHO": "%"}}"#;

fn loose(name: &str) -> String {
    LOOSE.replace('%', name)
}

fn trust(ground: &ConfigGround) {
    accept(&ground.places, &ground.load().untrusted.unwrap()).unwrap();
}

#[test]
fn without_files_the_built_in_rules_hold() {
    let loaded = ConfigGround::new().load();
    assert!(loaded.policy.deny.iter().all(|rule| rule.source.tier == Tier::BuiltIn));
    assert!(texts(&loaded.policy.deny).contains(&"sudo"));
    assert_eq!(loaded.policy.fallback, Fallback::Read);
    assert_eq!((loaded.mode, loaded.values), (None, Values::default()));
    assert!(loaded.notices.is_empty() && loaded.warnings.is_empty() && loaded.untrusted.is_none());
}

#[test]
fn a_permissions_file_of_the_users_own_stands_for_the_built_in_rules() {
    let ground = ConfigGround::new();
    ground.write("home/.ostler/permissions.yaml", "default: ask\ndeny: ['Bash(x)']\n");
    let loaded = ground.load();
    assert_eq!(texts(&loaded.policy.deny), ["Bash(x)"]);
    assert!(loaded.policy.allow.is_empty());
    assert_eq!(loaded.policy.fallback, Fallback::Ask);
}

/// One of a project or of the system does not: it may not take the built-in denials away.
#[test]
fn nobody_elses_does() {
    let ground = ConfigGround::new();
    ground.write("ws/.ostler/permissions.yaml", "default: read\n");
    ground.write("etc/permissions.yaml", "default: read\n");
    assert!(texts(&ground.load().policy.deny).contains(&"sudo"));
}

#[test]
fn a_project_says_something_about_summaries_once_it_is_trusted() {
    let ground = ConfigGround::new();
    ground.write("home/.claude/settings.json", r#"{"autoCompactWindow": 150000}"#);
    ground.write("home/.ostler/settings.json", r#"{"autoCompactEnabled": true}"#);
    ground.write("ws/.claude/settings.json", r#"{"autoCompactEnabled": false}"#);
    let loaded = ground.load();
    let said = |loaded: &LoadedSettings| {
        let values = &loaded.values;
        (values.switch(&AUTO_COMPACT), values.number(&AUTO_COMPACT_WINDOW))
    };
    assert_eq!(said(&loaded), (Some(true), Some(150_000)));
    assert_eq!(loaded.values.variables(), [("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "150000".into())]);
    let wants: Vec<_> = loaded.untrusted.unwrap().files.into_iter().flat_map(|f| f.wants).collect();
    assert_eq!(wants, ["turns automatic compaction off"]);
    trust(&ground);
    let loaded = ground.load();
    assert_eq!(said(&loaded), (Some(false), Some(150_000)));
    ground.write("home/.claude/settings.json", r#"{"autoCompactEnabled": "often"}"#);
    let warnings = ground.load().warnings;
    let said = "settings.json:1: autoCompactEnabled must be true or false, ignored";
    assert!(warnings.len() == 1 && warnings[0].ends_with(said), "{warnings:?}");
}

#[test]
fn lists_are_merged_and_the_highest_value_wins() {
    let mut ground = ConfigGround::new();
    let order = [
        ("home/.claude/settings.json", "claude-user"),
        ("home/.ostler/settings.json", "user"),
        ("ws/.claude/settings.json", "claude-project"),
        ("ws/.ostler/settings.json", "project"),
        ("ws/.claude/settings.local.json", "claude-local"),
        ("ws/.ostler/settings.local.json", "local"),
        ("out/given.json", "given"),
        ("etc/managed-settings.json", "managed"),
    ];
    ground.write("home/.ostler/permissions.yaml", "default: read\n");
    ground.places.settings_arg = Some("../out/given.json".into());
    ground.write("out/given.json", "{}");
    let mut names: Vec<&str> = Vec::new();
    for (file, name) in order {
        ground.write(file, &loose(name));
        if file.starts_with("ws") {
            trust(&ground);
        }
        names.push(name);
        let loaded = ground.load();
        assert_eq!(loaded.values.text(&MODEL), Some(name));
        assert_eq!(loaded.env, [("WHO".to_owned(), name.to_owned())]);
        let allowed: Vec<String> = names.iter().map(|name| format!("Bash({name})")).collect();
        assert_eq!(texts(&loaded.policy.allow), allowed);
        assert_eq!(loaded.policy.deny.len(), names.len());
        assert_eq!(loaded.policy.ask.len(), names.len());
    }
    let tiers: Vec<Tier> = ground.load().policy.allow.iter().map(|rule| rule.source.tier).collect();
    use Tier::{CommandLine, Local, Managed, Project, User};
    assert_eq!(tiers, [User, User, Project, Project, Local, Local, CommandLine, Managed]);
}

#[test]
fn the_stricter_default_holds_whoever_says_it() {
    let ground = ConfigGround::new();
    ground.write("home/.ostler/permissions.yaml", "default: deny\n");
    ground.write("etc/permissions.yaml", "default: read\n");
    assert_eq!(ground.load().policy.fallback, Fallback::Deny);
    ground.write("home/.ostler/permissions.yaml", "default: read\n");
    ground.write("ws/.ostler/permissions.yaml", "default: ask\n");
    let loaded = ground.load();
    assert_eq!(loaded.policy.fallback, Fallback::Ask);
    assert!(loaded.untrusted.is_none());
}

#[test]
fn a_managed_mode_and_ban_win() {
    let mut ground = ConfigGround::new();
    ground.places.settings_arg =
        Some(r#" {"permissions": {"defaultMode": "bypassPermissions"}}"#.into());
    assert_eq!(ground.load().mode, Some(Mode::BypassPermissions));
    ground.write(
        "etc/managed-settings.json",
        r#"{"permissions": {"defaultMode": "plan", "disableBypassPermissionsMode": "disable"}}"#,
    );
    let loaded = ground.load();
    assert_eq!(loaded.mode, Some(Mode::Plan));
    assert!(loaded.policy.no_bypass);
}

#[test]
fn sources_can_be_left_out() {
    let mut ground = ConfigGround::new();
    ground.write("home/.ostler/permissions.yaml", "deny: ['Bash(own)']\n");
    ground.write("home/.claude/settings.json", &loose("user"));
    ground.write("ws/.claude/settings.json", &loose("project"));
    ground.write("ws/.claude/settings.local.json", &loose("local"));
    ground.write("etc/managed-settings.json", &loose("managed"));
    trust(&ground);
    for (sources, model, denied) in [
        ("user", "user", vec!["Bash(own)", "Bash(no-user)", "Bash(no-managed)"]),
        ("project", "project", vec!["Bash(no-project)", "Bash(no-managed)"]),
        ("local", "local", vec!["Bash(no-local)", "Bash(no-managed)"]),
        ("", "", vec!["Bash(no-managed)"]),
        (
            "user, local",
            "local",
            vec!["Bash(own)", "Bash(no-user)", "Bash(no-local)", "Bash(no-managed)"],
        ),
    ] {
        ground.places.sources = Sources::parse(sources).unwrap();
        let loaded = ground.load();
        let found: Vec<&Rule> =
            loaded.policy.deny.iter().filter(|rule| rule.source.tier != Tier::BuiltIn).collect();
        assert_eq!(found.iter().map(|rule| rule.text()).collect::<Vec<_>>(), denied, "{sources}");
        assert!(loaded.env.iter().any(|(_, who)| who == "managed"));
        let from = |tier| loaded.policy.allow.iter().any(|rule| rule.source.tier == tier);
        assert_eq!(from(Tier::User), sources.contains("user"));
        assert_eq!(from(Tier::Local), model == "local");
    }
    assert!(
        Sources::parse("user,system").unwrap_err().contains("unknown settings source \"system\"")
    );
}

#[test]
fn a_file_that_cannot_be_used_stops_the_start() {
    let table = [
        ("home/.ostler/permissions.yaml", "a: b\n", "home/.ostler/permissions.yaml:1: "),
        ("home/.ostler/settings.json", "{\n", "home/.ostler/settings.json:2: this is not JSON"),
        (
            "home/.claude/settings.json",
            "[]",
            "home/.claude/settings.json:1: the settings file must",
        ),
        ("ws/.ostler/permissions.yaml", "deny:\n- 'x('\n", "ws/.ostler/permissions.yaml:2: "),
        (
            "ws/.claude/settings.local.json",
            "{\"a\"",
            "ws/.claude/settings.local.json:1: this is not",
        ),
        ("etc/managed-settings.json", "", "etc/managed-settings.json:1: it is empty"),
        ("etc/managed-settings.json", "{\"permissions\": 5}", "etc/managed-settings.json:1: "),
        ("etc/permissions.yaml", "default: no\n", "etc/permissions.yaml:1: "),
        ("home/.ostler/trust.json", "{}", "home/.ostler/trust.json:1: the version must be 1"),
    ];
    for (file, text, wanted) in table {
        let ground = ConfigGround::new();
        // Trust is looked up only where there is something to trust.
        ground.write("ws/.mcp.json", "{}");
        fs::write(ground.path(file), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(ground.path(file), mode).unwrap();
        assert!(ground.error().starts_with(wanted), "{}", ground.error());
    }
}

#[test]
fn only_regular_readable_short_text_is_read() {
    for file in ["home/.claude/settings.json", "ws/.claude/settings.json", "ws/.mcp.json"] {
        let ground = ConfigGround::new();
        fs::create_dir(ground.path(file)).unwrap();
        assert_eq!(ground.error(), format!("{file}: it is not a regular file; remove it"));
        let ground = ConfigGround::new();
        ground.write(file, &" ".repeat(1024 * 1024 + 1));
        assert_eq!(ground.error(), format!("{file}: it is longer than 1048576 bytes; shorten it"));
    }
    let ground = ConfigGround::new();
    fs::write(ground.path("ws/.claude/settings.json"), b"{\n\"a\":\n \"\xff\"}").unwrap();
    let wanted = "ws/.claude/settings.json:3: the file is not UTF-8; save it as UTF-8";
    assert_eq!(ground.error(), wanted);
    let ground = ConfigGround::new();
    ground.link("dev-null-that-is-not-there", "home/.ostler/permissions.yaml");
    let wanted = "home/.ostler/permissions.yaml: the link is broken; fix or remove it";
    assert_eq!(ground.error(), wanted);
    let mut ground = ConfigGround::new();
    ground.places.settings_arg = Some("gone.json".into());
    assert_eq!(ground.error(), "ws/gone.json: there is no such file");
    let mut ground = ConfigGround::new();
    ground.places.settings_arg = Some("{\"permissions\":\n5}".into());
    assert_eq!(ground.error(), "--settings:2: permissions must be an object; write { … }");
}

#[test]
fn a_users_own_link_is_followed() {
    let ground = ConfigGround::new();
    ground.write("out/dotfile.json", &loose("linked"));
    ground.link("out/dotfile.json", "home/.claude/settings.json");
    assert_eq!(ground.load().values.text(&MODEL), Some("linked"));
}

#[test]
fn a_home_folder_is_no_project() {
    let mut ground = ConfigGround::new();
    ground.write("home/.claude/settings.json", &loose("user"));
    ground.write("home/.claude/settings.local.json", &loose("local"));
    ground.write("home/.mcp.json", "{}");
    ground.link("home", "ws/home");
    for project in ["home", "ws/home"] {
        ground.places.project = ground.path(project);
        let loaded = ground.load();
        let user: Vec<&str> = texts(&loaded.policy.deny);
        assert_eq!(user.iter().filter(|text| **text == "Bash(no-user)").count(), 1);
        assert!(!user.contains(&"Bash(no-local)"));
        assert!(loaded.untrusted.is_none() && loaded.notices.is_empty());
    }
    // Also when Claude's files were moved away.
    ground.places.claude_home = Some(ground.path("out"));
    assert!(!texts(&ground.load().policy.deny).contains(&"Bash(no-user)"));
    ground.places.project = "/".into();
    assert!(ground.load().untrusted.is_none());
}

/// A project that holds the user's directories does not make their files its own.
#[test]
fn a_users_file_is_read_once() {
    let mut ground = ConfigGround::new();
    ground.places.claude_home = Some(ground.path("ws/.claude"));
    ground.places.ostler_home = ground.path("ws/.ostler");
    ground.write("ws/.claude/settings.json", &loose("user"));
    ground.write("ws/.ostler/permissions.yaml", "allow: ['Bash(a)']\n");
    let loaded = ground.load();
    assert_eq!(texts(&loaded.policy.allow), ["Bash(a)", "Bash(user)"]);
    assert!(loaded.policy.allow.iter().all(|rule| rule.source.tier == Tier::User));
    assert!(loaded.untrusted.is_none());
    ground.places.ostler_home = ground.path("ws/.claude");
    let loaded = ground.load();
    assert_eq!(texts(&loaded.policy.deny).iter().filter(|t| **t == "Bash(no-user)").count(), 1);
}

#[test]
fn rules_begin_where_their_file_speaks_for() {
    let mut ground = ConfigGround::new();
    fs::create_dir(ground.path("ws/sub")).unwrap();
    ground.places.cwd = ground.path("ws/sub");
    let text = r#"{"permissions": {"deny": ["Read(/a)", "Read(./b)", "Read(~/c)"]}}"#;
    ground.write("home/.ostler/permissions.yaml", "default: read\n");
    ground.write("home/.claude/settings.json", text);
    ground.write("ws/.claude/settings.json", text);
    ground.places.settings_arg = Some(text.into());
    ground.write("etc/managed-settings.json", text);
    let loaded = ground.load();
    let starts: Vec<PathBuf> = (loaded.policy.deny.iter())
        .map(|rule| match &rule.matcher {
            ostler_core::permission::Matcher::Files(pattern) => pattern.start(),
            other => unreachable!("{other:?}"),
        })
        .collect();
    let names = [
        "home/.claude/a",
        "ws/sub/b",
        "home/c",
        "ws/a",
        "ws/sub/b",
        "home/c",
        "ws/sub/a",
        "ws/sub/b",
        "home/c",
        "ws/a",
        "ws/sub/b",
        "home/c",
        // Once more for the rest of the project.
        "ws/b",
        "ws/b",
        "ws/b",
        "ws/b",
    ];
    assert_eq!(starts, names.map(|name| ground.path(name)));
}

/// Rules are compared with paths without links, so they must begin at such.
#[test]
fn rules_begin_at_the_real_place() {
    let mut ground = ConfigGround::new();
    let text = r#"{"permissions": {"deny": ["Read(/a)", "Read(./b)", "Read(~/c)"]}}"#;
    ground.write("ws/.claude/settings.json", text);
    ground.write("home/.ostler/permissions.yaml", "default: read\n");
    let straight = ground.load().policy.deny;
    ground.link("ws", "out/ws");
    ground.link("home", "out/home");
    ground.places.project = ground.path("out/ws");
    ground.places.cwd = ground.path("out/ws");
    ground.places.user_home = ground.path("out/home");
    assert_eq!(ground.load().policy.deny, straight);
    let cwd = ground.path("ws");
    let home = ground.path("out/home");
    let tools = ground.places.tools.clone();
    let anchors = Anchors { cwd: &cwd, home: &home, settings: &cwd, tools: &tools };
    let rule = |text| Rule::parse_at(text, anchors, Default::default()).unwrap();
    let approvals = FileApprovals::new(ground.places.clone());
    approvals.keep(&[rule("Edit(./src/**)")]).unwrap();
    assert_eq!(ground.load().policy.allow[0].matcher, rule("Edit(./src/**)").matcher);
}

#[test]
fn a_file_with_the_other_ending_is_mentioned() {
    let ground = ConfigGround::new();
    ground.write("home/.ostler/permissions.yml", "deny: [x]\n");
    let warnings = ground.load().warnings;
    assert!(warnings[0].ends_with("permissions.yml is not loaded; rename it to permissions.yaml"));
}

#[test]
fn approvals_are_in_force_unless_the_users_files_are_left_out() {
    let mut ground = ConfigGround::new();
    let rule = Rule::parse_at("Bash(make)", crate::test_ground::anchors(), Default::default());
    FileApprovals::new(ground.places.clone()).keep(&[rule.unwrap()]).unwrap();
    let kept = |ground: &ConfigGround| {
        let allow = ground.load().policy.allow;
        allow.iter().filter(|rule| rule.source.tier == Tier::Approval).count()
    };
    assert_eq!(kept(&ground), 1);
    ground.places.sources.user = false;
    assert_eq!(kept(&ground), 0);
}

/// A rule that forbids a file below the working directory forbids it in the rest of the project as well.
#[test]
fn in_a_subdirectory_what_tightens_covers_the_whole_project() {
    let mut ground = ConfigGround::new();
    let rules = r#"{"permissions": {"deny": ["Read(./.env)", "Edit(vendor/**)", "Read(/.key)", "Bash(x)"],
"ask": ["Read(*.pem)"], "allow": ["Read(./open/**)"]}}"#;
    ground.write("ws/.claude/settings.json", rules);
    trust(&ground);
    let top = ground.places.project.clone();
    let covered = |loaded: &LoadedSettings, name: &str| {
        let is = |rule: &Rule| matches!(&rule.matcher, Matcher::Files(pattern) if pattern.matches(&top.join(name)));
        let Policy { deny, ask, allow, .. } = &loaded.policy;
        [deny, ask, allow].map(|list| list.iter().any(is))
    };
    ground.places.cwd = top.join("sub/dir");
    let loaded = ground.load();
    for (name, expected) in [
        (".env", [true, false, false]),
        ("sub/dir/.env", [true, false, false]),
        ("vendor/a.c", [true, false, false]),
        (".key", [true, false, false]),
        ("a/b.pem", [false, true, false]),
        ("open/x", [false, false, false]),
        ("sub/dir/open/x", [false, false, true]),
    ] {
        assert_eq!(covered(&loaded, name), expected, "{name}");
    }
    assert_eq!(loaded.policy.deny.iter().filter(|rule| rule.text() == "Bash(x)").count(), 1);
}
