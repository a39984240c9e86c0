//! Inputs of every tool, well-formed and not.

use super::*;
use ostler_core::permission::{Inward, Lexical, Workspace};
use serde_json::json;

fn declared(tool: &str, input: Value) -> Result<Access, String> {
    let workspace = Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        tools: crate::known_tools(),
        ..Workspace::default()
    };
    let (policy, places) = (Policy::default(), Lexical { workspace: &workspace });
    access_on_paper(tool_name(tool), &input, &Paper { policy: &policy, places: &places })
}

#[test]
fn what_each_tool_touches() {
    let file = |path: &str| PathScope::File(path.into());
    let tree =
        |path: &str| Access { filtered: true, ..Access::reading(PathScope::Tree(path.into())) };
    for (tool, input, expected) in [
        ("read", json!({"path": "a/../b"}), Access::reading(file("/ws/b"))),
        ("Read", json!({"file_path": "/etc/x", "limit": 3}), Access::reading(file("/etc/x"))),
        ("edit", json!({"path": "a", "old": "", "new": "x"}), Access::writing(file("/ws/a"))),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "", "new_string": "x", "replace_all": true}),
            Access::writing(file("/ws/a")),
        ),
        ("write", json!({"path": "a", "content": ""}), Access::writing(file("/ws/a"))),
        ("revert", json!({"path": "a"}), Access::writing(file("/ws/a"))),
        ("todowrite", json!({"todos": []}), Access::inward(Inward::default())),
        ("TaskGet", json!({"taskId": "1"}), Access::inward(Inward::default())),
        (
            "Skill",
            json!({"skill": "x"}),
            Access::inward(Inward {
                skill: Some("x".into()),
                loosens: vec!["what its file names".into()],
            }),
        ),
        ("grep", json!({"pattern": "x"}), tree("/ws")),
        ("GREP", json!({"pattern": "x", "path": "/"}), tree("/")),
        ("glob", json!({"pattern": "**/*.rs"}), tree("/ws")),
        ("glob", json!({"pattern": "Cargo.toml"}), tree("/ws")),
        ("glob", json!({"pattern": "src/a*/b/*.rs"}), tree("/ws/src")),
        ("glob", json!({"pattern": "/etc/*"}), tree("/etc")),
        ("glob", json!({"pattern": "../*"}), tree("/")),
        ("glob", json!({"pattern": ".."}), tree("/")),
        ("glob", json!({"pattern": "a/../../x"}), tree("/")),
        ("glob", json!({"pattern": "*", "path": "src"}), tree("/ws/src")),
        (
            "webfetch",
            json!({"url": "https://docs.rs/x"}),
            Access { hosts: vec!["docs.rs".into()], ..Access::nothing() },
        ),
        ("mcp__a__b", json!(3), Access::unknown()),
        ("recall", json!({"query": "x"}), Access::nothing()),
        ("memory", json!({"action": "search", "query": "x"}), Access::nothing()),
        ("memory", json!({"action": "add", "text": "x"}), Access::noting()),
        ("memory", json!({"action": "add", "text": "x", "scope": "user"}), Access::unknown()),
        ("memory", json!({"action": "forget", "id": "p1"}), Access::unknown()),
    ] {
        assert_eq!(declared(tool, input.clone()), Ok(expected), "{tool} {input}");
    }
}

#[test]
fn what_is_not_understood_is_not_guessed() {
    for (tool, input, why) in [
        ("bash", json!({"cmd": "ls"}), "no property `cmd`"),
        ("bash", json!({"command": "ls", "cwd": "/"}), "no property `cwd`"),
        ("bash", json!({"command": ["ls"]}), "`command` must be a string"),
        ("bash", json!("ls"), "must be an object"),
        ("bash", json!({}), "`command` is missing"),
        ("read", json!({"path": "a", "file_path": "b"}), "`file_path` is given twice"),
        ("read", json!({"path": ""}), "the path is not valid"),
        ("read", json!({"path": "a\u{0}b"}), "the path is not valid"),
        ("read", json!({"path": "~/x"}), "not expanded"),
        ("grep", json!({"pattern": "x", "path": "~"}), "not expanded"),
        ("glob", json!({"pattern": "~/*"}), "it is unclear where"),
        ("glob", json!({"pattern": "{/etc,a}/*"}), "it is unclear where"),
        ("edit", json!({"path": "a"}), "`old_string` is missing"),
        ("grep", json!({"pattern": "x", "path": 3}), "`path` must be a string"),
        ("glob", json!({"pattern": "*/../../etc/*"}), "leads to a parent"),
        ("glob", json!({"pattern": "{a,../../b}/*"}), "leads to a parent"),
        ("webfetch", json!({"url": "https://docs.rs@evil.example/"}), "host is not known"),
        ("webfetch", json!({"url": "file:///etc/passwd"}), "host is not known"),
        ("webfetch", json!({"url": "https://docs.rs", "to": "x"}), "no property `to`"),
        ("memory", json!({"action": "forget"}), "is missing"),
        ("frobnicate", json!({}), "no tool frobnicate"),
    ] {
        let said = declared(tool, input.clone()).unwrap_err();
        assert!(said.contains(why), "{tool} {input}: {said}");
    }
}

/// What rules, the screen and compaction go by is written in each tool's own file; here it is held against its schema.
#[test]
fn what_a_tool_declares_fits_its_schema() {
    for (listed, spec) in SPECS.iter() {
        let (name, facts) = (listed.name, listed.facts);
        let properties = spec.input_schema["properties"].as_object().unwrap();
        let (inputs, list) = match facts.subject {
            ostler_core::tool_facts::Subject::Inputs(names) => (names, None),
            ostler_core::tool_facts::Subject::Count { input, .. } => (&[][..], Some(input)),
        };
        let named = inputs.iter().copied().chain(list);
        let named = named.chain(facts.files.iter().map(|file| file.input));
        let named = named.chain(facts.aliases.iter().map(|(_, long)| *long));
        let named = named.chain(facts.sample.iter().map(|(input, _)| *input));
        for input in named {
            assert!(properties.contains_key(input), "{name} has no input {input}");
        }
        for (short, _) in facts.aliases {
            assert!(!properties.contains_key(*short), "{name}: {short} means something already");
        }
        assert_ne!(facts.kind, ToolKind::Undeclared, "{name} does not say what it does");
        let writes = facts.files.iter().any(|file| file.writes);
        assert_eq!(writes, facts.kind == ToolKind::Edits, "{name}");
        assert_eq!((spec.name.as_str(), spec.facts), (name, facts));
    }
}

/// The words of the rule language are tools of the kind they stand for.
#[test]
fn the_words_of_rules_are_tools() {
    use ostler_core::permission::{COMMANDS, READING};
    let known = crate::known_tools();
    assert_eq!(known.kind(COMMANDS), ToolKind::Runs);
    assert_eq!(known.kind(READING), ToolKind::Reads);
    assert_eq!(known.kind(ostler_core::permission::rule::CHANGING), ToolKind::Edits);
    let names: Vec<&str> = known.names().collect();
    assert!(names.is_sorted(), "{names:?}");
}
