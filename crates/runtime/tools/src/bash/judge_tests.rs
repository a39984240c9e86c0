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
        ("*.rs", "a.rs", true),
        ("*.rs", ".rs", false),
        ("*", ".env", false),
        ("?env", ".env", false),
        (".*", ".env", true),
        (".e*", ".env", true),
        ("a*", "a.env", true),
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

#[test]
fn a_star_leaves_names_with_a_dot_out_as_bash_does() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sub")).unwrap();
    fs::create_dir_all(dir.path().join(".hidden")).unwrap();
    for name in [".env", "a", "sub/.env", "sub/b", ".hidden/c"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    for pattern in ["*", "*/*", "*/.env", ".*", "?*", "sub/*", "*/.*", ".h*/*"] {
        let mut bash = std::process::Command::new("bash");
        let script = format!("printf '%s\\n' {pattern}");
        let output = bash.current_dir(dir.path()).args(["-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // A fixed name behind a wildcard is not looked up, so some of them do not exist.
        let mut found = expand(dir.path(), pattern).unwrap();
        found.retain(|path| path.exists());
        let is_dots = |line: &&str| matches!(line.rsplit('/').next(), Some("." | ".."));
        let mut expected: Vec<PathBuf> =
            text.lines().filter(|line| !is_dots(line)).map(|line| dir.path().join(line)).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{pattern}");
    }
}
