//! Commands with a language of their own, and programs that are only known to be dangerous.

use super::notation_tests::shown;
use super::steps;
use ostler_policy::Effect;

fn reads(text: &str) -> bool {
    steps(text).only_reads()
}

#[test]
fn sed() {
    for text in [
        "sed -n 1,20p f",
        "sed 's/a/b/g' f",
        "sed -E 's|a(b)|\\1|I;s/x/y/2p' f",
        "sed '/^$/d' f",
        "sed -e p -e '$d' f",
        "sed '1!G;h;$!d' f",
        "sed -n '/a/,/b/{p;=}' f",
        "sed 'y/abc/def/' f",
        "sed '1a hello; w x' f",
        "sed '$=' f",
        "sed -n '\\,x,p' f",
        "sed ':a;N;$!ba;s/\\n/ /g' f",
        "sed '1~2d' f",
        "sed 10q f",
        "sed -nE 's/a\\/b/c/p' f g",
        "sed '/a/ s/b/c/' f",
        "sed 's/a/\\\n/' f",
        "sed -s -z p f",
        "sed --expression=p f",
        "sed '# x\np' f",
    ] {
        assert!(reads(text), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "sed 's/a/id/e' f",
        "sed 's/a/b/w out' f",
        "sed 's/a/b/ge' f",
        "sed 1e f",
        "sed 'e id' f",
        "sed 'w out' f",
        "sed 'W out' f",
        "sed 'r x' f",
        "sed 'R x' f",
        "sed -f s f",
        "sed --file=s f",
        "sed -n",
        "sed 'v' f",
        "sed '/a/w x' f",
        "sed '{w x\n}' f",
        "sed -e p -e 'w x' f",
        "sed 's/a/b/;w x' f",
        "sed 'y/a/b/w x' f",
        "sed '1{p;e id\n}' f",
        "sed --exp=p f",
        "sed -i 's/a/b/w x' f",
        "sed '/a/Iw x' f",
        "sed 'b;w x' f",
        "sed 'ba}w x' f",
        "sed '1a\\\nx\nw out' f",
        "sed 's/a/b/\nw out' f",
        "sed *",
        "sed p *",
        "sed '{p' f",
        "sed 'sxaxbx' f",
        "sed -n '$!{$!w x' f",
    ] {
        assert!(!reads(text), "{text}");
        assert!(matches!(steps(text).steps[0].effect, Effect::Unknown(_)), "{text}");
    }
    for (text, line) in [
        ("sed -i s/a/b/ f", "sed -i s/a/b/ f = writes w:f !1"),
        ("sed -ni.bak p f g", "sed -ni.bak p f g = writes w:f w:g !1"),
        ("sed -E --in-place p f", "sed -E --in-place p f = writes w:f !2"),
    ] {
        assert_eq!(shown(&steps(text)), [line]);
    }
    assert!(matches!(steps("sed -i../x p f").steps[0].effect, Effect::Unknown(_)));
}

#[test]
fn awk() {
    for text in [
        "awk '{print $1}' f",
        "awk -F: '{print $2}' f",
        "awk -F , -v x=1 '$1==x' f",
        "awk 'NR>10' f",
        "awk '$3 > 5 {print $1}'",
        "awk -F, 'NR>1 {s+=$2} END {print s/NR}' f",
        "awk '/a||b/' f",
        "awk '{s+=$1} END {print s}' f",
        "awk 'NR==1 || NR==3 {print}' f",
        "awk '{printf \"%s\\n\", $1}' f",
    ] {
        assert!(reads(text), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "awk '{print > \"o\"}' f",
        "awk '{print /\"/ > \"o\"}' f",
        "awk 'x\n/}/{print $1 > \"o\"}' f",
        "awk 'NR > 1 && /{/ {print}' f",
        "awk '{if (x) /\"/; print > y /\"/ }' f",
        "awk '{print >> \"o\"}' f",
        "awk '{print | \"sh\"}' f",
        "awk 'BEGIN{system(\"id\")}'",
        "awk '\"id\" | getline' f",
        "awk '{getline < \"x\"}' f",
        "awk '@load \"x\"' f",
        "awk -f p f",
        "awk -i x p f",
        "awk 'BEGIN{print ENVIRON[\"x\"]}'",
        "awk 'BEGIN{ARGV[1]=\"x\"}' f",
        "awk",
        "awk -e p f",
        "awk $x f",
        "awk p a=b",
        "awk '/\"/{print \"}\" > \"out\"}' f",
        "awk '{print \"}\" > \"out\"}' f",
        "awk '{print $1 > $2}' f",
        "awk '{#}\nprint $1 > $2\n}' f",
        "awk --file=x f",
        "awk p -f",
    ] {
        assert!(!reads(text), "{text}");
    }
}

#[test]
fn jq() {
    for text in [
        "jq . f",
        "jq -r '.a[] | .b' f",
        "jq '.env' f",
        "jq --arg a b '.x==$a' f",
        "jq -n 1",
        "jq '.a > 1' f g",
        "jq -cS .",
    ] {
        assert!(reads(text), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "jq env f",
        "jq '$ENV.x' f",
        "jq '. | env' f",
        "jq -f p f",
        "jq --from-file p f",
        "jq -L d . f",
        "jq 'import \"a\" as b; .' f",
        "jq 'include \"a\"; .' f",
        "jq --slurpfile a b . f",
        "jq --rawfile a b . f",
        "jq input_filename f",
        "jq",
        "jq . -f",
        "jq . --args",
        "jq -nf p",
        "jq 'x|env.A'",
    ] {
        assert!(!reads(text), "{text}");
    }
}

#[test]
fn find_and_tar() {
    for text in [
        "find",
        "find . -name '*.rs'",
        "find src tests -type f -not -path '*/x/*' -o -size +1k",
        "find . -maxdepth 2 -printf '%p\\n'",
        "find . \\( -name a -o -name b \\) -prune",
        "tar -tf a.tar",
        "tar tzf a.tgz",
        "tar -tvf a.tar x/y",
        "tar --list -f a.tar",
    ] {
        assert!(reads(text), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "find . -delete",
        "find . -fprint x",
        "find . -fprintf x y",
        "find . -fls x",
        "find -L .",
        "find /",
        "find . -name *.rs",
        "find . -execdir ls {} +",
        "find . -nam x",
        "find -files0-from x",
        "find . -name",
        "find $x",
        "find . -fprint0 x",
        "find *",
        "tar -xf a",
        "tar -I x -tf a",
        "tar -tf h:a",
        "tar -tf a --to-command=x",
        "tar -tf a --checkpoint-action=exec=x",
        "tar tFf x a",
        "tar -tf",
        "tar -ctf a",
        "tar -tf a -C x",
        "tar -t --use-comp=x -f a",
    ] {
        assert!(!reads(text), "{text}: {:?}", shown(&steps(text)));
    }
}

#[test]
fn tests_and_builtins() {
    for text in [
        "test -f a",
        "[ -d a ]",
        "test a = b",
        "[ ! -e a ]",
        "test 1 -lt 2",
        "[ \"$x\" -gt 3 ]",
        "test a -lt b",
        "[ -f src/* ]",
        "test",
        "test -n ''",
        "[ a -nt b ]",
        ": a b",
        "exit 1",
        "break",
        "read -r a b",
        "mapfile -t x",
        "wait",
        "type ls",
        "set -e",
        "true && false",
        "read -r -p 'x? ' y",
        "IFS= read -r x",
        "set -Eeuo pipefail",
    ] {
        assert!(reads(text), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "test -v a",
        "[[ a -eq 1 ]]",
        "test -v a -eq",
        "[ -f * ]",
        "[ -n src/* ]",
        "[ src/* -eq 1 ]",
        "test -f a -a -v b",
        "[ -f a",
        "test -o x",
        "[ -R a ]",
        "read -a x",
        "read 'a[0]'",
        "mapfile -C x y",
        "wait -p x",
        "printf -v x y",
        "printf -vx y",
        "let x=1",
        "export A=1",
        "declare -i x=1",
        "unset x",
        "alias",
        "hash",
        "enable x",
        "shopt -s x",
        "set -x",
        "set x",
        "getopts a b",
        "complete -C x y",
        "compgen -C x",
        "ulimit -c 0",
        "umask 0",
        "exec",
        "exec 3<> x",
        "local x",
        "readonly x=1",
        "typeset x",
        "type -P ./x",
        "read -u 3 x",
        "cd -P x",
        "cd a b",
    ] {
        assert!(!reads(text), "{text}: {:?}", shown(&steps(text)));
    }
}

#[test]
fn cautions() {
    for (text, expected) in [
        ("cargo test --lib", " = unknown"),
        ("cargo +nightly test", " = unknown !1"),
        ("cargo build --manifest-path x", " = unknown !2"),
        ("cargo build --conf=x", " = unknown !2"),
        ("cargo test -- --config", " = unknown"),
        ("go test -exec=x ./...", " = unknown !2"),
        ("make test", " = unknown"),
        ("make -C x CC=y", " = unknown !1 !3"),
        ("npm exec x", " = unknown !1"),
        ("pytest -q tests", " = unknown"),
        ("pytest tests/*.py", " = unknown"),
        ("pytest *", " = unknown !1"),
        ("tar xIf x a", " = unknown !1"),
        ("python3", " = unknown !"),
        ("python3 -u x.py a", " = unknown !1 !2"),
        ("python3 -m pytest -x", " = unknown !1"),
        ("node -e x", " = unknown !1"),
        ("ls -y", " = unknown !1"),
        ("ls a -y", " = unknown !2"),
        ("git diff --output=x", " = unknown !2"),
        ("git -P diff --output=x", " = unknown !2"),
        ("/usr/bin/sort -o x", " = unknown !1"),
        ("curl -o x https://a.example/y", " = unknown w:x @a.example !1"),
        ("curl https://u:p@A.example:8/x https://b.example", " = unknown @a.example @b.example"),
        ("curl -L https://a.example", " = unknown @*"),
        ("wget $x", " = unknown @* !"),
        ("ssh me@h.example ls", " = unknown @h.example"),
        ("rsync a me@h.example:b", " = unknown @h.example"),
        ("git push", " = unknown @*"),
        ("git config x y", " = unknown w:.git/config !1"),
        ("git -c a=b commit", " = unknown !"),
    ] {
        let lines = shown(&steps(text));
        assert!(lines.len() == 1 && lines[0].ends_with(expected), "{text}: {lines:?}");
    }
}

#[test]
fn git_touches() {
    for (text, expected) in [
        ("git status", "git status = reads"),
        ("git log -p", "git log -p = reads (all of git)"),
        ("git log -p -- src", "git log -p -- src = reads src/**"),
        ("git log main", "git log main = reads main/**"),
        ("git diff", "git diff = reads (all of git)"),
        ("git diff --stat", "git diff --stat = reads"),
        ("git diff --stat -p", "git diff --stat -p = reads (all of git)"),
        ("git diff -- 'src/*.rs'", "git diff -- src/*.rs = reads src//**"),
        ("git diff -- '*.rs'", "git diff -- *.rs = reads ./**"),
        ("git show HEAD:a/b", "git show HEAD:a/b = reads a/b(in git) HEAD:a/b/**"),
        ("git show HEAD:./b", "git show HEAD:./b = reads ./b/** HEAD:./b/**"),
        (
            "git show HEAD:a HEAD",
            "git show HEAD:a HEAD = reads a(in git) HEAD:a/** HEAD/** (all of git)",
        ),
        ("git cat-file -p HEAD:a", "git cat-file -p HEAD:a = reads a(in git)"),
        ("git cat-file -p abc123", "git cat-file -p abc123 = reads (all of git)"),
        ("git cat-file -t abc123", "git cat-file -t abc123 = reads"),
        ("git blame -- a", "git blame -- a = reads a/**"),
        ("git grep x", "git grep x = reads ./**"),
        ("git grep x HEAD", "git grep x HEAD = reads HEAD/** (all of git)"),
        ("git remote -v", "git remote -v = reads"),
        ("git remote add x y", "git remote add x y = unknown"),
        ("git stash list", "git stash list = reads"),
        ("git stash", "git stash = unknown"),
        ("git --version", "git --version = reads"),
    ] {
        assert_eq!(shown(&steps(text)), [expected]);
    }
    assert!(
        steps("git status").runs_git() && !steps("git push").runs_git() && !steps("ls").runs_git()
    );
}
