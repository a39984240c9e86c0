//! What git makes by itself is left alone; what would run something is found. Git itself is the judge where it can be.

use super::*;
use std::process::Command;

fn git(folder: &Path, words: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(words).current_dir(folder).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent");
    command.output().unwrap().status.success()
}

#[test]
fn ordinary_repositories_run_nothing() {
    let world = tempfile::tempdir().unwrap();
    let at = |name: &str| world.path().join(name);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
    assert!(git(world.path(), &["init", "-q", "one"]));
    let commit = [&identity[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat();
    assert!(git(&at("one"), &commit));
    let address = at("one").display().to_string();
    for words in [
        &["clone", "-q", &address, "two"][..],
        &["clone", "-q", "--bare", &address, "bare.git"],
        &["clone", "-q", "--depth=1", "--filter=blob:none", "--sparse", &address, "sparse"],
        &["init", "-q", "--separate-git-dir", "elsewhere", "three"],
    ] {
        assert!(git(world.path(), words), "{words:?}");
    }
    assert!(git(&at("one"), &["worktree", "add", "-q", "../linked"]));
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", &address, "sub"];
    assert!(git(&at("two"), &add));
    for folder in [
        "one/.git",
        "two/.git",
        "two/.git/modules/sub",
        "bare.git",
        "sparse/.git",
        "elsewhere",
        "one/.git/worktrees/linked",
    ] {
        assert!(is_repository(&at(folder)), "{folder}");
        assert_eq!(runs(&at(folder), &[]), Vec::<String>::new(), "{folder}");
    }
    assert_eq!(led_to(&at("linked/.git")), at("one/.git/worktrees/linked").canonicalize().ok());
    assert!(!is_repository(&at("two")) && !is_repository(&at("one/.git/refs")));
}

#[test]
fn settings_that_run_something_are_found() {
    let world = tempfile::tempdir().unwrap();
    let folder = world.path();
    for (config, expected) in [
        ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
        ("[core]\n\thooksPath = h\n", "core.hookspath"),
        ("[core]\n\tsshCommand = x\n", "core.sshcommand"),
        ("[core]\n\tpager = x\n", "core.pager"),
        ("[core]\n\teditor = x\n", "core.editor"),
        ("[core]\n\talternateRefsCommand = x\n", "core.alternaterefscommand"),
        ("[diff]\n\texternal = x\n", "diff.external"),
        ("[diff \"a\"]\n\ttextconv = x\n", "diff.a.textconv"),
        ("[filter \"a\"]\n\tclean = x\n", "filter.a.clean"),
        ("[filter \"lfs\"]\n\tclean = git-lfs clean -- %f; x\n", "filter.lfs.clean"),
        ("[merge \"a\"]\n\tdriver = x\n", "merge.a.driver"),
        ("[alias]\n\tst = !x\n", "alias.st"),
        ("[include]\n\tpath = x\n", "include.path"),
        ("[includeIf \"gitdir:/\"]\n\tpath = x\n", "includeif.gitdir:/.path"),
        ("[credential]\n\thelper = x\n", "credential.helper"),
        (
            "[credential \"https://a.example\"]\n\thelper = !x\n",
            "credential.https://a.example.helper",
        ),
        ("[gpg \"ssh\"]\n\tprogram = x\n", "gpg.ssh.program"),
        ("[hook \"x\"]\n\tcommand = x\n\tevent = pre-commit\n", "hook.x.command"),
        ("[remote \"o\"]\n\turl = ext::x\n", "remote.o.url"),
        ("[remote \"o\"]\n\tuploadpack = x\n", "remote.o.uploadpack"),
        ("[submodule \"o\"]\n\tupdate = !x\n", "submodule.o.update"),
        ("[url \"ext::x \"]\n\tinsteadOf = https://\n", "url.ext::x .insteadof"),
        ("[sequence]\n\teditor = x\n", "sequence.editor"),
        ("[pager]\n\tlog = x\n", "pager.log"),
        ("[trailer \"a\"]\n\tcmd = x\n", "trailer.a.cmd"),
        ("[lfs \"customtransfer.x\"]\n\tpath = x\n", "lfs.customtransfer.x.path"),
        // Forms that are not read: git would.
        ("[core] fsmonitor = x\n", "config, which cannot be read with certainty"),
        ("[core]fsmonitor=x]\n", "config, which cannot be read with certainty"),
        ("[core]\n\tbare = false\\\n\n[core]\n", "config, which cannot be read with certainty"),
        ("[core \"a\\\"b\"]\n\tx = y\n", "config, which cannot be read with certainty"),
        ("\u{0}", "config, which cannot be read with certainty"),
    ] {
        fs::write(folder.join("config"), config).unwrap();
        assert_eq!(runs(folder, &[]).first().map(String::as_str), Some(expected), "{config}");
    }
    for config in [
        "[core]\n\tfsmonitor = true\n\tignorecase = true\n",
        "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n",
        "[credential]\n\thelper = \n",
        "[submodule \"a\"]\n\turl = https://a.example/x\n\tactive = true\n",
        "[http \"https://a.example\"]\n\textraheader = x\n",
        "[pull]\n\trebase = true\n[pager]\n\tlog = false\n[gitflow \"branch\"]\n\tmaster = main\n",
    ] {
        fs::write(folder.join("config"), config).unwrap();
        assert_eq!(runs(folder, &[]), Vec::<String>::new(), "{config}");
    }
}

#[test]
fn hooks_count_if_git_would_run_them() {
    let world = tempfile::tempdir().unwrap();
    let hooks = world.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let hook = |name: &str, text: &str, mode: u32| {
        fs::write(hooks.join(name), text).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let lfs = |name: &str, more: &str| {
        format!(
            "#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || {{ printf >&2 \"\\n%s\\n\\n\" \"This repository is \
             configured for Git LFS (usually '.git/hooks').{more}\"; exit 2; }}\ngit lfs {name} \"$@\"\n"
        )
    };
    hook("pre-commit.sample", "x", 0o755);
    hook("pre-commit", "x", 0o644);
    hook("post-checkout", &lfs("post-checkout", ""), 0o755);
    assert_eq!(runs(world.path(), &[]), Vec::<String>::new());
    hook("post-merge", &lfs("post-merge", "$(evil)"), 0o755);
    hook("pre-push", &lfs("post-merge", ""), 0o755);
    hook("update", "#!/bin/sh\n", 0o755);
    std::os::unix::fs::symlink("/bin/true", hooks.join("pre-rebase")).unwrap();
    let found = runs(world.path(), &[]);
    assert_eq!(found, ["hooks/post-merge", "hooks/pre-push", "hooks/pre-rebase", "hooks/update"]);
    let known = world.path().canonicalize().unwrap();
    assert_eq!(runs(&known, std::slice::from_ref(&known)), Vec::<String>::new());
}

#[test]
fn what_is_quarantined_is_no_repository_and_can_be_taken_back() {
    let world = tempfile::tempdir().unwrap();
    let at = |name: &str| world.path().join(name);
    assert!(git(world.path(), &["init", "-q", "outer"]));
    assert!(git(world.path(), &["init", "-q", "outer/inner"]));
    let top = |folder: &str| {
        let mut command = Command::new("git");
        command.args(["rev-parse", "--show-toplevel"]).current_dir(at(folder));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(top("outer/inner").trim().ends_with("outer/inner"));
    let head = at("outer/inner/.git/HEAD");
    fs::write(at("outer/inner/.git/HEAD.quarantined-1"), "from before").unwrap();
    let aside = quarantine(&head).unwrap();
    assert_eq!(aside, at("outer/inner/.git/HEAD.quarantined-2"));
    assert!(top("outer/inner").trim().ends_with("outer"), "git finds the one around it");
    assert!(!is_repository(&at("outer/inner/.git")));
    fs::rename(aside, head).unwrap();
    assert!(top("outer/inner").trim().ends_with("outer/inner"));
    assert!(quarantine(&at("missing")).is_err());
}
