use super::*;
use crate::test_ground::{anchors, jsonish, texts};
use proptest::prelude::*;

fn read(text: &str) -> Result<Settings, ConfigError> {
    parse(text, Path::new("s.json"), anchors(), Tier::Project)
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
    assert_eq!(settings.model.as_deref(), Some("opus"));
    assert!(settings.no_bypass && settings.policy.no_bypass && !settings.executable);
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let table = [
        ("", 1, "there is nothing in it, write {} or remove the file"),
        (" \n ", 1, "there is nothing in it, write {} or remove the file"),
        ("{\n\"a\": 1,\n}", 3, "this is not JSON: key must be a string"),
        ("{\"a\": 1\n\n", 3, "this is not JSON: EOF while parsing an object"),
        ("{}\n{}", 2, "this is not JSON: trailing characters"),
        ("{\n// no\n}", 2, "this is not JSON: key must be a string"),
        ("\n[]", 2, "the settings file must be an object, write { … }"),
        ("{\"permissions\":\n[]}", 2, "permissions must be an object, write { … }"),
        ("{\"permissions\": null}", 1, "permissions must be an object, write { … }"),
        (
            "{\"permissions\":{\"allow\":\n\"Bash\"}}",
            2,
            "a list of rules must be a list, write [ … ]",
        ),
        ("{\"permissions\":{\"deny\":[\n\"Bash\",\n5]}}", 3, "a rule must be a text, write \"…\""),
        (
            "{\"permissions\":{\"deny\":[\"Bash\"],\n\"deny\":[]}}",
            2,
            "\"deny\" stands there twice, keep one",
        ),
        (
            "{\"permissions\":{},\n\"permissions\":{}}",
            2,
            "\"permissions\" stands there twice, keep one",
        ),
        (
            "{\"permissions\":{\n\"defaultMode\":\"yolo\"}}",
            2,
            "\"yolo\" is no mode, write one of default, acceptEdits, plan, dontAsk, bypassPermissions",
        ),
        ("{\"permissions\":{\n\"defaultMode\":5}}", 2, "defaultMode must be a text, write \"…\""),
        (
            "{\"permissions\":{\n\"disableBypassPermissionsMode\":\"no\"}}",
            2,
            "disableBypassPermissionsMode must be \"disable\"",
        ),
        (
            "{\"permissions\":{\n\"disableBypassPermissionsMode\":true}}",
            2,
            "disableBypassPermissionsMode must be a text, write \"…\"",
        ),
        (
            "{\"permissions\":{\"additionalDirectories\":[\n\"\"]}}",
            2,
            "a folder must have a name, write its path",
        ),
        (
            "{\"permissions\":{\"deny\":[\n\"Bash(a\\u0007)\"]}}",
            2,
            "there is an invisible character in the rule, remove it",
        ),
        ("{\"env\":\n[]}", 2, "env must be an object, write { … }"),
        ("{\"model\":\n5}", 2, "model must be a text, write \"…\""),
    ];
    for (text, line, wanted) in table {
        assert_eq!(error(text), format!("s.json:{line}: {wanted}"), "{text:?}");
    }
    let unknown = read("{\"permissions\":{\n\"alow\":[]}}").unwrap_err();
    assert_eq!(unknown.line, Some(2));
    assert!(unknown.what.starts_with("\"alow\" is not known in permissions"), "{unknown}");
    for (rule, word) in
        [("Bash(", "is not a rule"), ("WebFetch(x)", "domain:"), ("", "is not a rule")]
    {
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
\"deny\":[\"Agent(x)\", \"NotebookEdit(a:b)\", \"Bash()\"]}}";
    let settings = read(text).unwrap();
    assert_eq!(texts(&settings.policy.allow), ["Skill(y *)", "Bash(ls)"]);
    assert!(settings.policy.ask[0].is_whole_tool("Cron"));
    assert!(settings.policy.deny[0].is_whole_tool("Agent"));
    assert!(settings.policy.deny[1].is_whole_tool("NotebookEdit"));
    assert!(settings.policy.deny[2].is_whole_tool("Bash"));
    assert_eq!(
        settings.warnings,
        [
            "s.json:2: the rule Agent(x) is not understood, ignored",
            "s.json:2: the rule Cron(y *) is not understood, ignored",
            "s.json:2: the rule Bash() is not understood, ignored",
            "s.json:3: the rule Cron(y) is not understood, all of Cron is asked about",
            "s.json:4: the rule Agent(x) is not understood, all of Agent is denied",
            "s.json:4: the rule NotebookEdit(a:b) is not understood, all of NotebookEdit is denied",
            "s.json:4: the rule Bash() is not understood, all of Bash is denied",
        ]
    );
}

#[test]
fn files_of_others_work_with_a_warning() {
    let text = "{\"outputStyle\": \"x\",\n\"frobnicate\": 1,\n\"env\": {\"A=B\": \"c\", \"D\": [], \"E\": \"f\"},\n
\"permissions\": {\"defaultMode\": \"auto\"}, \"allowManagedPermissionRulesOnly\": true}";
    let settings = read(text).unwrap();
    assert_eq!(
        settings.warnings,
        [
            "s.json:2: \"frobnicate\" is not known, ignored",
            "s.json:3: the variable \"A=B\" cannot be set so, ignored",
            "s.json:3: the variable \"D\" cannot be set so, ignored",
            "s.json:5: there is no mode auto here, ignored",
            "s.json:5: allowManagedPermissionRulesOnly is not honoured yet",
        ]
    );
    assert_eq!(settings.env, [("E".to_owned(), "f".to_owned())]);
    let many: String = (0..500).map(|n| format!("\"k{n}\": 1, ")).collect();
    let settings = read(&format!("{{{many} \"z\": 1}}")).unwrap();
    assert_eq!(settings.warnings.len(), MOST_WARNINGS);
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
    for list in ["\"additionalDirectories\":[\"~/x\"]", "\"deny\":[\"Read(~/x)\"]"] {
        let text = format!("{{\"permissions\":{{{list}}}}}");
        let found = parse(&text, Path::new("s.json"), nowhere, Tier::User).unwrap_err();
        assert!(found.what.contains("home folder is not known"), "{found}");
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
