use super::*;
use std::fs;

#[test]
fn a_wide_pattern_is_not_expanded() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..=MAX_NAMES {
        fs::write(dir.path().join(format!("f{i}")), "").unwrap();
    }
    assert_eq!(expand(dir.path(), "f*"), None);
    assert_eq!(expand(dir.path(), "f1?").map(|names| names.len()), Some(111));
    assert_eq!(expand(dir.path(), "f19*").map(|names| names.len()), Some(11));
}

#[test]
fn names_match_at_least_where_the_shell_would() {
    for (part, name, expected) in [
        ("*", "", true),
        ("*.rs", "a.rs", true),
        ("*.rs", ".rs", true),
        ("*.rs", "a.rsx", false),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("???", "äö", true),
        ("a?", "ab", true),
        ("x*", "ax", false),
    ] {
        assert_eq!(matches(part, name.as_bytes()), expected, "{part} {name}");
    }
}

#[test]
fn exit_code_one_is_an_answer_of_some() {
    for command in [
        "grep x a",
        "rg x",
        "cat a | grep x",
        "git grep x",
        "git diff --exit-code",
        "grep x a 2>/dev/null",
    ] {
        assert!(one_is_an_answer(command), "{command}");
    }
    for command in [
        "cat a",
        "grep x a && echo y",
        "grep x a; true",
        "! grep x a",
        "grep x a | wc -l",
        "ls grep",
        "git log",
    ] {
        assert!(!one_is_an_answer(command), "{command}");
    }
}
