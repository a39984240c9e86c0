//! What holds even where permissions are bypassed: a denied program, however it is named.

use crate::workspace;
use ostler::{Mode, Verdict};
use serde_json::json;

fn verdict(rules: &serde_json::Value, command: &str) -> Verdict {
    let workspace = workspace();
    let policy = ostler::rule_set(rules, &workspace).unwrap();
    let input = json!({ "command": command });
    ostler::judge("Bash", &input, &policy, Mode::BypassPermissions, &workspace).decision.verdict
}

#[test]
fn a_denied_program_is_denied_where_that_is_certain() {
    let rules = json!({ "deny": ["Bash(curl:*)", "Bash(sudo:*)"] });
    for text in [
        "curl x",
        "c\\\nurl x",
        "su\\\ndo id",
        "hash -p /usr/bin/curl x; x",
        "sudoedit x",
        "cat <<E | bash\ncurl x\nE",
        "echo curl x | sh",
        "$(echo curl) x",
        "x=curl; $x y",
    ] {
        assert_eq!(verdict(&rules, text), Verdict::Deny, "{text}");
    }
}

#[test]
fn a_program_that_may_be_a_denied_one_asks() {
    let rules = json!({ "deny": ["Bash(curl:*)"] });
    for text in [
        "c${x}url x",
        "/usr/bin/cur? x",
        "/usr/bin/cu[r]l x",
        "$x y",
        "env $x y",
        "timeout 5 $x y",
        "hash -p $x y; y",
        "BASH_CMDS[x]=/usr/bin/curl; x",
        "if true; then \"$x\" y; fi",
        "echo $($x y)",
    ] {
        assert_eq!(verdict(&rules, text), Verdict::Ask, "{text}");
    }
    // Nothing else asks because of the rule.
    for text in
        ["wget x", "w$x y", "/usr/bin/wge? x", "./x.sh", "echo curl", "for RANDOM in 1; do :; done"]
    {
        assert_eq!(verdict(&rules, text), Verdict::Allow, "{text}");
    }
    // Of what ships, a part of the name must fit.
    let shipped = json!("default");
    assert_eq!(verdict(&shipped, "\"$PYTHON\" x.py"), Verdict::Allow);
    assert_eq!(verdict(&shipped, "s${x}do id"), Verdict::Ask);
    // A rule in the form of permissions.yaml holds, too.
    let rules = json!({ "always_deny": [{ "pattern": "sudo" }] });
    for text in ["s${x}udo id", "/usr/bin/sud? id", "$x id"] {
        assert_eq!(verdict(&rules, text), Verdict::Ask, "{text}");
    }
}
