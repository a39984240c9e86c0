//! Names of files through a pipe to xargs.

use super::notation_tests::shown;
use super::steps;

#[test]
fn listed_names_are_read_below_their_folder() {
    for (text, last) in [
        ("find . -name '*.rs' | xargs wc -l", "wc -l . = reads ./**(names)"),
        ("find src -type f | xargs grep -l TODO", "grep -l TODO src = reads src/**(names)"),
        ("find a b -name x | xargs head -5", "head -5 a b = reads a/**(names) b/**(names) a/x b/x"),
        ("find . -print0 | xargs -0 wc -l", "wc -l . = reads ./**(links)"),
        (
            "find . | grep -v target | sort | head -n 5 | xargs -r -n 1 cat",
            "cat . = reads ./**(names)",
        ),
        ("find . 2>/dev/null | xargs -I{} head -3 {}", "head -3 . = reads ./**(names)"),
        ("grep -rl x src | xargs sed -n 1,5p", "sed -n 1,5p src = reads src/**(names)"),
        ("rg -l x | xargs wc -l", "wc -l . = reads ./**(names)"),
        ("rg --files src | xargs wc -l", "wc -l src = reads src/**(names)"),
    ] {
        let found = steps(text);
        assert!(found.only_reads(), "{text}: {:?} {:?}", shown(&found), found.doubts);
        let line = shown(&found).pop().unwrap_or_default();
        assert!(line.ends_with(last), "{text}: {line}");
    }
}

#[test]
fn files_that_are_asked_for_by_name_are_named() {
    for (text, named) in [
        ("find . -name .env -exec cat {} \\;", true),
        ("find . -name '.e*' | xargs cat", true),
        ("find . -name '*env' | xargs cat", true),
        ("find . -path '*/.env' | xargs cat", true),
        ("find . -name '.en[v]' | xargs cat", true),
        ("find . -name '*.rs' | xargs cat", false),
        ("find . -type f | xargs cat", false),
    ] {
        let line = shown(&steps(text)).pop().unwrap_or_default();
        assert_eq!(line.contains(" ./.env"), named, "{text}: {line}");
    }
}

#[test]
fn what_is_no_list_of_names_is_not_known() {
    for text in [
        "cat list | xargs cat",
        "echo /etc/shadow | xargs cat",
        "printf '%s' -n | xargs cat",
        "xargs cat < list",
        "xargs cat <<< .env",
        "find . | xargs cat < list",
        "find . | xargs rm",
        "find . | xargs sh -c 'cat $0'",
        "find . | xargs -I{} sh -c 'cat {}'",
        "find . | xargs -a list cat",
        "find . | xargs --arg-file=list cat",
        "find . | xargs -p cat",
        "find . | xargs -o cat",
        "find . | xargs sed -i s/a/b/",
        "find . | xargs sed -n 'w x'",
        "find . | xargs sort -o x",
        "find . | xargs grep",
        "find . | xargs -I{} grep {} f",
        "find . | xargs -I{} cat ../{}",
        "find . | xargs -I{} cat {} {}",
        "find . | xargs tail -f",
        "find . -print0 | xargs cat",
        "find . | xargs -0 cat",
        "find -L . | xargs cat",
        "find . -printf '/etc/%f' | xargs cat",
        "find . -ls | xargs cat",
        "find . -exec echo /etc/shadow \\; | xargs cat",
        "find . | sed s,^.,/etc, | xargs cat",
        "find . | tr a b | xargs cat",
        "find . | awk '{print $2}' | xargs cat",
        "find . | cut -c2- | xargs cat",
        "find . | grep -o /.* | xargs cat",
        "find . | grep -h x f | xargs cat",
        "find . | head -c 5 | xargs cat",
        "find . | tail -c +2 | xargs cat",
        "find . | sort -o x | xargs cat",
        "find . | sort f | xargs cat",
        "find . | while read f; do xargs cat; done",
        "find . | { read x; xargs cat; }",
        "find ~ | xargs cat",
        "find 'a b' | xargs cat",
        "find $x | xargs cat",
        "find -name x; xargs cat",
        "grep -rl x | xargs cat",
        "grep -l x src | xargs cat",
        "grep -r x src | xargs cat",
        "grep -Rl x src | xargs cat",
        "rg x | xargs cat",
        "rg -l --pre ./x y | xargs cat",
        "ls src | xargs cat",
        "ls | xargs wc -l",
        "ls -l | xargs cat",
        "git ls-files | xargs cat",
        "git diff --name-only | xargs cat",
        "F=x find . | xargs cat",
        "find . > x | xargs cat",
        "find() { echo /etc/shadow; }; find . | xargs cat",
    ] {
        assert!(!steps(text).only_reads(), "{text}: {:?}", shown(&steps(text)));
    }
}
