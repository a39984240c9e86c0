//! Protected names ask in every mode, whatever words stand before them.

use crate::workspace;
use ostler::{Decision, Mode, Verdict};
use serde_json::json;

fn decision(command: &str, mode: Mode) -> Decision {
    let workspace = workspace();
    let policy = ostler::rule_set(&json!("default"), &workspace).unwrap();
    ostler::judge("Bash", &json!({ "command": command }), &policy, mode, &workspace).decision
}

fn verdict(command: &str, mode: Mode) -> Verdict {
    decision(command, mode).verdict
}

#[test]
fn under_bypass_protected_names_ask() {
    for command in [
        "rm -rf * .git",
        "rm -f $F .git/hooks/x",
        "rm -f \"$F\" .git/hooks/x",
        "rm --unknown .git/config",
        "rm -rf $D/.git",
        "sed -i s/a/b/ * .git/config",
        "sed -i \"$s\" .git/config",
        "sed --in-place -f x .husky/pre-commit",
        "mv $x .envrc",
        "cp $x .github/workflows/ci.yml",
        "tee $x .vscode/tasks.json < f",
        "touch * .gemini/settings.json",
        "chmod $m .git/hooks/x",
        "ln -s $x .git/hooks/pre-commit",
        "truncate -r $x .git/config",
        "install -m 755 x .git/hooks/y",
        "dd if=x of=.git/hooks/y",
        "perl -pi -e s/a/b/ .git/config",
        "patch .git/config < x",
        "echo x | xargs rm -rf .git",
        "find .git -delete",
        "find . -fprint .git/hooks/x",
    ] {
        assert_ne!(verdict(command, Mode::BypassPermissions), Verdict::Allow, "{command}");
        assert_ne!(verdict(command, Mode::AcceptEdits), Verdict::Allow, "{command}");
    }
}

#[test]
fn under_bypass_ordinary_names_do_not_ask() {
    for command in [
        "rm -rf * build",
        "rm -f $F x",
        "sed -i s/a/b/ * x",
        "cat $F .git/config",
        "grep -r x .github $F",
        "git add .github/workflows/ci.yml",
        "dd if=x of=y",
        "find build -delete",
        "mv $x y",
    ] {
        let found = decision(command, Mode::BypassPermissions);
        assert_eq!(found.verdict, Verdict::Allow, "{command}: {}", found.why());
    }
}
