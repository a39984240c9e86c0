//! Values that one assignment or a here-document gives, and the ways in which they are not to be trusted.

use super::notation_tests::shown;
use super::steps;

#[test]
fn a_value_set_once_is_known_where_it_must_have_been_set() {
    let table: &[(&str, &str)] = &[
        ("f=a; cat \"$f\"", "cat a = reads a"),
        ("f=a && cat \"$f\"", "cat a = reads a"),
        ("f=a\n(cat \"$f\")", "cat a = reads a"),
        ("f=a; if [ -f \"$f\" ]; then cat \"$f\"; fi", "cat a = reads a"),
        ("f=a; cat \"$f/b\" $f.c", "cat a/b a.c = reads a/b a.c"),
        ("f=/etc/shadow; cat \"$f\"", "cat /etc/shadow = reads /etc/shadow"),
        ("f=-n; sort $f", "sort -n = reads"),
        ("f=-o; sort $f x", "sort -o x = unknown !1"),
        ("{ f=a; cat \"$f\"; }", "cat a = reads a"),
    ];
    for (text, expected) in table {
        let found = steps(text);
        assert_eq!(shown(&found).last().map(String::as_str), Some(*expected), "{text}");
        assert!(found.doubts.is_empty(), "{text}: {:?}", found.doubts);
    }
}

#[test]
fn a_value_that_may_be_another_is_not_known() {
    for text in [
        "cat \"$f\"; f=a",
        "f=a | cat; cat \"$f\"",
        "f=a & cat \"$f\"",
        "(f=a); cat \"$f\"",
        "true && f=a; cat \"$f\"",
        "if true; then f=a; fi; cat \"$f\"",
        "g() { f=a; }; cat \"$f\"",
        "f=a; f=b; cat \"$f\"",
        "f=a; f+=b; cat \"$f\"",
        "f=a; read f < x; cat \"$f\"",
        "f=a; re''ad $'\\x66' < x; cat \"$f\"",
        "f=a; ev''al $'\\x66=b'; cat \"$f\"",
        "f=a; printf -v f b; cat \"$f\"",
        "f=a; for f in b; do :; done; cat \"$f\"",
        "f=a; ((f=1)); cat \"$f\"",
        "f=a; (( -f ++ )); cat \"$f\"",
        "f=a; : ${f:=b}; cat \"$f\"",
        "f=a; unset f; cat \"$f\"",
        "f=a; cat \"${f[1]}\"",
        "f=a cat \"$f\"",
        "f='a b'; cat $f",
        "f='*'; cat $f",
        "f=; cat $f",
        "f[0]=a; cat \"$f\"",
        "f=(a b); cat \"$f\"",
        "! f=a; cat \"$f\"",
        "_=a; echo /etc/shadow; cat \"$_\"",
        "for _ in a; do echo /etc/shadow; cat \"$_\"; done",
        "for RANDOM in a; do cat \"$RANDOM\"; done",
        "RANDOM=5; cat \"$RANDOM\"",
        "f=a; . ./x; cat \"$f\"",
        "f=a; bash -c 'cat \"$f\"'",
    ] {
        let found = steps(text);
        assert!(!found.only_reads(), "{text}: {:?}", shown(&found));
    }
}

#[test]
fn a_here_document_through_cat_is_its_text() {
    let found = steps("git commit -m \"$(cat <<'E'\nA `b` $c\n\nd\n\nE\n)\"");
    let words: Vec<_> = found.steps[0].words.iter().filter_map(|word| word.literal()).collect();
    assert_eq!(words, ["git", "commit", "-m", "A `b` $c\n\nd"]);
    assert_eq!(shown(&found)[1], "0> cat = reads");
    for text in [
        "cat \"$(cat <<E\n$x\nE\n)\"",
        "cat $(cat <<'E'\na\nE\n)",
        "cat \"$(cat f <<'E'\na\nE\n)\"",
        "cat \"$(tac <<'E'\na\nE\n)\"",
        "cat \"$(cat <<'E' | tac\na\nE\n)\"",
        "cat() { echo /etc/shadow; }; head \"$(cat <<'E'\na\nE\n)\"",
    ] {
        assert!(!steps(text).only_reads(), "{text}");
    }
}

#[test]
fn every_value_of_a_loop_is_a_step() {
    let lines = |text: &str| shown(&steps(text));
    assert_eq!(lines("for c in a b; do cargo test -p $c; done").len(), 2);
    assert_eq!(
        lines("for p in pwd id; do $p; done"),
        ["pwd = reads", "id = reads"],
        "the program, too"
    );
    let rm = lines("for p in pwd 'rm -rf /'; do $p; done");
    assert!(!rm.iter().all(|line| line.ends_with("reads")), "{rm:?}");
}

#[test]
fn what_find_gives_to_a_reader_lies_below_its_folder() {
    let lines = |text: &str| shown(&steps(text));
    assert_eq!(
        lines("find src -type f -name '*.rs' -exec grep -l x {} +"),
        [
            "find src -type f -name *.rs -exec grep -l x {} + = reads src/",
            "0> grep -l x src = reads src/**"
        ]
    );
    // What is not known to be a plain file may be a link.
    for text in [
        "find src -exec cat {} +",
        "find src -type l -exec cat {} +",
        "find src -name x -o -type f -exec cat {} +",
        "find src ! -type f -exec cat {} +",
        "find src -exec cat {} + -type f",
        "find src -name Cargo.toml -exec grep -H version {} \\;",
    ] {
        let found = lines(text);
        assert!(found.iter().any(|line| line.contains("= reads src/**(links)")), "{found:?}");
    }
    for text in [
        "find src lib -name x -exec cat {} +",
        "find -L src -exec cat {} +",
        "find src -follow -exec cat {} +",
        "find src -exec grep {} \\;",
        "find src -exec cat {} + -delete",
        "find -L src -type f -exec cat {} +",
        "find src lib -type f -exec cat {} +",
        "find src -type f -execdir cat {} +",
        "find src -type f -ok cat {} \\;",
        "find src -type f -exec rm {} +",
        "find src -type f -exec sort -o {} \\;",
        "find src -type f -exec cat ../{} \\;",
        "find src -type f -exec cat {} {} \\;",
        "find src -type f -exec cat {} /etc/x \\;",
        "find src -type f -exec grep -f {} \\;",
        "find src -type f -exec tail -f {} \\;",
        "find src -type f -exec ./cat {} \\;",
        "find src -type f -exec cat {} + -delete",
        "find / -type f -exec cat {} +",
        "find src -type f -exec sh -c 'cat {}' \\;",
    ] {
        assert!(!steps(text).only_reads(), "{text}: {:?}", lines(text));
    }
}

#[test]
fn what_xargs_only_prints_needs_no_names() {
    for text in [
        "ls | xargs",
        "ls | xargs -n1 basename",
        "ls | xargs -I{} echo 'a {}'",
        "ls | xargs -0 -r echo",
    ] {
        assert!(steps(text).only_reads(), "{text}: {:?}", shown(&steps(text)));
    }
    for text in [
        "ls | xargs -a /etc/shadow echo",
        "ls | xargs --arg-file=/etc/shadow",
        "ls | xargs --arg-file /etc/shadow echo",
        "ls | xargs -0a /etc/shadow echo",
        "ls | xargs -p echo",
        "ls | xargs cat",
        "ls | xargs printf",
        "ls | xargs $x",
        "ls | xargs -I{} {} echo",
        "ls | xargs ./echo",
    ] {
        assert!(!steps(text).only_reads(), "{text}: {:?}", shown(&steps(text)));
    }
}
