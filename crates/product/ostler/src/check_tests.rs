//! Cases by the text alone; what is not understood is never allowed.

use super::*;
use serde_json::json;

fn verdict(case: Value) -> (Verdict, String) {
    let case: Case = serde_json::from_value(case).unwrap();
    let decision = check(&case);
    (decision.verdict, decision.why())
}

#[test]
fn what_cannot_be_judged_asks() {
    let all = json!({"default": "ask", "allow": ["Bash", "Read", "WebFetch", "mcp__a"]});
    for (tool, input, rules) in [
        ("bash", json!({"cmd": "ls"}), &all),
        ("bash", json!({"command": "ls", "cwd": "/"}), &all),
        ("bash", json!(["ls"]), &all),
        ("read", json!({"path": ""}), &all),
        ("webfetch", json!({"url": "https://docs.rs@evil.example/"}), &all),
        ("webfetch", json!({"url": "file:///etc/passwd"}), &all),
        ("frobnicate", json!({}), &all),
        ("read", json!({"path": "a"}), &json!("nonsense")),
        ("read", json!({"path": "a"}), &json!(null)),
        ("read", json!({"path": "a"}), &json!({"allow": [3]})),
        ("read", json!({"path": "a"}), &json!({"always_allow": [{"pattern": "("}]})),
        ("read", json!({"path": "a"}), &json!({"alow": ["Read"]})),
    ] {
        let (verdict, why) = verdict(json!({"tool": tool, "input": input, "rules": rules}));
        assert_eq!(verdict, Verdict::Ask, "{tool} {input} {rules}: {why}");
    }
}

#[test]
fn a_deny_rule_on_the_tool_holds_for_any_input() {
    let rules = json!({"deny": ["Bash"]});
    let case = json!({"tool": "BASH", "input": {"cmd": 3}, "rules": rules});
    assert_eq!(verdict(case).0, Verdict::Deny);
}

#[test]
fn folders_are_as_given() {
    let read = |cwd: &str, roots: Value, path: &str| {
        let case = json!({
            "tool": "read", "input": {"path": path}, "rules": "seed", "cwd": cwd, "roots": roots,
            "home": "/home/x",
        });
        verdict(case).0
    };
    assert_eq!(read("/no/a", Value::Null, "b"), Verdict::Allow);
    assert_eq!(read("/no/a", Value::Null, "/no/b"), Verdict::Ask);
    assert_eq!(read("/no/a", json!(["/no"]), "/no/b"), Verdict::Allow);
    assert_eq!(read("/no/a", json!(["/no/b"]), "c"), Verdict::Ask);
}

/// Where the directory is here, what it holds counts: a link leads where it leads.
#[test]
fn a_folder_that_is_here_is_looked_at() {
    let world = tempfile::tempdir().unwrap();
    let ws = world.path().canonicalize().unwrap().join("ws");
    std::fs::create_dir(&ws).unwrap();
    std::fs::write(ws.join("plain"), "").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", ws.join("link")).unwrap();
    let given = world.path().join("given");
    std::os::unix::fs::symlink(&ws, &given).unwrap();
    let read = |cwd: &std::path::Path, tool: &str, input: Value| {
        let case = json!({"tool": tool, "input": input, "rules": "default", "cwd": cwd});
        verdict(case)
    };
    for cwd in [&ws, &given] {
        assert_eq!(read(cwd, "read", json!({"path": "plain"})).0, Verdict::Allow);
        assert_eq!(read(cwd, "read", json!({"path": "link"})).0, Verdict::Ask);
        assert_eq!(read(cwd, "bash", json!({"command": "cat plain"})).0, Verdict::Allow);
        assert_eq!(read(cwd, "bash", json!({"command": "cat link"})).0, Verdict::Ask);
    }
}
