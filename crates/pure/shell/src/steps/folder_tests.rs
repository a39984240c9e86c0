//! The directories in which a command may run.

use super::steps;
use ostler_policy::script::Word;

/// Where each `ls` of the text may run: `.` for the start, `?` if that is not known.
fn places(text: &str) -> Vec<String> {
    let found = steps(text);
    let is_ls = |words: &[Word]| words.first().and_then(Word::literal) == Some("ls");
    let mut all: Vec<String> = found
        .steps
        .iter()
        .filter(|step| is_ls(&step.words))
        .map(|step| match step.folder.as_deref() {
            None => "?".to_owned(),
            Some([]) => ".".to_owned(),
            Some(changes) => changes.join(","),
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_change_that_may_fail_leaves_two() {
    for (text, expected) in [
        ("cd a; ls", ". a"),
        ("(cd a; ls)", ". a"),
        ("(cd a; ls); ls", ". . a"),
        ("cd a\nls", ". a"),
        ("cd a; cd b; ls", ". a a,b b"),
        ("cd a && cd b; ls", ". a a,b"),
        ("cd a; cd b; cd c; ls", "?"),
        ("cd a || cd b; ls", ". a b"),
        ("cd a || cd b && ls", "a b"),
        ("cd a && ls || ls", ". a a"),
        ("cd a || true && ls", ". a"),
        ("pwd || cd a && ls", ". a"),
        ("! cd a && ls", ". a"),
        ("eval 'cd a' && ls", ". a"),
        ("if pwd; then cd a; fi; ls", ". a"),
        ("if cd a; then ls; else ls; fi", ". . a a"),
        ("if cd a; then pwd; elif cd b; then ls; fi", ". a a,b b"),
        ("case x in x) cd a;; y) ls;; esac", ". a"),
        ("cd a | pwd; ls", "."),
        ("cd a & ls", "."),
        ("f() { cd a; }; ls", "?"),
        ("cd $x; ls", "?"),
        ("cd -; ls", "?"),
        ("while pwd; do cd a; ls; done; ls", "? ? ?"),
        ("for d in a b; do (cd $d && ls); done", "a b"),
        ("for d in a b; do cd $d && ls; done", "? ?"),
        ("for d in *; do (cd \"$d\" && ls); done", "?"),
        ("cd a; [[ -f x ]] && ls", ". a"),
    ] {
        assert_eq!(places(text).join(" "), expected, "{text}");
    }
}

#[test]
fn pushd_and_popd() {
    for (text, expected) in [
        ("pushd a && ls && popd", "a"),
        ("pushd a && ls && popd && ls", ". a"),
        ("pushd a; ls; popd; ls", ". . a a"),
        ("pushd a && pushd b && popd && ls", "a"),
        ("popd; ls", "."),
        ("pushd a && pushd && ls", "?"),
        ("pushd +1 && ls", "?"),
        ("pushd -n a && ls", "?"),
        ("pushd $x && ls", "?"),
        ("pushd a && popd +0 && ls", "?"),
        ("(pushd a); popd; ls", "."),
    ] {
        assert_eq!(places(text).join(" "), expected, "{text}");
    }
    assert!(steps("pushd a && ls && popd").only_reads());
    assert!(!steps("dirs -c").only_reads() && !steps("pushd $x").only_reads());
}

#[test]
fn everything_in_the_command_is_seen_in_each_folder() {
    let found = steps("cd /etc; x=$(cat shadow)");
    let cats = found.steps.iter().filter(|step| step.words.len() == 2 && step.inside.is_some());
    assert_eq!(cats.count(), 2);
    assert!(steps("cd a; f=x; cat \"$f\"").only_reads(), "one assignment, seen in two folders");
    // Directories in directories are bounded.
    let deep = "echo $(cd a; ".repeat(30) + "ls" + &")".repeat(30);
    assert!(!steps(&deep).doubts.is_empty());
}
