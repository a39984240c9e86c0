//! The contract for git, tried on a repository whose configuration runs programs wherever it can.

use ostler_shell::{GIT_OVERRIDES, GIT_PRELUDE, steps};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything git is known to start while it only reads. The clean filter is what cannot be switched off.
const TRAPS: &str = r#"
git init -q . && git config user.email a@b.c && git config user.name n
printf 'a\n' > f.txt; printf 'a\n' > g.bin; printf '*.bin diff=conv\n*.txt diff=drive\n' > .gitattributes
git add . && git commit -qm one
printf 'b\n' >> f.txt; printf 'b\n' >> g.bin; git commit -qam two; printf 'c\n' >> f.txt; printf 'c\n' >> g.bin
signed=$(git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----' | git hash-object -t commit -w --stdin)
git reset -q --soft "$signed"
trap_for() { printf '#!/bin/sh\ntouch "%s/ran-%s"\ncat "$1" 2>/dev/null\nexit 0\n' "$PWD" "$1" > "trap-$1"; chmod +x "trap-$1"; echo "$PWD/trap-$1"; }
# What git hands to a shell, also where the folder's name has a space.
line_for() { echo "'$(trap_for "$1")'"; }
git config diff.conv.textconv "$(line_for textconv)"
git config diff.drive.command "$(line_for driver)"
git config diff.external "$(line_for external)"
git config core.pager "$(line_for pager)"
git config pager.log "$(line_for pager-log)"
git config gpg.program "$(trap_for gpg)"
git config log.showSignature true
mkdir -p hooks && cp "$(trap_for hook)" hooks/post-index-change && git config core.hooksPath hooks
git config core.fsmonitor "$(line_for fsmonitor)"
"#;

const READS: &[&str] = &[
    "git status",
    "git status -s",
    "git diff",
    "git diff HEAD~1 HEAD",
    "git log -p -2",
    "git log -1 --format=%h",
    "git show",
    "git show --stat",
    "git -P diff",
    "git -C . log -p -1",
    "git --no-pager -C . show",
    "git blame g.bin",
    "git grep b",
    "git branch -vv",
    "git cat-file -p HEAD:g.bin",
    "git describe --always",
    "git cherry HEAD",
    "git log -L 1,1:f.txt",
    "git config list",
    "git shortlog -sn HEAD",
    "git reflog",
];

fn bash(dir: &Path, script: &str, env: &[(&str, &str)]) -> String {
    let mut command = Command::new("bash");
    command
        .args(["--norc", "--noprofile", "-c", script])
        .current_dir(dir)
        .envs(env.iter().copied());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().expect("bash and git are needed for this test");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::remove_dir_all(&dir).ok();
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn ran(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut ran: Vec<_> = names.filter(|name| name.starts_with("ran-")).collect();
    ran.sort();
    for name in &ran {
        std::fs::remove_file(dir.join(name)).unwrap();
    }
    ran
}

#[test]
fn under_the_contract_git_runs_nothing() {
    let dir = folder("git-traps");
    let setup = bash(&dir, TRAPS, &[]);
    ran(&dir);
    for text in READS {
        bash(&dir, text, &[]);
    }
    let without = ran(&dir);
    for trap in ["ran-external", "ran-fsmonitor", "ran-gpg", "ran-textconv"] {
        assert!(
            without.iter().any(|name| name == trap),
            "the trap {trap} does not work: {without:?} {setup}"
        );
    }
    for text in READS {
        assert!(steps(text).only_reads() && steps(text).runs_git(), "{text}");
        let output = bash(&dir, &format!("{GIT_PRELUDE}{text}\n"), GIT_OVERRIDES);
        assert_eq!(ran(&dir), [""; 0], "{text}");
        assert!(!output.contains("fatal:") && !output.contains("error:"), "{text}: {output}");
    }
    let shown = bash(
        &dir,
        &format!("{GIT_PRELUDE}git diff; git log --oneline; git status -s"),
        GIT_OVERRIDES,
    );
    for part in ["+c", "two", " M f.txt"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn no_transport_is_left() {
    let dir = folder("git-transport");
    bash(&dir, "git init -q a", &[]);
    let output = bash(&dir, "git ls-remote \"file://$PWD/a\"", GIT_OVERRIDES);
    assert!(output.contains("not allowed"), "{output}");
}

#[test]
fn the_prelude_keeps_words_and_status() {
    let dir = folder("git-prelude");
    let script = format!(
        "{GIT_PRELUDE}command() {{ printf '<%s>' \"$@\"; return 3; }}\ngit log 'a b' \"\" -- '*'; echo \" $?\"; git status; git"
    );
    let output = bash(&dir, &script, &[]);
    assert_eq!(
        output,
        "<git><log><--no-ext-diff><--no-textconv><--ignore-submodules=dirty><a b><><--><*> 3\n<git><status><--ignore-submodules=dirty><git>"
    );
}

#[test]
fn overrides_are_counted() {
    let count = GIT_OVERRIDES
        .iter()
        .find(|(name, _)| *name == "GIT_CONFIG_COUNT")
        .unwrap()
        .1
        .parse::<usize>()
        .unwrap();
    for index in 0..count {
        for part in ["KEY", "VALUE"] {
            let name = format!("GIT_CONFIG_{part}_{index}");
            assert_eq!(
                GIT_OVERRIDES.iter().filter(|(known, _)| *known == name).count(),
                1,
                "{name}"
            );
        }
    }
    assert_eq!(
        GIT_OVERRIDES.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY")).count(),
        count
    );
}
