//! Front matter as people write it, and as nobody should.

use super::*;
use proptest::prelude::*;

fn parsed(text: &str) -> (SkillFrontMatter, Vec<FrontMatterError>) {
    let mut problems = Vec::new();
    let front = read(text, &mut problems).unwrap();
    (front, problems)
}

#[test]
fn texts_are_split_at_the_marks() {
    let both = |front, body| Ok(SkillParts { front, body });
    for (text, expected) in [
        ("---\na: 1\n---\nbody\n", both(Some("a: 1\n"), "body\n")),
        ("---  \na: 1\n---\t\nbody", both(Some("a: 1\n"), "body")),
        ("---\n---\nbody", both(Some(""), "body")),
        ("---\na: 1\n---", both(Some("a: 1\n"), "")),
        ("body\n---\na: 1\n---\n", both(None, "body\n---\na: 1\n---\n")),
        ("", both(None, "")),
        (" ---\na: 1\n---\n", both(None, " ---\na: 1\n---\n")),
        ("----\nx", both(None, "----\nx")),
    ] {
        assert_eq!(split(text), expected, "{text:?}");
    }
    for open in ["---\na: 1\n", "---", "---\na: 1\n ---\n"] {
        assert_eq!(split(open).unwrap_err().0, 1, "{open:?}");
    }
}

#[test]
fn values_are_what_they_seem() {
    let (front, problems) = parsed(
        "name: x\nwhen_to_use: \"a: b\"\nn: 12\nyes: true\nlist: [a, b]\nlines: >\n  one\n  two\nnothing:\nmeta:\n  deep: {er: 1}\n",
    );
    assert_eq!(problems, []);
    let mut wrong = Vec::new();
    let text = |key: &str, wrong: &mut Vec<FrontMatterError>| front.text(key, wrong);
    assert_eq!(text("name", &mut wrong).as_deref(), Some("x"));
    assert_eq!(text("when-to-use", &mut wrong).as_deref(), Some("a: b"));
    assert_eq!(text("n", &mut wrong).as_deref(), Some("12"));
    assert_eq!(text("lines", &mut wrong).as_deref(), Some("one two"));
    assert_eq!(text("nothing", &mut wrong), None);
    assert_eq!(text("absent", &mut wrong), None);
    assert_eq!(front.list("list", |_| unreachable!(), &mut wrong), ["a", "b"]);
    assert!(front.yes("yes", false, &mut wrong));
    assert_eq!(wrong, []);
    assert_eq!(text("meta", &mut wrong), None);
    assert!(!front.yes("name", false, &mut wrong) && front.yes("name", true, &mut wrong));
    assert_eq!(front.list("n", |_| unreachable!(), &mut wrong), [] as [&str; 0]);
    let lines: Vec<usize> = wrong.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [12, 2, 2, 4], "{wrong:?}");
}

/// Sentences without quotes are understood; what YAML makes of them is said, but for hints.
#[test]
fn sentences_need_no_quotes() {
    let (front, problems) =
        parsed("name: x\ndescription: Use when: it's \"late\"\nallowed-tools: Read\n");
    let mut wrong = Vec::new();
    assert_eq!(front.text("description", &mut wrong).as_deref(), Some("Use when: it's \"late\""));
    assert_eq!(front.text("allowed-tools", &mut wrong).as_deref(), Some("Read"));
    assert!(!front.broken);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, 3, "{problems:?}");
    assert!(problems[0].1.contains("quoted"), "{problems:?}");

    let (front, problems) = parsed("argument-hint: [file] [count]\nmodel: m\n");
    assert_eq!(problems, []);
    assert_eq!(front.text("argument-hint", &mut wrong).as_deref(), Some("[file] [count]"));
    let (front, problems) = parsed("argument-hint: [file]\n");
    assert_eq!(problems, []);
    assert_eq!(front.text("argument-hint", &mut wrong).as_deref(), Some("[file]"));
}

#[test]
fn what_is_no_yaml_is_said_with_its_line_and_read_line_by_line() {
    let deep = format!("name: x\nmetadata: {}1{}\n", "[".repeat(500), "]".repeat(500));
    let wide = format!("name: x\nmetadata: [{}]\n", "1, ".repeat(4000));
    let bomb = "name: x\na: &a [1, 1]\nb: &b [*a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c]\n";
    for (text, line, says) in [
        ("name: x\n\tdescription: y\n", None, "YAML"),
        ("name: x\nname: y\n", Some(3), "twice"),
        ("name: x\nlist: [a, b\n", None, "YAML"),
        ("name: x\n- y\n", None, "YAML"),
        ("name: x\nfoo: {a: b: c}}\n", None, ""),
        ("name: x\n<<: {a: 1}\n", Some(3), ""),
        (deep.as_str(), None, ""),
        (wide.as_str(), None, ""),
        (bomb, None, ""),
        ("name: x\n--- \nname: y\n...\n---\n", None, ""),
    ] {
        let (front, problems) = parsed(text);
        let start: String = text.chars().take(60).collect();
        assert!(front.broken, "{start}");
        assert_eq!(problems.len(), 1, "{start}");
        let (at, what) = &problems[0];
        assert!(line.is_none_or(|line| line == *at) && *at >= 2, "{start} {problems:?}");
        assert!(what.contains(says) && !what.contains('\n'), "{start} {problems:?}");
        assert_eq!(front.text("name", &mut Vec::new()).as_deref(), Some("x"), "{start}");
    }
}

#[test]
fn too_much_is_not_looked_at() {
    let text = format!("name: x\ndescription: {}\n", "y".repeat(20_000));
    assert!(read(&text, &mut Vec::new()).unwrap_err().1.contains("16384 bytes"));
}

proptest! {
    /// Whatever stands there: no panic, at most one complaint about the form, and one line each.
    #[test]
    fn anything_is_read(text in "(?s).{0,400}") {
        if let Ok(parts) = split(&text) {
            let mut problems = Vec::new();
            if let Some(front) = parts.front && let Ok(front) = read(front, &mut problems) {
                front.text("name", &mut problems);
                front.yes("user-invocable", true, &mut problems);
                front.list("paths", |text| vec![text.into()], &mut problems);
            }
            prop_assert!(problems.iter().all(|(line, what)| *line > 0 && !what.contains('\n')));
        }
    }

    #[test]
    fn any_lines_of_keys_are_read(lines in prop::collection::vec("(name|description|paths|a_b|)[:]? ?[-\\[\\]{}\"'|>&*!a-z:#\t ]{0,20}", 0..8)) {
        let mut problems = Vec::new();
        let _ = read(&lines.join("\n"), &mut problems);
        prop_assert!(problems.len() <= 1);
    }
}
