//! Hooks in settings files: what is in force, from where, and what is wrong with which line.

use crate::test_ground::ConfigGround;
use ostler_core::hook::{EventName, HookAction, HookSpec};
use ostler_core::permission::Tier;
use std::time::Duration;

fn user(text: &str) -> ConfigGround {
    let ground = ConfigGround::new();
    ground.write("home/.ostler/settings.json", text);
    ground
}

fn hooks(text: &str) -> Vec<HookSpec> {
    user(text).load().hooks
}

fn wrong(hooks: &str) -> String {
    user(&format!("{{\n\"hooks\": {hooks}}}")).try_load().unwrap_err().to_string()
}

fn one(event: &str, hook: &str) -> String {
    format!(r#"{{"hooks": {{"{event}": [{{"hooks": [{hook}]}}]}}}}"#)
}

#[test]
fn a_hook_is_read_with_its_place() {
    let text = r#"{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Edit|Write",
       "hooks": [
         {"type": "command", "command": "guard.sh", "timeout": 0.5},
         {"type": "command", "command": "log", "args": ["a b"], "async": true, "once": true}
       ]}
    ],
    "Stop": [{"hooks": [{"type": "http", "url": "https://x.example/", "secretEnv": "S", "blocking": false}]}],
    "SessionEnd": [{"matcher": "", "hooks": [{"type": "http", "url": "http://127.0.0.1:1/"}]}]
  }
}"#;
    let found = hooks(text);
    assert_eq!(found.len(), 4);
    let guard = &found[0];
    assert_eq!((guard.event, guard.matcher.text()), (EventName::PreToolUse, "Edit|Write"));
    assert_eq!(guard.time_limit, Some(Duration::from_millis(500)));
    assert_eq!((guard.source.tier, guard.source.line), (Tier::User, Some(6)));
    assert!(guard.decides());
    let log = &found[1];
    assert!(log.once && log.in_background && !log.decides());
    assert_eq!(log.what(), "log a b");
    assert!(
        matches!(&found[2].action, HookAction::Http { blocking: false, secret_env: Some(name), .. } if name == "S")
    );
    assert!(matches!(&found[3].action, HookAction::Http { blocking: false, secret: None, .. }));
    assert!(!found[2].decides());
    // Without a word on it, what can be stopped waits for the answer.
    let blocking = hooks(&one("PreToolUse", r#"{"type": "http", "url": "https://x.example/"}"#));
    assert!(blocking[0].decides());
}

/// Each hook that is not understood: what is said of it.
const MISTAKES: &[(&str, usize, &str)] = &[
    ("{}", 0, "the hooks of an event must be a list"),
    ("[\n{\"command\": \"a\"}]", 1, "\"hooks\" is missing"),
    ("[{\"hooks\":\n\"a\"}]", 1, "hooks must be a list"),
    ("[{\"hooks\": [\n\n{\"timeout\": 1}]}]", 2, "\"type\" is missing"),
    (r#"[{"hooks": [{"type": "comand"}]}]"#, 0, "unknown hook type \"comand\""),
    (r#"[{"hooks": [{"type": "command"}]}]"#, 0, "\"command\" is missing"),
    (r#"[{"hooks": [{"type": "command", "command": " "}]}]"#, 0, "\"command\" is missing"),
    (r#"[{"hooks": [{"command": "a\u0000"}]}]"#, 0, "invisible character"),
    (r#"[{"hooks": [{"command": "a", "args": "b"}]}]"#, 0, "args must be a list"),
    (r#"[{"hooks": [{"command": "a", "shell": "powershell"}]}]"#, 0, "hooks always run in bash"),
    (r#"[{"matcher": "(", "hooks": [1]}]"#, 0, "the matcher \"(\" is not a regular expression"),
    (r#"[{"hooks": [{"type": "http"}]}]"#, 0, "\"url\" is missing"),
    (r#"[{"hooks": [{"type": "http", "url": "http://x.example/"}]}]"#, 0, "write https://"),
    (
        r#"[{"hooks": [{"type": "http", "url": "https://x/", "secret": "a", "secretEnv": "B"}]}]"#,
        0,
        "keep one",
    ),
];

/// A hook that is not understood is left out, but one that guards calls blocks them, and a managed one is an error.
#[test]
fn a_hook_that_is_not_understood_is_left_out_or_blocks() {
    let good = r#"{"hooks": [{"command": "good"}]}"#;
    for (groups, line, what) in MISTAKES {
        let text = |event: &str| {
            format!("{{\n\"hooks\": {{\"{event}\": {groups}, \"SessionEnd\": [{good}]}}}}")
        };
        let place = format!("settings.json:{}: ", line + 2);
        for event in ["Stop", "UserPromptSubmit", "PostToolUse"] {
            let loaded = user(&text(event)).load();
            assert_eq!(loaded.hooks.len(), 1, "{groups}");
            let told = &loaded.warnings;
            let said = format!("hook on {event} ignored: ");
            assert!(told.len() <= 2 && told.last().unwrap().contains(&place), "{groups}: {told:?}");
            assert!(
                told.iter().any(|line| line.contains(&said) && line.contains(what)),
                "{told:?}"
            );
        }
        let blocks = groups.contains(['1', '"']);
        for event in ["PreToolUse", "PermissionRequest"] {
            let loaded = user(&text(event)).load();
            let guards: Vec<_> = loaded.hooks.iter().filter(|hook| hook.decides()).collect();
            assert_eq!(guards.len(), usize::from(blocks), "{groups}");
            let unavailable = |hook: &&HookSpec| matches!(&hook.action, HookAction::Unavailable { why, .. } if why.contains(what));
            assert!(guards.iter().all(unavailable), "{guards:?}");
            let told = loaded.warnings.iter().any(|line| line.contains("are blocked"));
            assert_eq!(told, blocks, "{:?}", loaded.warnings);
        }
        let ground = ConfigGround::new();
        ground.write("etc/managed-settings.json", &text("Stop"));
        assert!(ground.error().contains(what), "{}", ground.error());
    }
    // The matcher of the group still says which calls are meant.
    let text = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "command": "guard"}]}}"#;
    assert_eq!(hooks(text)[0].matcher.text(), "Bash");
}

#[test]
fn unknown_events_are_left_out_unless_they_guard_calls() {
    for (name, hint) in [
        ("sessionStart", " (did you mean \"SessionStart\"?)"),
        ("userPromptSubmit", " (did you mean \"UserPromptSubmit\"?)"),
        ("PostTolUse", " (did you mean \"PostToolUse\"?)"),
        ("BeforeLunch", ""),
    ] {
        let loaded = user(&one(name, r#"{"command": "a"}"#)).load();
        assert!(loaded.hooks.is_empty());
        let said = format!("settings.json:1: unknown event \"{name}\"{hint}, its hooks never run");
        let told = &loaded.warnings;
        assert!(told.len() == 1 && told[0].ends_with(&said), "{told:?}");
        // The administrator means it.
        let ground = ConfigGround::new();
        ground.write("etc/managed-settings.json", &one(name, r#"{"command": "a"}"#));
        assert!(ground.error().contains("unknown event"), "{}", ground.error());
    }
    for name in ["preToolUse", "PreToolUs", "PreTolUse", "permissionRequest"] {
        let said = wrong(&format!("{{\"{name}\": [1]}}"));
        assert!(said.contains(&format!("settings.json:2: unknown event \"{name}\"")), "{said}");
        assert!(said.contains("did you mean"), "{said}");
        assert!(user(&format!("{{\"hooks\": {{\"{name}\": []}}}}")).load().hooks.is_empty());
    }
    assert!(wrong("[1]").contains("settings.json:2: hooks must be an object"));
    assert!(wrong("{\"Stop\": [],\n\"Stop\": []}").contains(":3: \"Stop\" is there twice"));
}

/// Details that only tune a hook never cost the hook.
#[test]
fn odd_details_of_a_hook_are_left_out() {
    let hour = Duration::from_secs(3600);
    for (field, limit, what) in [
        (
            "\"timeout\": 15000",
            Some(hour),
            "timeout 15000 is more than 3600 seconds, the maximum, so 3600 is used (milliseconds? write 15)",
        ),
        ("\"timeout\": 1e300", Some(hour), "so 3600 is used"),
        ("\"timeout\": 0", None, "so the default is used"),
        ("\"timeout\": -5", None, "so the default is used"),
        ("\"timeout\": \"soon\"", None, "so the default is used"),
        ("\"timeout\": []", None, "so the default is used"),
        ("\"async\": \"yes\"", None, "async must be true or false, ignored"),
        ("\"once\": 1", None, "once must be true or false, ignored"),
        ("\"sandbox\": 0", None, "sandbox must be true or false, ignored"),
    ] {
        let loaded = user(&one("PreToolUse", &format!("{{\"command\": \"a\", {field}}}"))).load();
        let told = &loaded.warnings;
        assert!(told.len() == 1 && told[0].ends_with(what), "{field}: {told:?}");
        let hook = &loaded.hooks[0];
        assert_eq!(
            (hook.time_limit, hook.decides(), hook.outside),
            (limit, true, false),
            "{field}"
        );
    }
    let plain = r#"{"hooks": {"Stop": [{"description": "d", "matcher": null, "hooks": [{"command": "a", "timeout": 3600}]}]}}"#;
    let loaded = user(plain).load();
    assert_eq!((loaded.hooks.len(), loaded.warnings.len()), (1, 0), "{:?}", loaded.warnings);
}

#[test]
fn what_is_not_honoured_is_told() {
    for (text, what) in [
        (
            r#"{"hooks": {"TeammateIdle": [1]}}"#.to_owned(),
            "Ostler never fires the event TeammateIdle",
        ),
        (
            one("Stop", r#"{"type": "prompt", "prompt": "p"}"#),
            "hooks of type prompt are not supported yet",
        ),
        (
            one("PreToolUse", r#"{"type": "agent"}"#),
            "not supported yet, so PreToolUse is denied wherever it applies",
        ),
        (one("Stop", r#"{"command": "a", "if": "Bash(git:*)"}"#), "so the hook always runs"),
        (one("Stop", r#"{"command": "a", "new": 1}"#), "unknown key \"new\" in a hook"),
    ] {
        let warnings = user(&text).load().warnings;
        assert!(warnings.len() == 1 && warnings[0].contains(what), "{warnings:?}");
        assert!(warnings[0].contains("settings.json:1: "), "{warnings:?}");
    }
    assert_eq!(hooks("{\"hooks\": null}"), []);
}

fn commands(ground: &ConfigGround) -> Vec<String> {
    ground.load().hooks.iter().map(HookSpec::what).collect()
}

#[test]
fn a_projects_hooks_hold_after_trust() {
    let ground = user(&one("Stop", r#"{"command": "mine"}"#));
    ground.write("ws/.claude/settings.json", &one("Stop", r#"{"command": "theirs"}"#));
    ground.write("ws/.ostler/settings.local.json", &one("Stop", r#"{"command": "local"}"#));
    let loaded = ground.load();
    assert_eq!(loaded.hooks.len(), 1);
    let ignored: Vec<_> = loaded.ignored_hooks.iter().map(HookSpec::what).collect();
    assert_eq!(ignored, ["theirs", "local"]);
    crate::accept(&ground.places, &loaded.untrusted.unwrap()).unwrap();
    assert_eq!(commands(&ground), ["mine", "theirs", "local"]);
    assert!(ground.load().ignored_hooks.is_empty());
}

/// A signature is made with what the variable holds, so a project does not name any of the user's.
#[test]
fn a_project_signs_with_its_own_variables_only() {
    let webhook = |name: &str| {
        one("Stop", &format!(r#"{{"type": "http", "url": "https://x/", "secretEnv": "{name}"}}"#))
    };
    let ground = user(&webhook("DB_PASSWORD"));
    assert_eq!(ground.load().hooks.len(), 1);
    ground.write("ws/.claude/settings.json", &webhook("OSTLER_HOOK_SECRET"));
    assert_eq!(ground.load().ignored_hooks.len(), 1);
    ground.write("ws/.claude/settings.json", &webhook("DB_PASSWORD"));
    let loaded = ground.load();
    assert!(loaded.ignored_hooks.is_empty());
    assert!(loaded.warnings[0].contains("begin with OSTLER_HOOK_"), "{:?}", loaded.warnings);
}

#[test]
fn hooks_are_switched_off_by_those_who_may() {
    let all = |user: &str, project: &str, managed: &str| {
        let with = |name: &str, more: &str| {
            format!(r#"{{{more} "hooks": {{"Stop": [{{"hooks": [{{"command": "{name}"}}]}}]}}}}"#)
        };
        let ground = self::user(&with("user", user));
        ground.write("ws/.claude/settings.json", &with("project", project));
        ground.write("etc/managed-settings.json", &with("managed", managed));
        crate::accept(&ground.places, &ground.load().untrusted.unwrap()).unwrap();
        commands(&ground)
    };
    let off = r#""disableAllHooks": true,"#;
    assert_eq!(all("", "", ""), ["user", "project", "managed"]);
    assert_eq!(all(off, "", ""), ["managed"]);
    // A project cannot take away the hooks that watch it.
    assert_eq!(all("", off, ""), ["user", "managed"]);
    assert_eq!(all("", "", off), [] as [&str; 0]);
    assert_eq!(all("", "", r#""allowManagedHooksOnly": true,"#), ["managed"]);
    let ground = user(&format!(
        "{{{off} \"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"command\": \"a\"}}]}}]}}}}"
    ));
    let notices = ground.load().notices;
    assert!(notices[0].contains("disableAllHooks") && notices[0].contains("1 hook"), "{notices:?}");
}
