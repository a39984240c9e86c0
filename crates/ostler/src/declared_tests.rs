//! Inputs of every tool, well-formed and not.

use super::*;
use ostler_core::permission::{Lexical, Workspace};
use serde_json::json;

fn declared(tool: &str, input: Value) -> Result<Access, String> {
    let workspace = Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        ..Workspace::default()
    };
    access(tool_name(tool), &input, &Policy::default(), &Lexical { workspace: &workspace })
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
    ] {
        assert_eq!(declared(tool, input.clone()), Ok(expected), "{tool} {input}");
    }
}

#[test]
fn what_is_not_understood_is_not_guessed() {
    for (tool, input, why) in [
        ("bash", json!({"cmd": "ls"}), "field cmd"),
        ("bash", json!({"command": "ls", "cwd": "/"}), "field cwd"),
        ("bash", json!({"command": ["ls"]}), "command of its input is not a text"),
        ("bash", json!("ls"), "not an object"),
        ("bash", json!({}), "lacks the field command"),
        ("read", json!({"path": "a", "file_path": "b"}), "file_path twice"),
        ("read", json!({"path": ""}), "the path is not one"),
        ("read", json!({"path": "a\u{0}b"}), "the path is not one"),
        ("read", json!({"path": "~/x"}), "not expanded"),
        ("grep", json!({"pattern": "x", "path": "~"}), "not expanded"),
        ("glob", json!({"pattern": "~/*"}), "cannot be told"),
        ("glob", json!({"pattern": "{/etc,a}/*"}), "cannot be told"),
        ("edit", json!({"path": "a"}), "lacks the field old_string"),
        ("grep", json!({"pattern": "x", "path": 3}), "path of its input is not a text"),
        ("glob", json!({"pattern": "*/../../etc/*"}), "climbs"),
        ("glob", json!({"pattern": "{a,../../b}/*"}), "climbs"),
        ("webfetch", json!({"url": "https://docs.rs@evil.example/"}), "host is not known"),
        ("webfetch", json!({"url": "file:///etc/passwd"}), "host is not known"),
        ("frobnicate", json!({}), "no tool frobnicate"),
    ] {
        let said = declared(tool, input.clone()).unwrap_err();
        assert!(said.contains(why), "{tool} {input}: {said}");
    }
}
