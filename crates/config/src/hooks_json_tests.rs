//! Hooks in settings files: what is in force, from where, and what is wrong with which line.

use crate::test_ground::Ground;
use ostler_core::hook::{Action, EventName, HookSpec};
use ostler_core::permission::Tier;
use std::time::Duration;

fn user(text: &str) -> Ground {
    let ground = Ground::new();
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
        matches!(&found[2].action, Action::Http { blocking: false, secret_env: Some(name), .. } if name == "S")
    );
    assert!(matches!(&found[3].action, Action::Http { blocking: false, secret: None, .. }));
    assert!(!found[2].decides());
    // Without a word on it, what can be stopped waits for the answer.
    let blocking = hooks(&one("PreToolUse", r#"{"type": "http", "url": "https://x.example/"}"#));
    assert!(blocking[0].decides());
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, line, what) in [
        (r#"{"PreToolUs": []}"#, 2, "there is no event \"PreToolUs\", write one of SessionStart,"),
        (r#"[]"#, 2, "hooks must be an object"),
        ("{\"Stop\":\n{}}", 3, "the hooks of an event must be a list"),
        ("{\"Stop\": [\n{}]}", 3, "\"hooks\" is missing"),
        ("{\"Stop\": [{\"hooks\": [\n\n{}]}]}", 4, "\"type\" is missing"),
        (r#"{"Stop": [{"hooks": [{"type": "comand"}]}]}"#, 2, "\"comand\" is no type of hook"),
        (r#"{"Stop": [{"hooks": [{"type": "command"}]}]}"#, 2, "\"command\" is missing"),
        (
            r#"{"Stop": [{"hooks": [{"type": "command", "command": " "}]}]}"#,
            2,
            "\"command\" is missing",
        ),
        (r#"{"Stop": [{"hooks": [{"command": "a\u0000"}]}]}"#, 2, "invisible character"),
        (r#"{"Stop": [{"hooks": [{"command": "a", "timeout": 0}]}]}"#, 2, "timeout must be"),
        (r#"{"Stop": [{"hooks": [{"command": "a", "timeout": "x"}]}]}"#, 2, "timeout must be"),
        (
            r#"{"Stop": [{"hooks": [{"command": "a", "async": "yes"}]}]}"#,
            2,
            "async must be true or false",
        ),
        (
            r#"{"Stop": [{"hooks": [{"command": "a", "shell": "powershell"}]}]}"#,
            2,
            "a hook runs in bash",
        ),
        (
            r#"{"Stop": [{"matcher": "(", "hooks": []}]}"#,
            2,
            "the matcher \"(\" is no regular expression",
        ),
        (r#"{"Stop": [{"hooks": [{"type": "http"}]}]}"#, 2, "\"url\" is missing"),
        (
            r#"{"Stop": [{"hooks": [{"type": "http", "url": "http://x.example/"}]}]}"#,
            2,
            "write https://",
        ),
        (
            r#"{"Stop": [{"hooks": [{"type": "http", "url": "https://x/", "secret": "a", "secretEnv": "B"}]}]}"#,
            2,
            "keep one",
        ),
    ] {
        let said = wrong(text);
        assert!(
            said.contains(&format!("settings.json:{line}: ")) && said.contains(what),
            "{text}: {said}"
        );
    }
}

#[test]
fn what_is_not_honoured_is_told() {
    for (text, what) in [
        (
            r#"{"hooks": {"TeammateIdle": [1]}}"#.to_owned(),
            "nothing here fires the event TeammateIdle",
        ),
        (
            one("Stop", r#"{"type": "prompt", "prompt": "p"}"#),
            "hooks of type prompt are not available yet",
        ),
        (
            one("PreToolUse", r#"{"type": "agent"}"#),
            "not available yet, so PreToolUse is refused where it applies",
        ),
        (one("Stop", r#"{"command": "a", "if": "Bash(git:*)"}"#), "so the hook always runs"),
        (one("Stop", r#"{"command": "a", "new": 1}"#), "\"new\" is not known in a hook"),
    ] {
        let warnings = user(&text).load().warnings;
        assert!(warnings.len() == 1 && warnings[0].contains(what), "{warnings:?}");
        assert!(warnings[0].contains("settings.json:1: "), "{warnings:?}");
    }
    assert_eq!(hooks("{\"hooks\": null}"), []);
}

fn commands(ground: &Ground) -> Vec<String> {
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
    let error = ground.try_load().unwrap_err().to_string();
    assert!(error.contains("begins with OSTLER_HOOK_"), "{error}");
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
