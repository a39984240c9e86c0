use super::*;
use crate::test_ground::{anchors, jsonish, texts};
use crate::values::{AUTO_COMPACT, MODEL, WORKTREE_CHECK, WORKTREE_SETUP, WORKTREE_TEARDOWN};
use proptest::prelude::*;

fn read(text: &str) -> Result<Settings, ConfigError> {
    parse(text, Path::new("s.json"), anchors(), Tier::Project)
}

fn warnings(settings: &Settings) -> Vec<String> {
    settings.warnings.lines(Path::new("s.json"))
}

fn error(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn a_whole_file_is_read() {
    let text = "\u{feff}{
  \"$schema\": \"x\",
  \"permissions\": {
    \"allow\": [
      \"Bash(npm test:*)\",
      \"Read(~/notes/**)\"
    ],
    \"ask\": [\"Bash(git push:*)\"],
    \"deny\": [\"Read(./secrets/**)\", \"WebFetch\"],
    \"defaultMode\": \"acceptEdits\",
    \"additionalDirectories\": [\"../docs\", \"~/x\", \"/abs\", \"~\"],
    \"disableBypassPermissionsMode\": \"disable\"
  },
  \"env\": {\"A\": \"b\", \"N\": 5, \"T\": true},
  \"model\": \"opus\",
  \"cleanupPeriodDays\": 20
}";
    let settings = read(text).unwrap();
    assert_eq!(texts(&settings.policy.allow), ["Bash(npm test:*)", "Read(~/notes/**)"]);
    assert_eq!(texts(&settings.policy.ask), ["Bash(git push:*)"]);
    assert_eq!(texts(&settings.policy.deny), ["Read(./secrets/**)", "WebFetch"]);
    assert_eq!(settings.policy.allow[1].source.to_string(), "s.json:6");
    assert_eq!(settings.policy.deny[1].source.line, Some(9));
    assert_eq!(settings.mode, Some(Mode::AcceptEdits));
    let dirs: Vec<_> = settings.dirs.iter().map(|dir| dir.to_str().unwrap()).collect();
    assert_eq!(dirs, ["/ws/../docs", "/home/dev/x", "/abs", "/home/dev/"]);
    let env: Vec<_> = settings.env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(env, [("A", "b"), ("N", "5"), ("T", "true")]);
    assert_eq!(settings.values.text(&MODEL), Some("opus"));
    assert!(settings.no_bypass && settings.policy.no_bypass && !settings.executable);
    assert_eq!(settings.warnings, Warnings::default());
}

#[test]
fn mistakes_are_told_with_their_line() {
    let table = [
        ("{\"a\": 1\n\n", 3, "this is not JSON: EOF while parsing an object"),
        ("{\n\"a\": 1,,\n}", 2, "this is not JSON: key must be a string"),
        ("{\n/* no\n}", 2, "this is not JSON: key must be a string"),
        ("{}\n{}", 2, "this is not JSON: trailing characters"),
        ("\n[]", 2, "the settings file must be an object; write { … }"),
        ("{\"permissions\":\n[1]}", 2, "permissions must be an object; write { … }"),
        ("{\"permissions\":{\"deny\":\n\"Bash\"}}", 2, "deny must be a list; write [ … ]"),
        ("{\"permissions\":{\"ask\":\n{\"a\": 1}}}", 2, "ask must be a list; write [ … ]"),
        (
            "{\"permissions\":{\"deny\":[\n\"Bash\",\n5]}}",
            3,
            "a rule must be a string; write \"…\"",
        ),
        (
            "{\"permissions\":{\"deny\":[\"Bash\"],\n\"deny\":[]}}",
            2,
            "\"deny\" is there twice; keep one",
        ),
        (
            "{\"permissions\":{},\n\"permissions\":{}}",
            2,
            "\"permissions\" is there twice; keep one",
        ),
        (
            "{\"permissions\":{\n\"defaultMode\":\"yolo\"}}",
            2,
            "unknown mode \"yolo\"; use one of default, acceptEdits, plan, dontAsk, bypassPermissions",
        ),
        ("{\"permissions\":{\n\"defaultMode\":5}}", 2, "defaultMode must be a string; write \"…\""),
        (
            "{\"permissions\":{\n\"disableBypassPermissionsMode\":\"no\"}}",
            2,
            "disableBypassPermissionsMode must be \"disable\"",
        ),
        (
            "{\"permissions\":{\n\"disableBypassPermissionsMode\":true}}",
            2,
            "disableBypassPermissionsMode must be a string; write \"…\"",
        ),
        (
            "{\"permissions\":{\"ask\":[\n\"Bash(echo a\\nb)\"]}}",
            2,
            "\"Bash(echo a b)\" contains a line break; write it on one line",
        ),
        (
            "{\"permissions\":{\"deny\":[\n\"bash\"]}}",
            2,
            "unknown tool \"bash\" (did you mean \"Bash\"?)",
        ),
        (
            "{\"permissions\":{\"deny\":[\n\"Bash(a\\u0007)\"]}}",
            2,
            "the rule contains an invisible character; remove it",
        ),
        ("{\"env\":{\"A\":1,\n\"A\":2}}", 2, "\"A\" is there twice; keep one"),
    ];
    for (text, line, wanted) in table {
        assert_eq!(error(text), format!("s.json:{line}: {wanted}"), "{text:?}");
    }
    for (rule, word) in [
        ("Bash(", "is not a rule"),
        ("*", "is not a rule"),
        ("Bash(rm ' *)", "a quote is not closed"),
        ("WebFetch(x)", "domain:"),
        ("", "is not a rule"),
    ] {
        let text = format!("{{\"permissions\":{{\"deny\":[\n\n\"{rule}\"]}}}}");
        let found = read(&text).unwrap_err();
        assert_eq!(found.line, Some(3), "{rule}");
        assert!(found.what.contains(word), "{found}");
    }
}

/// The second of two equal texts has its own line.
#[test]
fn a_line_is_that_of_the_value_itself() {
    let text = "{\"env\": {\"X\": \"Bash(ls)\"},\n\"permissions\":{\"deny\":[\"Bash(ls)\",\n\"Bash(ls)\"]}}";
    let lines: Vec<_> =
        read(text).unwrap().policy.deny.iter().map(|rule| rule.source.line).collect();
    assert_eq!(lines, [Some(2), Some(3)]);
}

#[test]
fn forms_that_are_not_known_tighten_or_are_ignored() {
    let text = "{\"permissions\":{
\"allow\":[\"Agent(x)\", \"Skill(y *)\", \"Cron(y *)\", \"Bash(ls)\", \"Bash()\"],
\"ask\":[\"Cron(y)\"],
\"deny\":[\"Cron(x)\", \"NotebookEdit(a:b)\", \"Bash()\"]}}";
    let settings = read(text).unwrap();
    assert_eq!(texts(&settings.policy.allow), ["Agent(x)", "Skill(y *)", "Bash(ls)"]);
    assert!(settings.policy.ask[0].is_whole_tool("Cron"));
    assert!(settings.policy.deny[0].is_whole_tool("Cron"));
    assert!(settings.policy.deny[1].is_whole_tool("NotebookEdit"));
    assert!(settings.policy.deny[2].is_whole_tool("Bash"));
    assert_eq!(
        warnings(&settings),
        [
            "s.json:2: allow rule ignored: \"Cron(y *)\": this tool does not take a pattern like this; write its name \
             alone, or e.g. Bash(npm test:*), Edit(./src/**), Skill(review)",
            "s.json:2: allow rule ignored: \"Bash()\" is empty: write Bash for the whole tool, or a pattern, e.g. \
             Bash(…)",
            "s.json:3: the rule Cron(y) is invalid, all of Cron is asked about",
            "s.json:4: the rule Cron(x) is invalid, all of Cron is denied",
            "s.json:4: the rule NotebookEdit(a:b) is invalid, all of NotebookEdit is denied",
            "s.json:4: the rule Bash() is invalid, all of Bash is denied",
        ]
    );
}

#[test]
fn files_of_others_work_with_a_warning() {
    let text = "{\"outputStyle\": \"x\",\n\"frobnicate\": 1,\n\"env\": {\"A=B\": \"c\", \"D\": [], \"E\": \"f\"},\n
\"permissions\": {\"defaultMode\": \"auto\"}, \"allowManagedPermissionRulesOnly\": true}";
    let settings = read(text).unwrap();
    assert_eq!(
        warnings(&settings),
        [
            "s.json:2: unknown key \"frobnicate\" in the settings file, ignored",
            "s.json:3: the variable \"A=B\" has an invalid name or value, ignored",
            "s.json:3: the variable \"D\" has an invalid name or value, ignored",
            "s.json:5: mode auto is not supported, ignored",
            "s.json:5: allowManagedPermissionRulesOnly is not supported yet",
        ]
    );
    assert_eq!(settings.env, [("E".to_owned(), "f".to_owned())]);
    let many: String = (0..500).map(|n| format!("\"k{n}\": 1, ")).collect();
    let settings = read(&format!("{{{many} \"z\": 1}}")).unwrap();
    assert_eq!(warnings(&settings).len(), 11);
    assert_eq!(warnings(&settings)[10], "s.json: and 491 more warnings");
}

/// What loosens is left out, and the rest of the file counts.
#[test]
fn what_only_loosens_is_left_out_with_a_warning() {
    for (text, line, said) in [
        ("\"permissions\":{\"allow\":\n\"Bash\"}", 2, "allow rule ignored: allow must be a list"),
        ("\"permissions\":{\"allow\":[\n5]}", 2, "allow rule ignored: a rule must be a string"),
        ("\"permissions\":{\"allow\":[\n\"*\"]}", 2, "allow rule ignored: \"*\" is not a rule"),
        (
            "\"permissions\":{\"allow\":[\n\"Bash(a ' *)\"]}",
            2,
            "allow rule ignored: \"Bash(a ' *)\": a quote is not closed",
        ),
        (
            "\"permissions\":{\"allow\":[\n\"Bash(a\\nb)\"]}",
            2,
            "allow rule ignored: \"Bash(a b)\" contains a line break",
        ),
        (
            "\"permissions\":{\"allow\":[\n\"Bash(a\\u202eb)\"]}",
            2,
            "allow rule ignored: the rule contains an invisible character",
        ),
        (
            "\"permissions\":{\"allow\":[\n\"WebFetch(x)\"]}",
            2,
            "allow rule ignored: \"WebFetch(x)\"",
        ),
        ("\"permissions\":{\"allow\":[\n\"bash\"]}", 2, "allow rule ignored: unknown tool"),
        (
            "\"permissions\":{\"alow\":\n[\"Bash\"]}",
            2,
            "unknown key \"alow\" in permissions (did you mean \"allow\"?), ignored",
        ),
        ("\"permissions\":{\"bypassPermissions\":\ntrue}", 2, "unknown key \"bypassPermissions\""),
        ("\"permissions\":{\"denyy\":\n[]}", 2, "unknown key \"denyy\" in permissions, ignored"),
        ("\"permissions\":{\"deny\":\n{}}", 2, "deny must be a list, ignored"),
        ("\"permissions\":\n[]", 2, "permissions must be an object, ignored"),
        ("\"permissions\":{\"additionalDirectories\":[\n\"\"]}", 2, "the path is empty"),
        (
            "\"permissions\":{\"additionalDirectories\":\n\"..\"}",
            2,
            "additionalDirectories must be",
        ),
        (
            "\"permissions\":{\"defaultMode\":\n\"acceptedits\"}",
            2,
            "unknown mode \"acceptedits\" (did you mean \"acceptEdits\"?), ignored",
        ),
        ("\"env\":\n[1]", 2, "env must be an object, ignored"),
        ("\"model\":\n5", 2, "model must be a string; write \"…\", ignored"),
        ("\"hooks\":\n[]", 2, "hooks must be an object, ignored"),
    ] {
        let settings =
            read(&format!("{{{text},\n\"cleanupPeriodDays\":1,\"autoCompactEnabled\":true}}"))
                .unwrap();
        let told = warnings(&settings);
        let wanted = format!("s.json:{line}: {said}");
        assert!(told.len() == 1 && told[0].starts_with(&wanted), "{text}: {told:?}");
        assert!(
            settings.policy.allow.is_empty() && settings.values.switch(&AUTO_COMPACT) == Some(true)
        );
    }
    for text in [
        "\"permissions\":null",
        "\"permissions\":{\"deny\":null,\"defaultMode\":null}",
        "\"env\":null",
    ] {
        assert_eq!(read(&format!("{{{text}}}")).unwrap(), Settings::default(), "{text}");
    }
}

/// Which wrong key may have been a restriction is decided by its letters and words.
#[test]
fn a_misspelt_restriction_is_never_passed_over() {
    for (text, key, meant) in [
        ("{\"permissions\":{\n\"dney\":[\"Bash\"]}}", "dney", "deny"),
        ("{\"permissions\":{\n\"denyy\":[\"Bash\"]}}", "denyy", "deny"),
        ("{\"permissions\":{\n\"Deny\":[\"Bash\"]}}", "Deny", "deny"),
        ("{\"permissions\":{\n\"denied\":[\"Bash\"]}}", "denied", "deny"),
        ("{\"permissions\":{\n\"disallowedTools\":[\"Bash\"]}}", "disallowedTools", "deny"),
        ("{\"permissions\":{\n\"asks\":[\"Bash\"]}}", "asks", "ask"),
        ("{\"permissions\":{\n\"always_ask\":[\"Bash\"]}}", "always_ask", "ask"),
        ("{\"permissions\":{\n\"defaultmode\":\"plan\"}}", "defaultmode", "defaultMode"),
        ("{\n\"permision\":{\"deny\":[\"Bash\"]}}", "permision", "permissions"),
        ("{\n\"Permissions\":{\"deny\":[\"Bash\"]}}", "Permissions", "permissions"),
        ("{\n\"deny\":[\"Bash\"]}", "deny", "deny"),
        ("{\n\"hook\":{\"PreToolUse\":[1]}}", "hook", "hooks"),
        ("{\n\"sandox\":{\"enabled\":true}}", "sandox", "sandbox"),
        ("{\n\"budgets\":{\"day\":1}}", "budgets", "budget"),
    ] {
        for tier in [Tier::User, Tier::Project, Tier::CommandLine, Tier::Managed] {
            let found = parse(text, Path::new("s.json"), anchors(), tier).unwrap_err();
            assert_eq!(found.line, Some(2), "{found}");
            let named = found.what.contains(&format!("\"{key}\""));
            assert!(named && (tier == Tier::Managed || found.what.contains(meant)), "{found}");
        }
    }
}

#[test]
fn comments_and_an_empty_file_load_and_lines_stay_right() {
    let text = "// mine\n{ /* two\nlines */ \"permissions\": {\n  \"deny\": [\n    \"Read(//x)\", // \"Read(//y)\"\n    \"Bash(rm:*)\",\n  ],\n},\n\"odd\": 1,\n}\n";
    let settings = read(text).unwrap();
    assert_eq!(texts(&settings.policy.deny), ["Read(//x)", "Bash(rm:*)"]);
    assert_eq!(settings.policy.deny[1].source.line, Some(6));
    assert_eq!(
        warnings(&settings),
        ["s.json:9: unknown key \"odd\" in the settings file, ignored"]
    );
    for empty in ["", " \n ", "\u{feff}", "// nothing yet\n"] {
        let settings = read(empty).unwrap();
        assert_eq!(warnings(&settings), ["s.json: the file is empty"], "{empty:?}");
        assert_eq!(settings.policy, Policy::default());
        assert!(parse(empty, Path::new("s.json"), anchors(), Tier::Managed).is_err());
    }
}

#[test]
fn what_starts_programs_is_seen() {
    for (key, value, starts) in [
        ("hooks", "{\"Stop\": []}", true),
        ("hooks", "{ }", false),
        ("hooks", "{\n}", false),
        ("mcpServers", "{\"a\": {}}", true),
        ("enableAllProjectMcpServers", "true", true),
        ("enableAllProjectMcpServers", "false", false),
        ("enabledMcpjsonServers", "[\"a\"]", true),
        ("enabledMcpjsonServers", "[ ]", false),
        ("enabledPlugins", "{\"a\": true}", true),
        ("apiKeyHelper", "\"/bin/x\"", true),
        ("apiKeyHelper", "null", false),
        ("statusLine", "{\"command\": \"x\"}", true),
        ("awsAuthRefresh", "\"x\"", true),
        ("otelHeadersHelper", "\"x\"", true),
        ("outputStyle", "\"x\"", false),
    ] {
        let settings = read(&format!("{{\"{key}\": {value}}}")).unwrap();
        assert_eq!(settings.executable, starts, "{key}: {value}");
        assert_eq!(settings.starts.is_empty(), !starts, "{key}: {value}");
    }
}

#[test]
fn an_unknown_home_is_no_folder() {
    let nowhere = Anchors { home: Path::new(""), ..anchors() };
    let parsed = |list: &str| {
        let text = format!("{{\"permissions\":{{{list}}}}}");
        parse(&text, Path::new("s.json"), nowhere, Tier::User)
    };
    let found = parsed("\"deny\":[\"Read(~/x)\"]").unwrap_err();
    assert!(found.what.contains("~ cannot be resolved"), "{found}");
    for list in ["\"additionalDirectories\":[\"~/x\"]", "\"allow\":[\"Read(~/x)\"]"] {
        let settings = parsed(list).unwrap();
        assert!(settings.dirs.is_empty() && settings.policy.allow.is_empty());
        assert!(warnings(&settings)[0].contains("~ cannot be resolved"));
    }
}

proptest! {
    #[test]
    fn any_text_is_settings_or_an_error_with_a_line(text in prop_oneof![any::<String>(), jsonish()]) {
        if let Err(error) = read(&text) {
            let lines = text.matches('\n').count() + 1;
            prop_assert!(error.line.is_some_and(|line| (1..=lines).contains(&line)), "{error}");
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}

/// Commands for worktrees are named among what a file starts, wherever they are; none is set without that.
#[test]
fn commands_for_worktrees_are_named() {
    let settings = read(
        r#"{"worktrees": {"setup": "npm ci", "check": "npm\ntest", "stup": "x", "teardown": 5}}"#,
    )
    .unwrap();
    let values = [WORKTREE_SETUP, WORKTREE_CHECK, WORKTREE_TEARDOWN];
    let found = values.map(|key| settings.values.text(&key).map(str::to_owned));
    assert_eq!(found, [Some("npm ci".to_owned()), Some("npm\ntest".to_owned()), None]);
    let named =
        ["runs in every new worktree: npm ci", r"runs to check the work of workers: npm\ntest"];
    assert_eq!(settings.starts, named);
    assert!(settings.executable && settings.not_run.is_empty());
    let said = warnings(&settings).join("\n");
    assert!(said.contains("unknown key \"stup\" in worktrees"), "{said}");
    assert!(said.contains("worktrees.teardown"), "{said}");
    for text in
        [r#"{"worktrees.setup": "evil"}"#, r#"{"worktrees": "evil"}"#, r#"{"worktrees": null}"#]
    {
        let settings = read(text).unwrap();
        assert_eq!(settings.values.text(&WORKTREE_SETUP), None, "{text}");
        assert!(settings.starts.is_empty(), "{text}");
    }
}
