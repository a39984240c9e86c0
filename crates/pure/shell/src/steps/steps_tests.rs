//! Texts and the steps they become, and the examples of the tables.

use super::notation_tests::shown;
use super::{steps, writers};
use crate::table;
use ostler_policy::{Effect, Position};

fn check(table: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (text, expected) in table {
        let found = steps(text);
        if shown(&found) != *expected || !found.doubts.is_empty() {
            let found = shown(&found).join("\n  ") + "\n  doubts: " + &found.doubts.join("; ");
            wrong.push(format!("{text}\n  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn forms() -> impl Iterator<Item = &'static table::Program> {
    table::git_refs::FORMS.iter().map(|(_, program)| program)
}

#[test]
fn examples_hold() {
    let mut wrong = Vec::new();
    for program in table::programs().chain(table::git_subcommands()).chain(forms()) {
        assert!(!program.matches.is_empty() && !program.misses.is_empty(), "{}", program.name);
        for text in program.matches.iter().filter(|text| !steps(text).only_reads()) {
            wrong.push(format!("{text:?} should only read: {:?}", shown(&steps(text))));
        }
        for text in program.misses.iter().filter(|text| steps(text).only_reads()) {
            wrong.push(format!("{text:?} should not be known to be read-only"));
        }
    }
    for program in writers::PROGRAMS {
        let writes = |text: &str| {
            let found = steps(text);
            let known = |effect: &Effect| matches!(effect, Effect::Writes | Effect::Reads);
            found.doubts.is_empty() && found.steps.iter().all(|step| known(&step.effect))
        };
        for text in program.matches.iter().filter(|text| !writes(text)) {
            wrong.push(format!("{text:?} should write: {:?}", shown(&steps(text))));
        }
        for text in program.misses.iter().filter(|text| writes(text)) {
            wrong.push(format!("{text:?} should not be known"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_unique() {
    let all = table::programs().chain(writers::PROGRAMS);
    let mut names: Vec<_> = all.map(|program| program.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_position() {
    check(&[
        ("ls; pwd", &["ls = reads ./", "pwd = reads"]),
        ("{ ls; } > out", &["ls = reads ./", " = writes >:out"]),
        (
            "if test -d a; then ls b; elif [ -f c ]; then pwd; else true; fi",
            &[
                "test -d a = reads a",
                "ls b = reads b/",
                "[ -f c ] = reads c",
                "pwd = reads",
                "true = reads",
            ],
        ),
        ("while read -r x; do pwd; done < f", &["read -r x = reads", "pwd = reads", " = reads f"]),
        ("case a in b) ls;; *) pwd;; esac", &["ls = reads ./", "pwd = reads"]),
        ("x=1", &[" = nothing"]),
        ("MAKEFLAGS=x", &[" = nothing"]),
        ("> f", &[" = writes >:f"]),
        ("time ls", &["ls = reads ./"]),
    ]);
    let positions = |text: &str| -> Vec<Position> {
        steps(text).steps.iter().map(|step| step.position).collect()
    };
    use Position::{Background, Conditional, Function, Plain, Wrapped};
    assert_eq!(positions("ls; pwd & true"), [Plain, Background, Plain]);
    assert_eq!(positions("if ls; then pwd; fi; f() { ls; }"), [Conditional, Conditional, Function]);
    assert_eq!(positions("timeout 1 nice ls"), [Plain, Wrapped, Wrapped]);
    assert_eq!(positions("for i in 1; do eval 'ls'; done"), [Conditional, Wrapped]);
}

#[test]
fn folders() {
    check(&[
        ("cd src && ls", &["cd src = reads", "ls = reads ./ in src"]),
        ("cd src || exit 1; ls", &["cd src = reads", "exit 1 = reads", "ls = reads ./ in src"]),
        ("cd src || ls", &["cd src = reads", "ls = reads ./"]),
        (
            "cd a && cd ../b && ls",
            &["cd a = reads", "cd ../b = reads in a", "ls = reads ./ in a,../b"],
        ),
        ("(cd a && ls); ls", &["cd a = reads", "ls = reads ./ in a", "ls = reads ./"]),
        (
            "cd a && pwd | ls && ls",
            &["cd a = reads", "pwd = reads in a", "ls = reads ./ in a", "ls = reads ./ in a"],
        ),
        ("for i in 1 2; do ls; cd a; done", &["ls = reads ./ in ?", "cd a = reads in ?"]),
        ("cd && ls", &["cd = reads", "ls = reads ./ in ~"]),
        ("cd '~' && ls", &["cd ~ = reads", "ls = reads ./ in ./~"]),
        ("cd - && ls", &["cd - = unknown !", "ls = reads ./ in ?"]),
        ("cd -P a && ls", &["cd -P a = unknown !", "ls = reads ./ in ?"]),
        (
            "builtin cd a && ls",
            &["builtin cd a = hands over", "0> cd a = reads", "ls = reads ./ in a"],
        ),
        (
            "bash -c 'cd a' && ls",
            &["bash -c cd a = hands over", "0> cd a = reads", "ls = reads ./"],
        ),
        ("env -C a ls", &["env -C a ls = hands over", "0> ls = reads ./ in a"]),
        ("git -C a rev-parse HEAD", &["git rev-parse HEAD = reads in a"]),
        ("git -C a diff --stat b -- c", &["git diff --stat b -- c = reads c/** in a"]),
    ]);
}

#[test]
fn wrappers() {
    check(&[
        (
            "timeout -k 5 -s KILL 10 ls",
            &["timeout -k 5 -s KILL 10 ls = hands over", "0> ls = reads ./"],
        ),
        ("timeout -s9 10 ls", &["timeout -s9 10 ls = hands over", "0> ls = reads ./"]),
        ("LC_ALL=C env LANG=C ls", &["env LANG=C ls = hands over", "0> ls = reads ./"]),
        ("env A=1 ls", &["env A=1 ls = unknown $A", "0> ls = reads ./"]),
        ("env -u A ls", &["env -u A ls = unknown $A", "0> ls = reads ./"]),
        ("env -i ls", &["env -i ls = unknown", "0> ls = reads ./"]),
        ("env -iu A ls", &["env -iu A ls = unknown $A", "0> ls = reads ./"]),
        ("env -v0 ls", &["env -v0 ls = unknown", "0> ls = reads ./"]),
        ("env --ignore-env ls", &["env --ignore-env ls = unknown", "0> ls = reads ./"]),
        ("env -Ca ls", &["env -Ca ls = hands over", "0> ls = reads ./ in a"]),
        ("timeout --sig=KILL 5 ls", &["timeout --sig=KILL 5 ls = hands over", "0> ls = reads ./"]),
        ("nice --5 ls", &["nice --5 ls = hands over", "0> ls = reads ./"]),
        ("/usr/bin/time -o f ls", &["time -o f ls = unknown", "0> ls = reads ./"]),
        ("exec -la x ls", &["exec -la x ls = unknown !", "0> ls = reads ./"]),
        (
            "xargs --replace ls {}",
            &["xargs --replace ls {} = unknown", "0> ls <each word that xargs reads> = unknown !"],
        ),
        ("command -v ls", &["command -v ls = reads"]),
        ("command -p ls", &["command -p ls = hands over", "0> ls = reads ./"]),
        (
            "sudo -u root A=1 rm -rf x",
            &["sudo -u root A=1 rm -rf x = unknown", "0> rm -rf x = writes w:x/**"],
        ),
        (
            "find . -exec rm -r {} + -exec ls ';'",
            &[
                "find . -exec rm -r {} + -exec ls ; = unknown ./ !2 !7",
                "0> rm -r <each file that find finds> = unknown !",
                "0> ls = reads ./",
            ],
        ),
        (
            "find a b -newer c -name '*.rs' -print0",
            &["find a b -newer c -name *.rs -print0 = reads a/ b/ c"],
        ),
        (
            "xargs -n 1 -I % mv % b",
            &[
                "xargs -n 1 -I % mv % b = unknown",
                "0> mv <each word that xargs reads> b = unknown w:b w:b(glob) !",
            ],
        ),
        ("timeout 5 ls > out", &["timeout 5 ls = writes >:out", "0> ls = reads ./"]),
        ("su bob -c 'ls a'", &["su bob -c ls a = unknown", "0> ls a = reads a/"]),
        ("git status", &["git status = reads"]),
        (
            "timeout 5 git status",
            &["timeout 5 git status = hands over", "0> git status = unknown !"],
        ),
        ("/usr/bin/git diff", &["git diff = unknown (all of git) !"]),
        (
            "bash -c 'git rev-parse HEAD'",
            &["bash -c git rev-parse HEAD = hands over", "0> git rev-parse HEAD = reads"],
        ),
        ("eval 'git status'", &["eval git status = hands over", "0> git status = reads"]),
    ]);
    for text in [
        "timeout --weird 5 ls",
        "env --weird ls",
        "env --i ls",
        "timeout --version5 5 ls",
        "nice -x ls",
        "bash --weird -c ls",
        "strace --x ls",
        "env $x ls",
    ] {
        let found = steps(text);
        assert!(!found.doubts.is_empty() && !found.steps[0].transparent, "{text}");
    }
}

#[test]
fn shells() {
    check(&[
        (
            "bash -euo pipefail -c 'ls; pwd' x",
            &["bash -euo pipefail -c ls; pwd x = hands over", "0> ls = reads ./", "0> pwd = reads"],
        ),
        ("bash -xc ls", &["bash -xc ls = unknown !", "0> ls = reads ./"]),
        ("bash -ic ls", &["bash -ic ls = unknown !", "0> ls = reads ./"]),
        ("zsh -c ls", &["zsh -c ls = unknown !", "0> ls = reads ./"]),
        ("bash x.sh a", &["bash x.sh a = unknown run:x.sh !1"]),
        ("bash < x.sh", &["bash = unknown run:x.sh x.sh !"]),
        ("bash <<'E'\nls\nE", &["bash = hands over", "0> ls = reads ./"]),
        (
            "timeout 5 bash <<< 'ls'",
            &["timeout 5 bash = hands over", "0> bash = hands over", "1> ls = reads ./"],
        ),
        ("bash --version", &["bash --version = reads"]),
        ("trap 'ls' EXIT", &["trap ls EXIT = unknown", "0> ls = reads ./ in ?"]),
        ("trap - EXIT", &["trap - EXIT = unknown"]),
        ("./x a", &["./x a = unknown run:./x"]),
        ("/opt/x/bin/ls", &["/opt/x/bin/ls = unknown run:/opt/x/bin/ls"]),
        ("/usr/local/bin/ls", &["ls = reads ./"]),
        ("/usr/bin/../../bin/./ls", &["ls = reads ./"]),
        ("/usr/bin/../../tmp/ls", &["/usr/bin/../../tmp/ls = unknown run:/usr/bin/../../tmp/ls"]),
    ]);
    for text in [
        "ls | bash",
        "bash",
        "bash -s",
        "eval $x",
        "bash -c \"$x\"",
        ". <(ls)",
        "source $x",
        "$x",
        "*",
        "bash $x",
        "eval eval 'ls $('",
    ] {
        assert!(!steps(text).doubts.is_empty(), "{text}");
    }
    let deep = "eval ".repeat(40) + "ls";
    assert!(!steps(&deep).doubts.is_empty());
    assert!(steps(&("eval ".repeat(10) + "ls")).only_reads());
    assert!(!steps(&("nice ".repeat(40) + "ls")).doubts.is_empty());
}

#[test]
fn what_changes_other_names() {
    check(&[
        ("f() { ls; }; f", &["ls = reads ./ in ?", "f = unknown in ? !"]),
        (
            "ls; MAKEFLAGS=x; echo a",
            &["ls = unknown ./ $MAKEFLAGS !", " = nothing", "echo a = reads"],
        ),
        ("x=1; ls", &[" = nothing", "ls = reads ./"]),
        ("http_proxy=x; ls", &[" = nothing", "ls = unknown ./ $http_proxy !"]),
        ("export LC_ALL=C; ls", &["export LC_ALL=C = reads", "ls = reads ./"]),
        ("set -euo pipefail; ls", &["set -euo pipefail = reads", "ls = reads ./"]),
        ("set -- a; ls", &["set -- a = unknown !", "ls = unknown ./ !"]),
        (
            "bash -c 'alias ls=x'; ls",
            &[
                "bash -c alias ls=x = unknown !",
                "0> alias ls=x = unknown !",
                "1> x = unknown !",
                "ls = unknown ./ !",
            ],
        ),
        ("FOO=1 timeout 5 ls", &["timeout 5 ls = unknown $FOO", "0> ls = reads ./"]),
        ("TZ=/etc/x ls", &["ls = unknown ./ $TZ"]),
    ]);
}

#[test]
fn redirections() {
    check(&[
        ("ls > a 2> b", &["ls = writes ./ >:a >:b"]),
        ("ls >& a", &["ls = writes ./ >:a"]),
        ("ls 2>&1 >/dev/null", &["ls = reads ./"]),
        ("cat < a", &["cat = reads a"]),
        ("cat < '~/x'", &["cat = reads ./~/x"]),
        ("ls > a*", &["ls = unknown ./ >:a*(glob) !"]),
        ("ls >&3", &["ls = unknown ./ !"]),
        ("ls < /dev/udp/h.example/53", &["ls = unknown ./ @h.example !"]),
        ("ls > /dev/sda", &["ls = ruin ./"]),
        ("nice ls > /dev/sda", &["nice ls = ruin", "0> ls = reads ./"]),
        ("ls > /dev/pts/1", &["ls = unknown ./ >:/dev/pts/1 !"]),
        ("cat <<< x", &["cat = reads"]),
    ]);
}

#[test]
fn ruin() {
    let ruins = |text: &str| steps(text).steps.iter().any(|s| matches!(s.effect, Effect::Ruin(_)));
    for text in [
        "rm -rf /",
        "rm -r /usr/..",
        "rm -rf -- /",
        "rm --rec /",
        "rm -fR //",
        "rm -rf /* x",
        "cd / && rm -rf *",
        "cd / && rm -rf .",
        "chmod -R 777 /",
        "chown -R x /",
        "mkfs.ext4 x",
        "mkfs /dev/sda",
        "dd if=a of=/dev/sda",
        "wipefs /dev/nvme0n1",
        "x=1; rm -rf / &",
        "find . -exec rm -rf / ';'",
        "cd && rm -rf *",
        "/bin/rm -rf /",
        "echo `ls`; rm -rf /",
        "bash -c 'cd / && rm -rf ./*'",
    ] {
        assert!(ruins(text), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "rm -rf .",
        "rm -rf ..",
        "rm /",
        "rm -rf build",
        "rm -rf /tmp/x",
        "ls -R /",
        "rm -rf -- -r",
        "rm -f /x",
        "dd of=/dev/null",
        "grep -r 'rm -rf /' .",
        "echo rm -rf /",
        "rm -rf '~'",
        "cd /tmp && rm -rf *",
        "rm -rf ./*",
    ] {
        assert!(!ruins(text), "{text}");
    }
}

#[test]
fn pipes() {
    let pipes = |text: &str| steps(text).pipes;
    assert_eq!(pipes("ls; pwd"), Vec::<Vec<Vec<usize>>>::new());
    assert_eq!(pipes("ls | sort | uniq"), [[[0], [1], [2]]]);
    assert_eq!(pipes("pwd; { ls; pwd; } | timeout 5 sort"), [[[1, 2], [3, 4]]]);
    assert_eq!(
        pipes("(ls | sort) | uniq"),
        vec![vec![vec![0], vec![1]], vec![vec![0, 1], vec![2]]]
    );
}

#[test]
fn doubts_and_suspects() {
    for text in [
        "",
        "  ",
        "# x",
        "echo $((x))",
        "while true; do ls; done",
        "until false; do ls; done",
        "a[x]=1",
    ] {
        assert!(!steps(text).doubts.is_empty(), "{text}");
    }
    let long = format!("ls {}", "a".repeat(10_000));
    assert_eq!(steps(&long).doubts, ["it is too long to be allowed without asking"]);
    assert!(steps("ls").suspects.is_empty());
    let suspects = steps("eval \"$x\"; s'u'do 'id -u'; ls {a,rm}").suspects;
    for word in ["sudo", "id", "-u", "rm", "eval", "id -u"] {
        assert!(suspects.iter().any(|suspect| suspect == word), "{word}: {suspects:?}");
    }
    let opaque = steps("ls\rsudo 'id");
    assert!(opaque.steps.is_empty() && opaque.suspects.contains(&"sudo".to_owned()));
}
