//! Which file a `git config` changes, and what is harmless.

use crate::steps::steps;
use ostler_policy::Act;

fn written(text: &str) -> Vec<String> {
    let found = steps(text);
    let touches = found.steps.iter().flat_map(|step| &step.touches);
    touches.filter(|touch| touch.act == Act::Write).map(|touch| touch.path.clone()).collect()
}

#[test]
fn the_file_it_changes() {
    let local = Some(".git/config");
    let home = Some("~/.gitconfig");
    for (text, expected) in [
        ("git config core.pager sh", local),
        ("git config core.hooksPath x", local),
        ("git config core.fsmonitor x", local),
        ("git config alias.x '!sh'", local),
        ("git config CORE.SSHCOMMAND x", local),
        ("git config include.path ../x", local),
        ("git config filter.x.clean sh", local),
        ("git config --local core.pager sh", local),
        ("git config --bool core.fsmonitor true", local),
        ("git config --type=path core.editor x", local),
        ("git config --type path core.editor x", local),
        ("git config --add core.pager sh", local),
        ("git config --replace-all core.pager sh", local),
        ("git config --unset core.hooksPath", local),
        ("git config --rename-section a alias", local),
        ("git config --remove-section color", local),
        ("git config --edit", local),
        ("git config -e", local),
        ("git config -ze", local),
        ("git config set core.pager sh", local),
        ("git config set --append core.pager sh", local),
        ("git config unset core.pager", local),
        ("git config edit", local),
        ("git config rename-section a alias", local),
        ("git config --odd user.name x", local),
        ("git config --unset --edit user.name", local),
        ("git config \"$key\" x", local),
        ("git config $x", local),
        ("git config \"$x\"", local),
        ("git config core.pager \"$x\"", local),
        // Options behind a name are values.
        ("git config core.pager --get", local),
        ("git config alias.x --list", local),
        ("git config core.pager --", local),
        ("git config core.pager --global", local),
        ("git -C sub config core.pager sh", local),
        ("git -c a.b=c config core.pager sh", local),
        ("git config --global core.pager sh", home),
        ("git config --globa core.pager sh", home),
        ("git config set --global core.pager sh", home),
        ("git config --global --edit", home),
        ("git config --worktree core.pager sh", Some(".git/config.worktree")),
        ("git config --system core.pager sh", Some("/etc/gitconfig")),
        ("git config -f .gitmodules a.b c", Some(".gitmodules")),
        ("git config -f.gitmodules a.b c", Some(".gitmodules")),
        ("git config --file=.gitmodules user.name c", Some(".gitmodules")),
        ("git config --file .gitmodules user.name c", Some(".gitmodules")),
        ("git config -f ~/.gitconfig user.name c", home),
        ("git config -f \"$x\" user.name c", local),
        ("git config -f .gitmodules a.b", None),
        ("git config core.pager", None),
        ("git config --global core.pager", None),
        ("git config --global -l", None),
        ("git config -f x -zl", None),
        ("git config --global --get core.pager", None),
        ("git config get --global core.pager", None),
        ("git config list --global", None),
        ("git config \"branch.$x.remote\"", None),
        ("git config", None),
    ] {
        assert_eq!(written(text), Vec::from_iter(expected), "{text}");
    }
}

#[test]
fn what_is_harmless() {
    for (setting, harmless) in [
        ("user.name 'A B'", true),
        ("user.Email a@b.example", true),
        ("user.name \"$x\"", true),
        ("user.name $x", false),
        ("user.signingkey x", false),
        ("init.defaultBranch main", true),
        ("init.templateDir x", false),
        ("pull.rebase true", true),
        ("pull.twohead x", false),
        ("push.autoSetupRemote true", true),
        ("push.gpgSign true", false),
        ("branch.main.remote origin", true),
        ("branch.main.remote 'ext::sh -c x'", false),
        ("branch.main.mergeOptions '-s x'", false),
        ("branch.a.b.merge refs/heads/x", true),
        ("color.ui always", true),
        ("commit.verbose true", true),
        ("commit.gpgsign false", false),
        ("commit.template x", false),
        ("rebase.autoStash true", true),
        ("rebase.exec x", false),
        ("core.autocrlf input", true),
        ("core.worktree /", false),
        ("merge.conflictStyle zdiff3", true),
        ("merge.x.driver sh", false),
        ("diff.external sh", false),
        ("remote.origin.url https://x.example/y", true),
        ("remote.origin.url git@x.example:y", true),
        ("remote.origin.url ext::sh", false),
        ("remote.origin.url '!sh'", false),
        ("remote.origin.url \"$x\"", false),
        ("remote.origin.url --upload-pack=x", false),
        ("remote.origin.uploadpack x", false),
        ("remote.origin.vcs ext", false),
        ("remote.url x", false),
        ("username x", false),
        ("colors.ui x", false),
    ] {
        for line in [format!("git config {setting}"), format!("git config set {setting}")] {
            assert_eq!(written(&line).is_empty(), harmless, "{line}");
        }
    }
    assert!(written("git config --global user.name x").is_empty());
    assert!(written("git config --unset user.name").is_empty());
    assert!(written("git config unset --all branch.x.remote").is_empty());
}
