use super::*;
use ostler_core::permission::Workspace;
use std::fs;
use std::os::unix::fs::symlink;

fn scene() -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("ws/src")).unwrap();
    fs::create_dir(root.join("out")).unwrap();
    for file in ["ws/a.md", "ws/b.md", "ws/.hidden.md", "ws/c.txt", "ws/src/x.rs", "out/secret"] {
        fs::write(root.join(file), "").unwrap();
    }
    symlink(root.join("out/secret"), root.join("ws/link.log")).unwrap();
    let cwd = root.join("ws");
    (
        dir,
        Files::new(
            Workspace { cwd: cwd.clone(), roots: vec![cwd], ..Workspace::default() },
            vec![],
            vec![],
        ),
    )
}

/// Scopes below the scene's folder, `*` for trees.
fn reads(command: &str) -> Option<Vec<String>> {
    let (dir, files) = scene();
    let root = dir.path().canonicalize().unwrap();
    let below = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let access = access(command, prove(command).as_ref(), &files);
    assert_eq!(access.runs.as_deref().map(|runs| runs.text.as_str()), Some(command));
    assert!(access.writes.is_empty() && access.hosts.is_empty());
    if !access.known {
        assert!(access.reads.is_empty());
        return None;
    }
    let show = |scope: &PathScope| match scope {
        PathScope::File(path) => below(path),
        PathScope::Tree(path) => format!("{}*", below(path)),
    };
    let mut all: Vec<String> = access.reads.iter().map(show).collect();
    all.sort();
    Some(all)
}

#[test]
fn proved_commands_name_what_they_read() {
    for (command, expected) in [
        ("cat a.md", &["ws/a.md"][..]),
        ("cat ./src/../a.md", &["ws/a.md"]),
        ("cat link.log", &["out/secret"]),
        ("cat ../out/secret", &["out/secret"]),
        ("cat /etc/passwd", &["/etc/passwd"]),
        ("grep -r x src", &["ws/src*"]),
        ("cat *.md", &["ws/.hidden.md*", "ws/a.md*", "ws/b.md*"]),
        ("cat *.log", &["out/secret*"]),
        ("cat s?c/*.rs", &["ws/src/x.rs*"]),
        ("cat *.none", &["ws/*.none*"]),
        ("echo hi", &[]),
    ] {
        let expected: Vec<String> = expected.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(reads(command), Some(expected), "{command}");
    }
}

#[test]
fn everything_else_is_unknown() {
    for command in [
        "rm a.md",
        "cat a.md > b",
        "cat [ab].md",
        "cat a.md/x",
        "make",
        "cat $x",
        "no such thing (",
    ] {
        assert_eq!(reads(command), None, "{command}");
    }
}

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
