use super::*;
use crate::test_ground::{anchors, check, texts};
use crate::{DEFAULT_PERMISSIONS, default_policy};
use proptest::prelude::*;

fn read(text: &str) -> Result<Policy, ConfigError> {
    parse(text, Path::new("p.yaml"), anchors(), Tier::User, &check).map(|(policy, _)| policy)
}

fn error(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn every_rule_knows_its_list_its_line_and_its_reason() {
    let text = "\
version: 1
default: deny
always_deny:
  - pattern: 'sudo'
    reason: no root
always_allow:
  - reason: only lists
    pattern: '^ls'
  - rule: Bash(git status:*)
ask_user:
  - {pattern: 'secret', tool: Read}
deny: ['Bash(curl:*)']
ask: [Edit(./.github/**)]
allow:
  - Bash(pwd)
  - mcp__a__b
";
    let policy = read(text).unwrap();
    assert_eq!(policy.fallback, Fallback::Deny);
    assert_eq!(texts(&policy.deny), ["sudo", "Bash(curl:*)"]);
    assert_eq!(texts(&policy.ask), ["secret", "Edit(./.github/**)"]);
    assert_eq!(texts(&policy.allow), ["^ls", "Bash(git status:*)", "Bash(pwd)", "mcp__a__b"]);
    let lines = |rules: &[Rule]| rules.iter().map(|rule| rule.source.line).collect::<Vec<_>>();
    assert_eq!(lines(&policy.deny), [Some(4), Some(12)]);
    assert_eq!(lines(&policy.ask), [Some(11), Some(13)]);
    assert_eq!(lines(&policy.allow), [Some(8), Some(9), Some(15), Some(16)]);
    assert_eq!(policy.deny[0].reason.as_deref(), Some("no root"));
    assert_eq!(policy.allow[0].reason.as_deref(), Some("only lists"));
    assert_eq!(policy.deny[0].tool, "Bash");
    assert_eq!(policy.ask[0].tool, "Read");
    assert_eq!(policy.deny[0].source.to_string(), "p.yaml:4");
    assert_eq!(policy.deny[0].source.tier, Tier::User);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let table = [
        ("", "p.yaml:1: it is empty; write rules or delete the file"),
        ("# only a word\n", "p.yaml:1: it is empty; write rules or delete the file"),
        ("version: 2\n", "p.yaml:1: unknown version 2; write 1"),
        ("\ndefault: allow\n", "p.yaml:2: unknown default \"allow\"; use read, ask or deny"),
        (
            "always_deny:\n  - pattern: ''\n",
            "p.yaml:2: the pattern is empty; write one or remove the entry",
        ),
        (
            "always_deny:\n  - pattern: ok\n  - rule: '  '\n",
            "p.yaml:3: the pattern is empty; write one or remove the entry",
        ),
        (
            "ask_user:\n  - reason: x\n",
            "p.yaml:2: the entry has neither a pattern nor a rule; add one",
        ),
        (
            "ask_user:\n  - pattern:\n",
            "p.yaml:2: the entry has neither a pattern nor a rule; add one",
        ),
        (
            "ask_user:\n  - pattern: a\n    rule: Bash\n",
            "p.yaml:3: an entry cannot have both a pattern and a rule; write two entries",
        ),
        (
            "ask_user:\n  - rule: Bash(ls)\n    tool: Bash\n",
            "p.yaml:3: a rule already names its tool; remove \"tool\"",
        ),
        (
            "ask_user:\n  - pattern: a\n    tool: Ba sh\n",
            "p.yaml:3: unknown tool \"Ba sh\"; use a name such as Bash",
        ),
        (
            "ask_user:\n  - pattern: a\n    tool: Bash(ls)\n",
            "p.yaml:3: unknown tool \"Bash(ls)\"; use a name such as Bash",
        ),
        (
            "deny:\n  - \"Bash(l\\u202es)\"\n",
            "p.yaml:2: it contains an invisible character; write it as \\x..",
        ),
    ];
    for (text, wanted) in table {
        assert_eq!(error(text), wanted, "{text:?}");
    }
}

/// Texts of others: what matters is the line, the name of the trouble, and that it is one line.
#[test]
fn mistakes_found_by_the_parser_have_their_line_too() {
    let table = [
        ("default: ask\nallways: []\n", 2, "unknown key `allways`; use one of version"),
        ("always_deny:\n  - pattern: a\n    resaon: b\n", 3, "resaon"),
        ("always_deny:\n  - pattern: a\n    examples: {mach: [x]}\n", 3, "mach"),
        ("always_deny:\n  pattern: a\n", 2, "a list"),
        ("always_deny:\n  - just text\n", 2, "keys"),
        ("always_deny:\n  - pattern: [a]\n", 2, "a string"),
        ("always_deny:\n  - pattern: 5\n", 2, "quot"),
        ("always_deny:\n  - pattern: true\n", 2, "quot"),
        ("version: one\n", 1, "a whole number"),
        ("version: -1\n", 1, ""),
        ("default: [ask]\n", 1, "a string"),
        ("allow: Bash(ls)\n", 1, "a list"),
        ("allow:\n  - {a: b}\n", 2, ""),
        ("default: ask\n\ndefault: deny\n", 3, "\"default\" is there twice; keep one"),
        ("deny: [a]\nask: []\ndeny: []\n", 3, "deny"),
        ("always_deny:\n  - pattern: a\n    pattern: b\n", 3, "pattern"),
        ("always_deny:\n  - pattern: '^ls('\n", 2, "is not a regular expression"),
        ("always_deny:\n  - pattern: a\n  - pattern: '[z-a]'\n", 3, "is not a regular expression"),
        ("deny:\n  - Bash(\n", 2, "is not a rule"),
        ("deny:\n  - 'Bash(ls)'\n  - 'Frobnicate(x)'\n", 3, "take a pattern"),
        ("x: &a {b: c}\n<<: *a\n", 1, ""),
        ("always_deny:\n\t- pattern: a\n", 2, ""),
        ("always_deny: [\n", 1, "unclosed"),
        ("default: 'ask\n", 2, ""),
        ("[]\n", 1, ""),
        ("plain words\n", 1, ""),
        ("default: ask\n---\ndefault: deny\n", 3, "one document"),
    ];
    for (text, line, word) in table {
        let found = read(text).expect_err(text);
        let shown = found.to_string();
        assert!(shown.contains(word), "{text:?} gives {shown}");
        assert!(!shown.contains('\n') && !shown.contains("DuplicateKey"), "{shown}");
        assert_eq!(found.line, Some(line), "{text:?} gives {shown}");
    }
}

#[test]
fn examples_must_hold() {
    let with = |examples: &str| {
        error(&format!("always_deny:\n  - pattern: 'rm -rf /'\n    examples:\n      {examples}\n"))
    };
    assert_eq!(
        with("{match: ['rm -rf /', 'ls'], miss: []}"),
        "p.yaml:4: the rule rm -rf / does not match its example \"ls\"; fix one of them"
    );
    assert_eq!(
        with("match: ['rm -rf /']\n      miss:\n        - rm x\n        - rm -rf /"),
        "p.yaml:7: the rule rm -rf / matches its example \"rm -rf /\"; fix one of them"
    );
}

/// The same pattern finds more as an ask rule than as a deny rule: the list is told.
#[test]
fn examples_are_checked_as_what_the_rule_is() {
    let text = |list: &str| {
        format!("{list}:\n  - pattern: '\\.env'\n    examples: {{match: ['cat .env']}}\n")
    };
    assert!(read(&text("ask_user")).is_ok());
    assert!(read(&text("always_deny")).is_err());
    assert!(read(&text("always_allow")).unwrap().allow.is_empty());
}

/// Without an allow rule there are only more questions; without a deny or ask rule nothing starts.
#[test]
fn an_allow_rule_that_is_not_understood_is_left_out() {
    let wrong = [
        ("  - \"Bash(git commit -m ' *)\"", "a quote is not closed"),
        ("  - '*'", "\"*\" is not a rule"),
        ("  - bash", "unknown tool \"bash\" (did you mean \"Bash\"?)"),
        ("  - \"Bash(a\\nb)\"", "invisible character"),
    ];
    for (rule, what) in wrong {
        let text = |list: &str| format!("deny: [WebFetch]\n{list}:\n{rule}\n  - Bash(make)\n");
        let file = Path::new("p.yaml");
        let (policy, warnings) =
            parse(&text("allow"), file, anchors(), Tier::Project, &check).unwrap();
        assert_eq!(
            (texts(&policy.allow), texts(&policy.deny)),
            (vec!["Bash(make)"], vec!["WebFetch"])
        );
        let told = warnings.lines(file);
        assert!(
            told.len() == 1 && told[0].starts_with("p.yaml:3: allow rule ignored: "),
            "{told:?}"
        );
        assert!(told[0].contains(what), "{told:?}");
        assert!(error(&text("ask")).contains(what), "{rule}");
    }
    let pattern = "always_allow:\n  - pattern: '('\n  - pattern: ls\n";
    assert_eq!(texts(&read(pattern).unwrap().allow), ["ls"]);
    assert!(error(&pattern.replace("allow", "deny")).starts_with("p.yaml:2: "));
}

#[test]
fn an_endless_file_is_refused() {
    let many: String = (0..2001).map(|n| format!("  - Bash(ls {n})\n")).collect();
    let wanted = "p.yaml:2002: more than 2000 rules in one list; write fewer, wider rules";
    assert_eq!(error(&format!("deny:\n{many}")), wanted);
    let many = "  - pattern: a\n".repeat(101);
    let text = format!("always_deny:\n{many}");
    assert!(read(&text).is_ok());
    let project = parse(&text, Path::new("p.yaml"), anchors(), Tier::Project, &check).unwrap_err();
    let wanted = "p.yaml:102: more than 100 patterns; join some of them with |";
    assert_eq!(project.to_string(), wanted);
    let many = "'a', ".repeat(51);
    let text = format!("deny: []\nalways_deny:\n  - {{pattern: a, examples: {{match: [{many}]}}}}");
    assert_eq!(error(&text), "p.yaml:3: more than 50 examples; keep the most important ones");
}

#[test]
fn the_default_file_holds_its_examples_and_all_of_the_seed() {
    let policy = default_policy(anchors(), &check).unwrap();
    assert_eq!(policy.fallback, Fallback::Read);
    let seed = include_str!("../../../../fixtures/corpus/seed-permissions.yaml");
    let seed = read(seed).unwrap();
    for (ours, theirs) in
        [(&policy.deny, &seed.deny), (&policy.ask, &seed.ask), (&policy.allow, &seed.allow)]
    {
        for rule in theirs {
            // `git merge-base` only reads; the rest of that rule is kept.
            let kept = rule.text().replace("|merge|", "|merge($| |-[^b])|");
            assert!(ours.iter().any(|ours| ours.text() == kept), "{kept}");
        }
    }
    let all = || policy.deny.iter().chain(&policy.ask).chain(&policy.allow);
    assert!(all().all(|rule| rule.reason.is_some() && rule.source.tier == Tier::BuiltIn));
    assert!(all().all(|rule| rule.source.to_string() == "the built-in rules"));
    let raw: Value = serde_saphyr::from_str(DEFAULT_PERMISSIONS).unwrap();
    for list in ["always_deny", "ask_user", "always_allow"] {
        for entry in raw[list].as_array().unwrap() {
            let examples = &entry["examples"];
            let some = |sort: &str| examples[sort].as_array().is_some_and(|all| !all.is_empty());
            assert!(some("match") && some("miss"), "{entry}");
        }
    }
}

#[test]
fn the_rules_that_a_start_uses_are_those_of_the_file() {
    let in_the_file = default_policy(anchors(), &check).unwrap();
    let used = crate::built_in_rules::built_in().unwrap();
    let said = |rules: &[Rule]| -> Vec<String> {
        let said = |rule: &Rule| {
            let place = (&rule.tool, rule.text());
            format!("{place:?} {:?} {:?}", rule.reason, rule.source)
        };
        rules.iter().map(said).collect()
    };
    let Policy { deny, ask, allow, fallback, no_bypass } = &used;
    assert_eq!(said(deny), said(&in_the_file.deny));
    assert_eq!(said(ask), said(&in_the_file.ask));
    assert_eq!(said(allow), said(&in_the_file.allow));
    assert_eq!((*fallback, *no_bypass), (in_the_file.fallback, in_the_file.no_bypass));
}

/// Every set of the corpus is understood, except the one with the broken expression.
#[test]
fn the_rule_sets_of_the_corpus_are_understood() {
    let corpus = include_str!("../../../../fixtures/corpus/permissions.jsonl");
    let mut broken = 0;
    for line in corpus.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let rules = &case["rules"];
        if !rules.is_object() {
            continue;
        }
        match from_json(rules, Path::new("rules"), anchors(), Tier::CommandLine, &check) {
            Ok(policy) => {
                let listed = |key: &str| rules[key].as_array().map_or(0, Vec::len);
                assert_eq!(policy.allow.len(), listed("allow") + listed("always_allow"));
                assert_eq!(policy.deny.len(), listed("deny") + listed("always_deny"));
                assert_eq!(policy.ask.len(), listed("ask") + listed("ask_user"));
                assert!(policy.fallback >= Fallback::Ask);
            }
            Err(error) => {
                assert!(
                    error.to_string().starts_with("rules: \"^ls(\" is not a regular"),
                    "{error}"
                );
                broken += 1;
            }
        }
    }
    assert_eq!(broken, 1);
}

#[test]
fn json_is_as_strict_as_yaml() {
    for text in [
        r#"[]"#,
        r#"{"alow":[]}"#,
        r#"{"allow":"Bash"}"#,
        r#"{"allow":[5]}"#,
        r#"{"default":5}"#,
        r#"{"always_deny":["x"]}"#,
        r#"{"always_deny":[{"pattern":5}]}"#,
        r#"{"always_deny":[{}]}"#,
        r#"{"version":3}"#,
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        let found = from_json(&value, Path::new("rules"), anchors(), Tier::CommandLine, &check);
        let error = found.expect_err(text);
        assert_eq!(error.line, None, "{text}");
        assert!(error.to_string().starts_with("rules: "), "{error}");
    }
}

fn yamlish() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "always_deny:",
        "allow:",
        "default: ",
        "ask",
        "- ",
        "pattern: ",
        "rule: ",
        "\n",
        "\n  ",
        "\n    ",
        "Bash(ls)",
        "'",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        "&a ",
        "*a",
        "<<: ",
        "|\n",
        "# x",
        "examples: ",
        "match: ",
        "!!str ",
        "---\n",
        "\t",
        "\u{feff}",
        "^(",
        "5",
        "~",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_rules_or_an_error_with_a_line(text in prop_oneof![any::<String>(), yamlish()]) {
        if let Err(error) = read(&text) {
            prop_assert!(error.line.is_some_and(|line| line >= 1), "{error}");
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
